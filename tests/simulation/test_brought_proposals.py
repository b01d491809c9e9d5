"""Proposals whose records a move has brought into the new home's bucket, whose events come there later.

docs/proposals.md: a proposal is decided once; of two decisions one holds, and the other caller is answered with what it
is; a rejected one is not written. Promise 36: a planned move loses nothing.
"""

from __future__ import annotations

from typing import Any

import pytest

from memolith.app.kernel.proposal_results import Proposal
from memolith.core.errors import InvalidRequest, OutcomeUnknown
from memolith.core.limits import PROPOSAL_LIFETIME_US, PROPOSAL_RESUMED_US
from memolith.core.proposed_edits import EditRequest
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import PUT

HOUR_S = 3_600


class Desk:
    """A proposal that is open at `HOME`, and known everywhere if it `is_known`; who proposed it, and two who decide."""

    def __init__(self, is_known: bool = True, key: str | None = None, approvals: int = 1) -> None:
        self.stage = stage = MovingStage()
        self.calls = {
            who: stage.cloud.call(stage.cloud.key("write", holder=who.split()[0]))
            for who in ("agent", "person", "person two")
        }
        self.memory = stage.create("/p/a", "one")
        if approvals == 2:
            policy = {"paths": [{"prefix": "/p/", "require": 2}]}
            stage.memolith().stores.update(
                stage.call(), stage.store, name="s", description="", metadata={}, approval=policy
            )
        stage.deliver()
        self.id = self.open(HOME, key).id
        if is_known:
            stage.deliver()

    def open(self, at: str, key: str | None = None, content: str = "proposed") -> Proposal:
        edits = (EditRequest("replace", "/p/a", content=content),)
        return self.stage.memolith(at).proposals.open(
            self.calls["agent"], self.stage.store, why="w", edits=edits, key=key
        )

    def do(self, change: str, at: str = HOME, by: str | None = None, **more: Any) -> Proposal:
        """What a change is answered with, by whoever may make it."""
        if change == "reject":
            more["reason"] = "no"
        own = {"withdraw": self.calls["agent"], "erase": self.stage.call()}
        call = self.calls[by] if by is not None else own.get(change, self.calls["person"])
        answer: Proposal = getattr(self.stage.memolith(at).proposals, change)(call, self.stage.store, self.id, **more)
        return answer

    def move(self) -> None:
        """Move the home to `AWAY`, which has all records in its bucket, and has indexed none since the last arrived."""
        self.stage.bring_unindexed(AWAY)
        self.stage.move(AWAY)

    def look_for_what_is_due(self, at: str) -> Any:
        """What the reconciler is answered with by the region's writer."""
        payload = {"call": "proposal_due", "store_id": self.stage.store, "proposal_id": self.id}
        return self.stage.cloud.peers.call(at, "peerwriter", payload)

    def assert_at_rest(self, status: str, content: str) -> None:
        """All events have come: every region shows this status, and the memory has this text."""
        self.stage.at_rest()
        for region in (HOME, AWAY, THIRD):
            assert self.do("retrieve", region).status == status
            assert self.stage.read(self.memory.id, region).content == content


@pytest.mark.parametrize("asked_at", [AWAY, HOME, THIRD])
@pytest.mark.parametrize(
    ("first", "status", "then"),
    [
        ("reject", "rejected", "approve"),
        ("approve", "approved", "reject"),
        ("withdraw", "withdrawn", "approve"),
        ("approve", "approved", "withdraw"),
    ],
)
def test_what_the_last_home_decided_of_a_proposal_is_not_decided_otherwise_by_the_next(
    first: str, status: str, then: str, asked_at: str
) -> None:
    desk = Desk()
    assert desk.do(first).status == status
    desk.move()
    with pytest.raises(InvalidRequest, match=f"{status} already"):
        desk.do(then, asked_at)
    assert desk.do("retrieve", AWAY).status == status
    assert desk.do(first, asked_at).status == status, "the same decision once more is answered with what there is"
    desk.assert_at_rest(status, "proposed" if status == "approved" else "one")


def test_a_proposal_that_expired_at_the_last_home_is_not_decided_at_the_next() -> None:
    desk = Desk()
    desk.stage.clock.advance(PROPOSAL_LIFETIME_US / 1_000_000 + 1)
    assert desk.look_for_what_is_due(HOME) == {"done": "expire"}
    desk.move()
    with pytest.raises(InvalidRequest, match="expired already"):
        desk.do("reject", AWAY)
    desk.assert_at_rest("expired", "one")


def test_what_the_last_home_approved_does_not_expire_at_the_next() -> None:
    desk = Desk()
    desk.stage.clock.advance(HOUR_S)
    desk.do("approve")
    desk.move()
    desk.stage.clock.advance(PROPOSAL_LIFETIME_US / 1_000_000 - HOUR_S / 2)
    assert desk.look_for_what_is_due(AWAY) == {"done": None}
    assert desk.do("retrieve", AWAY).status == "approved"
    desk.assert_at_rest("approved", "proposed")


def test_the_first_of_two_approvals_at_the_last_home_counts_at_the_next() -> None:
    desk = Desk(approvals=2)
    assert desk.do("approve").status == "open"
    desk.move()
    assert desk.do("approve", AWAY, by="person two").status == "approved"
    desk.assert_at_rest("approved", "proposed")


