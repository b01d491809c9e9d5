"""Records of a store's home that come twice, late or not at all, and what earlier homes knew by theirs."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.adapters.memory import MemoryQueue
from memolith.app.replication.service import make_comparisons
from memolith.core.errors import Unavailable
from memolith.core.object_keys import StoreKey, parse_key
from memolith.core.objects.store_record import StoreRecord
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import PlacedRecord, to_row
from memolith.ports.index import Change
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged, taken_over_and_back
from tests.simulation.test_home_scenarios import PUT


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


# ---- records --------------------------------------------------------------------------------------------------------


def test_a_fail_over_that_is_repeated_by_an_old_row_gives_an_epoch_no_second_cut(stage: MovingStage) -> None:
    """The table is behind: a move away from here was begun since, whose record alone is in the bucket."""
    stage.create("/a", "one")
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        with suppress(Unavailable):
            stage.operate(AWAY, "homes.begin", to=THIRD)
        put_back_to_its_first_record(stage, AWAY)
        stage.fail_over(AWAY)
    row = StoreRow.from_attributes(stage.cloud.rows(AWAY, "stores")[stage.store, "record"])
    assert len(row.cuts or ()) == len(row.epochs) - 1 == 1


def test_a_fail_over_takes_nothing_from_an_epoch_of_which_it_knows_the_beginning_alone(stage: MovingStage) -> None:
    """What that epoch wrote is late, and is adopted. A cut once held it, of an epoch that its record does not name."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.fail_over(AWAY)
    stage.deliver()
    stage.fail_over(HOME, old=AWAY)
    rival = stage.update(memory.id, "rival")
    begun = next(event.key for event in stage.cloud.pending if "/store/" in event.key)
    (entry,) = logged(stage)
    stage.hold_back()
    stage.reach(AWAY, begun, entry)
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.at_rest()
    assert stage.read(memory.id, HOME).content == "rival"
    assert rival.version_id in [version.id for version in stage.history_of(memory.id, AWAY)]


def test_a_fail_over_whose_first_record_was_not_indexed_is_finished_by_the_next(stage: MovingStage) -> None:
    """`HOME` was the home two epochs ago: its own row, from then, says that the store is written there."""
    memory = stage.create("/a", "one")
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    for key in [event.key for event in stage.cloud.pending if event.region == AWAY]:
        stage.copy(key, HOME)
    stage.hold_back()
    with stage.dead(AWAY):
        begun = stage.actor(
            lambda: stage.operate(HOME, "homes.fail_over", old=AWAY), Strike(Fault.REFUSED, "index.commit")
        )
        assert begun.finish()["error"]["type"] == "OutcomeUnknown"
        assert (stage.home(HOME), stage.state(HOME)) == (HOME, "active"), "the row is the one of two epochs ago"
        assert stage.operate(HOME, "homes.fail_over", old=AWAY)["state"] == "moved"
        assert (stage.home(HOME), stage.state(HOME)) == (HOME, "active")
        stage.update(memory.id, "two")
        assert stage.operate(HOME, "homes.fail_over", old=AWAY)["state"] == "at home"
    stage.at_rest()
    stage.update(memory.id, "three", region=THIRD)
    assert stage.read(memory.id, THIRD).content == "three"


@pytest.mark.parametrize("deletes", [False, True])
def test_who_was_answered_by_a_later_home_asks_no_earlier_one_whose_record_comes_after_that(
    stage: MovingStage, deletes: bool
) -> None:
    """`THIRD` hears of the first of the two failovers when the home that the second made has answered it."""
    memory = stage.create("/a", "one")
    stage.deliver()
    taken = taken_over_and_back(stage)
    with stage.dead(AWAY):
        stage.update(memory.id, "two", region=THIRD)
        stage.hold_back()
    stage.reach(THIRD, *taken)
    assert stage.home(AWAY) == AWAY, "it has not heard that it was taken over, or this test shows nothing"
    if deletes:
        stage.delete(memory.id, region=THIRD)
    else:
        stage.update(memory.id, "three", region=THIRD)
    stage.at_rest()
    assert stage.listed(HOME) == ({} if deletes else {"/a": memory.id})


