"""Proposals that two people have to approve: nothing is written before the second."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.app.kernel.proposal_results import Proposal
from memolith.app.kernel.results import UNSET
from memolith.core.errors import InvalidRequest
from memolith.core.object_keys import ProposalKey, parse_key
from memolith.core.proposed_edits import EditRequest
from memolith.core.rows.base import RowKey
from memolith.ports.index import Change
from tests.unit.app.api.proposal_desk import Desk, outcomes, texts
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")


@pytest.fixture
def desk(scene: Scene) -> Desk:
    return Desk(scene)


def needing_two(desk: Desk) -> str:
    """Have the store want two people's approval below /policy/; return another person's key."""
    scene = desk.scene
    policy = {"paths": [{"prefix": "/policy/", "require": 2}]}
    scene.at(HOME).stores.update(
        scene.call(), scene.store, name=UNSET, description=UNSET, metadata=None, approval=policy
    )
    second = scene.cloud.key("write", holder="person")
    scene.deliver()
    return second


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_where_two_people_have_to_approve_nothing_is_written_before_the_second(desk: Desk, at: str) -> None:
    second = needing_two(desk)
    made = desk.open(EditRequest("create", "/policy/a.md", content="x"), EditRequest("create", "/b.md", content="y"))
    desk.scene.deliver()
    for _ in range(2):
        once = desk.do("approve", made, at=at)
        assert (once.status, once.endorsed_by, outcomes(once)) == ("open", once.endorsed_by, [None, None])
        assert once.endorsed_by is not None
        desk.scene.deliver()
        assert texts(desk.scene) == {}, "however often the first person approves"
    with pytest.raises(InvalidRequest, match="must be those that the first approval names: 1, 2"):
        desk.do("approve", made, at=at, by=second, edits=[2])
    twice = desk.do("approve", made, at=at, by=second)
    assert (twice.endorsed_by, outcomes(twice)) == (once.endorsed_by, ["applied", "applied"])
    desk.scene.deliver()
    assert texts(desk.scene) == {"/policy/a.md": "x", "/b.md": "y"}
    for region in (HOME, AWAY):
        shown = desk.show(made, at=region)
        assert (shown.status, shown.endorsed_by) == ("approved", once.endorsed_by)
        assert shown.decided_by not in (None, shown.endorsed_by, shown.proposed_by)


def test_one_approval_is_enough_elsewhere_and_one_rejection_everywhere(desk: Desk) -> None:
    second = needing_two(desk)
    elsewhere = desk.open(EditRequest("create", "/b.md", content="y"))
    assert desk.do("approve", elsewhere).status == "approved"
    guarded = desk.open(EditRequest("rename", "/b.md", to="/policy/b.md"))
    assert desk.do("approve", guarded).status == "open"
    assert desk.do("reject", guarded, by=second, reason="no").status == "rejected"
    with pytest.raises(InvalidRequest, match="rejected"):
        desk.do("approve", guarded, by=second)
    assert texts(desk.scene) == {"/b.md": "y"}


def test_of_two_who_approve_at_once_one_is_first_and_the_other_second(desk: Desk) -> None:
    second = needing_two(desk)
    made = desk.open(EditRequest("create", "/policy/a.md", content="x"))
    met: list[Proposal] = []

    def meanwhile(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "objects.put_if_absent" and "/proposal/" in call.subjects[0] and not met:
            met.append(made)
            met.append(desk.do("approve", made, by=second))
        return act()

    with desk.scene.intercepted_by(meanwhile):
        last = desk.do("approve", made)
    assert [met[1].status, last.status] == ["open", "approved"]
    assert texts(desk.scene) == {"/policy/a.md": "x"}


def test_what_one_person_approved_survives_a_rebuild_and_moves_with_the_store(desk: Desk) -> None:
    second = needing_two(desk)
    made = desk.open(EditRequest("create", "/policy/a.md", content="x"))
    first = desk.do("approve", made).endorsed_by
    desk.scene.deliver()
    site = desk.scene.cloud.sites[HOME]
    before = desk.scene.cloud.rows(HOME, "stores")
    proposed = [key for key in before if key[0] == "proposals" or key[1].startswith("propos")]
    site.region.index.commit([Change(RowKey("stores", *key), None, None, unconditional=True) for key in proposed])
    keys = [key for key, _ in desk.scene.objects(HOME) if isinstance(parse_key(key), ProposalKey)]
    for key in reversed(keys):
        site.indexing.object_arrived(key)
    assert desk.scene.cloud.rows(HOME, "stores") == before
    desk.scene.cloud.sites[AWAY].homes.move(desk.scene.store)
    desk.scene.deliver()
    assert desk.show(made).endorsed_by == first
    assert desk.do("approve", made).status == "open", "the same person, at the new home"
    assert desk.do("approve", made, by=second).status == "approved"
