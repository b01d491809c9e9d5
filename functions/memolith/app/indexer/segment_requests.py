"""Requests for new search segments: one message for the many changes that its segment will show."""

from __future__ import annotations

import json

from memolith.app.kernel.region import Region
from memolith.core.objects.search_pack import REFRESH_DELAY_S
from memolith.ports.queue import Queue

COVERED_BEFORE_S = 10
"""How long before a segment is made a change still counts as known to its packer."""

STORES_KEPT = 10_000


class SegmentRequests:
    """Sends what the packer (`app.search.packer`) is to do. A region without search has no queue, and sends nothing."""

    def __init__(self, region: Region, queue: Queue | None) -> None:
        self._region = region
        self._queue = queue
        self._covered_us: dict[str, int] = {}

    def send(self, store_id: str) -> None:
        """Request a new segment of a store once all that changes until then is projected.

        A message is taken `REFRESH_DELAY_S` after it was sent. What is projected shortly before that is in the segment
        that it brings, and needs none of its own.
        """
        now_us = self._region.clock.now_us()
        covered_us = now_us + (REFRESH_DELAY_S - COVERED_BEFORE_S) * 1_000_000
        # What was covered until a later instant, was by a clock that was ahead.
        if self._queue is None or now_us < self._covered_us.get(store_id, 0) <= covered_us:
            return
        self._queue.send([json.dumps({"pack": store_id, "since": covered_us})])
        if len(self._covered_us) >= STORES_KEPT:
            self._covered_us.clear()
        self._covered_us[store_id] = covered_us
