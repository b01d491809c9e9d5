"""Versions of a home that a region has not heard of: they come there before the record that names their home."""

from __future__ import annotations

import pytest

from memolith.core.errors import Unavailable
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged
from tests.simulation.unheard_homes import seen_in, taken_over


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def _shown_before_its_home_is_known(stage: MovingStage, region: str) -> str:
    """`AWAY` took over and has written. `region` shows its version; no region but `AWAY` has its record."""
    memory = stage.create("/a", "one")
    taken_over(stage)
    stage.update(memory.id, "two", region=AWAY)
    seen_in(stage, region)
    assert stage.read(memory.id, region).content == "two", "or this test shows nothing"
    return memory.id


@pytest.mark.parametrize("region", [THIRD, HOME])
@pytest.mark.parametrize("write", ["changes nothing", "changes", "deletes"])
def test_a_write_goes_to_the_home_whose_version_its_region_shows(stage: MovingStage, region: str, write: str) -> None:
    memory_id = _shown_before_its_home_is_known(stage, region)
    if write == "changes nothing":
        shown = stage.read(memory_id, region)
        assert stage.update(memory_id, path="/a", region=region).version_id == shown.version_id
    elif write == "changes":
        stage.update(memory_id, "three", region=region)
    else:
        stage.delete(memory_id, region=region)
    assert stage.home(region) == AWAY
    stage.at_rest()
    assert stage.listed(AWAY) == ({} if write == "deletes" else {"/a": memory_id})


@pytest.mark.parametrize("region", [THIRD, HOME])
def test_a_write_is_refused_while_the_home_whose_version_its_region_shows_does_not_answer(
    stage: MovingStage, region: str
) -> None:
    memory_id = _shown_before_its_home_is_known(stage, region)
    with stage.dead(AWAY), pytest.raises(Unavailable):
        stage.update(memory_id, "three", region=region)
    stage.at_rest()
    assert stage.read(memory_id, region).content == "two"


def test_of_two_homes_that_took_over_at_once_a_write_goes_to_the_one_whose_version_its_region_shows(
    stage: MovingStage,
) -> None:
    """The region has heard of the other one, whose epoch has the same number and is not accepted."""
    memory = stage.create("/a", "one")
    stage.deliver()
    with stage.dead(HOME), stage.dead(THIRD):
        stage.fail_over(AWAY)
    stage.hold_back()
    with stage.dead(HOME), stage.dead(AWAY):
        stage.fail_over(THIRD)
    others = [event.key for event in stage.hold_back()]
    stage.reach(HOME, *others)
    with stage.dead(THIRD):
        stage.update(memory.id, "two", region=AWAY)
    keys = logged(stage)
    stage.hold_back()
    stage.reach(HOME, *keys)
    shown = stage.read(memory.id, HOME)
    assert (shown.content, stage.home(HOME)) == ("two", THIRD), "or this test shows nothing"
    assert stage.update(memory.id, path="/a", region=HOME).version_id == shown.version_id
    assert stage.home(HOME) == AWAY
    stage.at_rest()
