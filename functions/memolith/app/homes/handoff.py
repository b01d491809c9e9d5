"""What a store's old home does while its home moves: it stops writing, waits, and commits the move.

    moving -> (no lease runs any more) -> moved {epoch, cut}   or   active: the mover has given up

All three are records in the old home's own log, and the next slot of that log is what decides: the first put has
decided for all. So a mover may die at any step, and another one takes its work over.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memolith.app.epochs.ownership import Ownership
from memolith.app.kernel.peer_messages import encode_placed
from memolith.app.kernel.region import Region, View
from memolith.core.errors import Busy, NotFound, Unavailable
from memolith.core.limits import DRAIN_S
from memolith.core.log_position import Slot
from memolith.core.objects.store_record import StoreRecord, StoreState
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import MOVER, PlacedRecord, to_record, to_row


class Handoff:
    """One region, as the old home of stores that move."""

    def __init__(self, region: Region, records: Ownership) -> None:
        self._region = region
        self._records = records

    def begin(self, store_id: str, to: str) -> dict[str, Any]:
        """Stop writing here, and wait until no lease is valid any more: five seconds. Return the present record.

        That is `moving`, or `moved` where another caller has committed a transfer already; or, where the home is
        elsewhere, the one that says which region it is. Repeatable.

        Raises:
            NotFound, Unavailable, OutcomeUnknown. Busy: the store is being moved to another region.
        """
        view, row = self._newest(store_id)
        if row.state == StoreState.MOVED or row.home != self._region.name:
            return encode_placed(self._placed(row))
        version_id = self._region.new_id("memver")

        def moving(now: StoreRow) -> StoreRecord | None:
            _require_present(now)
            if now.state == StoreState.MOVING and now.moving_to is None:
                raise Unavailable("a fail-over to the store's home is not finished; repeat that first")
            if now.state == StoreState.MOVING and now.moving_to != to:
                raise Busy(f"the store is being moved to {now.moving_to}; finish that, or give it up, first")
            if now.state != StoreState.ACTIVE:
                return None
            return replace(to_record(now, MOVER), state=StoreState.MOVING, moving_to=to, version_id=version_id)

        row = self._records.change(view, row, moving)
        self._region.clock.pause(DRAIN_S)
        return encode_placed(self._placed(row))

    def commit(self, store_id: str, slot: str, epoch: str, cut: str) -> dict[str, Any]:
        """Commit the transfer that `slot`, its `moving` record, began; return the record after it, of any caller.

        Raises:
            NotFound, Unavailable, OutcomeUnknown.
        """
        view, row = self._newest(store_id)
        if row.slot == slot and row.state == StoreState.MOVING:
            moving = to_record(row, MOVER)
            record = replace(
                moving,
                state=StoreState.MOVED,
                home=row.moving_to or row.home,
                epochs=(*moving.epochs, epoch),
                cuts=(*moving.cuts, cut),
                version_id=self._region.new_id("memver"),
            )
            placed = PlacedRecord(Slot.parse(slot).following, record)
            if (name := self._records.put(placed)) is not None:
                self._records.fold_own(view, placed, name)
                return encode_placed(placed)
            view, row = self._newest(store_id)
        return encode_placed(self._placed(row))

    def give_up(self, store_id: str) -> dict[str, Any]:
        """Let the home write again, if no transfer is committed; return the record. Repeatable. Raises as `begin`."""
        view, row = self._newest(store_id)
        version_id = self._region.new_id("memver")

        def active(now: StoreRow) -> StoreRecord | None:
            _require_present(now)
            if now.state != StoreState.MOVING:
                return None
            return replace(to_record(now, MOVER), state=StoreState.ACTIVE, moving_to=None, version_id=version_id)

        if row.home == self._region.name and row.state != StoreState.MOVED:
            row = self._records.change(view, row, active)
        return encode_placed(self._placed(row))

    def _newest(self, store_id: str) -> tuple[View, StoreRow]:
        """Return the record as this bucket has it: a row may be behind."""
        view = self._region.view([StoreRow.key(store_id)])
        attributes = view.rows.get(StoreRow.key(store_id))
        row = self._records.find(store_id) if attributes is None else StoreRow.from_attributes(attributes)
        if row is None:
            raise NotFound("memory_store", store_id)
        newer = self._records.newer(row)
        if newer is not None:
            self._records.fold(view, newer)
            row = to_row(newer)
        _require_present(row)
        return view, row

    def _placed(self, row: StoreRow) -> PlacedRecord:
        return PlacedRecord(Slot.parse(row.slot), to_record(row, MOVER))


def _require_present(row: StoreRow) -> None:
    if row.state == StoreState.DELETED:
        raise NotFound("memory_store", row.store_id)
