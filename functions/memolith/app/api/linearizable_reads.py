"""What a store's home answers with `consistency: home`: a row of its index, once its log was seen to hold no more.

The index of the home holds everything that was acknowledged; the log may hold more, by a writer that has not folded
yet, or died. No single reader may be the only one to see that, so it is projected before the answer: by the indexer,
which may write the index. A read itself may not.
"""

from __future__ import annotations

from collections.abc import Mapping

from memolith.app.epochs.fence import Fence
from memolith.app.epochs.ownership import Ownership
from memolith.app.kernel.port_calls import repeatable
from memolith.app.kernel.region import Region, View
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.core.epochs import current_epoch
from memolith.core.errors import Busy, Unavailable
from memolith.core.log_position import LogKey, Slot
from memolith.core.object_keys import StoreKey
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.identity import StoreRow

CONFIRM_ATTEMPTS = 12
"""How often a read looks again at what others keep writing before it answers Busy."""


class LinearizableReads:
    """Rows of this region's index, at least as new as the logs of the stores whose home this is."""

    def __init__(
        self, region: Region, logs: LogReader, records: Ownership, fence: Fence, snapshots: EpochSnapshots
    ) -> None:
        self._region = region
        self._logs = logs
        self._records = records
        self._fence = fence
        self._snapshots = snapshots

    def require_home(self, view: View, store: StoreRow) -> None:
        """Raise Unavailable unless what was read on this record is the home's answer. No call within a lease."""
        if store.state != StoreState.ACTIVE or not self._fence.is_current(view, store):
            raise Unavailable("the store's home is changing; try again")

    def memory(
        self, store: StoreRow, row: MemoryRow | None, memory_id: str, known: str | None = None
    ) -> MemoryRow | None:
        """Return the memory's head, its next slot seen free meanwhile; None if the memory never existed.

        `known` is the key of an object of this memory that another region has: what is not indexed here may be in the
        log all the same.

        One HEAD; where the slot is taken, a read of the row for each entry, and an invocation for each that its own
        writer has not projected. A memory that is not known, or was not live, is looked up again: rows may have been
        lost.

        Raises:
            Busy: others kept writing it. Unavailable: this cannot be decided now.
        """
        row = row or self._again(store, memory_id)
        if row is None and known is not None:
            self._fold(known)
            row = self._again(store, memory_id)
        if row is None:
            return None
        met: dict[str, Slot] = {}
        for _ in range(CONFIRM_ATTEMPTS):
            tail = Slot.parse(row.slot)
            if self._snapshots.is_straggler(store, row.path_hash, tail):
                self._ask_indexer({"call": "judge", "store_id": store.store_id, "memory_id": memory_id})
                row = self._again(store, memory_id)
                if row is None:
                    return None
                continue
            if row.gone:
                return row
            slot = self._logs.next_slot(store, row.path_hash, max(tail, met.get(row.path_hash, tail)))
            key = LogKey(store.store_id, row.path_hash, slot)
            if self._logs.entry(key) is None:
                if slot.epoch != current_epoch(store):
                    raise Unavailable("an older version of this memory has not arrived in its home yet; try again")
                return row
            before = row
            row = self._again(store, memory_id) or before
            if row == before:
                self._fold(str(key))
                met[row.path_hash] = slot
                row = self._again(store, memory_id) or before
        raise Busy("others kept writing this memory; try again")

    def erased_head(self, store: StoreRow, row: MemoryRow) -> MemoryRow | None:
        """Return what came after a head whose text was found erased: no live head is, so `row` lags behind.

        One read; where this region has not indexed what follows, an invocation of its indexer, which asks the home.

        Raises:
            Unavailable: this cannot be decided now.
        """
        again = self._again(store, row.memory_id)
        if again is None or again.version_id != row.version_id:
            return again
        self._fold(str(LogKey(store.store_id, row.path_hash, Slot.parse(row.slot))))
        return self._again(store, row.memory_id)

    def record(self, row: StoreRow) -> StoreRow:
        """Return the store's record, its next slot seen free. One GET that finds nothing."""
        newer = self._records.newer(row)
        if newer is None:
            return row
        self._fold(str(StoreKey(row.store_id, newer.slot)))
        key = StoreRow.key(row.store_id)
        return StoreRow.from_attributes(self._region.view([key]).rows[key])

    def _again(self, store: StoreRow, memory_id: str) -> MemoryRow | None:
        key = MemoryRow.key(store.store_id, memory_id)
        view = self._region.view([key], marked=[key.table])
        if key not in view.rows:
            view.require_complete()
            return None
        return MemoryRow.from_attributes(view.rows[key])

    def _fold(self, key: str) -> None:
        self._ask_indexer({"call": "arrived", "key": key})

    def _ask_indexer(self, payload: Mapping[str, str]) -> None:
        with repeatable():
            self._region.peers.call(self._region.name, "indexer", payload)
