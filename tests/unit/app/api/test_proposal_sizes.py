"""How large a proposal may be, and how much of one is in an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.app.api import proposal_views
from memolith.app.kernel.proposal_results import EditView, Proposal
from memolith.core.errors import InvalidRequest
from memolith.core.limits import PROPOSAL_MAX_BYTES
from memolith.core.proposed_edits import EditRequest
from memolith.core.sent_size import sent_size
from tests.unit.app.api.proposal_desk import Desk, outcomes, texts
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")


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


def shown_in(desk: Desk, proposal: Proposal) -> tuple[list[EditView], int]:
    """The edits with their lines, and how many objects were read for them."""
    read: list[str] = []

    def reading(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "objects.get":
            read.append(call.name)
        return act()

    with desk.scene.intercepted_by(reading):
        return list(desk.show(proposal, diff=True).edits or ()), len(read)


def test_lines_that_one_answer_has_no_room_for_are_left_out_and_a_text_that_is_too_long_for_sure_is_not_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, lines in (("/a", 2), ("/b", 1_000), ("/c", 3), ("/d", 4)):
        desk.scene.create(path, f"{path}\n" * lines)
    proposal = desk.open(
        *(EditRequest("delete", path) for path in ("/a", "/b", "/c")),
        EditRequest("replace", "/d", content="new\n"),
        EditRequest("create", "/e", content="e\n"),
    )
    whole, read = shown_in(desk, proposal)
    assert [edit.diff_left_out for edit in whole] == [False] * 5
    sizes = [sent_size(edit.diff or "") for edit in whole]
    most = sum(sizes) + sum(sent_size(edit.content or "") for edit in whole)
    for room, kept, unread in (
        (most, [True, True, True, True, True], 0),
        (most - 1, [True, True, True, True, False], 0),
        (most - sizes[1], [True, False, True, True, True], 1),
        (most - sum(sizes[1:]), [True, False, False, False, False], 1),
    ):
        monkeypatch.setattr(proposal_views, "PROPOSAL_SENT_MAX_BYTES", room)
        found, read_now = shown_in(desk, proposal)
        assert [edit.diff for edit in found] == [
            edit.diff if is_kept else None for edit, is_kept in zip(whole, kept, strict=True)
        ]
        assert [edit.diff_left_out for edit in found] == [not is_kept for is_kept in kept]
        assert [edit.content for edit in found] == [edit.content for edit in whole]
        assert read - read_now == unread


def test_texts_that_one_answer_has_no_room_for_are_left_out_and_can_still_be_decided(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a proposal that was opened when a part of a text counted alone."""
    desk.scene.create("/b", "b\n")
    edits = [EditRequest("create", "/a", content="a" * 10), EditRequest("replace", "/b", content="b" * 10)]
    proposal = desk.open(*edits, EditRequest("create", "/c", content="c" * 5))
    monkeypatch.setattr(proposal_views, "PROPOSAL_SENT_MAX_BYTES", 16)
    found = desk.show(proposal, diff=True).edits or ()
    assert [(edit.content, edit.content_left_out) for edit in found] == [
        ("a" * 10, False), (None, True), ("c" * 5, False),
    ]  # fmt: skip
    assert [(edit.diff, edit.diff_left_out) for edit in found] == [(None, True)] * 3
    approved = desk.do("approve", proposal)
    assert [edit.content_left_out for edit in approved.edits or ()] == [False, True, False]
    assert outcomes(approved) == ["applied"] * 3
    assert texts(desk.scene) == {"/a": "a" * 10, "/b": "b" * 10, "/c": "c" * 5}
