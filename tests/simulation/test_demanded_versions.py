"""Reads that demand a version, in a region that is its store's home by its row and cannot know every version.

Only a home can say that a version is unknown: whatever was acknowledged, some home knows it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.app.kernel.results import Memory, ReadConsistency
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.limits import ACKNOWLEDGED_WITHIN_US
from tests.simulation.lost_objects import minutes
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import PUT
from tests.simulation.test_home_cuts import reach_untold
from tests.simulation.test_home_terms import about_to_move
from tests.simulation.test_imports_of_two_homes import TOLD


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def read_from(stage: MovingStage, memory_id: str, version_id: str, region: str) -> Memory:
    """The memory in this region, no older than this version."""
    call = replace(stage.call(), demand=ReadConsistency(min_version=version_id))
    return stage.memolith(region).memories.retrieve(call, stage.store, memory_id, full=True)


@pytest.mark.parametrize("region", [AWAY, THIRD])
def test_a_new_home_whose_term_has_not_begun_does_not_say_that_a_version_is_unknown(
    stage: MovingStage, region: str
) -> None:
    """It has the old home's last record, and no row yet of what its bucket holds."""
    memory = stage.create("/a", "one")
    reach_untold(stage)
    mover = stage.actor(lambda: stage.move(AWAY)).until("objects.get", f"{AWAY}/cut/")
    stage.reach(THIRD, *[key for key in stage.all_keys() if "/store/" in key])
    assert [(stage.home(one), stage.state(one)) for one in (AWAY, THIRD)] == [(AWAY, "moved")] * 2
    with pytest.raises(Unavailable):
        read_from(stage, memory.id, memory.version_id, region)
    mover.finish()
    assert read_from(stage, memory.id, memory.version_id, region).version_id == memory.version_id
    stage.at_rest()


@pytest.mark.parametrize("region", [HOME, THIRD])
def test_an_old_home_that_has_not_indexed_its_last_record_does_not_say_that_a_version_is_unknown(
    stage: MovingStage, region: str
) -> None:
    """It died before it indexed the record that ends its term, and no event tells of it. The new home writes."""
    memory = stage.create("/a", "one")
    stage.deliver()
    mover = about_to_move(stage).until(PUT, f"{HOME}/store/", after=True)
    mover.die()
    stage.hold_back()
    stage.move(AWAY)
    version_id = stage.update(memory.id, "two", region=AWAY).version_id
    stage.hold_back()
    assert (stage.home(HOME), stage.state(HOME), stage.home(THIRD)) == (HOME, "moving", HOME)
    with pytest.raises(Unavailable):
        read_from(stage, memory.id, version_id, region)
    stage.at_rest()
    assert read_from(stage, memory.id, version_id, region).version_id == version_id


@pytest.mark.parametrize("imported", [False, True])
@pytest.mark.parametrize("follow", ["updated", "deleted"])
def test_a_home_does_not_say_that_a_version_is_unknown_before_it_has_all_that_the_old_home_acknowledged(
    stage: MovingStage, follow: str, imported: bool
) -> None:
    """A move indexes what memories are; of what they were the copies are here, and no event has come."""
    memory = stage.create("/a", "one")
    if imported:
        stage.memolith().imports.import_versions(stage.call(), stage.store, [TOLD])
        memory = stage.read(TOLD.memory_id)
    stage.update(memory.id, "two") if follow == "updated" else stage.delete(memory.id)
    reach_untold(stage)
    stage.move(AWAY)
    assert (stage.home(AWAY), stage.state(AWAY)) == (AWAY, "active")
    with pytest.raises(Unavailable):
        read_from(stage, memory.id, memory.version_id, AWAY)
    stage.at_rest()


def test_a_new_home_says_that_a_version_is_unknown_once_it_has_all_that_the_old_one_acknowledged(
    stage: MovingStage,
) -> None:
    memory, unknown = stage.create("/a", "one"), stage.new_version_id()
    stage.deliver()
    stage.move(AWAY)
    with pytest.raises(Unavailable):
        read_from(stage, memory.id, unknown, AWAY)
    minutes(stage, 5)
    with pytest.raises(InvalidRequest, match="is not known in this store"):
        read_from(stage, memory.id, unknown, AWAY)


def test_a_new_home_says_that_a_version_of_its_own_term_is_unknown_at_once(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.move(AWAY)
    stage.clock.advance(2 * ACKNOWLEDGED_WITHIN_US / 1_000_000)
    with pytest.raises(InvalidRequest, match="is not known in this store"):
        read_from(stage, memory.id, stage.new_version_id(), AWAY)
