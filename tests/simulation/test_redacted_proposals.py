"""A version that came from a proposal is redacted: the proposal's copy of the text goes, whichever was known first.

docs/proposals.md: the texts of a proposal are erased in every region when a version that came from it is redacted.
Promise 28: once the order and what it concerns have arrived, no region's bucket has the text.
"""

from __future__ import annotations

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.kernel.proposal_results import Proposal
from memolith.app.replication.due_proposals import DueProposals
from memolith.core.limits import CLAIM_LIFETIME_US, PROPOSAL_RESUMED_US
from memolith.core.proposed_edits import EditRequest
from tests.simulation.moving_stage import AWAY, HOME, THIRD
from tests.simulation.stage import PUT
from tests.simulation.test_brought_proposals import Desk
from tests.simulation.test_lost_erasures import compare

NEVER_US = 1 << 62


def _version_of(approved: Proposal) -> str:
    """The version that an approved proposal of one edit has written."""
    assert approved.edits is not None
    [edit] = approved.edits
    assert edit.result is not None and edit.result.version_id is not None
    return edit.result.version_id


class RedactedDesk(Desk):
    """A proposal that is approved at `HOME`; what it wrote is superseded, and nothing of that has left `HOME`."""

    def __init__(self) -> None:
        super().__init__()
        self.version_id = _version_of(self.do("approve"))
        self.stage.update(self.memory.id, "harmless")

    def keys(self, kind: str) -> list[str]:
        """Which objects of a kind are under way."""
        return [event.key for event in self.stage.cloud.pending if f"/{kind}/" in event.key]

    def die_before_the_proposal_is_erased(self) -> None:
        """The version is redacted at `HOME`, and the process is gone once the order stands."""
        self.stage.actor(lambda: self.stage.redact(self.version_id)).until(PUT, "/proposal/").die()

    def tick(self, region: str) -> int:
        """Of how many proposals the reconciler of a region has something done."""
        return DueProposals(self.stage.cloud.sites[region].region).run(NEVER_US)

    def left(self) -> list[str]:
        return [key for region in self.stage.cloud.regions for key in self.stage.found("proposed", region)]


class RenamingDesk(Desk):
    """The proposal renames the memory, and a writer that died holds the new path: the first attempt fails.

    The second one writes the version under an id of its own.
    """

    def open(self, at: str, key: str | None = None, content: str = "proposed") -> Proposal:
        edits = (EditRequest("rename", "/p/a", to="/p/b", content=content),)
        proposed = self.stage.memolith(at).proposals.open(self.calls["agent"], self.stage.store, why="w", edits=edits)
        self.stage.actor(lambda: self.stage.create("/p/b")).until(PUT, "/log/").die()
        self.stage.clock.advance(CLAIM_LIFETIME_US / 1_000_000 + 1)
        return proposed


class RedactedRenamingDesk(RedactedDesk, RenamingDesk):
    """What the rename wrote is superseded, and nothing of that has left `HOME`."""

    def __init__(self) -> None:
        super().__init__()
        planned = f"proposed#{self.version_id}"
        assert (self.stage.store, planned) not in self.stage.cloud.rows(HOME, "stores"), "or this shows nothing"


def test_a_decision_that_is_projected_after_the_redaction_of_what_it_planned_has_the_text_of_the_proposal_erased() -> (
    None
):
    desk = RedactedDesk()
    versions = desk.keys("log")
    for region in (AWAY, THIRD):
        desk.stage.reach(region, *versions)
    desk.move()
    desk.stage.redact(desk.version_id, AWAY)
    assert desk.left() != [], "the decision is projected, or this test shows nothing"
    desk.assert_at_rest("approved", "harmless")
    assert desk.left() == []


def test_a_decision_of_a_lost_home_that_comes_after_the_redaction_has_the_text_of_the_proposal_erased() -> None:
    desk = RedactedDesk()
    versions = desk.keys("log")
    for region in (AWAY, THIRD):
        desk.stage.reach(region, *versions)
    desk.stage.hold_back()
    with desk.stage.dead(HOME):
        desk.stage.fail_over(AWAY)
        desk.stage.redact(desk.version_id, AWAY)
    desk.assert_at_rest("approved", "harmless")
    assert desk.left() == []


def test_the_event_of_an_order_has_the_text_of_the_proposal_erased_where_the_redaction_died_before_that() -> None:
    desk = RedactedDesk()
    desk.stage.deliver()
    desk.die_before_the_proposal_is_erased()
    assert desk.left() != []
    desk.assert_at_rest("approved", "harmless")
    assert desk.left() == []


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_the_text_of_a_proposal_goes_by_the_daily_comparison_where_the_eraser_did_not_answer_and_no_event_comes(
    region: str,
) -> None:
    desk = RedactedDesk()
    desk.stage.deliver()
    no_answer = Strike(Fault.REFUSED, "peers.call", occurrence=2)
    desk.stage.actor(lambda: desk.stage.redact(desk.version_id), no_answer).finish()
    [order] = desk.keys("proposal")
    desk.stage.copy(order)
    desk.stage.cloud.pending.clear()
    assert desk.stage.found("proposed", region)
    compare(desk.stage, region)
    assert [key for key in desk.stage.found("proposed", region) if "/proposal/" in key] == []


