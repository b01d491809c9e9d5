"""Paths at which a region shows what a later home put there, or took away, before it has heard of that home.

Promise 9: what a region has acknowledged is in its next answer, by id and in lists. Promise 10: a caller whose write
was refused can read the reason where it was refused. Promise 11: a region never goes back.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memolith.app.kernel.results import Memory
from memolith.core.errors import PathConflict, Unavailable
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged
from tests.simulation.unheard_homes import apart_and_unheard_of, seen_in, taken_over


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def _seen_in_third(stage: MovingStage, write: Callable[[], object]) -> None:
    """`AWAY` took over and wrote; `THIRD` shows what it wrote, and takes `HOME` for the home."""
    taken_over(stage)
    write()
    seen_in(stage, THIRD)


def _create(stage: MovingStage, other: Memory) -> Memory:
    return stage.create("/a", "mine", region=THIRD)


def _rename(stage: MovingStage, other: Memory) -> Memory:
    return stage.update(other.id, path="/a", region=THIRD)


@pytest.mark.parametrize("cold", [True, False])
@pytest.mark.parametrize("take", [_create, _rename])
def test_no_memory_is_acknowledged_at_a_path_at_which_its_region_shows_another(
    stage: MovingStage, take: Callable[[MovingStage, Memory], Memory], cold: bool
) -> None:
    other = stage.create("/b", "b", region=HOME if cold else THIRD)
    _seen_in_third(stage, lambda: stage.create("/a", "theirs", region=AWAY))
    with pytest.raises(PathConflict):
        mine = take(stage, other)
        assert stage.listed(THIRD).get("/a") == mine.id, "acknowledged, and in no list of the region"
    stage.at_rest()


@pytest.mark.parametrize("cold", [True, False])
@pytest.mark.parametrize("take", [_create, _rename])
def test_no_memory_is_refused_at_a_path_that_its_region_shows_to_be_free(
    stage: MovingStage, take: Callable[[MovingStage, Memory], Memory], cold: bool
) -> None:
    memory, other = stage.create("/a", "a"), stage.create("/b", "b", region=HOME if cold else THIRD)
    _seen_in_third(stage, lambda: stage.delete(memory.id, region=AWAY))
    assert "/a" not in stage.listed(THIRD)
    mine = take(stage, other)
    assert stage.listed(THIRD)["/a"] == mine.id
    stage.at_rest()


@pytest.mark.parametrize("take", [_create, _rename])
def test_a_write_at_a_path_that_a_later_home_left_is_refused_while_that_does_not_answer(
    stage: MovingStage, take: Callable[[MovingStage, Memory], Memory]
) -> None:
    memory, other = stage.create("/a", "a"), stage.create("/b", "b", region=THIRD)
    _seen_in_third(stage, lambda: stage.delete(memory.id, region=AWAY))
    with stage.dead(AWAY), pytest.raises(Unavailable):
        take(stage, other)
    stage.at_rest()


def test_a_divergent_version_of_a_memory_that_a_later_home_deleted_is_restored_there(stage: MovingStage) -> None:
    """It is made anew at its path, which the lost home still holds for the deleted memory."""
    memory, apart = apart_and_unheard_of(stage, HOME, late="late", now="three")
    stage.delete(memory.id, region=THIRD)
    keys = logged(stage)
    stage.hold_back()
    stage.reach(HOME, *keys)
    assert stage.listed(HOME) == {}
    restored = stage.memolith(HOME).divergent.restore(stage.call(), stage.store, apart, full=False)
    assert restored is not None and stage.listed(HOME) == {"/a": restored.id}
    stage.at_rest()
