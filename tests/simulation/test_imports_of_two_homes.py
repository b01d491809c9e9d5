"""A version that a lost home imported, and the new home again, as the caller is told to repeat the call.

Promise 39: a version is in the history or divergent, never both. Promise 14: all regions show the same at rest.
"""

from __future__ import annotations

import pytest

from memolith.core import ids
from memolith.core.commands import ImportedVersion
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged

MEMORY, VERSION = (f"{kind}_{ids.ulid(1, bytes([9] * 10))}" for kind in ("mem", "memver"))
TOLD = ImportedVersion(MEMORY, VERSION, "created", "user:user_1", 1_780_000_000_000_000, "/told", "told")


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def _import(stage: MovingStage, region: str) -> str:
    [became] = stage.memolith(region).imports.import_versions(stage.call(), stage.store, [TOLD])
    return became.status


def test_a_version_that_two_homes_imported_is_in_the_history_of_every_region_and_divergent_in_none(
    stage: MovingStage,
) -> None:
    """Nobody received what the lost home had imported, which had handled its event."""
    assert _import(stage, HOME) == "imported"
    (lost,) = [event for event in stage.hold_back() if "/log/" in event.key]
    stage.index(lost.key, HOME)
    stage.held.remove(lost)
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    assert _import(stage, AWAY) == "imported"
    for other in (AWAY, THIRD):
        stage.cloud.buckets.replicate(lost, other)
    stage.deliver()
    assert [stage.divergent(one) for one in stage.cloud.regions] == [[], [], []]
    stage.at_rest()


def test_a_version_that_a_region_shows_is_imported_once_though_it_has_not_heard_of_the_home_that_did(
    stage: MovingStage,
) -> None:
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.hold_back()
    assert _import(stage, AWAY) == "imported"
    keys = logged(stage)
    stage.hold_back()
    stage.reach(THIRD, *keys)
    assert (stage.home(THIRD), stage.history(MEMORY, THIRD)) == (HOME, [VERSION]), "or this test shows nothing"
    _import(stage, THIRD)
    stage.at_rest()
