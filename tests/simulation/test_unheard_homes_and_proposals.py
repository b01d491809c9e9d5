"""Proposals that a later home opened or decided, decided about in a region that shows that and has not heard of it.

docs/proposals.md: a proposal is decided once; of two decisions one holds, and the other caller is answered with what it
is; a rejected one is not written.
"""

from __future__ import annotations

import pytest

from memolith.app.kernel.results import RequestContext
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.proposed_edits import EditRequest
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.unheard_homes import seen_in, taken_over


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def _call(stage: MovingStage, holder: str) -> RequestContext:
    return stage.cloud.call(stage.cloud.key("write", holder=holder))


def _opened(stage: MovingStage, region: str) -> str:
    edits = (EditRequest("replace", "/a", content="proposed"),)
    return stage.memolith(region).proposals.open(_call(stage, "agent"), stage.store, why="w", edits=edits).id


@pytest.mark.parametrize("dead", [False, True])
def test_a_proposal_that_a_region_shows_is_found_when_it_is_approved_there(stage: MovingStage, dead: bool) -> None:
    memory, person = stage.create("/a", "one"), _call(stage, "person")
    _call(stage, "agent")
    taken_over(stage)
    proposal_id = _opened(stage, AWAY)
    seen_in(stage, THIRD)
    approve = stage.memolith(THIRD).proposals.approve
    if dead:
        with stage.dead(AWAY), pytest.raises(Unavailable):
            approve(person, stage.store, proposal_id)
    else:
        assert approve(person, stage.store, proposal_id).status == "approved"
        stage.at_rest()
        assert stage.read(memory.id, HOME).content == "proposed"


def test_what_a_region_shows_as_rejected_is_not_approved_there(stage: MovingStage) -> None:
    memory, person = stage.create("/a", "one"), _call(stage, "person")
    proposal_id = _opened(stage, HOME)
    taken_over(stage)
    stage.memolith(AWAY).proposals.reject(person, stage.store, proposal_id, reason="no")
    seen_in(stage, THIRD)
    assert stage.memolith(THIRD).proposals.retrieve(person, stage.store, proposal_id).status == "rejected"
    with pytest.raises(InvalidRequest, match="rejected already"):
        stage.memolith(THIRD).proposals.approve(person, stage.store, proposal_id)
    stage.at_rest()
    assert stage.read(memory.id, AWAY).content == "one"


def test_what_a_region_shows_as_approved_is_not_rejected_there(stage: MovingStage) -> None:
    stage.create("/a", "one")
    person, proposal_id = _call(stage, "person"), _opened(stage, HOME)
    taken_over(stage)
    stage.memolith(AWAY).proposals.approve(person, stage.store, proposal_id)
    seen_in(stage, THIRD)
    assert stage.memolith(THIRD).proposals.retrieve(person, stage.store, proposal_id).status == "approved"
    with pytest.raises(InvalidRequest, match="approved already"):
        stage.memolith(THIRD).proposals.reject(person, stage.store, proposal_id, reason="no")
