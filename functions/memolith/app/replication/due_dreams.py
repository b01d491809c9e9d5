"""Dreams that wait or are under way: the tick of their store's home names them to whoever does dreams, by a queue.

The rows of dreams that are not over stand in one partition, the oldest first, so that a tick reads no other. A message
names a dream and holds nothing of it. A dream that is named again while it is under way stays with its one worker.
"""

from __future__ import annotations

from memolith.app.kernel.listing import row_pages
from memolith.app.kernel.region import Region
from memolith.app.replication.queue_names import QueueNames
from memolith.core.objects.run_record import RunRecord
from memolith.core.rows.dreams import EVERY_OPEN_DREAM, DreamRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Query
from memolith.ports.queue import Queue

ROWS_PER_PAGE = 100
AGAIN_US = 300_000_000
"""After how long a dream that is not over is named again: its worker may have died."""


class DueDreams:
    """Names the dreams of stores whose home this region is."""

    def __init__(self, region: Region, queue: Queue) -> None:
        self._region = region
        self._names = QueueNames(region.clock, queue, "dream", AGAIN_US)

    def run(self, deadline_us: int) -> int:
        """Name what is due, until `deadline_us` at most; return how many dreams. Repeatable.

        One query; for a hundred that are not over a read, and a request to the queue for ten that are named.

        Raises:
            Unavailable: the index or the queue does not answer; the next tick goes on.
        """
        named = oldest_ms = 0
        for page in row_pages(self._region.index, Query("keys", EVERY_OPEN_DREAM, limit=ROWS_PER_PAGE)):
            records = self._here([DreamRow.from_attributes(one.attributes).parsed for one in page])
            now_us = self._region.clock.now_us()
            oldest_ms = max([oldest_ms, *((now_us - one.created_at) // 1_000 for one in records)])
            named += self._names.send(one.run_id for one in records)
            if now_us > deadline_us:
                break
        if oldest_ms:
            self._region.metrics.milliseconds("dream_age_ms", oldest_ms)
        return named

    def _here(self, records: list[RunRecord]) -> list[RunRecord]:
        """Return those that are not over by their own rows, and whose store is at home here."""
        keys = {StoreRow.key(one.store_id) for one in records} | {DreamRow.key(one.run_id) for one in records}
        rows = self._region.read(self._region.index, sorted(keys)) if keys else {}
        found = []
        for record in records:
            store, dream = rows.get(StoreRow.key(record.store_id)), rows.get(DreamRow.key(record.run_id))
            is_home = store is not None and StoreRow.from_attributes(store).home == self._region.name
            if is_home and dream is not None and DreamRow.from_attributes(dream).parsed.status.is_open:
                found.append(record)
        return found