def test_what_the_last_home_took_back_is_not_taken_back_once_more_by_the_next() -> None:
    desk = Desk()
    desk.do("approve")
    desk.stage.deliver()
    reverted = desk.do("revert")
    desk.move()
    assert desk.do("revert", AWAY) == reverted
    desk.assert_at_rest("reverted", "one")


@pytest.mark.parametrize("change", ["approve", "reject", "withdraw"])
def test_a_proposal_that_was_opened_at_the_last_home_is_found_when_it_is_decided_at_the_next(change: str) -> None:
    desk = Desk(is_known=False)
    desk.move()
    status = {"approve": "approved", "reject": "rejected", "withdraw": "withdrawn"}[change]
    assert desk.do(change, AWAY).status == status
    desk.assert_at_rest(status, "proposed" if change == "approve" else "one")


def test_the_texts_of_what_the_last_home_rejected_are_erased_at_the_next() -> None:
    desk = Desk()
    desk.do("reject")
    desk.move()
    desk.do("erase", AWAY)
    desk.assert_at_rest("rejected", "one")
    assert [desk.stage.found("proposed", region) for region in desk.stage.cloud.regions] == [[], [], []]


def test_a_key_that_named_a_proposal_at_the_last_home_names_the_same_at_the_next() -> None:
    desk = Desk(is_known=False, key="run-1")
    desk.do("reject")
    desk.move()
    with pytest.raises(InvalidRequest, match="another proposal"):
        desk.open(AWAY, "run-1", "something else")
    assert desk.open(AWAY, "run-1").id == desk.id
    desk.assert_at_rest("rejected", "one")


def test_a_decision_of_a_lost_home_that_is_in_the_bucket_of_the_next_holds_as_if_it_were_indexed() -> None:
    desk = Desk()
    desk.do("reject")
    desk.stage.bring_unindexed(AWAY)
    with desk.stage.dead(HOME):
        desk.stage.fail_over(AWAY)
        with pytest.raises(InvalidRequest, match="rejected already"):
            desk.do("approve", AWAY)
    desk.assert_at_rest("rejected", "one")


def test_a_home_looks_for_the_decisions_of_earlier_homes_only_where_there_were_any() -> None:
    """What is indexed is read once more from no bucket."""
    desk = Desk()
    approval = desk.stage.actor(lambda: desk.do("approve"))
    assert approval.finish().status == "approved"
    assert [one for one in approval.trail if one.startswith("objects.list")] == []
    desk.stage.deliver()
    desk.stage.move(AWAY)
    desk.stage.deliver()
    reversal = desk.stage.actor(lambda: desk.do("revert", AWAY))
    assert reversal.finish().status == "reverted"
    place = f"{HOME}/proposal/{desk.stage.store}/{desk.id}/"
    assert [one for one in reversal.trail if one.startswith("objects.list")] == [f"objects.list {place}"]
    got = [one for one in reversal.trail if one.startswith("objects.get")]
    assert len(got) == len(set(got))


# ---- carried out while the home moves -------------------------------------------------------------------------------


@pytest.mark.parametrize("comes_back", [False, True])
def test_an_approval_that_stalls_while_the_home_moves_does_not_say_what_became_of_its_edits(comes_back: bool) -> None:
    """The edit was stale where the first home looked, and no writer was asked; at the next home it can be applied."""
    desk = Desk()
    desk.stage.update(desk.memory.id, "changed")
    approval = desk.stage.actor(lambda: desk.do("approve")).until(PUT, "/proposal/", after=True)
    approval.until("index.read", "memories", after=True)
    desk.stage.deliver()
    desk.stage.move(AWAY)
    desk.stage.update(desk.memory.id, "one", region=AWAY)
    if comes_back:
        desk.stage.deliver()
        desk.stage.move(HOME)
    approval.fails(OutcomeUnknown)
    assert f"{HOME}/proposal/{desk.stage.store}/{desk.id}/0000000003" not in desk.stage.all_keys(HOME)
    desk.stage.deliver()
    desk.stage.clock.advance(PROPOSAL_RESUMED_US / 1_000_000 + 1)
    assert desk.look_for_what_is_due(HOME if comes_back else AWAY) == {"done": "approve"}
    desk.assert_at_rest("approved", "proposed")


def test_a_reversal_that_stalls_while_the_home_moves_does_not_say_what_became_of_it() -> None:
    """What the proposal wrote was not the head where the first home looked; it is never taken back by that."""
    desk = Desk()
    desk.do("approve")
    desk.stage.update(desk.memory.id, "changed")
    reversal = desk.stage.actor(lambda: desk.do("revert")).until(PUT, "/proposal/", after=True)
    reversal.until("index.read", "memories", after=True)
    desk.stage.deliver()
    desk.stage.move(AWAY)
    reversal.fails(OutcomeUnknown)
    assert f"{HOME}/proposal/{desk.stage.store}/{desk.id}/0000000005" not in desk.stage.all_keys(HOME)
    assert desk.do("revert", AWAY).complete
    desk.assert_at_rest("reverted", "changed")
