"""Homes: a store's home region moves as planned, or is replaced after it was lost.

It promises that a planned transfer loses nothing and stops writes for seconds only, and that a failover names what the
lost home had not replicated instead of dropping it.

Read first: `transfer`, the new home's side of a planned move, and `handoff`, the old one's. Then `failover`;
`snapshot_builder`, which makes the new epoch's snapshot; `store_backfill` and `epoch_sweep`. `service` takes the calls.
"""
