"""The memory tool (`memory_20250818`): six commands on a tree of files, over a store that has only documents at paths.

    places   `/memories/a/b` <-> `/a/b`
    texts    what each command says, in the words of the SDK's own local tool
    edits    what `str_replace` and `insert` make of a content, and of one that another client changed meanwhile
    tree     a store as folders: looked up, listed and changed through the HTTP API
    tool     the commands
    invoked  the API asked by invoking the functions behind it
    forms    the shapes in which agent platforms invoke a function, and what each wants back

Directories are derived: one is there while a memory is under it, and the root always. A command on a directory is many
single commits; it is refused as a whole before the first of them, or says afterwards which part was done.
Source: docs/tools.md, "Where the tool differs from the SDK's own".
"""
