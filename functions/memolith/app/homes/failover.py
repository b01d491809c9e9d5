"""Failing over: a region takes a store whose home answers nothing, from what it holds itself.

    the epoch's first record, here -> the cut of what is here -> (who projects by an earlier record has ended) -> rows
    are repaired -> the second record names the cut, and writing begins

No call goes to the old home. The first record comes before the listing, so that a region that sees it acknowledges
nothing of the old epoch any more; what the old home had acknowledged and not replicated comes late: adopted, or
divergent. Two who fail over to this region at once both go on, by one snapshot
(`homes.snapshot_claims`): the second record's slot is taken once. Two who fail over to two regions make two epochs of
one number, of which every region accepts the same (`core.log_position.Epoch.rank`).
"""

from __future__ import annotations

from dataclasses import replace

from memolith.app.epochs.ownership import Ownership
from memolith.app.epochs.store_repair import StoreRepair
from memolith.app.homes.handoff import Handoff
from memolith.app.homes.snapshot_builder import EpochSnapshotBuilder
from memolith.app.homes.snapshot_claims import SnapshotClaims
from memolith.app.homes.transfer import Transfer, TransferStep
from memolith.app.indexer.indexer import Indexer
from memolith.app.kernel.peer_messages import decode_placed
from memolith.app.kernel.region import Region, View
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.core.epochs import has_snapshot, is_same_term
from memolith.core.errors import InvalidRequest, NotFound, Unavailable
from memolith.core.limits import INDEXER_LEASE_US
from memolith.core.log_position import Epoch, Slot
from memolith.core.objects.store_record import StoreRecord, StoreState, parse_epoch
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import MOVER, PlacedRecord, to_record, to_row

WAITS_US = 2 * INDEXER_LEASE_US
"""How long a failover waits, from the record that names its epoch on, before it repairs rows: twice the lease of those
who project by an earlier record, as no two clocks go at one pace."""