def test_the_next_home_erases_the_text_of_a_proposal_whose_redaction_died_with_the_last_one() -> None:
    """It knew of the order and of the decision before it was the home: no event tells it again."""
    desk = RedactedDesk()
    desk.stage.deliver()
    desk.die_before_the_proposal_is_erased()
    orders = desk.keys("redaction")
    with desk.stage.dead(HOME):
        for region in (AWAY, THIRD):
            desk.stage.reach(region, *orders)
        desk.stage.fail_over(AWAY)
        assert desk.left() != []
        assert [desk.tick(region) for region in (AWAY, THIRD)] == [1, 0]
        assert desk.stage.found("proposed", AWAY) == []
    desk.assert_at_rest("approved", "harmless")
    assert desk.left() == []
    assert [desk.tick(region) for region in desk.stage.cloud.regions] == [0, 0, 0]


@pytest.mark.parametrize("kind", [Desk, RenamingDesk])
def test_an_approval_that_died_is_carried_out_before_the_text_of_its_redacted_version_goes(kind: type[Desk]) -> None:
    """The version is written, and the record which says so is not put; the redaction dies, too."""
    desk = kind()
    approval = desk.stage.actor(lambda: desk.do("approve")).until(PUT, "/proposal/", occurrence=2)
    approval.die()
    desk.stage.deliver()
    newest, *_ = desk.stage.history_of(desk.memory.id, HOME)
    desk.stage.update(desk.memory.id, "harmless")
    desk.stage.deliver()
    desk.stage.actor(lambda: desk.stage.redact(newest.id)).until(PUT, "/proposal/").die()
    desk.stage.deliver()
    desk.stage.clock.advance(PROPOSAL_RESUMED_US / 1_000_000 + 1)
    here = desk.stage.cloud.sites[HOME].region
    assert DueProposals(here).run(NEVER_US) == 1
    desk.assert_at_rest("approved", "harmless")
    assert [desk.stage.found("proposed", region) for region in desk.stage.cloud.regions] == [[], [], []]


def test_dismissing_a_divergent_version_that_came_from_a_proposal_erases_the_text_of_the_proposal() -> None:
    desk = Desk()
    version_id = _version_of(desk.do("approve"))
    desk.stage.hold_back()
    with desk.stage.dead(HOME):
        desk.stage.fail_over(AWAY)
        desk.stage.update(desk.memory.id, "harmless", region=AWAY)
    desk.stage.at_rest(divergent=[version_id])
    assert [desk.stage.found("proposed", region) != [] for region in desk.stage.cloud.regions] == [True] * 3
    desk.stage.memolith(THIRD).divergent.dismiss(desk.stage.call(), desk.stage.store, version_id)
    desk.assert_at_rest("approved", "harmless")
    assert [desk.stage.found("proposed", region) for region in desk.stage.cloud.regions] == [[], [], []]


# ---- a rename, which has another id in each attempt -----------------------------------------------------------------


@pytest.mark.parametrize("region", [HOME, AWAY, THIRD])
def test_redacting_what_a_later_attempt_of_a_proposed_rename_wrote_erases_the_text_of_the_proposal(region: str) -> None:
    desk = RedactedRenamingDesk()
    desk.stage.deliver()
    desk.stage.redact(desk.version_id, region)
    desk.stage.deliver()
    assert desk.left() == []
    desk.assert_at_rest("approved", "harmless")


def test_the_event_of_an_order_has_the_text_of_a_proposed_rename_erased_where_the_redaction_died_before_that() -> None:
    desk = RedactedRenamingDesk()
    desk.stage.deliver()
    desk.stage.actor(lambda: desk.stage.redact(desk.version_id)).until(PUT, "/redaction/", after=True).die()
    desk.stage.deliver()
    assert desk.left() == []
    desk.assert_at_rest("approved", "harmless")


def test_a_decision_about_a_rename_that_is_projected_after_the_redaction_has_the_text_of_the_proposal_erased() -> None:
    desk = RedactedRenamingDesk()
    versions = desk.keys("log")
    for region in (AWAY, THIRD):
        desk.stage.reach(region, *versions)
    desk.stage.hold_back()
    with desk.stage.dead(HOME):
        desk.stage.fail_over(AWAY)
        desk.stage.redact(desk.version_id, AWAY)
    desk.assert_at_rest("approved", "harmless")
    assert desk.left() == []
