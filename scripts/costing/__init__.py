"""What a write and a read cost: counted calls of the real use cases, times a table of prices.

Read in this order: `prices` (what AWS asks for), `meter` (what a call uses of it), `paths`, `agents`
and `standing` (the calls that are counted), `document` (the tables of docs/cost.md).
"""
