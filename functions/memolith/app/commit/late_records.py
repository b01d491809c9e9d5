"""What a store's old home did to the store itself shortly before it was lost, taken up by the new one.

A deletion or an archiving that was acknowledged holds, whatever was written at the new home until it arrived; another
change is taken up where nobody has changed the same settings since, or named apart (`memolith.core.late_records`). Each
is decided once, by one put in the home's own log of records, which replicates: so every region ends the same.
"""

from __future__ import annotations

from dataclasses import replace

from memolith.app.commit.sync_replica import SyncReplica
from memolith.app.epochs.fence import require_writing_home
from memolith.app.epochs.ownership import Ownership
from memolith.app.kernel.region import Region
from memolith.core.late_records import replay
from memolith.core.log_position import Slot
from memolith.core.objects.entry import Entry
from memolith.core.objects.store_record import StoreRecord, StoreState
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import MOVER, to_record


class LateRecords:
    """Looks for late records of the stores whose home this region is."""

    def __init__(self, region: Region, records: Ownership, replica: SyncReplica) -> None:
        self._region = region
        self._records = records
        self._replica = replica

    def adopt(self, store: StoreRow) -> list[str]:
        """Decides about every late record that is here and was not decided yet; those that were taken up, ever.

        A LIST for each region, a GET for each epoch, two for each late record, and what a change of the store costs.
        Repeatable.

        Raises:
            Unavailable, Busy, OutcomeUnknown: repeat it.
        """
        late = self._records.late(store)
        if not late:
            return []
        version_id = self._region.new_id("memver")

        def following(now: StoreRow) -> StoreRecord | None:
            if now.state == StoreState.DELETED:
                return None
            require_writing_home(self._region.name, now)
            now_us = max(self._region.clock.now_us(), now.updated_at + 1)
            record = replay(to_record(now, MOVER), late, now_us)
            return None if record is None else replace(record, version_id=version_id)

        row = self._records.change(self._region.view(), store, following)
        self._replica.keep_record(row)
        if row.version_id == version_id:
            self._region.metrics.count("late_records_adopted", len(row.adopted or ()) - len(store.adopted or ()))
        return list(row.adopted or ())

    def late_archiving(self, store: StoreRow, entry: Entry) -> int | None:
        """Return when the store was archived, if a late record did that, after the straggler in its own epoch: it does
        not keep that one out.

        No call where the store is not archived, or not by a late record; otherwise a GET for each late record.
        """
        if store.archived_at is None:
            return None
        for text in store.adopted or ():
            slot = Slot.parse(text)
            record = self._records.at(store.store_id, slot) if slot.epoch == entry.slot.epoch else None
            if record is not None and record.archived_at == store.archived_at:
                return store.archived_at
        return None
