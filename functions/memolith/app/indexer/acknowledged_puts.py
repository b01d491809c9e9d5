"""Events of what this home has acknowledged already: their objects are as their writers put them, and projected.

    the writer's transaction = the rows of the index + the row of the acknowledgement log, with the object's version
    the event of that very version = nothing new

A version of an object never changes. So only another put over the same key can bring other contents, and its event
has another version: that one is read and compared, as any other.
"""

from __future__ import annotations

from memolith.app.kernel.region import Region, View
from memolith.core.epochs import current_epoch
from memolith.core.log_position import LogKey
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.journal import JournalRow


class AcknowledgedPuts:
    """What the acknowledgement log of this home has of the objects whose events come."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def find(self, view: View, key: LogKey, object_version: str) -> JournalRow | None:
        """Return the row of an entry whose event brings nothing new; None for any other, which has to be projected.

        It has to be of the open interval, of the store's present epoch, and of a store that is not being erased: the
        store's record is read after the row, so that an erasure that it does not know yet will find the text. A read,
        and another one where the row is there. Nothing is believed while tables are incomplete, or others are built.

        Raises Unavailable.
        """
        if key.slot.epoch.home != self._region.name or not view.complete or view.building or view.period is None:
            return None
        shard = JournalRow.shard_of(str(key), view.period.shards)
        row_key = JournalRow.key(self._region.name, view.period.number, shard, str(key))
        attributes = self._region.read(view.index, [row_key]).get(row_key)
        if attributes is None or attributes.get("object_version") != object_version:
            return None
        store_key = StoreRow.key(key.store_id)
        record = self._region.read(view.index, [store_key]).get(store_key)
        if record is None:
            return None
        store = StoreRow.from_attributes(record)
        counts = store.state != StoreState.DELETED and key.slot.epoch == current_epoch(store)
        return JournalRow.from_attributes(attributes) if counts else None
