"""Exact schedules with two homes, each of which broke a draft of the design; mover and fail-over are the real ones.

Each section is one schedule. A scenario that ends with `at_rest` has found every acknowledged version in every region,
in the history or listed as divergent; one memory at one path; the same rows in every region, and the same again when
they are made anew from each bucket. `PROTECTIONS` at the end takes away what each is about, and has to see it fail.
"""

from __future__ import annotations

import pytest

from cairn.core.errors import OutcomeUnknown
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage

PUT = "objects.put_if_absent"
REGIONS = (HOME, AWAY, THIRD)


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


# ---- failover_splits_a_rename ---------------------------------------------------------------------------------------


def renamed(stage: MovingStage, *replicated: str, update: bool = False) -> tuple[str, str]:
    """A rename of which these objects have reached `AWAY`, and then its home dies: (memory_id, its last version)."""
    memory = stage.create("/a", "one")
    stage.deliver()
    last = stage.update(memory.id, path="/b").version_id
    keys = dict(zip(("moved_in", "moved_out"), [e.key for e in stage.cloud.pending if "/log/" in e.key], strict=True))
    if update:
        last = stage.update(memory.id, "two").version_id
        keys["update"] = stage.cloud.pending[-1].key
    stage.hold_back()
    stage.reach(AWAY, *(keys[name] for name in replicated))
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    return memory.id, last


@pytest.mark.parametrize("half", ["moved_in", "moved_out"])
def test_half_a_rename_that_was_replicated_leaves_its_memory_at_its_source(stage: MovingStage, half: str) -> None:
    memory_id, moved = renamed(stage, half)
    assert stage.listed(AWAY) == {"/a": memory_id}
    stage.at_rest(divergent=[moved])
    assert stage.listed(THIRD) == {"/a": memory_id} and stage.read(memory_id, HOME).content == "one"
    stage.update(memory_id, "two", path="/b", region=HOME)
    stage.at_rest(divergent=[moved])


def test_a_rename_that_was_written_on_is_at_its_destination_without_its_second_half(stage: MovingStage) -> None:
    memory_id, _ = renamed(stage, "moved_in", "update", update=True)
    assert stage.listed(AWAY) == {"/b": memory_id} and stage.read(memory_id, AWAY).content == "two"
    other = stage.create("/a", "other", region=AWAY)
    stage.at_rest()
    assert stage.listed(THIRD) == {"/a": other.id, "/b": memory_id}


@pytest.mark.parametrize("backwards", [False, True])
def test_late_updates_are_adopted_to_the_last_in_whichever_order_they_come(stage: MovingStage, backwards: bool) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, "two")
    stage.update(memory.id, "three")
    late = [event.key for event in stage.hold_back()]
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    for key in reversed(late) if backwards else late:
        stage.come_late(key)
    stage.at_rest()
    assert {stage.read(memory.id, region).content for region in REGIONS} == {"three"}


def test_what_the_losing_home_of_an_epoch_wrote_is_late_in_that_epoch_and_in_the_next(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.fail_over(THIRD)
    rival = stage.update(memory.id, "rival", region=THIRD)
    stage.hold_back()
    stage.fail_over(AWAY)
    stage.update(memory.id, "ours", region=AWAY)
    stage.reach(THIRD)
    stage.at_rest(divergent=[rival.version_id])
    stage.move(THIRD)
    stage.at_rest(divergent=[rival.version_id])
    assert stage.read(memory.id, THIRD).content == "ours"


# ---- fold_is_a_join -------------------------------------------------------------------------------------------------


def test_a_region_that_hears_of_epochs_in_their_order_keeps_what_it_knew_of_the_last(stage: MovingStage) -> None:
    """It has passed on a write, and so has rows of an epoch whose predecessor's record comes only now."""
    stage.fail_over(AWAY)
    stage.move(HOME)
    memory = stage.create("/a", region=THIRD)
    assert stage.listed(THIRD) == {"/a": memory.id}
    records = [event.key for event in stage.cloud.pending if "/store/" in event.key and not event.replica]
    for key in records:
        stage.reach(THIRD, key)
        assert stage.listed(THIRD) == {"/a": memory.id}
    stage.at_rest()


# ---- frozen_lease_clock ---------------------------------------------------------------------------------------------


def test_a_writer_that_stalls_while_the_home_moves_acknowledges_nothing(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stalled = stage.actor(lambda: stage.update(memory.id, "stalled")).until(PUT)
    stage.move(AWAY)
    stage.update(memory.id, "new home", region=AWAY)
    stalled.fails(OutcomeUnknown)
    stage.at_rest(divergent=None)
    assert {stage.read(memory.id, region).content for region in REGIONS} == {"new home"}


# ---- mover_dies -----------------------------------------------------------------------------------------------------


def test_a_region_that_dies_while_it_takes_over_is_failed_over_in_its_turn(stage: MovingStage) -> None:
    """Its epoch never came to a cut: no entry is ever judged by it."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.actor(lambda: stage.fail_over(AWAY)).until(PUT, occurrence=4).die()
    stage.deliver()
    with stage.dead(HOME, AWAY):
        stage.fail_over(THIRD, old=AWAY)
        stage.update(memory.id, "two", region=THIRD)
    stage.at_rest()
    stage.update(memory.id, "three", region=HOME)
    stage.move(AWAY)
    stage.at_rest()
    assert {stage.read(memory.id, region).content for region in REGIONS} == {"three"}


# ---- two fail-overs at once -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("adopted_here_too", [True, False])
def test_what_a_losing_home_had_adopted_is_in_the_history_once(stage: MovingStage, adopted_here_too: bool) -> None:
    """The accepted home has it as well: by its cut, or as an adoption of its own."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, "two")
    (late,) = [event.key for event in stage.hold_back()]
    stage.fail_over(THIRD)
    stage.reach(THIRD, late)
    assert stage.read(memory.id, THIRD).content == "two"
    stage.hold_back()
    if adopted_here_too:
        stage.fail_over(AWAY)
        stage.reach(AWAY, late)
    else:
        stage.reach(AWAY, late)
        stage.fail_over(AWAY)
    stage.update(memory.id, "three", region=AWAY)
    stage.at_rest()
    assert {stage.read(memory.id, region).content for region in REGIONS} == {"three"}
    assert len(stage.history(memory.id, HOME)) == 3
