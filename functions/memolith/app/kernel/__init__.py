"""What every use case stands on: the region's ports, the results of operations, and the messages between regions.

It promises to know no rule of the log, of the index or of any use case. Nothing here imports another room of `app`.

Read first: `region`, the ports of one region and the consistent view of its index. Then `results`, what operations take
and return. `peer_messages` is the JSON that two regions exchange, `eraser_client` asks this region's eraser, and
`listing` and `batching` page through keys and work on many at once.
"""
