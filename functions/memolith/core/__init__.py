"""The decisions, with no I/O: plain records in, plain records out, standard library only.

Read in this order: `log_position` (where a version stands), `objects.entry` (what stands there), `decide` (what a
command does to a head), `fold` (what an object does to the index).
"""
