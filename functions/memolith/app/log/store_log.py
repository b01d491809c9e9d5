"""Store records: a log of their own, one object a version, with the same rules as every other log."""

from __future__ import annotations

from memolith.app.kernel.listing import keys_of
from memolith.app.kernel.port_calls import find, require
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.core import ids
from memolith.core.late_records import LateRecord, is_straggler
from memolith.core.log_position import Epoch, Slot
from memolith.core.object_keys import StoreKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.store_record import StoreRecord, StoreState, parse_epoch
from memolith.core.rows.identity import StoreRow
from memolith.core.sealing import named_record
from memolith.core.store_records import PlacedRecord, to_row


class StoreLog:
    """Finds and puts the records of stores, as this bucket and others have them."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def known(self, view: View, store_id: str) -> StoreRow | None:
        """Return a store's record as it is known here: by its row in `view`, if the index is complete.

        Otherwise by what `find` finds as well: the row may be an old one, of before the store was deleted, that came
        into an emptied table. No call where there is a row and the index is complete. Raises as `find`.
        """
        attributes = view.rows.get(StoreRow.key(store_id))
        row = None if attributes is None else StoreRow.from_attributes(attributes)
        if row is not None and view.complete:
            return row
        known = [one for one in (row, self.find(store_id)) if one is not None]
        return max(known, key=lambda one: Slot.parse(one.slot).rank, default=None)

    def find(self, store_id: str) -> StoreRow | None:
        """Find a record that the index lacks, in this bucket or else the birth region's. A LIST and a GET, or two.

        It projects nothing: a reader may not, and the record's own event will.

        Raises:
            Unavailable: the birth region does not answer, so this region cannot tell.
        """
        birth = ids.birth_region(store_id, self._region.origins)
        if birth is None:
            return None
        placed = self.newest(store_id) or self.newest(store_id, birth)
        return None if placed is None else to_row(placed)

    def newest(self, store_id: str, region: str | None = None) -> PlacedRecord | None:
        """Return the current record, of all that a bucket has. A LIST for each region, and a GET if there is one.

        Raises:
            Unavailable: the bucket does not answer.
        """
        keys = self._keys(store_id, region)
        if not keys:
            return None
        best = max(keys, key=lambda key: key.slot.rank)
        return PlacedRecord(best.slot, StoreRecord.from_json(require(self._region.objects, str(best), region).body))

    def keys(self, store_id: str) -> list[StoreKey]:
        """Every record of a store that this bucket has. A LIST for each region. Raises Unavailable."""
        return self._keys(store_id, None)

    def _keys(self, store_id: str, region: str | None) -> list[StoreKey]:
        prefixes = [f"{home}/store/{store_id}/" for home in self._region.origins]
        return [key for one in prefixes for key in keys_of(self._region.objects, StoreKey, one, region=region)]

    def at(self, store_id: str, slot: Slot) -> StoreRecord | None:
        """Return the record in a slot of this bucket; None while it is free here. One GET. Raises Unavailable."""
        found = find(self._region.objects, str(StoreKey(store_id, slot)))
        return None if found is None else StoreRecord.from_json(found.body)

    def deletion(self, store_id: str) -> StoreRecord | None:
        """Return the record that ends a store, if this bucket has one, of any region and epoch.

        A LIST for each region, and a GET for each epoch. Raises Unavailable.
        """
        for region in self._region.origins:
            prefix = f"{region}/store/{store_id}/"
            last = {key.slot.epoch: key for key in keys_of(self._region.objects, StoreKey, prefix)}
            for key in last.values():
                record = StoreRecord.from_json(require(self._region.objects, str(key)).body)
                if record.state is StoreState.DELETED:
                    return record
        return None

    def late(self, store: StoreRow) -> list[LateRecord]:
        """Return the late records that this bucket has, decided or not, in the order of their slots.

        A LIST for each region, a GET for each epoch, two for each late record; no call in a first epoch. Raises
        Unavailable.
        """
        chain = [parse_epoch(text) for text in store.epochs]
        if len(chain) == 1:
            return []
        ends = self._ends(store.store_id, chain)
        late = [key.slot for key in self.keys(store.store_id) if is_straggler(key.slot, chain, ends)]
        found: list[LateRecord] = []
        for slot in sorted(late, key=lambda slot: slot.rank):
            record = self.at(store.store_id, slot)
            if record is not None:
                found.append(LateRecord(slot, record, self._before(slot, record)))
        return found

    def _ends(self, store_id: str, chain: list[Epoch]) -> dict[Epoch, int]:
        """Return the last record of each epoch that a later one followed, as far back as is known; 0 of one passed
        over.
        """
        ends: dict[Epoch, int] = {}
        epoch: Epoch | None = chain[-1]
        while epoch is not None:
            first = self.at(store_id, Slot(epoch, 1))
            followed = None if first is None or first.follows is None else Slot.parse(first.follows)
            epoch = None if followed is None else followed.epoch
            if followed is not None:
                ends[followed.epoch] = followed.sequence
        known = [number for number, epoch in enumerate(chain) if epoch in ends]
        passed_over = [epoch for epoch in chain[min(known) : -1] if epoch not in ends] if known else []
        return ends | dict.fromkeys(passed_over, 0)

    def _before(self, slot: Slot, record: StoreRecord) -> StoreRecord | None:
        """Return the record that a late one was made from, if it is here."""
        before = slot.preceding
        if before is None:
            before = None if record.follows is None else Slot.parse(record.follows)
        return None if before is None else self.at(record.store_id, before)

    def put(self, placed: PlacedRecord, exact: bool = False) -> Named | None:
        """Take the record's slot; return how a checkpoint names the object, None when another record has taken it.

        `exact`: also one of the same version_id that another copy of the call has put, at another instant. Without it
        such a record is named without a digest: what stands is not what this call would have put.

        Raises:
            Unavailable, Busy: nothing was done. OutcomeUnknown: it may have been.
        """
        key, body = str(StoreKey(placed.record.store_id, placed.slot)), placed.record.to_json()
        name = named_record(key, body)

        def is_mine() -> bool | None:
            nonlocal name
            found = find(self._region.objects, key)
            if found is None or found.body == body:
                return None if found is None else True
            name = Named(key)
            return not exact and StoreRecord.from_json(found.body).version_id == placed.record.version_id

        return name if put_if_absent(self._region, key, body, {}, is_mine=is_mine) is Put.MINE else None

    def newer(self, row: StoreRow, region: str | None = None, own: str | None = None) -> PlacedRecord | None:
        """Return what the record's log has after `row`, in `region`'s bucket (default: this one). One GET if nothing.

        That is the last record; or the one whose version_id is `own`, if it is there.

        Raises:
            Unavailable: the bucket does not answer.
        """
        slot, found = Slot.parse(row.slot).following, None
        while True:
            stored = find(self._region.objects, str(StoreKey(row.store_id, slot)), region)
            if stored is None:
                return found
            found, slot = PlacedRecord(slot, StoreRecord.from_json(stored.body)), slot.following
            if own is not None and found.record.version_id == own:
                return found
