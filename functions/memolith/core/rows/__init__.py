"""The rows of the index: what each table holds, and under which key.

Rows are derived, so that the same objects give the same rows in every region and after every rebuild. A row carries no
counter of its own changes: a change is conditional on the whole row still being what was read.

Read first: `base`, what a row is. Then `content`, the rows of memories, logs, paths and versions; `safety`, `identity`,
`control` and `journal` hold the others.
"""
