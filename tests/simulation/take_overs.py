"""Take-overs by a region that has some of what was under way: which objects have come, and which have not."""

from __future__ import annotations

from tests.simulation.moving_stage import AWAY, HOME, MovingStage


def logged(stage: MovingStage) -> list[str]:
    """The keys of what was put into logs and is under way, in their order."""
    return [event.key for event in stage.cloud.pending if "/log/" in event.key]


def take_over(stage: MovingStage, *replicated: str) -> None:
    """Of what is under way only these objects have reached `AWAY`; then its home dies, and `AWAY` takes over."""
    stage.hold_back()
    if replicated:
        stage.reach(AWAY, *replicated)
    with stage.dead(HOME):
        stage.fail_over(AWAY)


def taken_over_and_back(stage: MovingStage) -> list[str]:
    """Fail `HOME` over to `AWAY`, and that to `HOME` again; `THIRD` hears of neither. Return what `AWAY` has put."""
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    taken = [event.key for event in stage.cloud.pending if event.region == AWAY]
    stage.hold_back()
    stage.reach(HOME, *taken)
    with stage.dead(AWAY):
        stage.fail_over(HOME, old=AWAY)
        stage.hold_back()
    return taken
