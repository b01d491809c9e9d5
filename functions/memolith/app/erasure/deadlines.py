"""Deleted stores that wait for their erasure, and the record that makes a deletion final once the wait is over.

    a deletion's record arrives -> it is noted -> its time is over -> the home puts the record `deleted`

Nothing of a store is erased before that record exists. It takes the slot that follows the deletion's in the home's log
of records, and so does the record by which an admin restores the store: of the two, one is put. The home alone judges
by its clock; every other region erases when that record arrives there, however late, and never by its own clock.

A deletion of before a failover waits for more: the lost home may have acknowledged that an admin restored the store.

A note only saves looking at every store every minute. It decides nothing, and one that is lost is made again by the
daily pass (`memolith.app.erasure.retention`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.port_calls import commit_as_owner
from memolith.app.kernel.region import Region
from memolith.app.log.store_log import StoreLog
from memolith.core.epochs import ended_us
from memolith.core.errors import MemolithError, Unavailable
from memolith.core.late_records import replay
from memolith.core.log_position import Slot
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.base import Row, RowKey
from memolith.core.store_records import PlacedRecord, to_row
from memolith.ports.index import Change, Query

NOTES_PER_PAGE = 100
WAITING = "erasure#waiting"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRow(Row):
    """That a deleted store may be erased after an instant; in the order of these instants.

    Stands in the control table, where a rebuild leaves it alone.
    """

    store_id: str
    erase_after: int

    def key(self) -> RowKey:
        return RowKey("control", WAITING, f"{self.erase_after:020d}#{self.store_id}")


class Deadlines:
    """Notes when deleted stores may be erased, and ends those of this home whose time is over."""

    def __init__(self, region: Region, records: StoreLog) -> None:
        self._region = region
        self._records = records

    def note(self, store_id: str) -> bool:
        """Note when a store that waits for its erasure may be erased; return whether it does wait. Repeatable.

        A LIST for each region, a GET, and a write. Raises Unavailable.
        """
        placed = self._records.newest(store_id)
        if placed is None or placed.record.erase_after is None:
            return False
        row = WaitRow(store_id=store_id, erase_after=placed.record.erase_after)
        commit_as_owner(self._region.index, [Change(row.key(), None, row.to_attributes(), unconditional=True)])
        return True

    def run(self, is_time_up: Callable[[], bool]) -> int:
        """Make every deletion final whose time is over and whose home this is; return how many. Repeatable.

        One query; for each store that is due what `note` costs, and a PUT; and what `_require_decided` costs. One that
        fails does not stop the next, nor does one whose record cannot be read.

        Raises:
            Unavailable: the index does not answer.
        """
        ended = 0
        for row in self._due():
            if is_time_up():
                break
            try:
                ended += self._look(row)
            except (MemolithError, ValueError) as error:
                _log.warning("a deletion is not final yet", extra={"store_id": row.store_id, "reason": str(error)})
        if ended:
            self._region.metrics.count("deletions_final", ended)
        return ended

    def _due(self) -> Iterator[WaitRow]:
        now_us = self._region.clock.now_us()
        notes = rows_of(self._region.index, Query("control", WAITING, limit=NOTES_PER_PAGE), WaitRow)
        return takewhile(lambda note: note.erase_after <= now_us, notes)

    def _look(self, row: WaitRow) -> bool:
        """End the store, if its own record says so; drop a note that nothing is to follow from."""
        placed = self._records.newest(row.store_id)
        if placed is not None and _waits(placed, row):
            return self._end(placed)
        if placed is not None:
            self.note(row.store_id)
        commit_as_owner(self._region.index, [Change(row.key(), row.to_attributes(), None)])
        return False

    def _end(self, placed: PlacedRecord) -> bool:
        """Put the final record, if the store's home is here. The note stays until that record is seen here."""
        record, now_us = placed.record, self._region.clock.now_us()
        if not record.may_end(self._region.name, now_us):
            return False
        self._require_decided(placed, now_us)
        final = replace(record.ended(max(now_us, record.updated_at + 1)), version_id=self._region.new_id("memver"))
        return self._records.put(PlacedRecord(placed.slot.following, final)) is not None

    def _require_decided(self, placed: PlacedRecord, now_us: int) -> None:
        """Raise Unavailable while another home of the store may have undone this deletion before the present term.

        A late restoration undoes no deletion that was made in this term (`memolith.core.late_records`). No call where
        the store has had one home; a GET where it was deleted in this term; and else an index read and what
        `StoreLog.late` costs.
        """
        record, store, here = placed.record, to_row(placed), self._region.name
        if len(record.epochs) == 1:
            return
        first = self._records.at(record.store_id, Slot(record.epoch, 1))
        if first is not None and first.deletion != record.deletion and record.first_erase_after is None:
            return
        view, others = self._region.view(), [region for region in self._region.regions if region != here]
        unheard = [region for region in others if view.may_lack([region], ended_us(store))]
        if unheard:
            raise Unavailable(
                f"{', '.join(unheard)} may have restored {record.store_id} before {here} became its home",
                hint=f"{here} ends the deletion once it has all that was acknowledged there until then; if that region "
                "does not come back, restore the store and delete it again",
            )
        if replay(record, self._records.late(store), now_us) is not None:
            raise Unavailable(f"a late record of {record.store_id} is here and the home has not decided about it yet")


def _waits(placed: PlacedRecord, row: WaitRow) -> bool:
    """Tell whether the store waits for the instant that was noted: it is not restored, erased, or deleted anew."""
    return placed.record.state is not StoreState.DELETED and placed.record.erase_after == row.erase_after
