"""A memory store over the Model Context Protocol: tools, a prompt, and memories as resources.

    schemas   what each tool takes
    answers   what each tool gives
    texts     what tools and prompt say of themselves
    notes     the tools beside `memory`, on one store
    server    all of it as a server of the protocol, for any transport

Paths are those of the memory tool everywhere: `/memories/a` is the memory at `/a`.
Source: https://modelcontextprotocol.io/specification, docs/tools.md.
"""
