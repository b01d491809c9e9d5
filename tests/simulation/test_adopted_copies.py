"""Adopted copies that never arrive: their late originals, which are here, do not stand for them."""

from __future__ import annotations

import pytest

from memolith.adapters.memory import PutEvent
from memolith.core.errors import NotFound, Unavailable
from memolith.core.rows.content import LATE_PREFIX
from tests.simulation.lost_objects import (
    assert_waited_for_and_fetched,
    compare,
    is_here,
    is_named,
    lose,
    minutes,
    until,
)
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.test_home_scenarios import PUT


def adopted_and_lost() -> tuple[MovingStage, str, str, list[PutEvent]]:
    """A deletion and an update came late to a new home, which adopted both; S3 never copies them to the old home.

    The stage, the memory that was deleted, the one that was updated, and what is lost.
    """
    stage = MovingStage((HOME, AWAY))
    gone, kept = stage.create("/gone", "to be deleted"), stage.create("/kept", "first")
    stage.deliver()
    minutes(stage)
    stage.delete(gone.id)
    stage.update(kept.id, "second")
    late = stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.deliver()
    for event in late:
        stage.cloud.buckets.replicate(event, AWAY)
        stage.index(event.key, HOME)
    for event in late:
        stage.index(event.key, AWAY)
    lost = lose(stage, f"{AWAY}/log/", HOME)
    assert len(lost) == 2
    return stage, gone.id, kept.id, lost


def test_a_late_original_does_not_stand_for_the_copy_that_was_adopted() -> None:
    stage, gone, kept, lost = adopted_and_lost()
    told_us = stage.clock.now_us()
    late = [key for key in stage.cloud.rows(HOME, "versions") if key[1].startswith(LATE_PREFIX)]
    assert len(late) == 2, "the originals stand apart at the old home"
    assert_waited_for_and_fetched(stage, lost, told_us, HOME, AWAY)
    assert stage.read(kept, HOME).content == "second" and stage.listed(HOME) == {"/kept": kept}
    with pytest.raises(NotFound):
        stage.read(gone, HOME)
    assert stage.divergent(HOME) == []


def test_the_history_of_a_home_that_has_not_heard_of_its_successor_does_not_stand_for_the_adopted_copy() -> None:
    """Its own row of the version is not late yet, and stands at the original's position."""
    stage = MovingStage((HOME, AWAY))
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    stage.update(memory.id, "second")
    [late] = [event for event in stage.hold_back() if "/log/" in event.key]
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.hold_back()
    stage.cloud.buckets.replicate(late, AWAY)
    stage.index(late.key, AWAY)
    told_us = stage.clock.now_us()
    lost = lose(stage, f"{AWAY}/log/", HOME)
    assert_waited_for_and_fetched(stage, lost, told_us, HOME, AWAY)


def test_an_adopted_copy_is_waited_for_though_its_original_was_projected_by_the_earlier_record_before_it() -> None:
    """A call that went by the record before the fail-over projects the original once the adopter has died."""
    stage = MovingStage((HOME, AWAY))
    minutes(stage, 2)
    memory = stage.create("/a", "first")
    [late] = [event for event in stage.hold_back() if "/log/" in event.key]
    behind = stage.actor(lambda: stage.index(late.key, AWAY)).until("index.read", after=True)
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.cloud.buckets.replicate(late, AWAY)
        adopter = stage.actor(lambda: stage.index(late.key, AWAY))
        adopter.until(PUT, f"{AWAY}/log/", after=True).die()
        behind.fails(Unavailable)
    assert stage.history(memory.id, AWAY) == []
    told_us = stage.clock.now_us()
    [lost] = lose(stage, f"{AWAY}/log/", HOME)
    assert_waited_for_and_fetched(stage, [lost], told_us, HOME, AWAY)
    stage.at_rest()


