"""Proposals: opened, decided once, applied where nothing has changed, taken back; in both regions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import ManualClock
from memolith.app.kernel.proposal_results import Proposal
from memolith.core.errors import InvalidRequest, NotFound, PathConflict, PermissionDenied
from memolith.core.limits import PROPOSAL_KEPT_US, PROPOSAL_LIFETIME_US
from memolith.core.object_keys import ProposalKey, parse_key
from memolith.core.proposed_edits import EditRequest
from memolith.core.rows.base import RowKey
from memolith.core.trust import APPROVED
from memolith.ports.index import Change
from tests.unit.app.api.proposal_desk import Desk, outcomes, texts
from tests.unit.app.scene import AWAY, HOME, INDEXED, Scene

T = TypeVar("T")
SECRETIVE = "what nobody may read after its erasure"


@pytest.fixture
def desk(scene: Scene) -> Desk:
    return Desk(scene)


def reversals(proposal: Proposal) -> list[str | None]:
    return [edit.reversal.outcome if edit.reversal else None for edit in proposal.edits or ()]


def all_kinds(desk: Desk) -> tuple[EditRequest, ...]:
    """An edit of each kind, over memories that are made for it."""
    for path in ("/replaced", "/patched", "/deleted", "/renamed"):
        desk.scene.create(path, f"the text at {path}")
    return (
        EditRequest("create", "/created", content="new"),
        EditRequest("replace", "/replaced", content="other"),
        EditRequest("str_replace", "/patched", old="text", new="words"),
        EditRequest("delete", "/deleted"),
        EditRequest("rename", "/renamed", to="/elsewhere"),
    )


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_proposal_is_in_no_listing_until_a_person_approves_it(desk: Desk, at: str) -> None:
    edits = all_kinds(desk)
    desk.scene.deliver()
    before = texts(desk.scene, at)
    proposal = desk.open(*edits, at=at)
    assert (proposal.status, proposal.edit_count, texts(desk.scene, at)) == ("open", 5, before)
    approved = desk.do("approve", proposal, at=at)
    assert (approved.status, outcomes(approved)) == ("approved", ["applied"] * 5)
    assert texts(desk.scene, at) == {
        "/created": "new",
        "/replaced": "other",
        "/patched": "the words at /patched",
        "/elsewhere": "the text at /renamed",
    }
    desk.scene.deliver()
    for region in (HOME, AWAY):
        assert texts(desk.scene, region) == texts(desk.scene, at)
    for table in INDEXED:
        assert desk.scene.cloud.rows(HOME, table) == desk.scene.cloud.rows(AWAY, table), table


def test_a_version_that_was_approved_is_the_approvers_and_of_the_class_approved(desk: Desk) -> None:
    approved = desk.do("approve", desk.open(EditRequest("create", "/a", content="new")))
    [edit] = approved.edits or ()
    assert edit.result is not None and edit.result.version_id is not None
    version = desk.scene.version(edit.result.version_id)
    assert (version.trust, version.created_by) == (APPROVED, approved.decided_by)
    assert approved.decided_by != approved.proposed_by


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_reverted_proposal_leaves_every_text_as_it_was(desk: Desk, at: str) -> None:
    edits = all_kinds(desk)
    desk.scene.deliver()
    before = texts(desk.scene)
    proposal = desk.open(*edits, at=at)
    desk.do("approve", proposal, at=at)
    reverted = desk.do("revert", proposal, at=at)
    assert (reverted.status, reversals(reverted)) == ("reverted", ["reverted"] * 5)
    desk.scene.deliver()
    assert texts(desk.scene) == texts(desk.scene, AWAY) == before
    assert desk.do("revert", proposal, at=at).edits == reverted.edits
    assert texts(desk.scene) == before


@pytest.mark.parametrize("erased", [False, True])
def test_the_reversal_of_a_rename_with_a_new_text_brings_back_the_path_the_text_and_its_class(
    desk: Desk, erased: bool
) -> None:
    made = desk.scene.create("/a", "first")
    proposal = desk.open(EditRequest("rename", "/a", to="/b", content="second"))
    desk.do("approve", proposal)
    assert texts(desk.scene) == {"/b": "second"}
    if erased:
        desk.do("erase", proposal, by=desk.scene.api_key)
        desk.scene.deliver()
    assert reversals(desk.do("revert", proposal)) == ["reverted"]
    assert texts(desk.scene) == {"/a": "first"}
    (item,) = desk.scene.page().items
    assert desk.scene.version(item.version_id).trust == desk.scene.version(made.version_id).trust  # type: ignore[union-attr]  # a memory, and no folder


def test_what_was_changed_since_is_not_taken_back(desk: Desk) -> None:
    memory = desk.scene.create("/a", "first")
    proposal = desk.open(EditRequest("replace", "/a", content="second"), EditRequest("create", "/b", content="new"))
    desk.do("approve", proposal)
    desk.scene.update(memory, "a person's third")
    reverted = desk.do("revert", proposal)
    assert reversals(reverted) == ["changed_since", "reverted"]
    assert texts(desk.scene) == {"/a": "a person's third"}


def test_an_edit_whose_memory_has_changed_is_stale_and_does_not_stop_the_others(desk: Desk) -> None:
    edits = all_kinds(desk)
    proposal = desk.open(*edits)
    ids = {item.path: item.id for item in desk.scene.page().items}  # type: ignore[union-attr]  # a memory, and no folder
    desk.scene.create("/created", "a person was first")
    desk.scene.update(ids["/replaced"], "a person's")
    desk.scene.update(ids["/patched"], path="/moved")
    desk.scene.delete(ids["/deleted"])
    desk.scene.update(ids["/renamed"], "a person's, too")
    shown = desk.show(proposal)
    assert all(edit.conflict is not None for edit in shown.edits or ())
    before = texts(desk.scene)
    approved = desk.do("approve", proposal)
    assert outcomes(approved) == ["stale"] * 5
    assert texts(desk.scene) == before


def test_an_approval_of_some_edits_leaves_the_others_out(desk: Desk) -> None:
    proposal = desk.open(EditRequest("create", "/a", content="a"), EditRequest("create", "/b", content="b"))
    assert outcomes(desk.do("approve", proposal, edits=[2])) == ["left_out", "applied"]
    assert texts(desk.scene) == {"/b": "b"}
    with pytest.raises(InvalidRequest, match="with other edits"):
        desk.do("approve", proposal, edits=[1])
    with pytest.raises(InvalidRequest, match="from 1 to 2"):
        desk.do("approve", desk.open(*[EditRequest("create", f"/{n}", content="x") for n in "cd"]), edits=[3])


@pytest.mark.parametrize(("first", "then"), [("reject", "approve"), ("approve", "reject"), ("withdraw", "approve")])
def test_a_proposal_is_decided_once(desk: Desk, first: str, then: str) -> None:
    more: dict[str, dict[str, Any]] = {"reject": {"reason": "no"}, "withdraw": {"by": desk.agent}}
    proposal = desk.open(EditRequest("create", "/a", content="a"))
    decided = desk.do(first, proposal, **more.get(first, {}))
    with pytest.raises(InvalidRequest, match="already"):
        desk.do(then, proposal, **more.get(then, {}))
    assert desk.do(first, proposal, **more.get(first, {})).status == decided.status
    assert desk.list() == []
    assert desk.list(decided.status) == [proposal.id]
    assert ("/a" in texts(desk.scene)) == (first == "approve")


def test_neither_its_author_nor_an_agent_nor_a_session_approves_a_proposal(desk: Desk) -> None:
    mine = desk.open(EditRequest("create", "/a", content="a"), by=desk.person)
    for change, by in (("approve", desk.person), ("approve", desk.agent), ("revert", desk.agent)):
        with pytest.raises(PermissionDenied):
            desk.do(change, mine, by=by)
    for change in ("reject", "revert"):
        with pytest.raises(PermissionDenied):
            desk.do(change, mine, by=desk.agent, **({"reason": "no"} if change == "reject" else {}))
    assert desk.list() == [mine.id]
    assert outcomes(desk.do("approve", mine, by=desk.scene.api_key)) == ["applied"]


def test_a_key_names_one_proposal(desk: Desk) -> None:
    edit = EditRequest("create", "/a", content="a")
    first = desk.open(edit, key="run-1")
    assert desk.open(edit, key="run-1", at=AWAY).id == first.id
    desk.scene.deliver()
    assert desk.list() == desk.list(at=AWAY) == [first.id]
    with pytest.raises(InvalidRequest, match="another proposal"):
        desk.open(EditRequest("create", "/b", content="b"), key="run-1")
    assert desk.open(edit, key="run-1", by=desk.person).id != first.id


def test_an_edit_of_what_is_not_there_is_refused_when_it_is_proposed(desk: Desk) -> None:
    desk.scene.create("/held", "text text")
    with pytest.raises(PathConflict):
        desk.open(EditRequest("create", "/held", content="x"))
    with pytest.raises(NotFound):
        desk.open(EditRequest("replace", "/none", content="x"))
    with pytest.raises(InvalidRequest, match=r"edits\.0\.old: is in the memory's text 2 times"):
        desk.open(EditRequest("str_replace", "/held", old="text", new="x"))
    with pytest.raises(InvalidRequest, match=r"edits\.1\.path: is named by edits\.0 too"):
        desk.open(EditRequest("delete", "/held"), EditRequest("replace", "/held", content="x"))
    assert desk.list() == []


def test_show_has_the_lines_that_change_and_says_what_stands_against_them(desk: Desk) -> None:
    proposal = desk.open(*all_kinds(desk))
    diffs = [edit.diff for edit in desk.show(proposal, diff=True).edits or ()]
    assert diffs[0] == "--- /dev/null\n+++ b/created\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n"
    assert diffs[2] is not None and "-the text at /patched\n" in diffs[2] and "+the words at /patched\n" in diffs[2]
    assert diffs[3] is not None and "+++ /dev/null" in diffs[3]
    assert diffs[4] == "rename from /renamed\nrename to /elsewhere\n"


class Died(Exception):
    """The process is gone."""


class Dying:
    """The process dies at the call of this number of those that write: before it, or once it was done."""

    def __init__(self, number: int, before: bool) -> None:
        self.left, self.before = number, before

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        if call.name not in ("objects.put_if_absent", "index.commit"):
            return act()
        self.left -= 1
        if self.left == 0 and self.before:
            raise Died
        answer = act()
        if self.left == 0:
            raise Died
        return answer


def died_at(scene: Scene, number: int, act: Callable[[], object], before: bool = True) -> bool:
    """Whether the process died; otherwise it came to its end."""
    with scene.intercepted_by(Dying(number, before)):
        try:
            act()
        except Died:
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("change", ["approve", "revert"])
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_call_that_died_at_any_step_and_is_repeated_ends_in_the_same_state(change: str, before: bool) -> None:
    number, died = 1, True
    while died:
        desk = Desk(Scene(seed=7))
        edits, as_it_was = all_kinds(desk), texts(desk.scene)
        proposal = desk.open(*edits)
        if change == "revert":
            desk.do("approve", proposal)
        died = died_at(desk.scene, number, partial(desk.do, change, proposal), before)
        assert isinstance(desk.scene.clock, ManualClock)
        desk.scene.clock.advance(30)  # a creation that died holds its path for ten seconds
        done = desk.do(change, proposal)
        found = outcomes(done) if change == "approve" else reversals(done)
        assert found == ["applied" if change == "approve" else "reverted"] * 5, number
        assert len(desk.scene.versions(limit=1000).items) == (9 if change == "approve" else 14), number
        if change == "revert":
            assert texts(desk.scene) == as_it_was, number
        desk.scene.deliver()
        for table in INDEXED:
            assert desk.scene.cloud.rows(HOME, table) == desk.scene.cloud.rows(AWAY, table), (number, table)
        number += 1
    assert number > 15


def kept(scene: Scene, text: str, *regions: str) -> list[str]:
    """The keys of the objects, and the tables, that have a text."""
    found = [key for region in regions for key, body in scene.objects(region) if text.encode() in body]
    tables = [name for region in regions for name in INDEXED if text in repr(scene.cloud.rows(region, name))]
    return found + tables


def tick(scene: Scene, *regions: str) -> None:
    for region in regions or (HOME, AWAY):
        scene.cloud.sites[region].reconciling.tick()
    scene.deliver()


def advance(scene: Scene, us: int) -> None:
    assert isinstance(scene.clock, ManualClock)
    scene.clock.advance(us / 1_000_000)


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_the_redaction_of_a_version_erases_the_proposals_copy_of_its_text(desk: Desk, at: str) -> None:
    proposal = desk.open(EditRequest("create", "/a", content=SECRETIVE, why=f"so that {SECRETIVE}"))
    approved = desk.do("approve", proposal)
    [edit] = approved.edits or ()
    assert edit.result is not None and edit.result.version_id is not None and edit.result.memory_id is not None
    desk.scene.update(edit.result.memory_id, "a harmless text")
    desk.scene.deliver()
    assert len(kept(desk.scene, SECRETIVE, HOME)) == 2
    desk.scene.redact(edit.result.version_id, at=at)
    [shown] = desk.show(proposal, at=at).edits or ()
    assert (shown.content, shown.path, shown.why) == (None, None, "")
    desk.scene.deliver()
    assert kept(desk.scene, SECRETIVE, HOME, AWAY) == []


def test_a_store_that_is_erased_takes_its_proposals_with_it() -> None:
    desk = Desk(Scene(erase_delay_us=0))
    made = desk.open(EditRequest("create", "/a", content=SECRETIVE))
    desk.open(EditRequest("create", "/b", content=SECRETIVE))
    desk.do("reject", made, reason=SECRETIVE)
    desk.scene.deliver()
    assert len(kept(desk.scene, SECRETIVE, HOME)) == len(kept(desk.scene, SECRETIVE, AWAY)) == 3
    desk.scene.at(HOME).stores.delete(desk.scene.call(), desk.scene.store)
    desk.scene.deliver()
    advance(desk.scene, 120_000_000)
    for region in (HOME, AWAY):
        desk.scene.cloud.peers.call(region, "eraser", {"call": "sweep"})
    desk.scene.deliver()
    assert kept(desk.scene, SECRETIVE, HOME, AWAY) == []
    advance(desk.scene, PROPOSAL_LIFETIME_US + PROPOSAL_KEPT_US)
    tick(desk.scene)
    assert [key for key in desk.scene.cloud.rows(HOME, "stores") if key[0] == "proposals"] == []


def test_an_open_proposal_expires_and_its_texts_are_erased_later(desk: Desk) -> None:
    proposal = desk.open(EditRequest("create", "/a", content=SECRETIVE))
    desk.scene.deliver()
    tick(desk.scene)
    assert desk.list() == [proposal.id]
    advance(desk.scene, PROPOSAL_LIFETIME_US)
    with pytest.raises(InvalidRequest, match="expired"):
        desk.do("approve", proposal)
    tick(desk.scene)
    for region in (HOME, AWAY):
        assert (desk.list(at=region), desk.list("expired", at=region)) == ([], [proposal.id])
    assert len(kept(desk.scene, SECRETIVE, HOME, AWAY)) == 2
    advance(desk.scene, PROPOSAL_KEPT_US)
    tick(desk.scene)
    assert kept(desk.scene, SECRETIVE, HOME, AWAY) == []
    assert {key[1] for key in desk.scene.cloud.rows(HOME, "stores") if key[0] == "proposals"} == set()


def test_an_approval_whose_call_died_is_carried_out_by_the_reconciler(desk: Desk) -> None:
    proposal = desk.open(*all_kinds(desk))
    assert died_at(desk.scene, 6, lambda: desk.do("approve", proposal))
    desk.scene.deliver()
    assert not desk.show(proposal).complete
    tick(desk.scene)
    assert not desk.show(proposal).complete
    advance(desk.scene, 61_000_000)
    tick(desk.scene)
    done = desk.show(proposal, at=AWAY)
    assert (done.complete, outcomes(done)) == (True, ["applied"] * 5)
    desk.scene.deliver()
    assert texts(desk.scene) == texts(desk.scene, AWAY)


def test_the_reversal_of_an_erased_proposal_whose_call_died_is_carried_out_by_the_reconciler(desk: Desk) -> None:
    for name in "abc":
        desk.scene.create(f"/{name}", "first")
    proposal = desk.open(*[EditRequest("replace", f"/{name}", content="second") for name in "abc"])
    desk.do("approve", proposal)
    desk.do("erase", proposal, by=desk.scene.api_key)
    assert died_at(desk.scene, 4, lambda: desk.do("revert", proposal))
    desk.scene.deliver()
    assert not desk.show(proposal).complete
    advance(desk.scene, 61_000_000)
    tick(desk.scene)
    done = desk.show(proposal, at=AWAY)
    assert (done.complete, reversals(done)) == (True, ["reverted"] * 3)
    assert texts(desk.scene) == {"/a": "first", "/b": "first", "/c": "first"}
    assert {key[1] for key in desk.scene.cloud.rows(HOME, "stores") if key[0] == "proposals"} == set()


def test_proposals_survive_a_rebuild_and_move_with_their_store(desk: Desk) -> None:
    decided, waiting = (desk.open(EditRequest("create", f"/{n}", content=n)) for n in "ab")
    desk.do("approve", decided)
    desk.scene.deliver()
    before = desk.scene.cloud.rows(HOME, "stores")
    keys = [key for key, _ in desk.scene.objects(HOME) if isinstance(parse_key(key), ProposalKey)]
    index = desk.scene.cloud.sites[HOME].region.index
    proposed = [key for key in before if key[0] == "proposals" or key[1].startswith("propos")]
    index.commit([Change(RowKey("stores", *key), None, None, unconditional=True) for key in proposed])
    assert desk.list() == []
    for key in reversed(keys):
        desk.scene.cloud.sites[HOME].indexing.object_arrived(key)
    assert desk.scene.cloud.rows(HOME, "stores") == before
    desk.scene.cloud.sites[AWAY].homes.move(desk.scene.store)
    desk.scene.deliver()
    approved = desk.do("approve", waiting, at=HOME)
    assert outcomes(approved) == ["applied"]
    reverted = desk.do("revert", decided, at=HOME)
    assert reversals(reverted) == ["reverted"]
    desk.scene.deliver()
    assert texts(desk.scene) == texts(desk.scene, AWAY) == {"/b": "b"}
    assert {key.partition("/")[0] for key, _ in desk.scene.objects(AWAY) if "/proposal/" in key} == {HOME, AWAY}
