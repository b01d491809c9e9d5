"""The graph that notes write of themselves: observations, relations and links, parsed from Markdown without I/O.

    markdown     a text -> its paragraphs and headings, as CommonMark has them
    grammar      a paragraph -> observations and relations, as Basic Memory writes them
    note         a memory -> its title, type, tags, observations and relations
    valid_time   a qualifier such as ``@effective[2026-06-10,2026-07-27)`` -> an interval
    names        a link's target, and a note's title and path, as keys that meet
    resolution   which notes a target means

The grammar is that of Basic Memory 0.24.1 (https://github.com/basicmachines-co/basic-memory), so that its files mean
the same here; `tests/interop/basic_memory` compares the two.
"""
