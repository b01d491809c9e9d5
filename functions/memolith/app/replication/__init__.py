"""What makes a region complete and keeps it so: checkpoints, watermarks, and scans that find what is missing.

It promises that a region's watermark may be late but is never wrong: everything acknowledged up to it can be read
there.

Read first: `checkpoints`, how a home publishes what it acknowledged, and `watermark`, how another region checks that it
has it all. Then `missing_objects`, the daily scans (`compare_listing`, `compare_rows`, `compare_checkpoints`) and
`region_backfill` for a new region. `reconciler` runs them; `service`
puts them together.
"""
