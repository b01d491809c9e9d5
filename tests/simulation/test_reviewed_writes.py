"""Writes of a store whose approval policy has some wait for a person, where the region shows an old state of it.

The home judges by the head that the write would follow: what waits becomes a proposal, and none of it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from memolith.adapters.memory import MemoryIndex
from memolith.app.kernel.proposal_results import EditView, Proposal, Staged
from memolith.app.kernel.results import Memory, RequestContext
from memolith.core.errors import NotFound, PreconditionFailed, Unavailable
from memolith.core.rows.control import CompletenessRow
from memolith.ports.index import Change
from tests.simulation.stage import AWAY, HOME, PUT, Stage

WRITES = ["update", "delete"]


class ReviewedStage(Stage):
    """A stage with an agent, whose writes wait where the policy says so, and two people."""

    def __init__(self) -> None:
        super().__init__()
        self.agent, self.person, self.other = (
            self.cloud.call(self.cloud.key("write", holder=holder)) for holder in ("agent", "person", "person")
        )
        self.cloud.deliver()

    def choose(self, **policy: Any) -> None:
        """Both regions know of the policy, and of everything before it."""
        self.memolith().stores.update(self.call(), self.store, name="s", description="", metadata={}, approval=policy)
        self.cloud.deliver()

    def make(self, path: str, content: str = "one") -> Memory:
        """Made at home by a person; the other region does not know of it."""
        return self.memolith().memories.create(self.person, self.store, path=path, content=content, full=False)

    def write(self, by: RequestContext, memory: Memory, region: str = HOME, **asked: Any) -> Memory:
        asked = {"content": None, "path": None, "expected_content_sha256": None, "full": False} | asked
        return self.memolith(region).memories.update(by, self.store, memory.id, **asked)

    def remove(self, by: RequestContext, memory: Memory, region: str = HOME) -> None:
        self.memolith(region).memories.delete(by, self.store, memory.id, expected_content_sha256=None)

    def ask(self, kind: str, memory: Memory, region: str, content: str = "not reviewed") -> None:
        """The agent asks for an update, or for a deletion."""
        if kind == "delete":
            self.remove(self.agent, memory, region)
        else:
            self.write(self.agent, memory, region, content=content)

    def approve(self, proposal: Proposal) -> Proposal:
        """Two people approve."""
        self.memolith().proposals.approve(self.other, self.store, proposal.id)
        return self.memolith().proposals.approve(self.call(), self.store, proposal.id)

    def open_proposals(self) -> Sequence[Proposal]:
        return self.memolith().proposals.page(self.person, self.store, status="open", limit=9, after=None).items

    def begin_index(self, region: str) -> None:
        """The region's index is being built: it has no row of any store's content, and says so."""
        self.wipe(region)
        index = MemoryIndex(self.cloud.sites[region].database)
        index.commit([Change(CompletenessRow.key(1), None, None, unconditional=True)])


@pytest.fixture
def stage() -> ReviewedStage:
    return ReviewedStage()


def staged(act: Callable[[], object]) -> tuple[Proposal, EditView]:
    """The proposal that a write has become, and its one edit."""
    with pytest.raises(Staged) as opened:
        act()
    proposal: Proposal = opened.value.proposal
    (edit,) = proposal.edits or ()
    return proposal, edit


# ---- a region that does not know the memory as it is ----------------------------------------------------------------


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_in_a_region_whose_index_is_being_built_waits_for_a_person(stage: ReviewedStage, kind: str) -> None:
    memory = stage.make("/policy/a")
    stage.choose(agents="propose", paths=[{"prefix": "/policy/", "require": 2}])
    stage.begin_index(AWAY)
    _, edit = staged(lambda: stage.ask(kind, memory, AWAY))
    assert (edit.path, edit.memory_id) == ("/policy/a", memory.id)
    assert stage.contents() == {"/policy/a": "one"}


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_of_a_memory_that_has_not_arrived_in_its_region_waits_for_a_person(
    stage: ReviewedStage, kind: str
) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    proposal, edit = staged(lambda: stage.ask(kind, memory, AWAY))
    assert (edit.path, edit.memory_id) == ("/a", memory.id)
    assert stage.contents() == {"/a": "one"}
    stage.memolith().proposals.approve(stage.person, stage.store, proposal.id)
    assert stage.contents() == ({} if kind == "delete" else {"/a": "not reviewed"})


def test_a_write_of_the_text_that_its_region_still_shows_waits_for_a_person(stage: ReviewedStage) -> None:
    memory = stage.make("/a")
    stage.choose(agents="propose")
    stage.write(stage.person, memory, content="two")
    _, edit = staged(lambda: stage.write(stage.agent, memory, AWAY, content="one"))
    assert (edit.op, edit.content) == ("replace", "one")
    assert stage.contents() == {"/a": "two"}


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_in_a_region_that_does_not_know_the_memory_in_a_reviewed_folder_waits_for_people(
    stage: ReviewedStage, kind: str
) -> None:
    memory = stage.make("/draft")
    stage.choose(paths=[{"prefix": "/policy/", "require": 2}])
    moved, _ = staged(lambda: stage.write(stage.person, memory, path="/policy/a"))
    stage.approve(moved)
    assert stage.read(memory.id, AWAY).path == "/draft"
    proposal, edit = staged(lambda: stage.ask(kind, memory, AWAY))
    assert edit.path == "/policy/a"
    assert stage.contents() == {"/policy/a": "one"}
    assert stage.memolith().proposals.approve(stage.other, stage.store, proposal.id).status == "open"


def test_a_write_that_rests_on_a_version_that_is_its_memorys_head_no_more_is_refused_and_opens_no_proposal(
    stage: ReviewedStage,
) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    stage.write(stage.person, memory, path="/b")
    stage.cloud.deliver()
    for region in (HOME, AWAY):
        with pytest.raises(PreconditionFailed):
            stage.write(stage.agent, memory, region, path="/c", expected_version_id=memory.version_id)
    assert stage.open_proposals() == ()


def test_a_deletion_of_what_is_deleted_at_the_home_is_not_found(stage: ReviewedStage) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    stage.remove(stage.person, memory)
    with pytest.raises(NotFound):
        stage.ask("delete", memory, AWAY)
    with pytest.raises(NotFound):
        stage.ask("update", memory, AWAY)


def test_a_write_of_the_text_that_the_home_has_changes_nothing_and_opens_no_proposal(stage: ReviewedStage) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    assert stage.write(stage.agent, memory, AWAY, content="one").version_id == memory.version_id
    assert stage.open_proposals() == ()


def test_a_creation_is_judged_by_the_policy_that_the_home_has(stage: ReviewedStage) -> None:
    stage.choose(agents="write", pipelines="propose")
    changed = {"agents": "propose"}
    stage.memolith().stores.update(stage.call(), stage.store, name="s", description="", metadata={}, approval=changed)
    create = stage.memolith(AWAY).memories.create
    _, edit = staged(lambda: create(stage.agent, stage.store, path="/a", content="not reviewed", full=False))
    assert (edit.op, edit.path) == ("create", "/a")
    assert stage.contents() == {}


# ---- one region: what changes between the read and the write --------------------------------------------------------


def test_a_write_that_was_no_change_when_it_was_read_waits_once_a_person_has_written(stage: ReviewedStage) -> None:
    memory = stage.make("/a")
    stage.choose(agents="propose")
    agent = stage.actor(lambda: stage.write(stage.agent, memory, content="one")).until("objects.head")
    stage.write(stage.person, memory, content="two")
    _, edit = staged(agent.finish)
    assert (edit.op, edit.content) == ("replace", "one")
    assert stage.contents() == {"/a": "two"}


@pytest.mark.parametrize("asked", [{"content": "not reviewed"}, {"path": "/elsewhere"}])
def test_a_write_whose_memory_comes_to_a_reviewed_folder_before_its_put_waits_for_people(
    stage: ReviewedStage, asked: dict[str, str]
) -> None:
    memory = stage.make("/draft")
    stage.choose(paths=[{"prefix": "/policy/", "require": 2}])
    moved, _ = staged(lambda: stage.write(stage.person, memory, path="/policy/a"))
    agent = stage.actor(lambda: stage.write(stage.agent, memory, **asked)).until(PUT)
    stage.approve(moved)
    _, edit = staged(agent.finish)
    assert (edit.path, edit.content, edit.to) == ("/policy/a", asked.get("content"), asked.get("path"))
    assert stage.contents() == {"/policy/a": "one"}


def test_a_deletion_whose_memory_comes_to_a_reviewed_folder_before_its_put_waits_for_people(
    stage: ReviewedStage,
) -> None:
    memory = stage.make("/draft")
    stage.choose(paths=[{"prefix": "/policy/", "require": 2}])
    moved, _ = staged(lambda: stage.write(stage.person, memory, path="/policy/a"))
    agent = stage.actor(lambda: stage.remove(stage.agent, memory)).until(PUT)
    stage.approve(moved)
    _, edit = staged(agent.finish)
    assert (edit.op, edit.path) == ("delete", "/policy/a")
    assert stage.contents() == {"/policy/a": "one"}


# ---- which memory a proposal is about -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_by_id_is_proposed_for_its_memory_and_not_for_the_one_that_took_its_path(
    stage: ReviewedStage, kind: str
) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    stage.cloud.deliver()
    stage.write(stage.person, memory, path="/b")
    stage.make("/a", "of another memory")
    proposal, edit = staged(lambda: stage.ask(kind, memory, AWAY, "of the first"))
    assert (edit.memory_id, edit.path) == (memory.id, "/b")
    stage.memolith().proposals.approve(stage.person, stage.store, proposal.id)
    changed = {} if kind == "delete" else {"/b": "of the first"}
    assert stage.contents() == {"/a": "of another memory"} | changed


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_by_id_of_a_memory_that_is_gone_is_proposed_for_none(stage: ReviewedStage, kind: str) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    stage.cloud.deliver()
    stage.remove(stage.person, memory)
    stage.make("/a", "of another memory")
    with pytest.raises(NotFound, match=memory.id):
        stage.ask(kind, memory, AWAY)


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_by_id_is_not_answered_as_of_no_memory_while_the_index_of_the_home_is_being_built(
    stage: ReviewedStage, kind: str
) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    stage.cloud.deliver()
    stage.begin_index(HOME)
    with pytest.raises(Unavailable, match="being rebuilt"):
        stage.ask(kind, memory, AWAY)


def test_a_path_that_its_region_still_shows_is_asked_for_again_where_the_memory_has_left_it(
    stage: ReviewedStage,
) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    stage.cloud.deliver()
    stage.write(stage.person, memory, path="/b")
    _, edit = staged(lambda: stage.write(stage.agent, memory, AWAY, path="/a", content="two"))
    assert (edit.op, edit.path, edit.to, edit.content) == ("rename", "/b", "/a", "two")


def test_a_text_that_its_region_still_shows_is_asked_for_again_with_a_new_path(stage: ReviewedStage) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    stage.cloud.deliver()
    stage.write(stage.person, memory, content="two")
    _, edit = staged(lambda: stage.write(stage.agent, memory, AWAY, path="/b", content="one"))
    assert (edit.op, edit.path, edit.to, edit.content) == ("rename", "/a", "/b", "one")


def test_of_a_write_that_waits_what_is_so_already_is_left_out(stage: ReviewedStage) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    _, edit = staged(lambda: stage.write(stage.agent, memory, path="/a", content="two"))
    assert (edit.op, edit.path, edit.to, edit.content) == ("replace", "/a", None, "two")
    _, edit = staged(lambda: stage.write(stage.agent, memory, path="/b", content="one"))
    assert (edit.op, edit.path, edit.to, edit.content) == ("rename", "/a", "/b", None)


@pytest.mark.parametrize("asked", [{"path": "/b"}, {"content": "two"}, {"path": "/b", "content": "two"}])
def test_a_write_of_what_the_home_has_by_now_changes_nothing_and_opens_no_proposal(
    stage: ReviewedStage, asked: dict[str, str]
) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    stage.cloud.deliver()
    head = stage.write(stage.person, memory, path="/b", content="two")
    assert stage.write(stage.agent, memory, AWAY, **asked).version_id == head.version_id
    assert stage.open_proposals() == ()


def test_a_new_text_with_a_path_that_the_home_has_given_the_memory_by_now_is_proposed_alone(
    stage: ReviewedStage,
) -> None:
    stage.choose(agents="propose")
    memory = stage.make("/a")
    stage.cloud.deliver()
    stage.write(stage.person, memory, path="/b")
    _, edit = staged(lambda: stage.write(stage.agent, memory, AWAY, path="/b", content="two"))
    assert (edit.op, edit.path, edit.to, edit.content) == ("replace", "/b", None, "two")
