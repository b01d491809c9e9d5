"""Homes that a region has not heard of, though it shows what they wrote: how such a region comes about."""

from __future__ import annotations

from memolith.app.kernel.results import Memory
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged


def taken_over(stage: MovingStage) -> None:
    """`AWAY` takes over, with all that was under way; nobody else hears of it."""
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.hold_back()


def seen_in(stage: MovingStage, region: str) -> None:
    """What `AWAY` has put since arrives in `region`, except for the record that tells of it."""
    keys = [event.key for event in stage.cloud.pending if "/store/" not in event.key]
    stage.hold_back()
    stage.reach(region, *keys)
    assert stage.home(region) == HOME, "or a test of this shows nothing"


def apart_and_unheard_of(stage: MovingStage, region: str, late: str, now: str) -> tuple[Memory, str]:
    """`late` was the text of a lost home, and is divergent everywhere; `THIRD` took over since and has written `now`.

    `region` shows that, and no region but `THIRD` has its record: they take `AWAY` for the home. Return the memory as
    it was created, and the divergent version.
    """
    memory = stage.create("/a", "one")
    stage.deliver()
    version_id = stage.update(memory.id, late).version_id
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.update(memory.id, "two", region=AWAY)
    stage.come_late()
    with stage.dead(AWAY):
        stage.fail_over(THIRD, old=AWAY)
    stage.hold_back()
    stage.update(memory.id, now, region=THIRD)
    keys = logged(stage)
    stage.hold_back()
    stage.reach(region, *keys)
    assert stage.read(memory.id, region).content == now, "or a test of this shows nothing"
    assert (stage.home(region), stage.divergent(region)) == (AWAY, [version_id]), "or a test of this shows nothing"
    return memory, version_id
