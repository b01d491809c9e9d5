"""Stays at a path that another memory has taken since: a fail-over finds who took it, and not who had been there."""

from __future__ import annotations

import pytest

from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged, take_over


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def test_what_a_memory_was_elsewhere_stands_apart_once_its_creation_came_late_and_was_adopted(
    stage: MovingStage,
) -> None:
    """The new home knows of its stay at /d nothing but a number of slots, below the creation that took the path."""
    memory = stage.create("/a", "one")
    there = stage.update(memory.id, path="/d").version_id
    back = stage.update(memory.id, path="/a").version_id
    other = stage.create("/d", "other")
    created, *renamed, taken = logged(stage)
    take_over(stage, taken)
    stage.come_late(created)
    assert stage.listed(AWAY) == {"/a": memory.id, "/d": other.id}
    stage.come_late(*renamed)
    stage.at_rest(divergent=[there, back])
    for region in stage.cloud.regions:
        assert [version.id for version in stage.history_of(memory.id, region)] == [memory.version_id]


def test_what_a_memory_was_elsewhere_stands_apart_though_it_came_before_its_creation_was_adopted(
    stage: MovingStage,
) -> None:
    memory = stage.create("/a", "one")
    there = stage.update(memory.id, path="/d").version_id
    back = stage.update(memory.id, path="/a").version_id
    other = stage.create("/d", "other")
    created, *renamed, taken = logged(stage)
    take_over(stage, taken)
    stage.come_late(*renamed)
    stage.come_late(created)
    stage.at_rest(divergent=[there, back])
    assert stage.listed(THIRD) == {"/a": memory.id, "/d": other.id}


def test_a_stay_at_another_path_of_which_a_fail_over_found_nothing_stands_apart(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    there = stage.update(memory.id, path="/d").version_id
    changed = stage.update(memory.id, "two").version_id
    back = stage.update(memory.id, path="/a").version_id
    other = stage.create("/d", "other")
    *stay, taken = logged(stage)
    take_over(stage, taken)
    assert stage.listed(AWAY) == {"/a": memory.id, "/d": other.id}
    stage.come_late(*stay)
    stage.at_rest(divergent=[there, changed, back])
    assert stage.listed(THIRD) == {"/a": memory.id, "/d": other.id}
    again = stage.update(memory.id, "again", region=AWAY)
    stage.at_rest(divergent=[there, changed, back])
    assert [version.id for version in stage.history_of(memory.id, THIRD)] == [again.version_id, memory.version_id]


def test_a_deletion_at_another_path_of_which_a_fail_over_found_nothing_does_not_delete(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    there = stage.update(memory.id, path="/d").version_id
    stage.delete(memory.id)
    other = stage.create("/d", "other")
    *stay, deleted, taken = logged(stage)
    take_over(stage, taken)
    stage.come_late(*stay, deleted)
    ended = stage.cloud.buckets.current(HOME, deleted)
    assert ended is not None
    stage.at_rest(divergent=[there, ended.metadata["id"]])
    assert stage.listed(THIRD) == {"/a": memory.id, "/d": other.id}


def test_a_late_change_of_a_memory_that_two_fail_overs_left_without_a_head_is_divergent_and_asks_no_more(
    stage: MovingStage,
) -> None:
    """Its creation is the last that the second new home knows of its path: that it went on from there is not known."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, path="/b")
    moved = logged(stage)
    moved_back = stage.update(memory.id, path="/a")
    late = stage.update(memory.id, "two")
    came_back = [key for key in logged(stage) if key not in moved][1:]
    stage.hold_back()
    stage.reach(THIRD, moved[1])
    take_over(stage, *came_back)
    stage.create("/b", region=AWAY)
    made = [event.key for event in stage.hold_back()]
    stage.reach(THIRD, *made)
    with stage.dead(AWAY):
        stage.fail_over(THIRD, old=AWAY)
    stage.at_rest(divergent=[moved_back.version_id, late.version_id])
