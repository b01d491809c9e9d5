"""An approval that a lost home acknowledged, and a decision that the new home took: the plan of the one that lost.

Promise 14: all regions show the same at rest. Promise 25: a rebuild makes the same rows. docs/proposals.md: the texts
of a proposal are erased when a version that came from it is redacted (promise 28: no bucket holds the text).
"""

from __future__ import annotations

import pytest

from memolith.app.kernel.results import RequestContext
from memolith.core.proposed_edits import EditRequest
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def _approved_and_rejected(stage: MovingStage) -> tuple[str, RequestContext]:
    """The lost home approved and wrote, which nobody received; the new one rejected; then all of that has come."""
    agent, person = (stage.cloud.call(stage.cloud.key("write", holder=one)) for one in ("agent", "person"))
    memory = stage.create("/a", "one")
    edits = (EditRequest("replace", "/a", content="SECRET"),)
    proposal_id = stage.memolith().proposals.open(agent, stage.store, why="w", edits=edits).id
    stage.deliver()
    stage.memolith().proposals.approve(person, stage.store, proposal_id)
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.memolith(AWAY).proposals.reject(person, stage.store, proposal_id, reason="no")
    stage.come_late()
    return memory.id, person


def test_of_two_decisions_about_a_proposal_every_region_has_both_plans(stage: MovingStage) -> None:
    _approved_and_rejected(stage)
    stage.at_rest()


@pytest.mark.parametrize("region", [AWAY, HOME, THIRD])
def test_the_text_of_a_proposal_goes_with_the_redaction_of_what_came_of_it_though_another_decision_holds(
    stage: MovingStage, region: str
) -> None:
    memory_id, _ = _approved_and_rejected(stage)
    version = stage.read(memory_id, AWAY)
    assert version.content == "SECRET", "it came late, and was adopted"
    stage.update(memory_id, "two", region=AWAY)
    stage.deliver()
    stage.redact(version.version_id, region)
    stage.deliver()
    assert [stage.found("SECRET", one) for one in stage.cloud.regions] == [[], [], []]
