"""Requests for the post-commit scan of what a region has written, which no object remembers."""

from __future__ import annotations

import json

from memolith.app.kernel.region import Region
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parsed_key


def prefix_of(region: str) -> str:
    """Return what the keys of all versions begin with that stores wrote while `region` was their home."""
    return f"{region}/log/"


def scan_requests(region: Region, after: str | None, limit: int) -> tuple[list[str], str | None]:
    """Return requests for the scan of the versions among the region's next keys, and the key to go on after.

    Args:
        after: the key behind which to begin; None for the first.
        limit: how many keys to look at. One LIST.

    Raises:
        Unavailable: the bucket does not answer.
    """
    page = region.objects.list(prefix_of(region.name), after, limit)
    requests = [json.dumps({"inspect": key}) for key in page.keys if isinstance(parsed_key(key), LogKey)]
    return requests, page.next_after
