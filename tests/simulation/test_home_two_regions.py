"""Stores that ask for two regions, and whose home changes twice at once: the region that lost may be the second one."""

from __future__ import annotations

import pytest

from memolith.core.errors import OutcomeUnknown
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.test_home_scenarios import PUT


def test_a_store_that_two_regions_took_over_is_written_though_its_second_region_is_the_one_that_lost() -> None:
    stage = MovingStage(two_regions=True)
    memory = stage.create("/a", "one")
    stage.deliver()
    with stage.dead(HOME, THIRD):
        stage.fail_over(AWAY)
    with stage.dead(HOME, AWAY):
        stage.fail_over(THIRD)
    stage.deliver()
    assert {stage.home(region) for region in (HOME, AWAY, THIRD)} == {AWAY}
    for region in (HOME, AWAY, THIRD):
        stage.update(memory.id, f"in {region}", region=region)
    stage.update(memory.id, path="/b", region=AWAY)
    stage.hold_back()
    with stage.dead(AWAY):
        stage.operate(THIRD, "homes.fail_over", old=AWAY)
        assert stage.operate(THIRD, "homes.fail_over", old=AWAY)["state"] == "at home"
        assert stage.listed(THIRD) == {"/b": memory.id}
    stage.at_rest()


def test_a_store_that_was_moved_and_taken_over_at_once_is_written_though_its_second_region_is_where_it_was_moved() -> (
    None
):
    """The fail-over is accepted; nobody there had heard of the move, which was committed and taken up."""
    stage = MovingStage(two_regions=True)
    memory = stage.create("/a", "one")
    stage.deliver()
    with stage.dead(AWAY):
        stage.move(THIRD)
    with stage.dead(HOME, THIRD):
        stage.fail_over(AWAY)
    stage.deliver()
    assert {stage.home(region) for region in (HOME, AWAY, THIRD)} == {AWAY}
    stage.update(memory.id, "two", region=AWAY)
    stage.at_rest()


@pytest.mark.parametrize("occurrence", [1, 2])
def test_a_home_whose_second_region_takes_over_acknowledges_nothing_also_after_it_had_lost_once(
    occurrence: int,
) -> None:
    """A record of the second region that does not count is passed over; one that comes after it is not."""
    stage = MovingStage(two_regions=True)
    memory = stage.create("/a", "one")
    stage.deliver()
    for region in (AWAY, THIRD):
        with stage.dead(*{HOME, AWAY, THIRD} - {region}):
            stage.fail_over(region)
    stage.deliver()
    stage.update(memory.id, "two", region=AWAY)
    stage.deliver()
    writer = stage.actor(lambda: stage.update(memory.id, "three", region=AWAY)).until("objects.list", f"{THIRD}/store/")
    over = stage.actor(lambda: stage.fail_over(THIRD, old=AWAY)).until(PUT, occurrence=occurrence, after=True)
    writer.fails(OutcomeUnknown)
    over.finish()
    stage.at_rest(divergent=None)


def assert_second_region_has_both(stage: MovingStage, moved_id: str) -> None:
    """Create a memory at `/a`, which another left for `/b`: a failover to the second region begins with both."""
    other = stage.create("/a", "two")
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        assert stage.listed(AWAY) == {"/a": other.id, "/b": moved_id}
    stage.at_rest()


def test_what_takes_the_path_of_a_rename_that_another_finished_brings_the_second_region_where_its_memory_went() -> None:
    """The renamer died after its first put; an event's helper finished the rename, and nobody answered for it."""
    stage = MovingStage(two_regions=True)
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, after=True).die()
    (arrival,) = stage.hold_back()
    stage.index(arrival.key)
    assert_second_region_has_both(stage, memory.id)


def test_what_takes_the_path_of_a_rename_from_before_two_regions_were_asked_for_brings_where_its_memory_went() -> None:
    stage = MovingStage()
    memory = stage.create("/a", "one")
    stage.update(memory.id, path="/b")
    stage.hold_back()
    stage.ask_for_two_regions()
    assert_second_region_has_both(stage, memory.id)