def test_what_a_home_adopted_whose_epoch_was_not_accepted_holds_no_watermark_up() -> None:
    """The accepted epoch has the original, at an earlier position than the copy that the other's checkpoint names."""
    stage = MovingStage()
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    stage.update(memory.id, "second")
    [late] = [event for event in stage.hold_back() if "/log/" in event.key]
    stage.cloud.buckets.replicate(late, AWAY)
    stage.index(late.key, AWAY)
    with stage.dead(HOME):
        with stage.dead(THIRD):
            stage.fail_over(AWAY)
        with stage.dead(AWAY):
            stage.fail_over(THIRD)
        stage.cloud.buckets.replicate(late, THIRD)
        stage.index(late.key, THIRD)
    told_us = stage.clock.now_us()
    assert [event.key for event in stage.cloud.pending if f"{THIRD}/log/" in event.key], "the loser adopted it"
    stage.deliver()
    assert stage.home(THIRD) == AWAY
    minutes(stage, 5)
    for region in (HOME, AWAY):
        assert until(stage, region, THIRD) > told_us
        assert compare(stage, region) == [0, 0]
    stage.at_rest()


def test_the_late_original_is_waited_for_and_not_the_copy_that_a_home_whose_epoch_was_not_accepted_never_logged() -> (
    None
):
    """The adopter died after its put, and the copy's event came once its home had heard of the accepted epoch."""
    stage = MovingStage()
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    late_id = stage.update(memory.id, "second").version_id
    [late] = [event for event in stage.hold_back() if "/log/" in event.key]
    stage.held.clear()
    with stage.dead(HOME):
        with stage.dead(THIRD):
            stage.fail_over(AWAY)
            stage.update(memory.id, "of the new home", region=AWAY)
        others = [event.key for event in stage.hold_back() if event.region == AWAY]
        with stage.dead(AWAY):
            stage.fail_over(THIRD)
        stage.cloud.buckets.replicate(late, THIRD)
        stage.actor(lambda: stage.index(late.key, THIRD)).until(PUT, f"{THIRD}/log/", after=True).die()
    [copy] = [event for event in stage.cloud.pending if f"{THIRD}/log/" in event.key and not event.replica]
    stage.cloud.pending.remove(copy)
    stage.reach(THIRD, *others)
    assert stage.home(THIRD) == AWAY
    stage.index(late.key, HOME)
    stage.index(copy.key, THIRD)
    stage.come_late()
    assert stage.divergent(THIRD) == [late_id] and stage.divergent(AWAY) == []
    told_us = stage.clock.now_us()
    assert_waited_for_and_fetched(stage, [late], told_us, AWAY, HOME)
    assert until(stage, AWAY, THIRD) > told_us and not is_here(stage, copy)
    assert is_named(stage, late) and not is_named(stage, copy)
    assert stage.divergent(AWAY) == [late_id]
    stage.held.append(copy)
    stage.at_rest(divergent=[late_id])


def test_a_version_that_counts_once_its_home_hears_of_the_accepted_epoch_is_waited_for() -> None:
    """Its writer died before it was logged, and its event came while its home knew of the other fail-over alone."""
    stage = MovingStage()
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage, 4)
    stage.actor(lambda: stage.update(memory.id, "second")).until(PUT, f"{HOME}/log/", after=True).die()
    [lost] = [event for event in stage.hold_back() if "/log/" in event.key]
    stage.held.clear()
    stage.cloud.buckets.replicate(lost, AWAY)
    stage.index(lost.key, AWAY)
    with stage.dead(HOME):
        with stage.dead(AWAY):
            stage.fail_over(THIRD)
        others = [event.key for event in stage.hold_back() if event.region == THIRD]
        with stage.dead(THIRD):
            stage.fail_over(AWAY)
    stage.reach(HOME, *others)
    stage.index(lost.key, HOME)
    assert stage.home(HOME) == THIRD and len(stage.divergent(HOME)) == 1
    stage.come_late()
    assert stage.home(HOME) == AWAY and stage.divergent(HOME) == []
    told_us = stage.clock.now_us()
    assert_waited_for_and_fetched(stage, [lost], told_us, THIRD, HOME)
    stage.at_rest()