def test_a_write_is_answered_though_the_record_of_its_later_home_cannot_be_read(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    taken_over_and_back(stage)
    writing = stage.actor(lambda: stage.update(memory.id, "two", region=THIRD), Strike(Fault.REFUSED, "objects.list"))
    assert writing.finish().content_sha256 == stage.read(memory.id, HOME).content_sha256
    assert stage.home(THIRD) == HOME and stage.read(memory.id, THIRD).content == "two"
    stage.at_rest()


@pytest.mark.parametrize("indexed", [True, False])
def test_a_fail_over_to_a_home_from_which_the_store_is_being_moved_leaves_it_written_there(
    stage: MovingStage, indexed: bool
) -> None:
    """The mover died, or is still on its way: then it is told that the move was given up."""
    memory = stage.create("/a", "one")
    stage.deliver()
    mover = stage.actor(lambda: stage.operate(AWAY, "homes.move")).until(PUT, f"{AWAY}/cut/")
    if not indexed:
        put_back_to_its_first_record(stage, HOME)
    assert stage.operate(HOME, "homes.fail_over", old=AWAY)["state"] == "at home"
    stage.update(memory.id, "two")
    assert mover.finish()["error"]["type"] == "Busy"
    stage.at_rest()
    assert stage.home(THIRD) == HOME and stage.read(memory.id, THIRD).content == "two"


def put_back_to_its_first_record(stage: MovingStage, region: str) -> None:
    """The row of the store as the epoch's first record left it."""
    index = stage.cloud.sites[region].region.index
    key = StoreRow.key(stage.store)
    first = parse_key(next(key for key in sorted(stage.all_keys(region)) if f"{region}/store/{stage.store}/" in key))
    stored = stage.cloud.buckets.current(region, str(first))
    assert isinstance(first, StoreKey) and stored is not None
    row = to_row(PlacedRecord(first.slot, StoreRecord.from_json(stored.body)))
    index.commit([Change(key, index.read([key])[key], row.to_attributes())])


# ---- what a home of another chain of terms knew ----------------------------------------------------------------------


def test_what_an_earlier_home_had_adopted_counts_again_once_its_epoch_does(stage: MovingStage) -> None:
    """`AWAY` takes over without knowing of `THIRD`, and counts the late original; `HOME` comes after `THIRD`.

    An event of the original comes again while `AWAY` knows of the last epoch that it begins, and not its snapshot.
    """
    memory = stage.create("/a", "one")
    stage.deliver()
    second = stage.update(memory.id, "two")
    (late,) = [event.key for event in stage.hold_back()]
    with stage.dead(HOME, AWAY):
        stage.fail_over(THIRD)
        stage.reach(THIRD, late)
        third = stage.update(memory.id, "three", region=THIRD)
    taken = [event.key for event in stage.hold_back() if event.region == THIRD]
    stage.reach(AWAY, late)
    with stage.dead(HOME, THIRD):
        stage.fail_over(AWAY)
    stage.hold_back()
    stage.reach(HOME, *taken)
    with stage.dead(AWAY, THIRD):
        stage.fail_over(HOME, old=THIRD)
        begun, *_ = [event.key for event in stage.hold_back() if "/store/" in event.key]
    stage.reach(AWAY, *taken)
    stage.reach(AWAY, begun)
    stage.index(late, AWAY)
    stage.at_rest()
    history = [version.id for version in stage.history_of(memory.id, AWAY)]
    assert history == [third.version_id, second.version_id, memory.version_id]


def archived_by_a_lost_home(stage: MovingStage) -> None:
    """Its record has arrived nowhere; the new home's rows have been repaired to the end."""
    stage.create("/a", "one")
    stage.deliver()
    stage.memolith(HOME).stores.archive(stage.call(), stage.store)
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.deliver()
    for _ in range(5):
        stage.clock.advance(60)
        for region in stage.cloud.regions:
            stage.cloud.sites[region].reconciling.tick()
        stage.deliver()


def is_archived(stage: MovingStage, region: str) -> bool:
    return stage.cloud.rows(region, "stores")[stage.store, "record"].get("archived_at") is not None


def test_an_archiving_of_a_lost_home_holds_though_it_comes_while_the_new_one_is_about_to_move(
    stage: MovingStage,
) -> None:
    """That move is given up, so that no term begins which would look for it."""
    archived_by_a_lost_home(stage)
    moving = stage.actor(lambda: stage.move(THIRD)).until(PUT, f"{AWAY}/store/", after=True)
    moving.die()
    stage.come_late()
    assert "error" not in stage.operate(AWAY, "homes.give_up")
    stage.deliver()
    assert [is_archived(stage, region) for region in stage.cloud.regions] == [True, True, True]


def test_an_archiving_of_a_lost_home_whose_event_is_lost_holds_after_the_daily_comparison(stage: MovingStage) -> None:
    """A later record of the store is here, so that no listing takes the late one for missing."""
    archived_by_a_lost_home(stage)
    for event in stage.held:
        stage.cloud.buckets.replicate(event, AWAY)
    stage.held.clear()
    queue = MemoryQueue()
    make_comparisons(stage.cloud.sites[AWAY].region, queue).rows.run(stage.clock.now_us() + 60_000_000)
    for message in queue.take(10):
        stage.index(json.loads(message)["fold_again"]["key"], AWAY)
    stage.deliver()
    assert is_archived(stage, AWAY) and is_archived(stage, THIRD)
