"""The indexer: an event says that an object has arrived; the object itself says what to write into the tables.

It promises that events may come twice, late or in any order, and that a message which cannot be read is set aside by
name and never retried. All tables can be rebuilt from the bucket of the region alone.

Read first: `indexer`, one object at a time, and `log_entries`, where that is an entry. Then `rebuild`, which makes a
new generation of tables beside live traffic, and `rebuild_pages`, its progress. `service` puts the indexer together.
"""
