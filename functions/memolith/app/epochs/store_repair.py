"""Epoch reconciliation of a whole store: before its new home takes writes, and of every row once more, in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.epochs.stragglers import Stragglers
from memolith.app.index.epoch_rows import EpochRows, RestoredRows
from memolith.app.kernel.batching import batches
from memolith.app.kernel.listing import row_pages
from memolith.app.kernel.region import Region, View
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.core.epochs import current_epoch, has_snapshot, homes_of
from memolith.core.log_position import LogKey, LogRef
from memolith.core.object_keys import parsed_key
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import LATE_PREFIX, LogRow, MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Query

ROWS_PER_QUERY = 500
ROWS_PER_READ = 100
READS_AT_ONCE = 32
VERSION_PREFIX = "memver_"
"""What the sort keys of the history begin with, in the table of versions; divergent versions come before."""

_RowT = TypeVar("_RowT", MemoryRow, LogRow, VersionRow)


class StoreRepair:
    """Repairs all rows of a store in one region."""

    def __init__(
        self, region: Region, snapshots: EpochSnapshots, rows: EpochRows, stragglers: Stragglers, repair: EpochRepair
    ) -> None:
        self._region = region
        self._snapshots = snapshots
        self._rows = rows
        self._stragglers = stragglers
        self._repair = repair

    def repair_live_memories(self, view: View, store: StoreRow) -> None:
        """Bring the rows of each memory that is live, by them or by the snapshot, in line with it, before its store
        takes writes here.

        The writer repairs the row that it reads of a path; whether an ancestor or a descendant is a memory it reads
        from rows alone, and so does who reads the memory. A query for five hundred rows, side by side; for each that is
        behind the snapshot a HEAD, a read and a transaction, and what `EpochRepair.memory` costs for each that is not
        as it should be otherwise. Repeatable. Tables that are being rebuilt are repaired at the end of that.

        Raises:
            Unavailable, OutcomeUnknown: repeat it.
        """
        if len(store.epochs) == 1 or not view.complete:
            return
        places = self._snapshots.places(store)
        parts = list(batches(sorted(places), ROWS_PER_QUERY)) or [[]]
        lasts = [part[-1] for part in parts[:-1]]
        tasks = [
            partial(self._repair_range, view, store, places, part, after, last)
            for part, after, last in zip(parts, [None, *lasts], [*lasts, None], strict=True)
        ]
        for some in batches(tasks, READS_AT_ONCE):
            self._region.parallel.run(some)

    def _repair_range(
        self,
        view: View,
        store: StoreRow,
        places: Mapping[str, LogRef],
        part: Sequence[str],
        after: str | None,
        last: str | None,
    ) -> None:
        """Repair every row after `after`, up to `last`, and those of `part`, the snapshot's there, that have none.

        A row may show a memory that the snapshot has not: its deletion is in the bucket, and the event of that is yet
        to come.
        """
        unknown = set(part)
        for rows in self._pages(view, "memories", store.store_id, MemoryRow, after):
            for row in rows:
                if last is None or row.memory_id <= last:
                    unknown.discard(row.memory_id)
                    self._repair_memory(view, store, row)
            if last is not None and rows[-1].memory_id >= last:
                break
        for memory_id in sorted(unknown):
            self._repair.restore(view, store, memory_id, None, places[memory_id])

    def _repair_memory(self, view: View, store: StoreRow, row: MemoryRow) -> None:
        place = self._snapshots.place(store, row.memory_id)
        if self._repair.is_behind(row, place):
            self._repair.restore(view, store, row.memory_id, row, place)
        else:
            self._repair.memory(view, store, row)

    def repair_all(
        self, view: View, store: StoreRow, project_again: Callable[[str], object], after: str | None = None
    ) -> Iterator[str]:
        """Repair every row of a store, and have `project_again` look at every straggler that this bucket has.

        Yields, page after page, the place to go on `after` if it stops there, also once a region was removed. In all a
        LIST for a thousand objects of the store's logs, a query for five hundred rows, versions too, a read for a
        hundred places of the snapshot, a HEAD and a transaction for each row that is repaired. Repeatable; it changes
        nothing where nothing is late.

        Raises:
            Unavailable, OutcomeUnknown: repeat it, or go on after the last place.
        """
        if len(store.epochs) == 1 or not has_snapshot(store):
            return
        parts: dict[str, Callable[[str | None], Iterator[str]]] = {
            **{
                f"log/{region}": partial(self._project_stragglers, store, project_again, region)
                for region in sorted({*self._region.origins, *homes_of(store)})
            },
            "apart": partial(self._repair_divergent, view, store, project_again),
            "memories": partial(self._repair_memories, view, store),
            "places": partial(self._repair_places, view, store),
            "logs": partial(self._repair_logs, view, store),
            "tails": partial(self._repair_tails, view, store),
            "versions": partial(self._repair_versions, view, store, project_again),
        }
        begun, _, place = (after or "").partition(" ")
        names = list(parts)
        for name in names[names.index(begun) if begun in names else 0 :]:
            if name != begun:
                yield name
                place = ""
            for reached in parts[name](place or None):
                yield f"{name} {reached}"

    def _project_stragglers(
        self, store: StoreRow, project_again: Callable[[str], object], region: str, after: str | None
    ) -> Iterator[str]:
        while True:
            prefix = f"{region}/log/{store.store_id}/"
            page = self._region.objects.list(prefix, after)
            for text in page.keys:
                key = parsed_key(text)
                if isinstance(key, LogKey) and self._snapshots.is_straggler(store, key.path_hash, key.slot):
                    project_again(text)
            after = page.next_after
            if after is None:
                return
            yield after

    def _repair_divergent(
        self, view: View, store: StoreRow, project_again: Callable[[str], object], after: str | None
    ) -> Iterator[str]:
        """Project again versions that are divergent only by the snapshot of a home that is not accepted."""
        for rows in self._pages(view, "versions", store.store_id, VersionRow, after, LATE_PREFIX):
            for row in rows:
                at = row.ref
                if not self._snapshots.is_straggler(store, at.path_hash, at.slot):
                    project_again(str(at.key_in(store.store_id)))
            yield f"{LATE_PREFIX}{rows[-1].version_id}"

    def _repair_memories(self, view: View, store: StoreRow, after: str | None) -> Iterator[str]:
        for rows in self._pages(view, "memories", store.store_id, MemoryRow, after):
            for memory in rows:
                self._repair_memory(view, store, memory)
            yield rows[-1].memory_id

    def _repair_places(self, view: View, store: StoreRow, after: str | None) -> Iterator[str]:
        """Restore live memories of the snapshot that have no row."""
        places = self._snapshots.places(store)
        for unknown, reached in self._unknown(view, places, partial(MemoryRow.key, store.store_id), after):
            for memory_id in unknown:
                self._repair.restore(view, store, memory_id, None, places[memory_id])
            yield reached

    def _repair_logs(self, view: View, store: StoreRow, after: str | None) -> Iterator[str]:
        for rows in self._pages(view, "logs", store.store_id, LogRow, after):
            for log in rows:
                self._repair.log(view, store, log.path_hash, log)
            yield rows[-1].path_hash

    def _repair_tails(self, view: View, store: StoreRow, after: str | None) -> Iterator[str]:
        """Restore paths of the snapshot that have no row."""
        for unknown, reached in self._unknown(
            view, self._snapshots.tails(store), partial(LogRow.key, store.store_id), after
        ):
            for path_hash in unknown:
                self._repair.log(view, store, path_hash, None)
            yield reached

    def _repair_versions(
        self, view: View, store: StoreRow, project_again: Callable[[str], object], after: str | None
    ) -> Iterator[str]:
        """Move stragglers out of the history: one known from an answer may never have an object that says so.

        A rebuild may have projected what followed a rename before it met the record by which the rename counts though
        its end is lost: a version whose parent has no row is projected again.
        """
        for rows in self._pages(view, "versions", store.store_id, VersionRow, after, VERSION_PREFIX):
            for orphan in [] if view.complete else self._orphans(view, store, rows):
                project_again(str(orphan.ref.key_in(store.store_id)))
            stragglers = self._stragglers.among(view, store, rows)
            if stragglers:
                self._rows.restore(view, RestoredRows(store, stragglers=stragglers))
            yield rows[-1].version_id

    def _orphans(self, view: View, store: StoreRow, rows: Sequence[VersionRow]) -> list[VersionRow]:
        """List those that follow another entry of a closed epoch's log, and whose parent has no row.

        A read for a hundred parents; the history has no row of one that is divergent, either.
        """
        followers = [
            row
            for row in rows
            if row.position is not None
            and row.parent_version_id is not None
            and row.ref.slot.preceding is not None
            and row.ref.slot.epoch != current_epoch(store)
        ]
        parents = {row.parent_version_id or "" for row in followers} - {row.version_id for row in rows}
        key_of = partial(VersionRow.key, store.store_id)
        unknown = {parent for some, _ in self._unknown(view, parents, key_of, None) for parent in some}
        return [row for row in followers if row.parent_version_id in unknown]

    def _unknown(
        self, view: View, names: Iterable[str], key_of: Callable[[str], RowKey], after: str | None
    ) -> Iterator[tuple[list[str], str]]:
        """Yield those after `after` that have no row, in order, and the last name of each read of many."""
        for some in batches(sorted(name for name in names if after is None or name > after), ROWS_PER_READ):
            rows = self._region.read(view.index, [key_of(name) for name in some])
            yield [name for name in some if key_of(name) not in rows], some[-1]

    def _pages(
        self, view: View, table: str, store_id: str, kind: type[_RowT], after: str | None, prefix: str = ""
    ) -> Iterator[list[_RowT]]:
        query = Query(table, store_id, prefix=prefix, after=after, limit=ROWS_PER_QUERY)
        for page in row_pages(view.index, query):
            yield [kind.from_attributes(found.attributes) for found in page]
