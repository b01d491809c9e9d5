"""A proposal of which the new home knows what followed from the lost home's decision, and not the decision itself.

docs/adr/0048: of two decisions the one of the later term holds, and an end that is older than it says nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memolith.app.kernel.proposal_results import Proposal
from memolith.core.errors import InvalidRequest
from memolith.core.limits import PROPOSAL_LIFETIME_US, PROPOSAL_RESUMED_US
from memolith.core.objects.proposal_record import ProposalStep
from memolith.core.proposed_edits import EditRequest
from tests.simulation.moving_stage import AWAY, HOME, MovingStage


class Desk:
    """A proposal of two creations that is open at `HOME`, and known everywhere; who proposed it, and who decides."""

    def __init__(self) -> None:
        self.stage = stage = MovingStage()
        self.agent, self.person = (
            stage.cloud.call(stage.cloud.key("write", holder=one)) for one in ("agent", "person")
        )
        stage.deliver()
        edits = (EditRequest("create", "/x", content="the x"), EditRequest("create", "/y", content="the y"))
        self.id = stage.memolith().proposals.open(self.agent, stage.store, why="w", edits=edits).id
        stage.deliver()

    def do(self, change: str, at: str = HOME, **more: Any) -> Proposal:
        call = self.stage.call() if change == "erase" else self.person
        answer: Proposal = getattr(self.stage.memolith(at).proposals, change)(call, self.stage.store, self.id, **more)
        return answer

    @contextmanager
    def taken_over(self, *steps: ProposalStep) -> Iterator[None]:
        """`AWAY` takes over, and `HOME` is lost: of all that it put since, these records of the proposal arrive."""
        keys = [f"{HOME}/proposal/{self.stage.store}/{self.id}/{step:010d}" for step in steps]
        self.stage.reach(AWAY, *keys)
        self.stage.hold_back()
        with self.stage.dead(HOME):
            self.stage.fail_over(AWAY)
            yield

    def look_for_what_is_due(self, at: str) -> Any:
        """What the reconciler is answered with by the region's writer."""
        payload = {"call": "proposal_due", "store_id": self.stage.store, "proposal_id": self.id}
        return self.stage.cloud.peers.call(at, "peerwriter", payload)

    def listed(self, status: str, at: str) -> list[str]:
        page = self.stage.memolith(at).proposals.page(self.person, self.stage.store, status=status, limit=9, after=None)
        return [one.id for one in page.items]


def outcomes(proposal: Proposal) -> list[str | None]:
    return [edit.result.outcome if edit.result else None for edit in proposal.edits or ()]


def reversals(proposal: Proposal) -> list[str | None]:
    return [edit.reversal.outcome if edit.reversal else None for edit in proposal.edits or ()]


def test_what_a_lost_approval_came_to_does_not_stand_for_the_new_homes_approval() -> None:
    desk = Desk()
    desk.do("approve", edits=[1])
    with desk.taken_over(ProposalStep.APPLIED):
        shown = desk.do("retrieve", AWAY)
        assert (shown.status, outcomes(shown)) == ("open", [None, None])
        approved = desk.do("approve", AWAY)
        assert (approved.complete, outcomes(approved)) == (True, ["applied", "applied"])
        assert desk.stage.contents(AWAY) == {"/x": "the x", "/y": "the y"}
    desk.stage.at_rest(divergent=None)
    for region in desk.stage.cloud.regions:
        assert desk.do("retrieve", region).edits == approved.edits
        assert desk.stage.contents(region) == {"/x": "the x", "/y": "the y"}


def test_an_approval_whose_call_died_is_taken_up_though_the_end_of_a_lost_approval_is_known() -> None:
    desk = Desk()
    desk.do("approve", edits=[1])
    with desk.taken_over(ProposalStep.APPLIED):
        desk.stage.actor(lambda: desk.do("approve", AWAY)).until("objects.put_if_absent", "/log/").die()
        shown = desk.do("retrieve", AWAY)
        assert (shown.status, shown.complete, outcomes(shown)) == ("approved", False, [None, None])
        desk.stage.clock.advance(PROPOSAL_RESUMED_US / 1_000_000 + 1)
        assert desk.look_for_what_is_due(AWAY) == {"done": "approve"}
        assert outcomes(desk.do("retrieve", AWAY)) == ["applied", "applied"]
        assert desk.look_for_what_is_due(AWAY) == {"done": None}
    desk.stage.at_rest(divergent=None)


def test_a_lost_reversal_does_not_stand_for_the_reversal_of_the_new_homes_approval() -> None:
    desk = Desk()
    desk.do("approve")
    desk.do("revert")
    with desk.taken_over(ProposalStep.REVERTING, ProposalStep.REVERTED):
        approved = desk.do("approve", AWAY)
        assert (approved.status, desk.do("retrieve", AWAY).status) == ("approved", "approved")
        assert (desk.listed("approved", AWAY), desk.listed("reverted", AWAY)) == ([desk.id], [])
        assert desk.stage.contents(AWAY) == {"/x": "the x", "/y": "the y"}
        reverted = desk.do("revert", AWAY)
        assert (reverted.status, reversals(reverted)) == ("reverted", ["reverted", "reverted"])
        assert desk.stage.contents(AWAY) == {}
    desk.stage.at_rest(divergent=None)


