"""Redactions, releases and dismissals in a region that shows what a later home wrote and has not heard of it.

The order is given at the home whose version the region shows. What is in its memory's history there is not divergent,
and no dismissal erases it.
"""

from __future__ import annotations

import pytest

from memolith.core.errors import NotFound, Unavailable
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged
from tests.simulation.unheard_homes import seen_in, taken_over


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def _seen_in_third(stage: MovingStage) -> tuple[str, str, str]:
    """A memory of three versions, the last two by `AWAY`, of which `THIRD` has not heard: it, and the first two."""
    memory = stage.create("/a", "SECRET one")
    taken_over(stage)
    second = stage.update(memory.id, "SECRET two", region=AWAY)
    stage.update(memory.id, "three", region=AWAY)
    seen_in(stage, THIRD)
    return memory.id, memory.version_id, second.version_id


@pytest.mark.parametrize("number", [1, 2])
def test_a_version_that_its_region_shows_as_superseded_is_redacted(stage: MovingStage, number: int) -> None:
    stage.redact(_seen_in_third(stage)[number], THIRD)
    stage.at_rest()
    assert [stage.found(f"SECRET {('one', 'two')[number - 1]}", region) for region in stage.cloud.regions] == [[]] * 3


def test_a_redaction_is_refused_while_the_home_whose_version_its_region_shows_does_not_answer(
    stage: MovingStage,
) -> None:
    _, first, _ = _seen_in_third(stage)
    with stage.dead(AWAY), pytest.raises(Unavailable):
        stage.redact(first, THIRD)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_no_version_that_counts_for_the_home_which_its_region_shows_is_dismissed(
    stage: MovingStage, region: str
) -> None:
    """`THIRD` never had what `AWAY` began with: the lost version counts there, and `region` lists it as divergent."""
    memory = stage.create("/a", "one")
    stage.deliver()
    lost = stage.update(memory.id, "lost").version_id
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.update(memory.id, "two", region=AWAY)
    records = [event.key for event in stage.cloud.pending if "/store/" in event.key]
    stage.hold_back()
    for known in (HOME, AWAY):
        stage.reach(known)
    stage.reach(THIRD, stage.key_of(lost))
    stage.reach(THIRD, *records)
    with stage.dead(AWAY, HOME):
        stage.fail_over(THIRD, old=AWAY)
        stage.update(memory.id, "three", region=THIRD)
    keys = [key for key in logged(stage) if key.startswith(THIRD)]
    stage.hold_back()
    stage.reach(region, *keys)
    assert (stage.read(memory.id, region).content, stage.home(region)) == ("three", AWAY)
    assert lost in stage.divergent(region)
    with pytest.raises(NotFound):
        stage.memolith(region).divergent.dismiss(stage.call(), stage.store, lost)
    stage.at_rest(divergent=None)
    assert all(stage.found("lost", one) for one in stage.cloud.regions), "it is in the history, acknowledged"
