"""Answers of a home that are on their way while the home moves to the region that asked."""

from __future__ import annotations

import pytest

from memolith.core.errors import NotFound, PreconditionFailed
from tests.simulation.moving_stage import AWAY, MovingStage


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
