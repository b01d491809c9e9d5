"""Stores whose pipelines run by themselves: the tick of their home names them to whoever asks models, by a queue.

Their rows stand in one partition, so that a tick reads no other, and an empty one where no store's policy says so. A
message names a store; whoever gets it goes by the store's record.
"""

from __future__ import annotations

from memolith.app.kernel.listing import row_pages
from memolith.app.kernel.region import Region
from memolith.app.replication.queue_names import QueueNames
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.identity import AUTOMATIC_STORES, StoreRow
from memolith.ports.index import Query
from memolith.ports.queue import Queue

ROWS_PER_PAGE = 100
EVERY_US = 600_000_000
"""How often a store is named."""


def automatic_stores(region: Region, deadline_us: int | None = None) -> list[str]:
    """Return the stores of this home whose pipelines run by themselves. One query for a hundred. Raises Unavailable."""
    found: list[str] = []
    for page in row_pages(region.index, Query("stores", AUTOMATIC_STORES, limit=ROWS_PER_PAGE)):
        rows = [StoreRow.from_attributes(one.attributes) for one in page]
        found += [row.store_id for row in rows if row.home == region.name and row.state == StoreState.ACTIVE]
        if deadline_us is not None and region.clock.now_us() > deadline_us:
            break
    return found


class DueStores:
    """Names the stores whose home this region is."""

    def __init__(self, region: Region, queue: Queue) -> None:
        self._region = region
        self._names = QueueNames(region.clock, queue, "store", EVERY_US)

    def run(self, deadline_us: int) -> int:
        """Name each store every ten minutes; return how many. Repeatable. One query, a request for ten that are named.

        Raises:
            Unavailable: the index or the queue does not answer; the next tick goes on.
        """
        return self._names.send(automatic_stores(self._region, deadline_us))
