"""Rows and the cut: after a store's home has changed, what the tables say of older epochs is what the cut says.

Entries are folded as they arrive, and a region may have folded what the new home never had. Once the record of the new
epoch is known, such rows are judged: a head, or an occupant, that came late gives way to the one that the cut names,
and the late version stands apart (`core.rows.content.VersionRow.late_key`). Each judgement is one transaction on what
it read, and may be repeated. A caller that decides by a row of an older epoch repairs it first; a sweep repairs the
rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from memolith.app.index.projector import Projector, RestoredRows
from memolith.app.kernel.batching import batches
from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.region import Region, View
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.core import fold
from memolith.core.epochs import current_epoch, has_cut
from memolith.core.errors import Unavailable
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.object_keys import parse_key
from memolith.core.objects.entry import Entry
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import LATE_PREFIX, LogRow, MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.settled import ResolvedEntry
from memolith.core.tables import BY_MEMORY
from memolith.ports.index import Query

ROWS_PER_QUERY = 500
ROWS_PER_READ = 100
READS_AT_ONCE = 32
LATE_PER_TRANSACTION = 20
VERSION_PREFIX = "memver_"
"""What the sort keys of the history begin with, in the table of versions; those that stand apart come before."""

_RowT = TypeVar("_RowT", MemoryRow, LogRow, VersionRow)


class EpochRepair:
    """Judges the rows of one region."""

    def __init__(
        self,
        region: Region,
        snapshots: EpochSnapshots | None = None,
        logs: LogReader | None = None,
        projector: Projector | None = None,
    ) -> None:
        self._region = region
        self._cuts = snapshots or EpochSnapshots(region)
        self._logs = logs or LogReader(region, self._cuts)
        self._folder = projector or Projector(region)

    # ---- one row ------------------------------------------------------------------------------------------------

    def memory(self, view: View, store: StoreRow, row: MemoryRow) -> bool:
        """Repair a head that is late, or no head by the snapshot; return whether it was: the right one, or none,
        replaces it.

        No call for a row of the present epoch. Otherwise a GET of a shard, unless it is known; to repair the row a
        HEAD, a query and a transaction.

        Raises:
            Unavailable, OutcomeUnknown: it could not be checked, or not be repaired.
        """
        slot = Slot.parse(row.slot)
        if len(store.epochs) == 1 or slot.epoch == current_epoch(store) or not has_cut(store):
            return False
        if slot.epoch.rank > current_epoch(store).rank:
            return False
        place = self._cuts.place(store, row.memory_id)
        late = self._cuts.is_late(store, row.path_hash, slot)
        if not late and (row.gone or place == LogRef(row.path_hash, slot) or self._is_behind(row, place)):
            return False
        self._restore(view, store, row.memory_id, row, place)
        return True

    def _is_behind(self, row: MemoryRow, place: LogRef | None) -> bool:
        """Tell whether the row is an earlier state of the same memory at the same path: the log leads on from it."""
        return place is not None and place.path_hash == row.path_hash and str(place.slot) > row.slot

    def log(self, view: View, store: StoreRow, path_hash: str, row: LogRow | None) -> bool:
        """Repair a path's row that disagrees with the snapshot; return whether it did. Costs and raises as `memory`."""
        if len(store.epochs) == 1 or not has_cut(store):
            return False
        present = str(current_epoch(store))
        facts = [] if row is None else [row.arrived, row.vacated, row.voided]
        older = [Slot.parse(fact) for fact in facts if fact is not None and not fold.is_since(fact, present)]
        late = any(self._cuts.is_late(store, path_hash, slot) for slot in older)
        if row is not None and not late and any(fact and fold.is_since(fact, present) for fact in facts[:2]):
            return False
        tail, resident = self._cuts.tail(store, path_hash), self._cuts.resident(store, path_hash)
        if not late and fold.occupant_of(row) == resident and self._knows(store, row, tail, resident):
            return False
        restored = RestoredRows(store.store_id, present)
        occupant = None if row is None else fold.occupant_of(row)
        for memory_id in {occupant, resident} - {None}:
            self._note_path(view, restored, path_hash, memory_id or "")
        self._add_log(store, restored, path_hash)
        return self._folder.restore(view, restored)

    def _knows(self, store: StoreRow, row: LogRow | None, tail: Slot | None, resident: str | None) -> bool:
        """Tell whether a path's row knows what the snapshot says is taken there, above the head of its occupant.

        A row that another snapshot of the same epoch left behind, one that does not count, may lack an abort.
        """
        if row is None or tail is None:
            return tail is None
        place = None if resident is None else self._cuts.place(store, resident)
        known = fold.tail_of(row)
        return (place is not None and tail <= place.slot) or (known is not None and Slot.parse(known).rank >= tail.rank)

    def _note_path(self, view: View, restored: RestoredRows, path_hash: str, memory_id: str) -> None:
        key = MemoryRow.key(restored.store_id, memory_id)
        attributes = self._region.read(view.index, [key]).get(key)
        if attributes is not None and attributes.get("path") is not None and attributes["path_hash"] == path_hash:
            restored.paths[attributes["path"]] = path_hash

    def _restore(
        self, view: View, store: StoreRow, memory_id: str, before: MemoryRow | None, place: LogRef | None
    ) -> None:
        """Restore the memory's row to the snapshot, the rows of both paths, and its late versions as divergent."""
        restored = RestoredRows(store.store_id, str(current_epoch(store)))
        entry = None if place is None else self._entry(store, place)
        after = None if entry is None else fold.join_memory(None, entry)
        restored.memories[memory_id] = (None if before is None else before.slot, after)
        for row in (before, after):
            if row is not None:
                self._add_log(store, restored, row.path_hash)
                if row.path is not None:
                    restored.paths[row.path] = row.path_hash
        restored.late += self._late_versions(view, store, memory_id, before)
        self._folder.restore(view, restored)

    def _add_log(self, store: StoreRow, restored: RestoredRows, path_hash: str) -> None:
        """Add the path's row as the snapshot has it, and its occupant's row, if it is missing."""
        if path_hash in restored.logs:
            return
        tail, resident = self._cuts.tail(store, path_hash), self._cuts.resident(store, path_hash)
        row = LogRow(store_id=store.store_id, path_hash=path_hash, vacated=None if tail is None else str(tail))
        place = None if resident is None else self._cuts.place(store, resident)
        entry = None if place is None else self._entry(store, place)
        if entry is not None and resident is not None and place is not None:
            above = None if tail is None or tail <= place.slot else str(tail)
            row = LogRow(
                store_id=store.store_id,
                path_hash=path_hash,
                arrived=str(entry.arrived),
                occupant=resident,
                voided=above,
            )
            restored.memories.setdefault(resident, (None, fold.join_memory(None, entry)))
            if entry.path is not None:
                restored.paths[entry.path] = path_hash
        restored.logs[path_hash] = row

    def _entry(self, store: StoreRow, place: LogRef) -> Entry:
        """Read the entry at a place that the snapshot names: here, or else in the bucket of the home that wrote it."""
        key = place.key_in(store.store_id)
        home = current_epoch(store).home
        entry = self._logs.entry(key) or (None if home == self._region.name else self._logs.entry(key, home))
        if entry is None:
            raise Unavailable("what the store's epoch began with has not arrived here yet; try again")
        return entry

    def _late_versions(self, view: View, store: StoreRow, memory_id: str, head: MemoryRow | None) -> list[VersionRow]:
        """List the memory's straggling versions: those of a global index, and from the table `head` and what it
        follows.

        The index may lag behind the newest, which are found by each version's parent. Neither may know one whose child
        has not arrived here; the sweep of the store finds it, which reads the table itself.
        """
        partition = f"{store.store_id}#{memory_id}"
        found = view.index.query(Query("versions", partition, index=BY_MEMORY.name, limit=1_000))
        rows = {one.key.sk: VersionRow.from_attributes(one.attributes) for one in found}
        version_id = None if head is None else head.version_id
        while version_id is not None and version_id not in rows:
            key = VersionRow.key(store.store_id, version_id)
            attributes = self._region.read(view.index, [key]).get(key)
            row = None if attributes is None else VersionRow.from_attributes(attributes)
            if row is None or row.memory_id != memory_id:
                break
            rows[version_id], version_id = row, row.parent_version_id
        return self._late_of(view, store, rows.values())

    def _late_of(self, view: View, store: StoreRow, rows: Iterable[VersionRow]) -> list[VersionRow]:
        """Return the stragglers that count nowhere else. A HEAD for each straggler."""
        positions = [(row, LogRef.parse(row.position)) for row in rows if row.position is not None]
        late = [(row, at) for row, at in positions if self._cuts.is_late(store, at.path_hash, at.slot)]
        return [row for row, at in late if not self._stands(view, store, self._logs.entry(at.key_in(store.store_id)))]

    def _stands(self, view: View, store: StoreRow, copy: Entry | None) -> bool:
        """Tell whether a version with a late copy counts at another position of its log; then its row says so.

        A home that lost its epoch may have replayed what the accepted one has too: from the old home itself, or as a
        replay of its own. No call for what is no copy; else a LIST a region, and a HEAD for each later entry.
        """
        if copy is None or copy.adopts is None:
            return False
        for key in self._later(store, copy, copy.adopts):
            entry = self._logs.entry(key)
            if entry is not None and entry.version_id == copy.version_id:
                self._folder.fold_where_it_stands(view, entry, instead_of=str(copy.ref))
                return True
        return False

    def _later(self, store: StoreRow, copy: Entry, origin: Slot) -> list[LogKey]:
        """Return what counts of a copy's log, from the epoch on in which its version was first."""
        hash = copy.key.path_hash
        places = [f"{region}/log/{store.store_id}/{hash}/" for region in self._region.regions]
        keys = [parse_key(text) for place in places for text in keys_under(self._region.objects, place)]
        logged = [key for key in keys if isinstance(key, LogKey) and key.slot.epoch.number >= origin.epoch.number]
        return sorted(
            (key for key in logged if not self._cuts.is_late(store, hash, key.slot)), key=lambda key: key.slot.rank
        )

    # ---- what a new home has to know ----------------------------------------------------------------------------

    def take_up(self, view: View, store: StoreRow) -> None:
        """Bring the rows of each live memory in line with the snapshot, before its store takes writes here.

        The writer repairs the row that it reads of a path; whether an ancestor or a descendant is a memory it reads
        from rows alone. A read for a hundred memories, side by side, and what `memory` costs for each that is not as it
        should be. Repeatable. Tables that are being rebuilt are repaired at the end of that.

        Raises:
            Unavailable, OutcomeUnknown: repeat it.
        """
        if len(store.epochs) == 1 or not view.complete:
            return
        places = self._cuts.places(store)
        tasks = [partial(self._take_up, view, store, places, some) for some in batches(sorted(places), ROWS_PER_READ)]
        for some in batches(tasks, READS_AT_ONCE):
            self._region.parallel.run(some)

    def _take_up(self, view: View, store: StoreRow, places: Mapping[str, LogRef], some: Sequence[str]) -> None:
        keys = {id: MemoryRow.key(store.store_id, id) for id in some}
        rows = self._region.read(view.index, list(keys.values()))
        for memory_id, key in keys.items():
            if key in rows:
                self.memory(view, store, MemoryRow.from_attributes(rows[key]))
            else:
                self._restore(view, store, memory_id, None, places[memory_id])

    # ---- a late entry -------------------------------------------------------------------------------------------

    def came_late(self, view: View, store: StoreRow, version: Entry) -> None:
        """Mark a straggler's version as divergent, and correct a row that had it for a head. Repeatable.

        Raises:
            Unavailable, OutcomeUnknown: not all of it is done.
        """
        if not self._stands(view, store, version):
            self._folder.fold_late(view, version)
        self._rows_of(view, store, version)

    def stands(self, view: View, store: StoreRow, settled: Sequence[ResolvedEntry]) -> None:
        """Return versions of an older epoch that count to the history, in case a late copy of them came first.

        They may be what the snapshot knows to be over, without a later entry here to say so: the rows are repaired;
        those of a rebuild at its end. Two reads. Raises as `came_late`.
        """
        for one in settled:
            if one.is_version:
                self._folder.fold_where_it_stands(view, one.entry)
                if view.complete:
                    self._rows_of(view, store, one.entry)

    def _rows_of(self, view: View, store: StoreRow, version: Entry) -> None:
        memory_key = MemoryRow.key(store.store_id, version.memory_id)
        log_key = LogRow.key(store.store_id, version.key.path_hash)
        rows = self._region.read(view.index, [memory_key, log_key])
        if memory_key in rows:
            self.memory(view, store, MemoryRow.from_attributes(rows[memory_key]))
        if log_key in rows:
            self.log(view, store, version.key.path_hash, LogRow.from_attributes(rows[log_key]))

    # ---- all of a store -----------------------------------------------------------------------------------------

    def sweep(
        self, view: View, store: StoreRow, fold_again: Callable[[str], object], after: str | None = None
    ) -> Iterator[str]:
        """Repair every row of a store, and have `fold_again` look at every straggler that this bucket has.

        Yields, page after page, the place to go on `after` if it stops there. In all a LIST for a thousand objects of
        the store's logs, a query for five hundred rows, versions too, a read for a hundred places of the snapshot, a
        HEAD and a transaction for each row that is repaired. Repeatable; it changes nothing where nothing is late.

        Raises:
            Unavailable, OutcomeUnknown: repeat it, or go on after the last place.
        """
        if len(store.epochs) == 1 or not has_cut(store):
            return
        parts: dict[str, Callable[[str | None], Iterator[str]]] = {
            **{region: partial(self._late_entries, store, fold_again, region) for region in self._region.regions},
            "apart": partial(self._sweep_apart, view, store, fold_again),
            "memories": partial(self._sweep_memories, view, store),
            "places": partial(self._sweep_places, view, store),
            "logs": partial(self._sweep_logs, view, store),
            "tails": partial(self._sweep_tails, view, store),
            "versions": partial(self._sweep_versions, view, store),
        }
        begun, _, place = (after or "").partition(" ")
        names = list(parts)
        for name in names[names.index(begun) if begun in names else 0 :]:
            if name != begun:
                yield name
                place = ""
            for reached in parts[name](place or None):
                yield f"{name} {reached}"

    def _late_entries(
        self, store: StoreRow, fold_again: Callable[[str], object], region: str, after: str | None
    ) -> Iterator[str]:
        while True:
            prefix = f"{region}/log/{store.store_id}/"
            page = self._region.objects.list(prefix, after)
            for text in page.keys:
                key = parse_key(text)
                if isinstance(key, LogKey) and self._cuts.is_late(store, key.path_hash, key.slot):
                    fold_again(text)
            after = page.next_after
            if after is None:
                return
            yield after

    def _sweep_apart(
        self, view: View, store: StoreRow, fold_again: Callable[[str], object], after: str | None
    ) -> Iterator[str]:
        """Project again versions that are divergent only by the snapshot of a home that is not accepted."""
        for rows in self._pages(view, "versions", store.store_id, VersionRow, after, LATE_PREFIX):
            for row in rows:
                at = LogRef.parse(row.position or "")
                if not self._cuts.is_late(store, at.path_hash, at.slot):
                    fold_again(str(at.key_in(store.store_id)))
            yield f"{LATE_PREFIX}{rows[-1].version_id}"

    def _sweep_memories(self, view: View, store: StoreRow, after: str | None) -> Iterator[str]:
        for rows in self._pages(view, "memories", store.store_id, MemoryRow, after):
            for memory in rows:
                self.memory(view, store, memory)
                place = self._cuts.place(store, memory.memory_id)
                if self._is_behind(memory, place):
                    self._restore(view, store, memory.memory_id, memory, place)
            yield rows[-1].memory_id

    def _sweep_places(self, view: View, store: StoreRow, after: str | None) -> Iterator[str]:
        """Restore live memories of the snapshot that have no row."""
        places = self._cuts.places(store)
        for unknown, reached in self._unknown(view, places, partial(MemoryRow.key, store.store_id), after):
            for memory_id in unknown:
                self._restore(view, store, memory_id, None, places[memory_id])
            yield reached

    def _sweep_logs(self, view: View, store: StoreRow, after: str | None) -> Iterator[str]:
        for rows in self._pages(view, "logs", store.store_id, LogRow, after):
            for log in rows:
                self.log(view, store, log.path_hash, log)
            yield rows[-1].path_hash

    def _sweep_tails(self, view: View, store: StoreRow, after: str | None) -> Iterator[str]:
        """Restore paths of the snapshot that have no row."""
        for unknown, reached in self._unknown(
            view, self._cuts.tails(store), partial(LogRow.key, store.store_id), after
        ):
            for path_hash in unknown:
                self.log(view, store, path_hash, None)
            yield reached

    def _sweep_versions(self, view: View, store: StoreRow, after: str | None) -> Iterator[str]:
        """Move stragglers out of the history: one known from an answer may never have an object that says so."""
        for rows in self._pages(view, "versions", store.store_id, VersionRow, after, VERSION_PREFIX):
            for late in batches(self._late_of(view, store, rows), LATE_PER_TRANSACTION):
                self._folder.restore(view, RestoredRows(store.store_id, str(current_epoch(store)), late=list(late)))
            yield rows[-1].version_id

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
        while True:
            query = Query(table, store_id, prefix=prefix, after=after, limit=ROWS_PER_QUERY)
            found = view.index.query(query)
            if found:
                yield [kind.from_attributes(one.attributes) for one in found]
            if len(found) < ROWS_PER_QUERY:
                return
            after = found[-1].sort_key
