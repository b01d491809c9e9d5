"""Epochs: the terms of a store's homes, and what a change of home means for rows that are there already.

It promises that a call answers as a store's home only while its lease runs, and that rows of an older epoch agree with
the snapshot that the present epoch began with before anything is decided on them.

Read first: `fence`, which says whether this region may still answer as the home. Then `epoch_repair`, which corrects
one row, with `stragglers`; `store_repair`, all rows of a store; and `ownership`, which puts the first record of a new
term. `parts` puts them together.
"""
