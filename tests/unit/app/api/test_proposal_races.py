"""Proposals under races: two decisions at once, people who edit while an approval is written, in random worlds too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, TypeVar, cast

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.app.kernel.proposal_results import Proposal
from memolith.app.kernel.results import Memory
from memolith.core.commands import Command, CreateMemory
from memolith.core.errors import InvalidRequest, MemolithError
from memolith.core.objects.proposal_record import PlannedWrite, ProposedEdit
from memolith.core.proposals import command_for
from memolith.core.proposed_edits import EditRequest
from memolith.core.rows.content import MemoryRow, VersionRow
from tests.unit.app.api.proposal_desk import Desk, outcomes, texts
from tests.unit.app.scene import AWAY, HOME, INDEXED, Scene

T = TypeVar("T")


class Meanwhile:
    """At the first call of this name about such a subject, before it is done, somebody else does all of theirs."""

    def __init__(self, scene: Scene, name: str, subject: str, other: Callable[[], object]) -> None:
        self.scene, self.name, self.subject, self.other = scene, name, subject, other
        self.met = False

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        if not self.met and call.name == self.name and any(self.subject in one for one in call.subjects):
            self.met = True
            self.other()
        return act()


def raced(
    scene: Scene, name: str, subject: str, act: Callable[[], T], other: Callable[[], object]
) -> T | InvalidRequest:
    meanwhile = Meanwhile(scene, name, subject, other)
    try:
        with scene.intercepted_by(meanwhile):
            return act()
    except InvalidRequest as error:
        return error
    finally:
        assert meanwhile.met, "the two never met"


@pytest.fixture
def desk(scene: Scene) -> Desk:
    return Desk(scene)


PUT = "objects.put_if_absent"
DECISION = "/0000000002"
APPLIED = "/0000000003"
REVERTED = "/0000000005"


@pytest.mark.parametrize("where", [DECISION, APPLIED, "/log/"])
def test_of_two_approvals_at_once_both_are_told_the_same_and_each_edit_is_written_once(desk: Desk, where: str) -> None:
    for path in ("/a", "/b"):
        desk.scene.create(path, "first")
    proposal = desk.open(*[EditRequest("replace", path, content="second") for path in ("/a", "/b")])
    second: list[Proposal] = []
    first = raced(
        desk.scene,
        PUT,
        where,
        lambda: desk.do("approve", proposal),
        lambda: second.append(desk.do("approve", proposal, by=desk.scene.api_key)),
    )
    assert isinstance(first, Proposal)
    assert first.edits == second[0].edits
    assert (first.decided_by, outcomes(first)) == (second[0].decided_by, ["applied", "applied"])
    assert len(desk.scene.versions().items) == 4
    assert first == desk.show(proposal)


class Died(Exception):
    """The process is gone."""


class TornLook:
    """A call's first look at an edit is torn: its rows of versions are older than what `other` writes, the rest newer.

    `other` carries the same plan out, and dies before it puts the record with this end of its key.
    """

    def __init__(self, other: Callable[[], object], end: str) -> None:
        self.other, self.end = other, end
        self.met = self.died = False

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        if self.met and not self.died and call.name == PUT and any(one.endswith(self.end) for one in call.subjects):
            self.died = True
            raise Died
        if self.met or call.name != "index.read" or not {"memories", "versions"} <= set(call.subjects):
            return act()
        self.met = True
        before: Any = act()
        with pytest.raises(Died):
            self.other()
        after: Any = act()
        torn: Any = {key: row for key, row in before.items() if key.table == "versions"}
        torn |= {key: row for key, row in after.items() if key.table != "versions"}
        return cast(T, torn)


EDITS = {
    "create": EditRequest("create", "/new", content="proposed"),
    "replace": EditRequest("replace", "/a", content="proposed"),
    "delete": EditRequest("delete", "/a"),
    "rename": EditRequest("rename", "/a", to="/b"),
}


@pytest.mark.parametrize("op", EDITS)
def test_an_edit_that_another_call_writes_while_it_is_looked_at_is_applied(desk: Desk, op: str) -> None:
    desk.scene.create("/a", "first")
    proposal = desk.open(EDITS[op])
    torn = TornLook(lambda: desk.do("approve", proposal, by=desk.scene.api_key), APPLIED)
    with desk.scene.intercepted_by(torn):
        approved = desk.do("approve", proposal)
    assert torn.died
    assert outcomes(approved) == outcomes(desk.show(proposal)) == ["applied"]
    assert len(desk.scene.versions().items) == 2
    desk.do("revert", proposal)
    assert texts(desk.scene) == {"/a": "first"}


@pytest.mark.parametrize("op", EDITS)
def test_an_edit_that_another_call_takes_back_while_it_is_looked_at_is_reverted(desk: Desk, op: str) -> None:
    desk.scene.create("/a", "first")
    proposal = desk.open(EDITS[op])
    desk.do("approve", proposal)
    torn = TornLook(lambda: desk.do("revert", proposal, by=desk.scene.api_key), REVERTED)
    with desk.scene.intercepted_by(torn):
        reverted = desk.do("revert", proposal)
    assert torn.died
    [edit] = reverted.edits or ()
    assert edit.reversal is not None and edit.reversal.outcome == "reverted"
    assert len(desk.scene.versions().items) == 3
    assert texts(desk.scene) == {"/a": "first"}


@pytest.mark.parametrize("change", ["reject", "withdraw"])
def test_of_an_approval_and_another_decision_at_once_one_holds_and_the_other_caller_is_told(
    desk: Desk, change: str
) -> None:
    proposal = desk.open(EditRequest("create", "/a", content="a"))
    more: dict[str, Any] = {"reason": "no"} if change == "reject" else {"by": desk.agent}
    told = raced(
        desk.scene, PUT, DECISION, lambda: desk.do("approve", proposal), lambda: desk.do(change, proposal, **more)
    )
    assert isinstance(told, InvalidRequest) and "already" in told.message
    assert texts(desk.scene) == {}
    other = desk.open(EditRequest("create", "/a", content="a"))
    told = raced(desk.scene, PUT, DECISION, lambda: desk.do(change, other, **more), lambda: desk.do("approve", other))
    assert isinstance(told, InvalidRequest) and "approved already" in told.message
    assert texts(desk.scene) == {"/a": "a"}


@pytest.mark.parametrize("where", [DECISION, "/log/"])
def test_a_person_who_edits_while_an_approval_is_written_loses_nothing(desk: Desk, where: str) -> None:
    memory = desk.scene.create("/a", "first")
    proposal = desk.open(EditRequest("replace", "/a", content="proposed"))
    approved = raced(
        desk.scene,
        PUT,
        where,
        lambda: desk.do("approve", proposal),
        lambda: desk.scene.update(memory, "a person's"),
    )
    assert isinstance(approved, Proposal) and outcomes(approved) == ["stale"]
    assert desk.scene.history(memory) == ["modified", "created"]
    assert texts(desk.scene) == {"/a": "a person's"}


def test_a_text_that_a_person_changed_and_changed_back_under_the_approval_is_not_written_over(desk: Desk) -> None:
    memory = desk.scene.create("/a", "first")
    proposal = desk.open(EditRequest("replace", "/a", content="proposed"))

    def there_and_back() -> None:
        desk.scene.update(memory, "a person's")
        desk.scene.update(memory, "first")

    approved = raced(desk.scene, PUT, "/log/", lambda: desk.do("approve", proposal), there_and_back)
    assert isinstance(approved, Proposal) and outcomes(approved) == ["stale"]
    assert desk.scene.history(memory) == ["modified", "modified", "created"]


# ---- random worlds --------------------------------------------------------------------------------------------------


class World:
    """A store, a proposal over it, and people who edit at any port call of its approval and its reversal.

    Every version that a person was told of is remembered, and must be found in the history at the end.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.scene = Scene(seed=seed)
        self.desk = Desk(self.scene)
        self.acknowledged: dict[str, str] = {}
        self.memories = [self.scene.create(f"/{name}", f"text of {name}") for name in "abcdef"]
        self.editing = False

    def human(self) -> None:
        """One edit of a person; what is refused changed nothing."""
        memory = self.random.choice(self.memories)
        try:
            match self.random.randrange(5):
                case 0:
                    self.remember(self.scene.update(memory, path=f"/moved-{self.random.randrange(6)}"))
                case 1:
                    self.scene.delete(memory)
                case 2:
                    self.remember(self.scene.create(f"/new-{self.random.randrange(6)}", "a person's new"))
                case 3:
                    self.remember(self.scene.update(memory, f"text of {memory.path[1:]}"))
                case _:
                    self.remember(self.scene.update(memory, f"a person's {self.random.randrange(1_000)}"))
        except MemolithError:
            return

    def remember(self, memory: Memory) -> None:
        self.acknowledged[memory.version_id] = memory.content_sha256

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        writes = call.name in (PUT, "index.commit", "index.read")
        if writes and not self.editing and self.random.random() < 0.06:
            self.editing = True
            self.human()
            self.editing = False
        return act()

    def plan(self) -> list[EditRequest]:
        edits: list[EditRequest] = []
        for number, memory in enumerate(self.random.sample(self.memories, 4)):
            match self.random.randrange(4):
                case 0:
                    edits.append(EditRequest("replace", memory.path, content=f"proposed {number}"))
                case 1:
                    edits.append(EditRequest("str_replace", memory.path, old="text", new="words"))
                case 2:
                    edits.append(EditRequest("delete", memory.path))
                case _:
                    edits.append(EditRequest("rename", memory.path, to=f"/renamed-{number}"))
        return [*edits, EditRequest("create", f"/new-{self.random.randrange(6)}", content="proposed new")]

    def play(self) -> list[str]:
        """Approve and revert among people's edits; return what was wrong."""
        proposal = self.desk.open(*self.plan())
        with self.scene.intercepted_by(self):
            approved = self.desk.do("approve", proposal)
            written = {edit.result.version_id: edit for edit in approved.edits or () if edit.result}
            if self.random.random() < 0.5:
                self.desk.do("revert", proposal)
        self.scene.deliver()
        return self.objections(written)

    def objections(self, written: dict[str | None, Any]) -> list[str]:
        """Check by the rows of the history alone: what a person was told of is there, nothing stale was applied."""
        found = self.scene.cloud.rows(HOME, "versions").values()
        rows = [VersionRow.from_attributes(row) for row in found if "version_id" in row]
        versions = {row.version_id: row for row in rows}
        wrong = [f"lost: {id}" for id in self.acknowledged if id not in versions]
        wrong += [
            f"altered: {id}"
            for id, sha256 in self.acknowledged.items()
            if id in versions and versions[id].content_sha256 != sha256
        ]
        for id, edit in written.items():
            if id is None or edit.result.outcome != "applied":
                continue
            row = versions[id]
            parent = versions.get(row.parent_version_id or "")
            if (None if parent is None else parent.content_sha256) != edit.expected_content_sha256:
                wrong.append(f"stale edit {edit.number} was applied over {row.parent_version_id}")
            if parent is not None and parent.path != edit.path:
                wrong.append(f"edit {edit.number} was applied at another path")
        for table in INDEXED:
            if self.scene.cloud.rows(HOME, table) != self.scene.cloud.rows("eu-west-1", table):
                wrong.append(f"the regions differ in {table}")
        return wrong


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_no_random_plan_among_random_edits_of_people_loses_one_or_applies_what_is_stale(part: int) -> None:
    for seed in range(part * 15, part * 15 + 15):
        assert World(seed).play() == [], seed


