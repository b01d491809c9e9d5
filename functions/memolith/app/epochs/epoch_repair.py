"""Epoch reconciliation: after a store's home has changed, rows of older epochs are corrected by the epoch snapshot.

Entries are projected as they arrive, and a region may have projected what the new home never had. Once the record of
the new epoch is known, such rows are repaired: a head, or an occupant, that is a straggler gives way to the one that
the snapshot names, and its version becomes divergent (`core.rows.content.VersionRow.late_key`). Each repair is one
transaction on what it read, and may be repeated. A caller that decides by a row of an older epoch has it repaired
first; `store_repair` repairs the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from memolith.app.epochs.stragglers import Stragglers
from memolith.app.index.epoch_rows import EpochRows, RestoredRows
from memolith.app.kernel.region import Region, View
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.core import fold
from memolith.core.epochs import current_epoch, has_snapshot
from memolith.core.errors import Unavailable
from memolith.core.log_position import Epoch, LogKey, LogRef, Slot
from memolith.core.objects.entry import Entry, Operation
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import LogRow, MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow


class EpochRepair:
    """Repairs rows of one region, each by itself."""

    def __init__(
        self, region: Region, snapshots: EpochSnapshots, logs: LogReader, rows: EpochRows, stragglers: Stragglers
    ) -> None:
        self._region = region
        self._snapshots = snapshots
        self._logs = logs
        self._rows = rows
        self._stragglers = stragglers

    def memory(self, view: View, store: StoreRow, row: MemoryRow) -> bool:
        """Repair a head that is late, or no head by the snapshot; return whether it was: the right one, or none,
        replaces it.

        No call for a row of the present epoch. Otherwise a GET of a shard, unless it is known; to repair the row a
        HEAD, a query and a transaction.

        Raises:
            Unavailable, OutcomeUnknown: it could not be checked, or not be repaired.
        """
        slot = Slot.parse(row.slot)
        if len(store.epochs) == 1 or slot.epoch == current_epoch(store) or not has_snapshot(store):
            return False
        if slot.epoch.rank > current_epoch(store).rank:
            return False
        place = self._snapshots.place(store, row.memory_id)
        late = self._snapshots.is_straggler(store, row.path_hash, slot)
        if place is None and row.gone and not late:
            return False
        if not late and (place == LogRef(row.path_hash, slot) or self.is_behind(row, place)):
            return False
        self.restore(view, store, row.memory_id, row, place)
        return True

    def is_behind(self, row: MemoryRow, place: LogRef | None) -> bool:
        """Tell whether the row is an earlier state of the same memory at the same path: the log leads on from it."""
        return place is not None and place.path_hash == row.path_hash and str(place.slot) > row.slot

    def is_late(self, view: View, store: StoreRow, row: VersionRow) -> bool:
        """Tell whether a version stands in the history by a position that does not count, until it is repaired.

        A home that was taken over may have put it; its event came before the record that names the snapshot. Costs and
        raises as `Stragglers.is_straggler`.
        """
        return self._stragglers.is_straggler(view, store, row)

    def log(self, view: View, store: StoreRow, path_hash: str, row: LogRow | None) -> bool:
        """Repair a path's row that disagrees with the snapshot; return whether it did. Costs and raises as `memory`."""
        if len(store.epochs) == 1 or not has_snapshot(store):
            return False
        present = str(current_epoch(store))
        facts = [] if row is None else [row.arrived, row.vacated, row.voided]
        older = [Slot.parse(fact) for fact in facts if fact is not None and not fold.is_since(fact, present)]
        late = any(self._snapshots.is_straggler(store, path_hash, slot) for slot in older)
        if row is not None and not late and any(fact and fold.is_since(fact, present) for fact in facts[:2]):
            return False
        tail, resident = self._snapshots.tail(store, path_hash), self._snapshots.resident(store, path_hash)
        if not late and fold.occupant_of(row) == resident and self._knows(store, row, tail, resident):
            return False
        restored = RestoredRows(store)
        occupant = None if row is None else fold.occupant_of(row)
        for memory_id in {occupant, resident} - {None}:
            self._note_path(view, restored, path_hash, memory_id or "")
        self._add_log(store, restored, path_hash)
        return self._rows.restore(view, restored)

    def _knows(self, store: StoreRow, row: LogRow | None, tail: Slot | None, resident: str | None) -> bool:
        """Tell whether a path's row knows what the snapshot says is taken there, above the head of its occupant.

        A row that another snapshot of the same epoch left behind, one that does not count, may lack an abort.
        """
        if row is None or tail is None:
            return tail is None
        place = None if resident is None else self._snapshots.place(store, resident)
        known = fold.tail_of(row)
        return (place is not None and tail <= place.slot) or (known is not None and Slot.parse(known).rank >= tail.rank)

    def _note_path(self, view: View, restored: RestoredRows, path_hash: str, memory_id: str) -> None:
        key = MemoryRow.key(restored.store_id, memory_id)
        attributes = self._region.read(view.index, [key]).get(key)
        if attributes is not None and attributes.get("path") is not None and attributes["path_hash"] == path_hash:
            restored.paths[attributes["path"]] = path_hash

    def restore(
        self, view: View, store: StoreRow, memory_id: str, before: MemoryRow | None, place: LogRef | None
    ) -> None:
        """Restore the memory's row to the snapshot, the rows of both paths, and its late versions as divergent.

        The version that the snapshot names is in the history then, though its own event has not come: who reads or
        updates the memory is told of it.
        """
        restored = RestoredRows(store)
        entry = None if place is None else self._entry(restored, place)
        after = None if entry is None else fold.join_memory(None, entry)
        restored.memories[memory_id] = (None if before is None else before.ref, entry)
        for row in (before, after):
            if row is not None:
                self._add_log(store, restored, row.path_hash)
                if row.path is not None:
                    restored.paths[row.path] = row.path_hash
        restored.stragglers += self._stragglers.of_memory(view, store, memory_id, before)
        self._rows.restore(view, restored)

    def _add_log(self, store: StoreRow, restored: RestoredRows, path_hash: str) -> None:
        """Add the path's row as the snapshot has it, and its occupant's row, if it is missing."""
        if path_hash in restored.logs:
            return
        tail, resident = self._snapshots.tail(store, path_hash), self._snapshots.resident(store, path_hash)
        row = LogRow(store_id=store.store_id, path_hash=path_hash, vacated=None if tail is None else str(tail))
        place = None if resident is None else self._snapshots.place(store, resident)
        entry = None if place is None else self._entry(restored, place)
        if entry is not None and resident is not None and place is not None:
            above = None if tail is None or tail <= place.slot else str(tail)
            row = LogRow(
                store_id=store.store_id,
                path_hash=path_hash,
                arrived=str(entry.arrived),
                occupant=resident,
                voided=above,
            )
            restored.memories.setdefault(resident, (None, entry))
            if entry.path is not None:
                restored.paths[entry.path] = path_hash
        restored.logs[path_hash] = row

    def _entry(self, restored: RestoredRows, place: LogRef) -> Entry:
        """Read the entry at a place that the snapshot names: here, or else in the bucket of the home that wrote it.

        What was read there is noted: its row says that it is still to come. So is the end of a rename, whichever
        bucket its first half was read in: that costs a HEAD, and another where the end has not arrived here.
        """
        key = place.key_in(restored.store_id)
        home = current_epoch(restored.store).home
        entry = self._logs.entry(key)
        if entry is None and home != self._region.name:
            entry = self._logs.entry(key, home)
            restored.elsewhere.add(key)
        if entry is None:
            raise Unavailable("what the store's epoch began with has not arrived here yet; try again")
        source = None if home == self._region.name else entry.source
        end = None if source is None else source.key_in(restored.store_id)
        departure = None if end is None or self._logs.entry(end) is not None else self._logs.entry(end, home)
        if departure is not None and departure.ends(entry):
            restored.elsewhere.add(departure.key)
        return entry

    def mark_straggler(self, view: View, store: StoreRow, version: Entry, departure: Entry | None) -> None:
        """Mark a straggler's version as divergent, and correct a row that had it for a head. Repeatable.

        `departure` is the end of the rename that made it, if one did.

        Raises:
            Unavailable, OutcomeUnknown: not all of it is done.
        """
        if not self._stragglers.counts_elsewhere(view, store, version):
            is_straggler = partial(self._stragglers.is_straggler, view, store)
            self._rows.mark_divergent(view, store, version, is_straggler, departure)
        self._repair_rows(view, store, version, *self._rows_of(view, store, version))

    def replays(self, store: StoreRow | None, keys: Sequence[LogKey], version_id: str) -> list[LogKey]:
        """Return where a version's text is besides the positions `keys`: of several homes' replays, rows name one.

        No call where the store has had one epoch; otherwise what `Stragglers.of_version` costs. Raises as that.
        """
        if store is None or len({*store.epochs, *(str(key.slot.epoch) for key in keys)}) == 1:
            return []
        found = [self._stragglers.of_version(store, hash, version_id) for hash in {key.path_hash for key in keys}]
        return sorted({key for some in found for key in some} - set(keys), key=str)

    def is_over(self, store: StoreRow, resolved: Sequence[ResolvedEntry]) -> bool:
        """Tell whether entries of an older epoch show as live what the snapshot knows to be gone.

        Their event may come before the deletion's. The rows of the memory and its path would show it again until they
        were repaired. At most a GET for each. Raises Unavailable.
        """
        versions = [one.entry for one in resolved if one.is_version]
        return bool(versions) and all(
            fold.is_live(fold.join_memory(None, entry)) and self.had_ended(store, entry.slot.epoch, entry.memory_id)
            for entry in versions
        )

    def had_ended(self, store: StoreRow, epoch: Epoch, memory_id: str) -> bool:
        """Tell whether a memory of an older epoch had no place as the present one began: what it was then is no head.

        No call for the present epoch; otherwise at most a GET. Raises Unavailable.
        """
        is_older = has_snapshot(store) and epoch.rank < current_epoch(store).rank
        return is_older and self._snapshots.place(store, memory_id) is None

    def versions(self, view: View, store: StoreRow, resolved: Sequence[ResolvedEntry]) -> None:
        """Repair rows that show what had ended, or does not count, as the store's present epoch began.

        A read, and what `memory` and `log` cost, for each version. Repeatable.
        """
        for version in (one.entry for one in resolved if one.is_version):
            self._repair_rows(view, store, version, *self._rows_of(view, store, version))

    def mark_counted(
        self, view: View, store: StoreRow, resolved: Sequence[ResolvedEntry], elsewhere: Collection[LogKey]
    ) -> None:
        """Return versions of an older epoch that count to the history, in case a late copy of them came first.

        They may be what the snapshot knows to be over, without a later entry here to say so: the rows are repaired;
        those of a rebuild at its end. One whose memory was begun anew in a later epoch is divergent: its head, read
        after the version was projected, shows it. `elsewhere` are entries that were read in another region's bucket:
        the rows go on saying that they are still to come. Two reads. Raises as `mark_straggler`.
        """
        for version in (one.entry for one in resolved if one.is_version):
            if not view.complete:
                self._rows.return_to_history(view, store, version, elsewhere=elsewhere)
                continue
            memory, log = self._rows_of(view, store, version)
            head = None if memory is None else Slot.parse(memory.slot).epoch
            if self._logs.is_passed_over(store, version.ref, version.memory_id, version.generation, head):
                self._rows.mark_divergent(view, store, version)
            else:
                self._rows.return_to_history(view, store, version, elsewhere=elsewhere)
            self._repair_rows(view, store, version, memory, log)

    def mark_passed_over(self, view: View, store: StoreRow, first: Entry) -> None:
        """Make the older versions of a memory divergent that `first` begins anew in the present epoch.

        The failover did not find them, and `first` was adopted, or imported, before they came. A copy of one
        that was handled while its original still counted left no row: it is looked for. No call for any other entry,
        and none in a store's first epoch; otherwise a query, and for what is found what `Stragglers.copies` costs.
        Raises as `mark_straggler`.
        """
        again = first.operation is Operation.CREATED and (first.adopts is not None or first.imported)
        if not again or len(store.epochs) == 1 or not has_snapshot(store):
            return
        stragglers = self._stragglers.of_memory(view, store, first.memory_id, None)
        if not stragglers:
            return
        is_straggler = partial(self._stragglers.is_straggler, view, store)
        for copy in self._stragglers.copies(store, stragglers):  # first: who repeats this finds the original again
            self._rows.mark_divergent(view, store, copy, is_straggler)
        self._rows.restore(view, RestoredRows(store, stragglers=stragglers))

    def _rows_of(self, view: View, store: StoreRow, version: Entry) -> tuple[MemoryRow | None, LogRow | None]:
        memory_key = MemoryRow.key(store.store_id, version.memory_id)
        log_key = LogRow.key(store.store_id, version.key.path_hash)
        rows = self._region.read(view.index, [memory_key, log_key])
        memory = MemoryRow.from_attributes(rows[memory_key]) if memory_key in rows else None
        return memory, LogRow.from_attributes(rows[log_key]) if log_key in rows else None

    def _repair_rows(
        self, view: View, store: StoreRow, version: Entry, memory: MemoryRow | None, log: LogRow | None
    ) -> None:
        if memory is not None:
            self.memory(view, store, memory)
        if log is not None:
            self.log(view, store, version.key.path_hash, log)
