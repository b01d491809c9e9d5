"""Erasure: what is redacted, expired or deleted leaves every object, row, older S3 version and search pack.

It promises that only the eraser deletes, that it looks for the reason itself, for any caller, and that erasing again
changes nothing.

Read first: `eraser`, for one version. Then `store_purge` for a whole store, `deadlines` for how long a deleted store
can be restored before that, `retention` for what has expired, `pack_removal` for search packs, and `status` and
`verification`, which show what a region still has. `service` takes the calls.
"""