class Failover:
    """One region, as the new home of stores whose old home is gone."""

    def __init__(
        self,
        region: Region,
        indexer: Indexer,
        records: Ownership,
        builder: EpochSnapshotBuilder,
        snapshots: EpochSnapshots,
        repair: StoreRepair,
        transfer: Transfer,
        handoff: Handoff,
        claims: SnapshotClaims,
    ) -> None:
        self._region = region
        self._indexer = indexer
        self._records = records
        self._builder = builder
        self._snapshots = snapshots
        self._repair = repair
        self._transfer = transfer
        self._handoff = handoff
        self._claims = claims

    def take_over(self, store_id: str, old: str, budget_s: float) -> TransferStep:
        """Make this region the home of a store whose home was `old`. Repeatable; no call leaves this region.

        Gives up a planned transfer away from here that is not committed: the store is to be written here. ``at home``
        means that it is written here already.

        A store that cannot be scanned in `budget_s` is ``copying``: the next call goes on with it. Costs a LIST for
        each region, and for an epoch or two, two records, what `EpochSnapshotBuilder.in_parts` costs, and 16 PUTs; two
        reads and a transaction to claim the snapshot.

        Raises:
            NotFound: this region has never heard of the store. Unavailable, OutcomeUnknown: repeat it.
            InvalidRequest: the store's home is neither `old` nor this region.
        """
        deadline_us = self._region.clock.now_us() + round(budget_s * 1_000_000)
        view = self._region.view([StoreRow.key(store_id)])
        store = self._store(view, store_id)
        began_us = self._region.clock.ticks_us()
        if store.home == self._region.name and store.state == StoreState.MOVED:
            self._records.activate(view, store)
            return TransferStep(store_id, "moved", paused_ms=0)
        if store.home == self._region.name and store.moving_to is not None:
            store = to_row(decode_placed(self._handoff.give_up(store_id)))
        if store.home == self._region.name and store.state == StoreState.ACTIVE and self._is_indexed(view, store):
            return TransferStep(store_id, "at home")
        if store.home not in (old, self._region.name):
            raise InvalidRequest("from", f"is {old}, but the store's home is {store.home}")
        begun = store if store.home == self._region.name else self._begin(view, store)
        if not has_snapshot(begun) and self._complete(view, begun, deadline_us) is None:
            return TransferStep(store_id, "copying")
        self._builder.forget(store_id)
        self._indexer.repair(store_id)
        return TransferStep(store_id, "moved", paused_ms=(self._region.clock.ticks_us() - began_us) // 1000)

    def _begin(self, view: View, store: StoreRow) -> StoreRow:
        """Name the epoch: from here on no region that has seen it accepts the old home's answers.

        Epochs at the end of the chain whose snapshot is not here are left out: a failover may have died before it, or
        its home before it was replicated. What they have written becomes stragglers.
        """
        epoch = Epoch(parse_epoch(store.epochs[-1]).number + 1, self._region.name)
        cuts = tuple(store.cuts or ())
        while cuts and not self._snapshots.is_here(store, len(cuts)):
            cuts = cuts[:-1]
        record = replace(
            to_record(store, MOVER),
            state=StoreState.MOVING,
            home=self._region.name,
            epochs=(*store.epochs[: len(cuts) + 1], str(epoch)),
            cuts=cuts,
            moving_to=None,
            follows=store.slot,
            version_id=self._region.new_id("memver"),
        )
        return self._record_after_put(view, replace(store, slot=str(Slot(epoch, 0))), record)

    def _complete(self, view: View, begun: StoreRow, deadline_us: int) -> StoreRow | None:
        """Put the snapshot of what is here, and the record that names it; or return the one that another caller put
        first.

        Goes by the snapshot of whoever put one first: rows are repaired before the record says which one counts, and
        not before whoever projects by an earlier record has ended, or reads it again (`WAITS_US`).
        None where there was no time to look at everything.
        """
        began_us = self._region.clock.ticks_us()
        epoch = parse_epoch(begun.epochs[-1])
        run = self._claims.find(view, begun.store_id, epoch)
        if run is None:
            scan = self._builder.in_parts(replace(begun, epochs=begun.epochs[:-1]), deadline_us)
            if scan is None:
                return None
            own = self._transfer.put_snapshot(view, begun.store_id, epoch, scan)
            run = self._claims.claim(view, begun.store_id, epoch, own)
        record = replace(
            to_record(begun, MOVER),
            state=StoreState.ACTIVE,
            cuts=(*(begun.cuts or ()), run),
            version_id=self._region.new_id("memver"),
        )
        waited_us = self._region.clock.ticks_us() - began_us
        self._region.clock.pause(max(0, WAITS_US - waited_us) / 1_000_000)
        self._repair.repair_live_memories(view, replace(begun, cuts=list(record.cuts)))
        return self._record_after_put(view, begun, record)

    def _record_after_put(self, view: View, before: StoreRow, record: StoreRecord) -> StoreRow:
        """Put the record that follows `before`, or take the one that another caller put first; project the result."""
        placed = PlacedRecord(Slot.parse(before.slot).following, record)
        name = self._records.put(placed)
        if name is None:
            found = self._records.newer(before)
            if found is None:
                raise Unavailable("somebody else is failing over at this moment; repeat it")
            placed = found
        self._records.fold_own(view, placed, name)
        return to_row(placed)

    def _store(self, view: View, store_id: str) -> StoreRow:
        """Return the newest record that this region knows, from its bucket or its tables. Calls no other region.

        The bucket decides, also about this region's own records: the writer that put one may have died before indexing
        it, and a row from before it may say that the store is written here. Such a record is indexed now.

        Raises:
            NotFound. Unavailable: the bucket does not answer. OutcomeUnknown: the index does not.
        """
        attributes, newest = view.rows.get(StoreRow.key(store_id)), self._records.newest(store_id)
        row = None if attributes is None else StoreRow.from_attributes(attributes)
        if newest is not None and (row is None or newest.slot.rank > Slot.parse(row.slot).rank):
            row = to_row(newest)
            if newest.slot.epoch.home == self._region.name:
                self._records.fold_own(view, newest)
        if row is None or row.state == StoreState.DELETED:
            raise NotFound("memory_store", store_id)
        return row

    def _is_indexed(self, view: View, store: StoreRow) -> bool:
        """Tell whether the tables knew the record's snapshot before this call: its indexing then repairs their rows."""
        attributes = view.rows.get(StoreRow.key(store.store_id))
        row = None if attributes is None else StoreRow.from_attributes(attributes)
        return row is not None and is_same_term(row, store)
