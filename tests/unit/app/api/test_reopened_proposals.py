"""Proposals that are opened again with their key, once something has become of them."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.kernel.proposal_results import Proposal
from memolith.app.kernel.results import UNSET
from memolith.core.errors import InvalidRequest
from memolith.core.proposed_edits import EditRequest
from tests.unit.app.api.proposal_desk import Desk, outcomes
from tests.unit.app.scene import AWAY, HOME, Scene

EDIT = EditRequest("create", "/a", content="what was proposed", why="a reason")


@pytest.fixture
def desk(scene: Scene) -> Desk:
    return Desk(scene)


def reopened(desk: Desk, at: str, edit: EditRequest = EDIT) -> Proposal:
    return desk.open(edit, key="run-1", at=at)


@pytest.mark.parametrize("at", [HOME, AWAY])
@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ([("reject", {"reason": "no"})], "rejected"),
        ([("approve", {})], "approved"),
        ([("approve", {}), ("revert", {})], "reverted"),
    ],
)
def test_a_proposal_that_is_decided_is_opened_again_as_what_it_is(
    desk: Desk, at: str, changes: list[tuple[str, dict[str, str]]], status: str
) -> None:
    first = reopened(desk, HOME)
    for change, more in changes:
        decided = desk.do(change, first, **more)
    again = reopened(desk, at)
    assert (again.id, again.status, again.complete) == (first.id, status, True)
    assert again == decided
    assert desk.list() == []


def test_a_proposal_that_one_of_two_people_has_approved_is_opened_again_with_who_it_was(desk: Desk) -> None:
    scene = desk.scene
    policy = {"paths": [{"prefix": "/", "require": 2}]}
    scene.at(HOME).stores.update(
        scene.call(), scene.store, name=UNSET, description=UNSET, metadata=None, approval=policy
    )
    scene.deliver()
    first = reopened(desk, HOME)
    once = desk.do("approve", first)
    assert once.endorsed_by is not None
    for at in (HOME, AWAY):
        again = reopened(desk, at)
        assert (again.status, again.endorsed_by) == ("open", once.endorsed_by)


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_proposal_that_was_erased_is_opened_again_without_its_texts(desk: Desk, at: str) -> None:
    first = reopened(desk, HOME)
    approved = desk.do("approve", first)
    erased = desk.do("erase", first, by=desk.scene.api_key)
    desk.scene.deliver()
    again = reopened(desk, at)
    assert (again.id, again.status, again.erased) == (first.id, "approved", True)
    assert again == erased and outcomes(again) == outcomes(approved)
    [edit] = again.edits or ()
    assert (edit.path, edit.content, edit.why) == (None, None, "")
    assert reopened(desk, at, EditRequest("create", "/b", content="another")) == again, "nothing tells them apart"
    assert desk.open(EditRequest("create", "/b", content="b"), key="run-1", by=desk.person, at=at).id != first.id


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_proposal_that_is_to_be_erased_is_opened_again_without_its_texts(desk: Desk, at: str) -> None:
    first = reopened(desk, HOME)
    desk.do("reject", first, reason="no")
    with desk.scene.struck_by(Strike(Fault.REFUSED, "peers.call", subject="eraser")):
        desk.do("erase", first, by=desk.scene.api_key)
    again = reopened(desk, at)
    assert (again.status, again.erased, again.reason) == ("rejected", True, "")
    assert [(edit.path, edit.content) for edit in again.edits or ()] == [(None, None)]
    with pytest.raises(InvalidRequest, match="another proposal"):
        reopened(desk, at, EditRequest("create", "/b", content="another"))
