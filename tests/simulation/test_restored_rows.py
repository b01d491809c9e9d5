"""Rows that go back to what a new home began with, while something else changes what they show."""

from __future__ import annotations

import pytest

from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged


@pytest.mark.parametrize("first", ["row", "blank"])
def test_a_row_does_not_go_back_to_a_version_that_is_erased_meanwhile(first: str) -> None:
    """The replica has a rename that the new home never had; the blank comes while its row goes back to the path."""
    stage = MovingStage()
    memory = stage.create("/secret", "one")
    (created,) = logged(stage)
    stage.deliver()
    stage.update(memory.id, path="/b")
    stage.reach(THIRD, *[event.key for event in stage.hold_back() if "/log/" in event.key])
    stage.redact(memory.version_id)
    order = [event.key for event in stage.hold_back() if event.key != created]
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    records = [event.key for event in [*stage.cloud.pending, *stage.held] if event.key.startswith(f"{AWAY}/")]
    restoring = stage.actor(lambda: stage.reach(THIRD, *records))
    blanking = stage.actor(lambda: stage.reach(THIRD, created))
    if first == "row":
        restoring.until("index.commit", "memories")
        blanking.until("index.read", "logs")
    else:
        restoring.until("objects.head", created, after=True)
        blanking.until("index.commit", "versions", after=True)
    restoring.finish()
    blanking.finish()
    stage.reach(THIRD, *order)
    rows = [*stage.cloud.rows(THIRD, "memories").values(), *stage.cloud.rows(THIRD, "paths").values()]
    assert [row["path"] for row in rows if row.get("path") == "/secret"] == []