def test_an_approval_of_the_next_home_is_carried_out_by_the_first_home_that_has_an_end_of_its_own() -> None:
    desk = Desk()
    desk.do("approve", edits=[1])
    with desk.taken_over(ProposalStep.OPENED):
        desk.stage.actor(lambda: desk.do("approve", AWAY)).until("objects.put_if_absent", "/log/").die()
    desk.stage.at_rest(divergent=None)
    desk.stage.move(HOME)
    desk.stage.clock.advance(PROPOSAL_RESUMED_US / 1_000_000 + 1)
    assert desk.look_for_what_is_due(HOME) == {"done": "approve"}
    shown = desk.do("retrieve", HOME)
    assert (shown.complete, outcomes(shown)) == (True, ["stale", "applied"])  # the lost approval's /x came late
    assert desk.look_for_what_is_due(HOME) == {"done": None}
    desk.stage.at_rest(divergent=None)
    for region in desk.stage.cloud.regions:
        assert desk.do("retrieve", region).edits == shown.edits
        assert desk.stage.contents(region) == {"/x": "the x", "/y": "the y"}


def test_an_approval_of_the_next_home_is_taken_back_by_the_first_home_that_has_a_reversal_of_its_own() -> None:
    desk = Desk()
    desk.do("approve")
    desk.do("revert")
    with desk.taken_over(ProposalStep.OPENED):
        desk.do("approve", AWAY)
    desk.stage.at_rest(divergent=None)
    desk.stage.move(HOME)
    reverted = desk.do("revert", HOME)
    assert (reverted.status, reversals(reverted)) == ("reverted", ["reverted", "reverted"])
    assert desk.stage.contents(HOME) == {}
    desk.stage.at_rest(divergent=None)
    for region in desk.stage.cloud.regions:
        assert (desk.do("retrieve", region).status, desk.stage.contents(region)) == ("reverted", {})


@pytest.mark.parametrize("change", ["approve", "revert"])
def test_what_a_moved_home_had_begun_counts_as_ended_by_the_next_home_in_its_own_term(change: str) -> None:
    desk = Desk()
    if change == "revert":
        desk.do("approve")
    desk.stage.actor(lambda: desk.do(change)).until("objects.put_if_absent", "/log/").die()
    desk.stage.clock.advance(PROPOSAL_RESUMED_US / 1_000_000 + 1)
    desk.stage.deliver()
    desk.stage.move(AWAY)
    assert not desk.do("retrieve", AWAY).complete
    assert desk.look_for_what_is_due(AWAY) == {"done": change}
    assert desk.do(change, AWAY).complete and desk.do("retrieve", AWAY).complete
    assert desk.stage.contents(AWAY) == ({} if change == "revert" else {"/x": "the x", "/y": "the y"})
    desk.stage.at_rest()


# ---- erased ---------------------------------------------------------------------------------------------------------


def _rejected_and_erased() -> Desk:
    """The lost home rejected the proposal and had it erased; of both, only the order to erase it arrives."""
    desk = Desk()
    desk.do("reject", reason="no")
    desk.do("erase")
    return desk


def test_an_erased_proposal_whose_decision_was_lost_is_not_approved_and_nothing_is_put() -> None:
    desk = _rejected_and_erased()
    with desk.taken_over(ProposalStep.ERASED):
        for _ in range(2):
            approval = desk.stage.actor(lambda: desk.do("approve", AWAY))
            refused = approval.fails(InvalidRequest)
            assert "texts were erased" in str(refused) and "reject it" in str(refused)
            assert [one for one in approval.trail if "put" in one] == []
        assert desk.do("retrieve", AWAY).status == "open"
    assert desk.stage.contents(AWAY) == {}
    desk.stage.at_rest()


def test_an_erased_proposal_whose_decision_was_lost_is_rejected_and_the_reason_is_erased_too() -> None:
    desk = _rejected_and_erased()
    with desk.taken_over(ProposalStep.ERASED):
        assert desk.do("reject", AWAY, reason="PRIVATE").status == "rejected"
        desk.stage.deliver()
        assert desk.listed("rejected", AWAY) == [desk.id]
        assert desk.do("retrieve", AWAY).complete
    desk.stage.at_rest()
    assert [desk.stage.found("PRIVATE", region) for region in desk.stage.cloud.regions] == [[], [], []]


def test_an_erased_proposal_whose_decision_was_lost_expires() -> None:
    desk = _rejected_and_erased()
    with desk.taken_over(ProposalStep.ERASED):
        desk.stage.clock.advance(PROPOSAL_LIFETIME_US / 1_000_000 + 1)
        assert desk.look_for_what_is_due(AWAY) == {"done": "expire"}
        assert desk.do("retrieve", AWAY).status == "expired"
        assert desk.look_for_what_is_due(AWAY) == {"done": None}
    desk.stage.at_rest()


def test_an_approval_of_an_erased_proposal_whose_call_died_is_taken_up() -> None:
    """The lost home approved it and had it erased; of the approval, only the decision has arrived."""
    desk = Desk()
    desk.do("approve")
    desk.do("erase")
    with desk.taken_over(ProposalStep.DECIDED, ProposalStep.ERASED):
        desk.stage.clock.advance(PROPOSAL_RESUMED_US / 1_000_000 + 1)
        assert desk.look_for_what_is_due(AWAY) == {"done": "approve"}
        assert desk.do("retrieve", AWAY).complete
        assert desk.look_for_what_is_due(AWAY) == {"done": None}
    desk.stage.at_rest(divergent=None)


def test_an_approval_of_which_only_the_erased_texts_are_left_comes_to_its_end() -> None:
    """The lost home approved it, wrote it and had it erased; neither the versions nor the end have arrived."""
    desk = Desk()
    desk.do("approve")
    desk.do("erase")
    with desk.taken_over(ProposalStep.DECIDED, ProposalStep.ERASED):
        for _ in range(2):
            approved = desk.do("approve", AWAY)
            assert (approved.complete, outcomes(approved)) == (True, ["refused", "refused"])
        assert desk.stage.contents(AWAY) == {}
    desk.stage.at_rest(divergent=None)
