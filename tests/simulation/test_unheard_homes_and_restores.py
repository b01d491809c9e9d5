"""Divergent versions, decided about in a region that shows a version of a home that it has not heard of."""

from __future__ import annotations

import pytest

from memolith.core.errors import Unavailable
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.unheard_homes import apart_and_unheard_of


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


@pytest.mark.parametrize("region", [HOME, AWAY])
@pytest.mark.parametrize("changes", [True, False])
def test_a_divergent_version_is_restored_at_the_home_whose_version_its_region_shows(
    stage: MovingStage, region: str, changes: bool
) -> None:
    memory, apart = apart_and_unheard_of(stage, region, late="late" if changes else "three", now="three")
    shown = stage.read(memory.id, region).version_id
    restored = stage.restore(apart, region).version_id
    assert (restored != shown) is changes
    assert (stage.home(region), stage.divergent(region)) == (THIRD, [])
    assert stage.read(memory.id, THIRD).version_id == stage.read(memory.id, region).version_id == restored
    stage.at_rest()
    assert stage.history(memory.id, THIRD)[0] == restored


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_no_divergent_version_is_restored_while_the_home_whose_version_its_region_shows_does_not_answer(
    stage: MovingStage, region: str
) -> None:
    memory, apart = apart_and_unheard_of(stage, region, late="late", now="three")
    with stage.dead(THIRD), pytest.raises(Unavailable):
        stage.restore(apart, region)
    assert stage.read(memory.id, region).content == "three"
    stage.at_rest(divergent=[apart])


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_divergent_version_that_a_lost_home_dismissed_for_a_region_that_shows_a_later_homes_is_erased_everywhere(
    stage: MovingStage, region: str
) -> None:
    memory, apart = apart_and_unheard_of(stage, region, late="LATE", now="three")
    assert stage.memolith(region).divergent.dismiss(stage.call(), stage.store, apart) == apart
    assert stage.divergent(region) == []
    stage.at_rest()
    assert [stage.found("LATE", one) for one in stage.cloud.regions] == [[], [], []]
    assert {stage.read(memory.id, one).content for one in stage.cloud.regions} == {"three"}
