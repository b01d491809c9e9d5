"""Versions that come late: what a home put last, that nobody else had when it was failed over."""

from __future__ import annotations

from collections.abc import Callable

from memolith.app.kernel.results import Memory
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage

REGIONS = (HOME, AWAY, THIRD)


def everywhere(stage: MovingStage, memory_id: str) -> set[str | None]:
    return {stage.read(memory_id, region).content for region in REGIONS}


def written() -> tuple[MovingStage, str]:
    """A store with a version that its home alone has."""
    stage = MovingStage()
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, "two")
    return stage, memory.id


def late(stage: MovingStage, write: Callable[[], object]) -> list[str]:
    """What the old home put last, alone, before it was failed over; nobody else has it yet."""
    stage.deliver()
    write()
    keys = [event.key for event in stage.hold_back() if "/log/" in event.key]
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    return keys


def late_over_an_erased_head(stage: MovingStage) -> tuple[Memory, str]:
    """The last text of the lost home at `/a/b`, and its key: what it followed is erased, and it has come to nobody."""
    memory = stage.create("/a/b", "one")
    stage.deliver()
    followed = stage.update(memory.id, "late")
    (key,) = [event.key for event in stage.hold_back() if "/log/" in event.key]
    stage.redact(memory.version_id)
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    return followed, key
