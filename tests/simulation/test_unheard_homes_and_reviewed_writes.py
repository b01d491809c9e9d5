"""Writes that a store's policy has reviewed, of memories of which the region shows a later home's version.

Promise 11: a write of such a memory goes to that home, and is refused (503) if that home does not answer.
"""

from __future__ import annotations

from typing import Any

import pytest

from memolith.app.kernel.proposal_results import Proposal, Staged
from memolith.app.kernel.results import RequestContext
from memolith.core.errors import Unavailable
from tests.simulation.moving_stage import AWAY, THIRD, MovingStage
from tests.simulation.unheard_homes import seen_in, taken_over


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def _update(stage: MovingStage, by: RequestContext, memory_id: str, region: str, **asked: Any) -> None:
    asked = {"content": None, "path": None, "expected_content_sha256": None, "full": False} | asked
    stage.memolith(region).memories.update(by, stage.store, memory_id, **asked)


def _reviewed_and_taken_over(stage: MovingStage, **changed: str) -> tuple[str, RequestContext, RequestContext]:
    """Agents propose; `AWAY` took over, and a person changed a memory there, which `THIRD` shows."""
    agent, person = (stage.cloud.call(stage.cloud.key("write", holder=one)) for one in ("agent", "person"))
    memory = stage.create("/a", "one")
    stage.memolith().stores.update(
        stage.call(), stage.store, name="s", description="", metadata={}, approval={"agents": "propose"}
    )
    taken_over(stage)
    _update(stage, person, memory.id, AWAY, **changed)
    seen_in(stage, THIRD)
    return memory.id, agent, person


@pytest.mark.parametrize("changed", [{"content": "two"}, {"path": "/b"}])
def test_a_reviewed_write_is_opened_at_the_home_whose_version_its_region_shows(
    stage: MovingStage, changed: dict[str, str]
) -> None:
    memory_id, agent, person = _reviewed_and_taken_over(stage, **changed)
    shown = stage.read(memory_id, THIRD)
    with pytest.raises(Staged) as opened:
        _update(stage, agent, memory_id, THIRD, content="proposed", expected_content_sha256=shown.content_sha256)
    proposal: Proposal = opened.value.proposal
    assert stage.home(THIRD) == AWAY
    approved = stage.memolith(THIRD).proposals.approve(person, stage.store, proposal.id)
    assert [edit.result.outcome for edit in approved.edits or () if edit.result] == ["applied"]
    stage.at_rest()


def test_a_reviewed_write_without_a_precondition_is_not_stale_from_its_opening(stage: MovingStage) -> None:
    memory_id, agent, person = _reviewed_and_taken_over(stage, content="two")
    with pytest.raises(Staged) as opened:
        _update(stage, agent, memory_id, THIRD, content="proposed")
    stage.come_late()
    proposal: Proposal = opened.value.proposal
    approved = stage.memolith(THIRD).proposals.approve(person, stage.store, proposal.id)
    assert [edit.result.outcome for edit in approved.edits or () if edit.result] == ["applied"]


def test_a_reviewed_write_is_refused_while_the_home_whose_version_its_region_shows_does_not_answer(
    stage: MovingStage,
) -> None:
    memory_id, agent, _ = _reviewed_and_taken_over(stage, content="two")
    with stage.dead(AWAY), pytest.raises(Unavailable):
        _update(stage, agent, memory_id, THIRD, content="proposed")
