"""Search packs: one file for each store, made from the index, in which a region searches.

It promises nothing about what is shown: the index has the last word, so that a pack may be old, but never shows a text
that is deleted or withheld.

Read first: `packs`, where packs are kept and how one is opened. Then `packer`, which makes them, and `pack_cache`,
which keeps the newest ones on the disk of a process.
"""
