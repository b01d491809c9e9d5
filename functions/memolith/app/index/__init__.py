"""The index: rows that are derived from the log, so that a region can answer without reading the log.

It promises that applying an entry is commutative, associative and idempotent: any order and any number of repetitions
give the same rows. Nothing is acknowledged before its rows and its line in the journal are written in one transaction.

Read first: `projector`, which writes the rows of memories, logs, paths and versions, through `row_transactions`. Then
`epoch_rows`, which corrects them after a move or a failover; `ack_journal`, what was acknowledged; `path_claims`, which
keeps two memories from one path; `store_projector`, the rows of stores. `parts` puts them together.
"""
