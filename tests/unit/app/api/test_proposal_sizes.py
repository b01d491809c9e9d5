"""How large a proposal may be, and how much of one is in an answer."""

from __future__ import annotations

import pytest

from memolith.core.errors import InvalidRequest
from memolith.core.limits import PROPOSAL_MAX_BYTES
from memolith.core.proposed_edits import EditRequest
from tests.unit.app.api.proposal_desk import Desk, outcomes
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture
def desk(scene: Scene) -> Desk:
    return Desk(scene)


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_the_whole_text_that_a_part_is_replaced_in_counts_for_a_proposals_size(desk: Desk, at: str) -> None:
    each = PROPOSAL_MAX_BYTES // 10
    for number in range(10):
        desk.scene.create(f"/{number}", f"old {number}" + "a" * (each - 5))
    desk.scene.create("/more", "old")
    desk.scene.deliver()
    edits = [EditRequest("str_replace", f"/{number}", old="old", new="n") for number in range(9)]
    edits.append(EditRequest("str_replace", "/9", old="old", new="new" + "b" * 18))
    before = desk.scene.cloud.buckets.page(HOME, "", None, 1_000).keys
    with pytest.raises(InvalidRequest, match=r"^edits: must have at most 1000000 bytes of text in all;") as refused:
        desk.open(*edits, EditRequest("str_replace", "/more", old="old", new="n"), at=at)
    assert refused.value.too_large
    assert desk.scene.cloud.buckets.page(HOME, "", None, 1_000).keys == before
    proposal = desk.open(*edits, at=at)
    assert sum(len(edit.content or "") for edit in proposal.edits or ()) == PROPOSAL_MAX_BYTES
    assert outcomes(desk.do("approve", proposal, at=at)) == ["applied"] * 10


def test_a_control_character_counts_for_a_proposals_size_as_what_it_takes_where_it_is_sent(desk: Desk) -> None:
    for number in range(6):
        desk.scene.create(f"/{number}", "old" + "\x01" * 100_000)
    edits = [EditRequest("str_replace", f"/{number}", old="old", new="new") for number in range(6)]
    with pytest.raises(InvalidRequest, match="bytes of text in all"):
        desk.open(*edits)
    assert desk.open(*edits[:5]).edit_count == 5
