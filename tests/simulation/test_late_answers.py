"""Answers of a home that are on their way while the region that asked becomes the home: by a move, or by a failover."""

from __future__ import annotations

import pytest

from memolith.core.errors import NotFound, OutcomeUnknown, PathConflict, PreconditionFailed
from tests.simulation.moving_stage import AWAY, HOME, MovingStage
from tests.simulation.stage import PUT


@pytest.mark.parametrize(
    ("write", "slow"),
    [("acknowledged", "on its way"), ("refused", "on its way"), ("acknowledged", "not projected yet")],
)
def test_a_memory_that_was_deleted_since_is_not_shown_by_the_new_home_for_an_answer_of_the_old_one(
    write: str, slow: str
) -> None:
    """The deletion has arrived, and its event has not: only what the new home began with says that it is gone."""
    stage = MovingStage()
    memory = stage.create("/a", "one")
    stage.deliver()
    expected = None if write == "acknowledged" else "0" * 64
    call = stage.actor(lambda: stage.update(memory.id, "two", region=AWAY, expected=expected))
    call.until("peers.call", "peerwriter", after=True)
    if slow == "not projected yet":
        call.until("index.commit")
    stage.delete(memory.id)
    for key in {event.key for event in stage.cloud.pending}:
        stage.copy(key, AWAY)
    stage.hold_back()
    stage.move(AWAY)
    stage.hold_back()
    if write == "acknowledged":
        call.finish()
    else:
        call.fails(PreconditionFailed)
    with pytest.raises(NotFound):
        stage.read(memory.id, AWAY)
    assert stage.listed(AWAY) == {}
    stage.come_late()
    stage.at_rest()


def nobody_comes_above_what_the_term_began_with(stage: MovingStage, memory_id: str) -> None:
    """The term began with this memory at `/a/b`, and its writers go by the index, whatever the lost home answered."""
    assert stage.listed(AWAY) == {"/a/b": memory_id}
    with pytest.raises(PathConflict):
        stage.create("/a", "above", region=AWAY)
    stage.come_late()
    assert stage.listed(AWAY) == {"/a/b": memory_id}
    stage.at_rest(divergent=None)


@pytest.mark.parametrize("slow", ["on its way", "not projected yet"])
def test_the_answer_of_a_lost_home_hides_no_path_from_the_writers_of_the_new_one(slow: str) -> None:
    """A rename that the new home began without: its event comes last, and a creator comes before that."""
    stage = MovingStage()
    memory = stage.create("/a/b", "one")
    stage.deliver()
    call = stage.actor(lambda: stage.update(memory.id, path="/c", region=AWAY))
    call.until("peers.call", "peerwriter", after=True)
    if slow == "not projected yet":
        call.until("index.commit", "memories")
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.deliver()
        call.fails(OutcomeUnknown)
    nobody_comes_above_what_the_term_began_with(stage, memory.id)


def test_an_answer_of_the_lost_home_that_comes_during_the_fail_over_hides_no_path() -> None:
    """The record that begins the term does not yet say with what, and the rows have been repaired by then."""
    stage = MovingStage()
    memory = stage.create("/a/b", "one")
    stage.deliver()
    call = stage.actor(lambda: stage.update(memory.id, path="/c", region=AWAY))
    call.until("peers.call", "peerwriter", after=True)
    stage.hold_back()
    with stage.dead(HOME):
        failing = stage.actor(lambda: stage.fail_over(AWAY))
        failing.until(PUT, f"{AWAY}/store/", after=True).until(PUT, f"{AWAY}/store/")
        call.fails(OutcomeUnknown)
        failing.until("index.commit", "stores", after=True)
        nobody_comes_above_it = stage.actor(lambda: stage.create("/a", "above", region=AWAY))
        nobody_comes_above_it.fails(PathConflict)
        failing.finish()
    nobody_comes_above_what_the_term_began_with(stage, memory.id)
