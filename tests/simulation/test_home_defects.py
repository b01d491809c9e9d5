"""Each scenario with two homes is shown to fail: what it is about is taken out of the product, and it has to object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from memolith.app.commit import adoption
from memolith.app.commit.facts import FactReader
from memolith.app.commit.sync_replica import SyncReplica
from memolith.app.epochs import fence
from memolith.app.homes import handoff, transfer
from memolith.app.homes.failover import Failover
from memolith.app.homes.handoff import Handoff
from memolith.app.homes.snapshot_builder import EpochSnapshotBuilder
from memolith.app.indexer.indexer import Malformed
from memolith.app.kernel.peer_messages import encode_placed
from memolith.app.kernel.region import Region, View
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.core import ids
from memolith.core.errors import Busy
from memolith.core.log_position import Epoch, Slot
from memolith.core.objects.entry import Operation
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import MOVER, PlacedRecord, to_record
from tests.simulation import test_adoptions as adoptions
from tests.simulation import test_home_scenarios as scenarios
from tests.simulation.moving_stage import MovingStage

Plant = Callable[[pytest.MonkeyPatch], None]


def replaced(owner: Any, name: str, by: Any) -> Plant:
    return lambda monkeypatch: monkeypatch.setattr(owner, name, by)


def late_is_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by its slot nor by what its memory went on from: each alone finds a late update."""
    monkeypatch.setattr(EpochSnapshots, "is_straggler", lambda *_: False)
    monkeypatch.setattr(LogReader, "is_passed_over", lambda *_: False)


# ---- what takes the place of the product's own ----------------------------------------------------------------------


def commit_whatever_stands(self: Handoff, store_id: str, slot: str, epoch: str, cut: str) -> dict[str, Any]:
    view, row = self._newest(store_id)
    now = to_record(row, MOVER)
    home, epochs = Epoch.parse(epoch).home, (*now.epochs, epoch)
    record = replace(now, state=StoreState.MOVED, home=home, epochs=epochs, cuts=(*now.cuts, cut), version_id=cut)
    placed = PlacedRecord(Slot.parse(row.slot).following, record)
    self._records.put(placed)
    self._records.fold_own(view, placed)
    return encode_placed(placed)


def a_lease_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process answers on the record that it has read once, from one call to the next."""
    kept: dict[str, View] = {}
    read = Region.view

    def view(self: Region, keys: Sequence[RowKey] = (), marked: Sequence[str] = ()) -> View:
        now = read(self, keys, marked)
        stores = [key for key in keys if key.table == "stores" and key in now.rows]
        if not stores:
            return now
        first = kept.setdefault(self.name, now)
        return replace(now, rows={**now.rows, **{key: first.rows[key] for key in stores}}, ticks_us=first.ticks_us)

    monkeypatch.setattr(Region, "view", view)


def one_cut_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "ulid", lambda *_: "0" * 26)
    monkeypatch.setattr(transfer, "Epoch", lambda number, home, attempt: Epoch(number, home, 1))


def adopted_is_adopted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = SimpleNamespace(key=lambda store_id, version_id: VersionRow.key(store_id, f"not {version_id}"))
    monkeypatch.setattr(adoption, "VersionRow", unknown)
    monkeypatch.setattr(FactReader, "builds_on", lambda *_: True)


def the_cut_before_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fail-over lists first, and names its epoch then."""
    begin = Failover._begin

    def surveyed_before(self: Failover, view: View, store: StoreRow) -> StoreRow:
        survey = self._builder.run(store)
        monkeypatch.setattr(self._builder, "in_parts", lambda *_: survey)
        return begin(self, view, store)

    monkeypatch.setattr(Failover, "_begin", surveyed_before)


# ---- what has to fail then ------------------------------------------------------------------------------------------


def in_two_regions(stage: MovingStage) -> None:
    for steps in range(1, 13):
        scenarios.test_a_write_that_is_acknowledged_in_two_regions_is_in_the_cut_of_a_fail_over_to_the_second(steps)


def in_the_middle_of_a_fail_over(stage: MovingStage) -> None:
    scenarios.test_a_write_that_is_acknowledged_in_the_middle_of_a_fail_over_is_in_its_cut()


