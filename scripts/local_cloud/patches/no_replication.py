"""The emulator copies nothing between buckets by itself; the replicator does.

Without this, a PutObject is copied before it returns, to the first matching rule's bucket only, and the destination
fires no event: no lag could be set, and nothing would be indexed there.
"""

from __future__ import annotations

from scripts.local_cloud.patches import Patch, need


def _apply() -> None:
    from ministack.services import s3

    need(s3, "_maybe_replicate", "_maybe_replicate_delete_marker")
    s3._maybe_replicate = lambda *_args, **_kwargs: None
    s3._maybe_replicate_delete_marker = lambda *_args, **_kwargs: None


PATCH = Patch("no_replication", "objects are copied at once, without lag and without events", _apply)
