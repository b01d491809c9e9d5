"""How many memories a store may hold."""

from __future__ import annotations

from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.region import Region, View
from memolith.core.errors import InvalidRequest
from memolith.core.rows.content import PathRow
from memolith.ports.index import Query

COUNT_LIFETIME_US = 60_000_000
WRITERS_AT_ONCE = 16
"""Each writer creates this share of the room that it counted, and counts again: so many fill a store, and no more."""
ROWS_PER_QUERY = 1_000


class Quota:
    """Refuses creations in a full store."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._shares: dict[str, tuple[int, int]] = {}

    def require_room(self, view: View, store_id: str) -> None:
        """Raise InvalidRequest at the store's cap of memories; Unavailable.

        Counting costs pages of reads, so a count serves a minute, and a share of the room that it found. Filling a
        store of n memories takes a writer some `WRITERS_AT_ONCE` x ln(n) counts. Where more writers than that create at
        once, or the room is less, they may pass the cap by as many as they are; none is ever refused below it.
        """
        now_us = self._region.clock.now_us()
        share, counted_us = self._shares.get(store_id, (0, now_us))
        if share <= 0 or now_us - counted_us > COUNT_LIFETIME_US:
            cap = self._region.memories_per_store
            room = cap - self._count(view, store_id)
            if room <= 0:
                raise InvalidRequest("path", f"the store holds {cap} memories, which is its limit; delete some first")
            share, counted_us = max(1, room // WRITERS_AT_ONCE), now_us
        self._shares[store_id] = (share - 1, counted_us)

    def _count(self, view: View, store_id: str) -> int:
        """At least as many as there are memories; exactly so many at the cap, where claims must not count."""
        number = view.index.count("paths", store_id)
        return number if number < self._region.memories_per_store else self._live(view, store_id)

    def _live(self, view: View, store_id: str) -> int:
        paths = rows_of(view.index, Query("paths", store_id, limit=ROWS_PER_QUERY), PathRow)
        return sum(path.memory_id is not None for path in paths)
