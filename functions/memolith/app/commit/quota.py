"""How many memories a store may hold."""

from __future__ import annotations

from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.region import Region, View
from memolith.core.errors import InvalidRequest
from memolith.core.rows.content import PathRow
from memolith.ports.index import Query

COUNT_LIFETIME_US = 60_000_000
NEARLY_FULL = 0.9
ROWS_PER_QUERY = 1_000


class Quota:
    """Refuses creations in a full store."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._counts: dict[str, tuple[int, int]] = {}

    def require_room(self, view: View, store_id: str) -> None:
        """Raise InvalidRequest at the store's cap of memories; Unavailable.

        Counting costs pages of reads, so a count is kept for a minute where it is far from the cap. Creations at once
        may pass the cap by as many as there are; none is ever refused below it.
        """
        cap, now_us = self._region.memories_per_store, self._region.clock.now_us()
        counted, counted_at = self._counts.get(store_id, (cap, now_us))
        if counted >= cap * NEARLY_FULL or now_us - counted_at > COUNT_LIFETIME_US:
            counted, counted_at = self._count(view, store_id), now_us
        if counted >= cap:
            raise InvalidRequest("path", f"the store holds {cap} memories, which is its limit; delete some first")
        self._counts[store_id] = (counted + 1, counted_at)

    def _count(self, view: View, store_id: str) -> int:
        """At least as many as there are memories; exactly so many at the cap, where claims must not count."""
        number = view.index.count("paths", store_id)
        return number if number < self._region.memories_per_store else self._live(view, store_id)

    def _live(self, view: View, store_id: str) -> int:
        paths = rows_of(view.index, Query("paths", store_id, limit=ROWS_PER_QUERY), PathRow)
        return sum(path.memory_id is not None for path in paths)
