"""A memory's, or a store's, versions in order, newest first, as this region's index has them.

The two orders of the `versions` table are global indexes, which may lag behind one's own write. A history of one
memory is therefore checked for gaps against the head's generation, and a history of the store takes its newest rows
from the table itself, whose sort key, a ULID, is nearly in order of time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import VersionFilter
from memolith.core import ids
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.tables import BY_MEMORY, BY_TIME
from memolith.ports.index import Query

INDEX_LAG_US = 60_000_000
"""How old a version is before the global indexes are trusted to have it."""

RECENT_PER_QUERY = 1_000
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

        What the global index lacks is found by each version's parent; beyond a version that has not arrived here, among
        the newest rows of the table.
        """
        if after is not None:
            generation_key, _, parent_id = after.partition("#")
            expected, version_id = int(generation_key) - 1, parent_id or None
        elif head is not None:
            expected, version_id = head.generation, head.version_id
        else:
            expected, version_id = PAST_ALL_GENERATIONS, None
        indexed = self._indexed(view, store_id, memory_id, expected)
        found = next(indexed, None)
        recent: dict[int, VersionRow] | None = None
        while expected > 0:
            while found is not None and (found.generation or 0) > expected:
                found = next(indexed, None)
            row = found if found is not None and found.generation == expected else None
            if version_id is not None and (row is None or row.version_id != version_id):
                # Of two versions of one generation, one came late in a failover; the index may know that one alone.
                row = self._by_id(view, store_id, version_id) or row
            if row is None:
                recent = self._recent_of(view, store_id, memory_id) if recent is None else recent
                known = [generation for generation in recent if generation <= expected]
                expected = max([*known, 0 if found is None else found.generation or 0])
                there = [one for one in (found, recent.get(expected)) if one is not None]
                row = _last_written([one for one in there if one.generation == expected])
            if row is not None:
                # A version counts at another generation once it has been replayed: go on from where its own row has it.
                expected, version_id = row.generation or expected, row.parent_version_id
                yield Step(row, f"{expected:010d}#{version_id or ''}")
            expected -= 1

    def _recent_of(self, view: View, store_id: str, memory_id: str) -> dict[int, VersionRow]:
        by_generation = defaultdict[int, list[VersionRow]](list)
        for row in self._recent(view, store_id, PAST_ALL):
            if row.memory_id == memory_id and row.generation is not None:
                by_generation[row.generation].append(row)
        last = {generation: _last_written(rows) for generation, rows in by_generation.items()}
        return {generation: row for generation, row in last.items() if row is not None}

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


def _last_written(rows: Sequence[VersionRow]) -> VersionRow | None:
    """Return the one of the latest epoch: of two versions of one generation, the other one came late in a failover."""
    return max(rows, key=lambda row: row.ref.slot.rank, default=None)
