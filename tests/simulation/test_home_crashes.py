"""Movers, and those who fail over or bring back, killed at every step; whoever comes next takes their work over.

Each dies right after every port call that changes anything; one that dies before it, or at a read, leaves what one has
left that died after the one before. A write comes before, one is tried in between, and each region writes afterwards.
Those who come next take turns: each of them meets states of every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count

import pytest

from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import Actor

PUT = "objects.put_if_absent"
CHANGING = (PUT, "index.commit")
REGIONS = (HOME, AWAY, THIRD)
SHARDS_KILLED_AT = ("/000", "/015")
"""Of the sixteen shards of a cut, which nothing names yet, it is enough to die after the first and after the last."""


def written(two_homes: bool) -> MovingStage:
    """A store with a version, and half a rename, that no other region has; or one that was failed over from `HOME`."""
    stage = MovingStage()
    memory = stage.create("/a", "one")
    half = stage.create("/half", "half")
    stage.deliver()
    stage.update(memory.id, "two")
    stage.actor(lambda: stage.update(half.id, path="/whole")).until(PUT, occurrence=2).die()
    if two_homes:
        stage.hold_back()
        with stage.dead(HOME):
            stage.fail_over(AWAY)
        stage.update(memory.id, "three", region=AWAY)
    return stage


def deaths(make: Callable[[], MovingStage], act: Callable[[MovingStage], None]) -> Iterator[MovingStage]:
    """A stage for each state in which an actor can leave it by dying."""
    for survived in count(1):
        stage = make()
        actor = stage.actor(lambda stage=stage: act(stage))  # type: ignore[misc]  # a lambda with a default has no type
        for _ in range(survived):
            _to_next_change(actor)
        if actor.done:
            assert actor.error is None and survived > 4
            return
        actor.die()
        yield stage


def _to_next_change(actor: Actor[None]) -> None:
    while not actor.done:
        actor.step()
        name, about = actor.trail[-1].split(" ", 1)
        if name in CHANGING and ("/cut/" not in about or about.endswith(SHARDS_KILLED_AT)):
            return


def try_to_write(stage: MovingStage, region: str) -> None:
    """A write while nobody knows how far the dead one came: acknowledged, or refused, or unknown."""
    (memory_id,) = [id for path, id in stage.listed(HOME).items() if path == "/a"]
    with suppress(Busy, Unavailable, OutcomeUnknown):
        stage.update(memory_id, "meanwhile", region=region)


def write_everywhere(stage: MovingStage) -> None:
    stage.create("/new", region=THIRD)
    (memory_id,) = [id for path, id in stage.listed(HOME).items() if path == "/a"]
    for region in REGIONS:
        stage.update(memory_id, f"at last in {region}", region=region)


def finish(stage: MovingStage) -> None:
    stage.come_late()
    stage.end_what_was_begun()


# ---- who comes next -------------------------------------------------------------------------------------------------


def the_same_again(stage: MovingStage, act: Callable[[MovingStage], None]) -> None:
    act(stage)


def who_gives_up(stage: MovingStage, act: Callable[[MovingStage], None]) -> None:
    """Wants the store to stay where it was; what is committed already is refused, and finished."""
    home = stage.home(THIRD)
    if "error" in stage.operate(home, "homes.move"):
        act(stage)


def who_moves_elsewhere(stage: MovingStage, act: Callable[[MovingStage], None]) -> None:
    """Waits for nobody: gives up what it meets half done, or finishes it, and moves the store on."""
    if "error" in stage.operate(THIRD, "homes.move"):
        who_gives_up(stage, act)
        finish(stage)
        stage.move(THIRD)


def who_fails_over_elsewhere(stage: MovingStage, act: Callable[[MovingStage], None]) -> None:
    """Believes the home to be dead, whichever that is by now."""
    stage.fail_over(THIRD, old=stage.home(THIRD))


NEXT = [the_same_again, who_gives_up, who_moves_elsewhere, who_fails_over_elsewhere]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("two_homes", "act"),
    [
        pytest.param(False, lambda stage: stage.move(AWAY), id="mover"),
        pytest.param(False, lambda stage: stage.fail_over(AWAY), id="fail-over"),
        pytest.param(True, lambda stage: stage.move(HOME), id="bringing back"),
    ],
)
def test_whoever_dies_at_any_step_is_replaced_and_nothing_is_lost(
    two_homes: bool, act: Callable[[MovingStage], None]
) -> None:
    for number, stage in enumerate(deaths(lambda: written(two_homes), act)):
        if number % 2:
            stage.deliver()
        try_to_write(stage, REGIONS[number % 3])
        NEXT[(number + number // 4) % 4](stage, act)
        finish(stage)
        write_everywhere(stage)
        finish(stage)
        stage.at_rest(divergent=None)