def in_any_order(stage: MovingStage) -> None:
    order = ("cut", "first", "second", "late")
    scenarios.test_a_late_version_and_what_tells_that_it_is_late_may_come_in_any_order(order)


def half_a_rename(half: str) -> Callable[[MovingStage], None]:
    return lambda stage: scenarios.test_half_a_rename_that_was_replicated_leaves_its_memory_at_its_source(stage, half)


def not_the_homes(answer: str) -> Callable[[MovingStage], None]:
    return lambda stage: scenarios.test_a_call_that_stalls_while_the_home_moves_is_not_answered_as_the_homes(
        stage, answer
    )


DEFECTS = {
    "the lease is ignored": (
        replaced(fence.Fence, "is_current", lambda *_: True),
        scenarios.test_a_writer_that_stalls_while_the_home_moves_acknowledges_nothing,
    ),
    "the lease does not bind a no-op": (
        replaced(fence.Fence, "is_current", lambda *_: True),
        not_the_homes("that nothing changed"),
    ),
    "the lease does not bind a read": (replaced(fence.Fence, "is_current", lambda *_: True), not_the_homes("a read")),
    "the epoch begins before the drain": (
        replaced(handoff, "DRAIN_S", 0.0),
        scenarios.test_a_writer_that_stalls_while_the_home_moves_acknowledges_nothing,
    ),
    "a lease is kept between two calls": (
        a_lease_is_kept,
        scenarios.test_a_process_that_was_frozen_between_two_calls_writes_nothing_as_the_home_it_was,
    ),
    "a divergent moved_out commits": (
        replaced(LogReader, "accepted", lambda self, store, entry, settled: settled),
        half_a_rename("moved_out"),
    ),
    "half a rename counts in a cut": (
        replaced(EpochSnapshotBuilder, "_says_nothing", lambda self, survey, entry: entry.operation is Operation.VOID),
        half_a_rename("moved_out"),
    ),
    "a cut has one memory at two paths": (
        replaced(EpochSnapshotBuilder, "_one_place_each", lambda *_: None),
        scenarios.test_a_rename_that_was_written_on_is_at_its_destination_without_its_second_half,
    ),
    "a late entry is head without adoption": (
        replaced(EpochSnapshots, "is_straggler", lambda *_: False),
        scenarios.test_what_the_losing_home_of_an_epoch_wrote_is_late_in_that_epoch_and_in_the_next,
    ),
    "a late entry is late only if it comes after the record": (
        late_is_never_told,
        in_any_order,
    ),
    "of two homes of one epoch the one that is heard of first is accepted": (
        replaced(Epoch, "rank", property(lambda epoch: (epoch.number, epoch.attempt == 0, "", epoch.attempt))),
        scenarios.test_what_the_losing_home_of_an_epoch_wrote_is_late_in_that_epoch_and_in_the_next,
    ),
    "what is late is adopted over what was written since": (
        replaced(FactReader, "builds_on", lambda *_: True),
        lambda stage: adoptions.test_a_write_and_an_adoption_at_once_follow_each_other_or_the_late_one_stands_apart(
            stage, False
        ),
    ),
    "what was adopted is adopted again": (
        adopted_is_adopted_again,
        adoptions.test_a_late_version_is_adopted_once_however_often_and_wherever_it_is_met,
    ),
    "a move is committed whatever stands in the old home's log": (
        replaced(Handoff, "commit", commit_whatever_stands),
        lambda stage: scenarios.test_giving_up_a_move_and_committing_it_leave_one_home_that_writes(
            stage, "before the commit"
        ),
    ),
    "a mover's cut is found again by the next": (
        one_cut_for_ever,
        scenarios.test_a_mover_that_comes_back_meets_no_cut_of_its_former_self,
    ),
    "a fail-over is not looked for after the second put": (
        replaced(SyncReplica, "confirm", lambda *_: None),
        in_two_regions,
    ),
    "a fail-over lists before it names its epoch": (the_cut_before_the_record, in_the_middle_of_a_fail_over),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_scenario_fails_without_what_it_is_about(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, scenario = DEFECTS[name]
    plant(monkeypatch)
    with pytest.raises((AssertionError, Busy, Malformed)):
        scenario(MovingStage())
