"""Memories in and out: folders, archives, and the places where other programs keep theirs.

It promises that nothing is left out in silence: an import or export gives a `report.Row` for every file, folder and
link that was met.

Read first: `discovery`, into which every source is read: files that can be memories, and what cannot be, each with the
reason. `importing` and `exporting` carry it out; `known_tools` knows where other programs keep their memories.
"""
