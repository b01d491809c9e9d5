"""Memories in and out: folders, archives, and the places where other programs keep theirs.

A source is read into `discovery.Found`: files that can be memories, and what cannot be, each with the reason. Nothing
is left out in silence: each import or export gets a `report.Row` for every file, folder and link that was met.
"""