@pytest.mark.slow
def test_the_checker_objects_where_an_edit_is_written_without_what_it_expects(monkeypatch: pytest.MonkeyPatch) -> None:

    def careless(
        edit: ProposedEdit, planned: PlannedWrite, store_id: str, actor: str, head: MemoryRow | None
    ) -> Command:
        command = command_for(edit, planned, store_id, actor, head)
        if isinstance(command, CreateMemory):
            return command
        return replace(command, expected_content_sha256=None, expected_version_id=None)

    monkeypatch.setattr("memolith.app.api.proposal_writes.command_for", careless)
    monkeypatch.setattr("memolith.app.api.proposal_writes.conflict", lambda edit, head, occupant: None)
    objections = [wrong for seed in range(30) for wrong in World(seed).play()]
    assert any("stale edit" in wrong for wrong in objections)


@pytest.mark.slow
def test_the_worlds_are_not_empty() -> None:
    seen: set[str] = set()
    people = 0
    for seed in range(12):
        world = World(seed)
        world.play()
        people += len(world.acknowledged)
        for status in ("approved", "reverted"):
            for id in world.desk.list(status):
                shown = world.desk.do("retrieve", id)
                seen |= {edit.result.outcome for edit in shown.edits or () if edit.result}
                seen |= {edit.reversal.outcome for edit in shown.edits or () if edit.reversal}
    assert {"applied", "stale", "reverted", "changed_since"} <= seen
    assert people > 20


def test_a_path_that_was_in_the_way_of_an_edit_is_erased_with_its_memory(desk: Desk) -> None:
    """An edit's result says why it was not applied: the path itself would outlive the memory there in that record."""
    scene = desk.scene
    proposal = desk.open(EditRequest("create", "/people", content="a list"))
    memory = scene.create("/people/jane-doe.md", "of Jane")
    [edit] = desk.do("approve", proposal).edits or ()
    assert edit.result is not None
    assert (edit.result.outcome, edit.result.detail) == ("stale", "the path is held by another memory")
    scene.delete(memory)
    for version in scene.versions(memory_id=memory.id).items:
        scene.redact(version.id)
    scene.deliver()
    for region in (HOME, AWAY):
        keys = [key for key, _ in scene.objects(region)]
        whole = [scene.cloud.buckets.current(region, key) for key in keys]
        assert [key for key, one in zip(keys, whole, strict=True) if "jane-doe" in str(one)] == []
