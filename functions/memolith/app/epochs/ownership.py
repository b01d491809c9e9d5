"""Which region is a store's home, and taking up that role with the first record of a new term."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from memolith.app.epochs.store_repair import StoreRepair
from memolith.app.index.store_projector import StoreProjector
from memolith.app.kernel.region import Region, View
from memolith.core.epochs import current_epoch
from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from memolith.core.limits import WRITE_ATTEMPTS
from memolith.core.log_position import Epoch, Slot
from memolith.core.objects.store_record import StoreRecord, StoreState, parse_epoch
from memolith.core.paths import path_hash
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import LogRow, MemoryRow
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import MOVER, PlacedRecord, to_record, to_row


class Ownership(StoreProjector):
    """Finds, puts and folds the records of stores, and takes up the role of a store's home."""

    def __init__(self, region: Region, repair: StoreRepair) -> None:
        super().__init__(region)
        self._repair = repair

    def change(
        self, view: View, row: StoreRow, change: Callable[[StoreRow], StoreRecord | None], own: str | None = None
    ) -> StoreRow:
        """Put the record that `change` makes of the newest one; None from it means that nothing is to change.

        A no-op, like a refusal that `change` raises, is decided on a record whose next slot was found free. `own` is
        the version_id of a change that another copy of the call may have put meanwhile: `change` is shown that one.
        """
        for attempt in range(WRITE_ATTEMPTS):
            newer = self.newer(row, own=own)
            if newer is not None:
                self.fold(view, newer)
                row = to_row(newer)
            record = change(row)
            if record is None:
                return row
            placed = PlacedRecord(Slot.parse(row.slot).following, record)
            if (name := self.put(placed, exact=True)) is not None:
                self.fold_own(view, placed, name)
                return to_row(placed)
            self._region.back_off(attempt)
        raise Busy("others kept writing here; try again")

    def learn(self, view: View, row: StoreRow, epochs: Iterable[Epoch]) -> None:
        """Fold the record of the latest of `epochs`, which the home's answer names, if that is later than the row's.

        Its own copy may come after an older one's, by which the next call would go to a home that was taken over. No
        call where no epoch is later; otherwise a LIST for each region and a GET, at the home of the latest. Where it
        does not answer, nothing is learned.
        """
        with suppress(Unavailable, OutcomeUnknown):
            self.follow(view, row, epochs)

    def written_by(self, view: View, row: StoreRow, memory_id: str, path: str | None = None) -> StoreRow:
        """Return the record of the home of which this region has a version of the memory, or knows who came to `path`
        or left it, if that is later than the row's.

        Such a version may come before its home's record. A home that was taken over, and does not know it, would answer
        by what is older than what this region has shown. No call where no epoch is later and `view` has asked for the
        path's row; an index read where it has not, and another region is the home; otherwise what `learn` costs.

        Raises:
            Unavailable, OutcomeUnknown: the later home does not answer, or its record could not be projected.
        """
        shown = epochs_in(view.rows, MemoryRow.key(row.store_id, memory_id))
        return self.follow(view, row, [*shown, *self._came_and_left(view, row, path)])

    def _came_and_left(self, view: View, row: StoreRow, path: str | None) -> list[Epoch]:
        """Return the epochs in which a memory came to a path or left it last, as this region knows it."""
        if path is None or not row.salt:
            return []
        key = LogRow.key(row.store_id, path_hash(bytes.fromhex(row.salt), path))
        rows = view.rows
        if key not in view.asked:
            rows = {} if row.home == self._region.name else self._region.read(view.index, [key])
        if key not in rows:
            return []
        log = LogRow.from_attributes(rows[key])
        return [Slot.parse(slot).epoch for slot in (log.arrived, log.vacated) if slot is not None]

    def follow(self, view: View, row: StoreRow, epochs: Iterable[Epoch]) -> StoreRow:
        """Fold and return the newest record at the home of the latest of `epochs`; `row`, without a call, where none is
        later. Raises as `written_by`.
        """
        known = current_epoch(row)
        latest = max((known, *epochs), key=lambda epoch: epoch.rank)
        if latest.rank <= known.rank:
            return row
        newest = self.newest(row.store_id, latest.home)
        return row if newest is None else self.fold(view, newest)

    def at_home(self, view: View, row: StoreRow) -> StoreRow:
        """Return the record under which this region is the store's home, if it is; `row` where no record says so.

        The old home's last record is enough: the first of the new home follows from it, and any caller there may put
        it. No call where `row` is the home's own; a GET from the home that it names where it is another's.

        Raises:
            Unavailable, OutcomeUnknown: the first record could not be put, or not be projected.
        """
        if row.home != self._region.name:
            try:
                moved = self.newer(row, row.home)
            except Unavailable:
                return row
            if moved is None or moved.record.home != self._region.name:
                return row
            row = self.fold(view, moved)
        if row.home == self._region.name and row.state == StoreState.MOVED:
            return self.activate(view, row)
        return row

    def activate(self, view: View, row: StoreRow) -> StoreRow:
        """Put and project the first record of this region's term, which `row`, the old home's last, names. Repeatable.

        What the term began with is in the tables then. Raises as `at_home`.
        """
        self._repair.repair_live_memories(view, row)
        epoch = parse_epoch(row.epochs[-1])
        record = replace(to_record(row, MOVER).begun(), follows=row.slot)
        placed = PlacedRecord(Slot(epoch, 1), record)
        name = self.put(placed)
        if name is None:
            raise Unavailable("the store's new home has another record; try again")
        self.fold_own(view, placed, name)
        return to_row(placed)


def epochs_in(rows: Mapping[RowKey, Attributes], memory: RowKey) -> list[Epoch]:
    """Return the epoch of the version that a memory's row shows; none where it is not among `rows`."""
    return [MemoryRow.from_attributes(rows[memory]).ref.slot.epoch] if memory in rows else []
