"""A memory's, or a store's, versions in order, newest first, as this region's index has them.

The two orders of the `versions` table are global indexes, which may lag behind one's own write. A history of one
memory is therefore checked for gaps against the head's generation, and a history of the store takes its newest rows
from the table itself, whose sort key, a ULID, is nearly in order of time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import VersionFilter
from memolith.core import ids
from memolith.core.log_position import Epoch, Slot
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.tables import BY_MEMORY, BY_TIME
from memolith.ports.index import Query

INDEX_LAG_US = 60_000_000
"""How old a version is before the global indexes are trusted to have it."""

RECENT_PER_QUERY = 1_000
ROWS_AHEAD = 2_000
"""How many rows of the global index are looked at for the latest epoch, beyond a version that has not arrived."""

PAST_ALL = "~"
PAST_ALL_GENERATIONS = 9_999_999_998


@dataclass(frozen=True, slots=True)
class Step:
    """One row on the way down a history, and the position to continue from after it."""

    row: VersionRow
    after: str


class VersionHistory:
    """Walks down histories. Rows come from global indexes, so that what stands in them is to be read again."""

    def __init__(self, region: Region) -> None:
        self._region = region

    # ---- one memory ---------------------------------------------------------------------------------------------

    def of_memory(
        self, view: View, store_id: str, memory_id: str, after: str | None, head: MemoryRow | None
    ) -> Iterator[Step]:
        """Yield a memory's versions from its head down, or on from `after`.

        A memory without a head begins at the last in its history: another memory has taken its place, and the rename
        that took it away was a straggler.

        What the global index lacks is found by each version's parent. Beyond a version that has not arrived here the
        history goes on with the last of the latest epoch, of the global index and of the newest rows of the table: of
        two branches that a failover parted, the older one came late, and may not be known to be late here yet.
        """
        above = None if head is None or after is not None else Slot.parse(head.slot).epoch
        if after is not None:
            generation_key, _, parent_id = after.partition("#")
            expected, version_id = int(generation_key) - 1, parent_id or None
        elif head is not None:
            expected, version_id = head.generation, head.version_id
        else:
            expected, version_id = PAST_ALL_GENERATIONS, None
        indexed = _Ahead(self._indexed(view, store_id, memory_id, expected))
        recent: list[VersionRow] | None = None
        while expected > 0:
            row = indexed.at(expected)
            if version_id is not None and (row is None or row.version_id != version_id):
                row = self._by_id(view, store_id, version_id)
            if row is None:
                recent = self._recent_of(view, store_id, memory_id) if recent is None else recent
                known = [one for one in recent if (one.generation or 0) <= expected]
                row = _last_written([*known, *indexed.down_to(above)])
            if row is None:
                return
            # A version counts at another generation once it has been replayed: go on from where its own row has it.
            above, expected, version_id = row.ref.slot.epoch, row.generation or expected, row.parent_version_id
            yield Step(row, f"{expected:010d}#{version_id or ''}")
            expected -= 1

    def _recent_of(self, view: View, store_id: str, memory_id: str) -> list[VersionRow]:
        recent = self._recent(view, store_id, PAST_ALL)
        return [row for row in recent if row.memory_id == memory_id and row.generation is not None]

    def _indexed(self, view: View, store_id: str, memory_id: str, newest: int) -> Iterator[VersionRow]:
        after, partition = f"{newest + 1:010d}", f"{store_id}#{memory_id}"
        query = Query("versions", partition, after=after, descending=True, index=BY_MEMORY.name, limit=101)
        return rows_of(view.index, query, VersionRow)

    def _by_id(self, view: View, store_id: str, version_id: str) -> VersionRow | None:
        key = VersionRow.key(store_id, version_id)
        attributes = self._region.read(view.index, [key]).get(key)
        row = None if attributes is None else VersionRow.from_attributes(attributes)
        return None if row is None or row.memory_id is None else row

    # ---- the whole store ----------------------------------------------------------------------------------------

    def of_store(self, view: View, store_id: str, filter: VersionFilter, after: str | None) -> Iterator[Step]:
        """Yield every version by (created_at, id), newest first: the index's rows, merged with the table's newest."""
        start = after or (PAST_ALL if filter.created_at_lte is None else f"{max(filter.created_at_lte, 0) + 1:020d}")
        recent = self._recent(view, store_id, start)
        last = start
        for row in self._indexed_by_time(view, store_id, start):
            while recent and (recent[0].time_key or "") >= (row.time_key or ""):
                newer = recent.pop(0)
                if (newer.time_key or "") < last:
                    last = newer.time_key or ""
                    yield Step(newer, last)
            if (row.time_key or "") < last:
                last = row.time_key or ""
                yield Step(row, last)
        for row in recent:
            yield Step(row, row.time_key or "")

    def _recent(self, view: View, store_id: str, start: str) -> list[VersionRow]:
        """Read the newest versions from the table itself, newest first, those before `start`."""
        since_ms = (self._region.clock.now_us() - INDEX_LAG_US) // 1000
        if start != PAST_ALL and int(start[:20]) // 1000 < since_ms - INDEX_LAG_US // 1000:
            return []
        oldest = f"memver_{ids.ulid(max(since_ms, 0), bytes(10))}"
        recent = rows_of(view.index, Query("versions", store_id, after=oldest, limit=RECENT_PER_QUERY), VersionRow)
        known = [row for row in recent if row.memory_id is not None and (row.time_key or "") < start]
        return sorted(known, key=lambda row: row.time_key or "", reverse=True)

    def _indexed_by_time(self, view: View, store_id: str, start: str) -> Iterator[VersionRow]:
        query = Query("versions", store_id, after=start, descending=True, index=BY_TIME.name, limit=101)
        return rows_of(view.index, query, VersionRow)


class _Ahead:
    """A memory's versions as the global index has them, newest first, read as far as is looked."""

    def __init__(self, rows: Iterator[VersionRow]) -> None:
        self._rows = rows
        self._read = deque[VersionRow]()

    def at(self, generation: int) -> VersionRow | None:
        """Return the first version of a generation, and forget those above it."""
        for row in self._all():
            if (row.generation or 0) <= generation:
                return row if row.generation == generation else None
            self._read.popleft()
        return None

    def down_to(self, epoch: Epoch | None) -> list[VersionRow]:
        """Return what comes next, down to the first version of an epoch: whatever follows is not above that one."""
        found: list[VersionRow] = []
        for row in islice(self._all(), ROWS_AHEAD):
            found.append(row)
            if epoch is not None and row.ref.slot.epoch.rank >= epoch.rank:
                break
        return found

    def _all(self) -> Iterator[VersionRow]:
        yield from list(self._read)
        for row in self._rows:
            self._read.append(row)
            yield row


def _last_written(rows: Sequence[VersionRow]) -> VersionRow | None:
    """Return the newest one of the latest epoch."""
    return max(rows, key=lambda row: (row.ref.slot.epoch.rank, row.generation or 0, row.ref.slot.rank), default=None)
