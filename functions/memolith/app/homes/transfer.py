"""Moving a store's home into this region, with nothing lost and writes paused for seconds.

    copy and survey ahead -> the old home stops (`handing_over`) -> copy and survey the rest, settle half-done renames
    -> write the cut here -> the old home commits: `moved` -> the first record of the new epoch, here

The new home's reconciler drives it. Each step may be repeated, also by another caller: what
decides is one put in the old home's log of records. Until then the old home can go on as if nothing had been.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from memolith.app.epochs.ownership import Ownership
from memolith.app.homes.handoff import Handoff
from memolith.app.homes.snapshot_builder import EpochSnapshotBuilder, LogScan
from memolith.app.homes.store_backfill import StoreBackfill
from memolith.app.index.ack_journal import AckJournal, commit_joined
from memolith.app.indexer.indexer import Indexer
from memolith.app.kernel.peer_messages import HOPS, decode_error, decode_placed
from memolith.app.kernel.port_calls import repeatable
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import put_if_absent
from memolith.core import ids
from memolith.core.epochs import current_epoch
from memolith.core.errors import Busy, InvalidRequest, NotFound, OutcomeUnknown, Unavailable
from memolith.core.log_position import Epoch, Slot
from memolith.core.object_keys import CutKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.epoch_cut import Cut
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import PlacedRecord, to_row

COPY_PASSES_MAX = 5


@dataclass(frozen=True, slots=True)
class TransferStep:
    """How far a move is.

    Attributes:
        store_id: whose.
        state: ``copying``, while objects are still copied and looked at ahead: repeat it; ``moved``; or ``at home``.
        copied: how many objects this call copied.
        paused_ms: for how long the store took no writes, once it is moved: since another mover had begun, if one had.
    """

    store_id: str
    state: str
    copied: int = 0
    paused_ms: int | None = None


class Transfer:
    """One region, as the new home of stores."""

    def __init__(
        self,
        region: Region,
        indexer: Indexer,
        records: Ownership,
        builder: EpochSnapshotBuilder,
        backfill: StoreBackfill,
        handoff: Handoff,
    ) -> None:
        self._region = region
        self._indexer = indexer
        self._records = records
        self._builder = builder
        self._backfill = backfill
        self._handoff = handoff

    def move(self, store_id: str, budget_s: float) -> TransferStep:
        """Move a store's home here, or as much of that as there is time for: repeat it until it is ``moved``.

        Only copying and scanning ahead heed `budget_s`; once writes are paused, it goes on to the end. Costs what
        `StoreBackfill.run` and `EpochSnapshotBuilder.run` cost, twice, 16 PUTs for the snapshot, two records at the old
        home and one here.

        Raises:
            NotFound; Unavailable, OutcomeUnknown: repeat it. Busy: it is being moved elsewhere, or was given up.
        """
        deadline_us = self._region.clock.now_us() + round(budget_s * 1_000_000)
        view = self._region.view([StoreRow.key(store_id)])
        store = self._records.at_home(view, self._store(view, store_id))
        for _ in range(HOPS):
            moved = self._move(view, store, deadline_us)
            if isinstance(moved, TransferStep):
                return moved
            store = moved
        raise Busy("the store keeps moving; try again")

    def _move(self, view: View, store: StoreRow, deadline_us: int) -> TransferStep | StoreRow:
        """Move the store, or return the record that names its actual home, if it is not the expected one."""
        store_id = store.store_id
        if store.home == self._region.name:
            if (newer := self._records.newer(store)) is not None:
                return self._records.fold(view, newer)
            if store.state != StoreState.ACTIVE:
                self._go_on(store)
            elif (elsewhere := self._seen_elsewhere(view, store)) is not None:
                return elsewhere
            return TransferStep(store_id, "at home")
        old = store.home
        copied, done = self._backfill.run(store, old, deadline_us)
        if not done:
            return TransferStep(store_id, "copying", copied)
        ahead = self._builder.in_parts(store, deadline_us)
        if ahead is None:
            return TransferStep(store_id, "copying", copied)
        began_ms = self._region.clock.now_us() // 1000
        placed = decode_placed(self._ask(old, {"call": "homes.begin", "store_id": store_id, "to": self._region.name}))
        if placed.record.state is StoreState.MOVING and placed.record.home == old:
            began_ms = min(began_ms, ids.ulid_time_ms(placed.record.version_id.rpartition("_")[2]))
            placed, more = self._drained(view, placed, old, ahead)
            copied += more
        if placed.record.home == old:
            raise Busy("the move was given up; look at `memolith homes list`")
        if placed.record.home != self._region.name or placed.record.state is not StoreState.MOVED:
            return self._records.fold(view, placed)
        self._records.fold(view, placed)
        row = self._records.activate(view, to_row(placed))
        paused_ms = max(self._region.clock.now_us() // 1000 - began_ms, 0)
        self._builder.forget(store_id)
        self._region.metrics.milliseconds("move_paused_ms", paused_ms, home=old)
        self._indexer.repair(row.store_id)
        return TransferStep(store_id, "moved", copied, paused_ms)

    def _seen_elsewhere(self, view: View, store: StoreRow) -> StoreRow | None:
        """Return another home's record that this region, while it was down, has not received. Two calls a region."""
        for region in self._region.regions:
            if region == self._region.name:
                continue
            try:
                placed = self._records.newest(store.store_id, region)
            except Unavailable:
                continue
            if placed is not None and placed.slot.rank > Slot.parse(store.slot).rank:
                return self._records.fold(view, placed)
        return None

    def _go_on(self, store: StoreRow) -> None:
        """Give up a transfer away from here that was begun and is no longer wanted: the home takes writes again."""
        if store.moving_to is None:
            raise Unavailable("a fail-over to this region is not finished; repeat that first")
        placed = decode_placed(self._handoff.give_up(store.store_id))
        if placed.record.state is not StoreState.ACTIVE:
            raise Busy("the move away from here is committed already; move the store back")

    def _drained(self, view: View, moving: PlacedRecord, old: str, ahead: LogScan) -> tuple[PlacedRecord, int]:
        """Finish once no lease is valid any more: what the old home has left behind is all of its epoch."""
        store = to_row(moving)
        copied, scan = self._copy_rest(store, old, ahead)
        epoch = Epoch(current_epoch(store).number + 1, self._region.name, moving.slot.sequence)
        run = self.put_snapshot(view, store.store_id, epoch, scan)
        payload = {
            "call": "homes.commit",
            "store_id": store.store_id,
            "slot": store.slot,
            "epoch": str(epoch),
            "cut": run,
        }
        return decode_placed(self._ask(old, payload)), copied

    def _copy_rest(self, store: StoreRow, old: str, scan: LogScan) -> tuple[int, LogScan]:
        """Copy everything, and have every rename completed or aborted: its home's writer does that."""
        copied = 0
        for _ in range(COPY_PASSES_MAX):
            copied += self._backfill.run(store, old)[0]
            scan = self._builder.run(store, scan)
            if not scan.pending:
                return copied, scan
            for key in scan.pending:
                self._help(old, str(key))
        raise Unavailable("a rename at the old home is not finished; try again")

    def _help(self, old: str, key: str) -> None:
        with repeatable():
            answer = self._region.peers.call(old, "peerwriter", {"call": "help", "key": key})
        if "error" in answer:
            raise decode_error(answer["error"])

    def put_snapshot(self, view: View, store_id: str, epoch: Epoch, scan: LogScan) -> str:
        """Put every shard under a run of its own, and log them as acknowledged; return the run's name for a record."""
        run = f"cut_{ids.ulid(self._region.clock.now_us() // 1000, self._region.randomness.bytes(10))}"
        keys = [str(CutKey(store_id, epoch, run, shard)) for shard in range(Cut.SHARDS)]
        puts = [partial(self._put, key, cut) for key, cut in zip(keys, scan.cut(), strict=True)]
        self._region.parallel.run(puts)
        names = [Named(key) for key in keys]
        commit_joined(
            self._region,
            view.index,
            list,
            AckJournal(self._region, view.period),
            names,
            own=True,
            contended="the cut was not journaled; try again",
        )
        return run

    def _put(self, key: str, cut: Cut) -> None:
        """Put one shard. Raises Unavailable: it may not be there; the run's other shards are as good as nothing."""
        try:
            put_if_absent(self._region, key, cut.to_json(), {})
        except (Busy, OutcomeUnknown) as error:
            raise Unavailable("the cut could not be written", object=key, hint="try again") from error

    # ---- the store, and its old home ----------------------------------------------------------------------------

    def _store(self, view: View, store_id: str) -> StoreRow:
        attributes = view.rows.get(StoreRow.key(store_id))
        row = self._records.find(store_id) if attributes is None else StoreRow.from_attributes(attributes)
        if row is None or row.state == StoreState.DELETED:
            raise NotFound("memory_store", store_id)
        return row

    def _ask(self, region: str, payload: Mapping[str, Any]) -> Mapping[str, str]:
        if region not in self._region.regions:
            raise InvalidRequest("store_id", f"has its home in {region}, which is not part of this deployment")
        answer = self._region.peers.call(region, "reconciler", payload)
        if "error" in answer:
            raise decode_error(answer["error"])
        return {name: str(value) for name, value in answer.items()}
