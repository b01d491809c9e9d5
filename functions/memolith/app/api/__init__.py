"""The use cases of the API: one file for each resource. `wire` calls these and nothing else in `app`.

It promises the errors of `core.errors` and no others, and that a call which needs the store's home is answered by it.

Read first: `service`, where the use cases are put together. Then `memories`, the main resource; `snapshots` for reads
of the past; `linearizable_reads` and `forwarded_reads` for reads that need what the home knows.
"""
