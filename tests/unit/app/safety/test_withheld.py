"""Every read obeys the verdicts: a withheld text is shown to an admin who asks, and to nobody else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.kernel.results import (
    Memory,
    ReadConsistency,
    RequestContext,
    StoreToAttach,
    Version,
    VersionFilter,
    Withheld,
)
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.objects.verdict_record import VerdictOutcome
from memolith.core.proposed_edits import EditRequest
from memolith.scanner import Scanner
from tests.unit.app.api.proposal_desk import Desk, texts
from tests.unit.app.scene import AWAY, HOME, Scene

BAD = "the bad text"
PERSON = "api_key:apikey_useast1_x"

Read = Callable[["Reader", Memory], Memory | Version]


class Reader:
    """A caller with a key of some scope, in some region, who may demand the home's answer."""

    def __init__(
        self,
        scene: Scene,
        scope: str,
        region: str,
        demand: ReadConsistency = ReadConsistency(),  # noqa: B008 - frozen
        *,
        asks: bool = True,
    ) -> None:
        self.scene, self.memolith, self.demand, self.asks = scene, scene.at(region), demand, asks
        self.credentials = scene.call(scene.cloud.key(scope)).credentials

    @property
    def call(self) -> RequestContext:
        return RequestContext(self.credentials, self.demand, shows_withheld=self.asks)

    def retrieved(self, memory: Memory) -> Memory:
        return self.memolith.memories.retrieve(self.call, self.scene.store, memory.id, full=True)

    def listed(self, memory: Memory, as_of: int | None = None) -> Memory:
        wanted: dict[str, Any] = {"path_prefix": None, "limit": 20, "after": None, "full": True}
        if as_of is None:
            page = self.memolith.memories.page(self.call, self.scene.store, depth=0, **wanted)
        else:
            page = self.memolith.snapshots.page(self.call, self.scene.store, as_of=as_of, **wanted)
        [found] = [item for item in page.items if isinstance(item, Memory) and item.id == memory.id]
        return found

    def past(self, memory: Memory) -> Memory:
        as_of = memory.updated_at
        return self.memolith.snapshots.retrieve(self.call, self.scene.store, memory.id, full=True, as_of=as_of)

    def past_listed(self, memory: Memory) -> Memory:
        return self.listed(memory, memory.updated_at)

    def version(self, memory: Memory) -> Version:
        return self.memolith.versions.retrieve(self.call, self.scene.store, memory.version_id, full=True)

    def of_memory(self, memory: Memory) -> Version:
        return self._versions(VersionFilter(memory_id=memory.id), memory)

    def of_store(self, memory: Memory) -> Version:
        return self._versions(VersionFilter(), memory)

    def _versions(self, filter: VersionFilter, memory: Memory) -> Version:
        page = self.memolith.versions.page(self.call, self.scene.store, filter, limit=20, after=None, full=True)
        [found] = [item for item in page.items if item.id == memory.version_id]
        return found


READS: dict[str, Read] = {
    "retrieving": Reader.retrieved,
    "listing": Reader.listed,
    "a version": Reader.version,
    "a memory's versions": Reader.of_memory,
    "a store's versions": Reader.of_store,
}


@pytest.fixture
def bad(scene: Scene) -> Memory:
    """A memory whose text is withheld, known everywhere; others stand beside it."""
    scene.create("/good", "a good text")
    made = scene.create("/bad", BAD)
    scene.deliver()
    scene.judge(made)
    scene.deliver()
    return made


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("region", [HOME, AWAY])
@pytest.mark.parametrize("scope", ["read", "write", "admin"])
@pytest.mark.parametrize("asks", [True, False])
def test_a_withheld_text_is_in_order_to_an_admin_who_asks_and_everybody_is_told_why(
    scene: Scene, bad: Memory, read: Read, region: str, scope: str, asks: bool
) -> None:
    found = read(Reader(scene, scope, region, asks=asks), bad)
    assert found.content == (BAD if asks and scope == "admin" else None)
    assert found.withheld == Withheld("it turns its reader around", ("deep-rule",), scene.clock.now_us())
    assert (found.path, found.content_sha256, found.content_size_bytes) == ("/bad", bad.content_sha256, len(BAD))


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("region", [HOME, AWAY])
def test_demanded_from_its_home_a_withheld_text_is_in_order_to_an_admin_who_asks(
    scene: Scene, bad: Memory, read: Read, region: str
) -> None:
    at_home = ReadConsistency(home=True)
    asked = (("read", True), ("admin", False), ("admin", True))
    shown = [read(Reader(scene, scope, region, at_home, asks=asks), bad) for scope, asks in asked]
    assert [found.content for found in shown] == [None, None, BAD]
    assert all(found.withheld is not None and found.withheld.rules == ("deep-rule",) for found in shown)


@pytest.mark.parametrize("read", [Reader.past, Reader.past_listed])
@pytest.mark.parametrize("region", [HOME, AWAY])
def test_in_the_past_too_a_text_is_withheld_that_is_withheld_now(
    scene: Scene, bad: Memory, read: Read, region: str
) -> None:
    scene.clock.advance(200)
    for site in scene.cloud.sites:
        scene.cloud.claim_complete(site, scene.clock.now_us())
    shown = [read(Reader(scene, scope, region), bad) for scope in ("read", "admin")]
    assert [found.content for found in shown] == [None, BAD]
    assert all(isinstance(found, Memory) and not found.blank and found.withheld is not None for found in shown)


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_the_same_text_is_withheld_under_every_version_and_path_and_others_are_not(
    scene: Scene, bad: Memory, read: Read
) -> None:
    scene.judge(bad, VerdictOutcome.RELEASE, (), PERSON)
    other = scene.create("/other", BAD)
    moved = scene.update(scene.create("/before", BAD), path="/after")
    fine = scene.create("/fine", "another text")
    scene.judge(bad, rules=("another-rule",))
    scene.deliver()
    reader = Reader(scene, "read", AWAY)
    assert [read(reader, one).content for one in (other, moved, fine)] == [None, None, "another text"]


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_released_text_is_in_order_again(scene: Scene, bad: Memory, read: Read, region: str) -> None:
    scene.judge(bad, VerdictOutcome.RELEASE, (), PERSON)
    scene.deliver()
    found = read(Reader(scene, "read", region), bad)
    assert (found.content, found.withheld) == (BAD, None)


def test_a_text_withheld_by_two_versions_needs_both_released(scene: Scene) -> None:
    one, other = scene.create("/one", BAD), scene.create("/other", BAD)
    scene.judge(one)
    scene.judge(other, rules=("other-rule",))
    reader = Reader(scene, "read", HOME)
    scene.judge(one, VerdictOutcome.RELEASE, (), PERSON)
    assert reader.retrieved(one).content is None
    scene.judge(other, VerdictOutcome.RELEASE, (), PERSON)
    assert reader.retrieved(one).content == reader.retrieved(other).content == BAD


def test_a_new_good_text_is_in_order_while_the_old_version_stays_withheld(scene: Scene, bad: Memory) -> None:
    scene.update(bad, "mended")
    reader = Reader(scene, "read", HOME)
    assert (reader.retrieved(bad).content, reader.version(bad).content) == ("mended", None)


def test_a_rename_frees_nothing_and_its_answer_shows_nothing(scene: Scene, bad: Memory) -> None:
    call = scene.call(scene.cloud.key("write"))
    for region, path in ((HOME, "/moved"), (AWAY, "/moved/again")):
        moved = scene.at(region).memories.update(
            call, scene.store, bad.id, content=None, path=path, expected_content_sha256=None, full=True
        )
        assert (moved.path, moved.content) == (path, None)
        assert moved.withheld is not None
    assert Reader(scene, "read", HOME).retrieved(bad).content is None


def test_without_content_nothing_is_asked_and_nothing_is_said(scene: Scene, bad: Memory) -> None:
    assert scene.read(bad, full=False).withheld is None


@pytest.mark.parametrize("landing", [HOME, AWAY])
@pytest.mark.parametrize("warm", [True, False])
def test_a_text_that_is_withheld_is_not_taken_in_again(scene: Scene, bad: Memory, landing: str, warm: bool) -> None:
    good = scene.create("/mine", "good")
    scene.deliver()
    if not warm:
        for site in scene.cloud.sites.values():
            site.memolith.memories._salts.clear()
    before = scene.cloud.buckets.page(HOME, "", None, 10_000)
    writes: list[Callable[[], Memory]] = [
        lambda: scene.create("/elsewhere", BAD, at=landing),
        lambda: scene.update(good, BAD, at=landing),
        lambda: scene.update(good, BAD, path="/new", at=landing),
        lambda: scene.update(bad, BAD, at=landing),
    ]
    for write in writes:
        with pytest.raises(InvalidRequest, match=r"withheld.*deep-rule") as refused:
            write()
        assert refused.value.field == "content"
        assert list(refused.value.findings) == [{"rule": "deep-rule", "reason": "a reason"}]
    assert scene.cloud.buckets.page(HOME, "", None, 10_000) == before


def test_in_another_store_the_text_is_another_text(scene: Scene, bad: Memory) -> None:
    other = scene.create_store("other").id
    made = scene.create("/bad", BAD, store=other)
    found = scene.at(HOME).memories.retrieve(scene.call(scene.cloud.key("read")), other, made.id, full=True)
    assert (found.content, found.withheld) == (BAD, None)


def test_where_nobody_can_tell_whether_a_text_may_be_shown_it_is_not(scene: Scene, bad: Memory) -> None:
    reader = Reader(scene, "read", HOME)
    with scene.struck_by(Strike(Fault.REFUSED, "index.read", 2)), pytest.raises(Unavailable):
        reader.retrieved(bad)


def test_what_a_later_verdict_flags_is_told_with_the_text(scene: Scene) -> None:
    made = scene.create("/odd", "an odd text")
    scene.judge(made, VerdictOutcome.FLAG, ("odd-rule", "late-rule"))
    found = Reader(scene, "read", HOME).retrieved(made)
    assert (found.content, found.flags, found.withheld) == ("an odd text", ("late-rule", "odd-rule"), None)


def test_a_withheld_version_can_be_redacted_and_the_verdict_stays_for_the_text(scene: Scene, bad: Memory) -> None:
    scene.update(bad, "mended")
    scene.redact(bad.version_id)
    scene.deliver()
    found = scene.version(bad.version_id)
    assert (found.content, found.withheld) == (None, None)
    with pytest.raises(InvalidRequest, match="withheld"):
        scene.create("/again", BAD)


@pytest.mark.parametrize("edit", [EditRequest("replace", "/a", content="good"), EditRequest("delete", "/a")])
def test_a_reversal_refuses_to_bring_a_withheld_text_back_and_says_why(edit: EditRequest) -> None:
    desk = Desk(Scene())
    memory = desk.scene.create("/a", BAD)
    desk.scene.deliver()
    proposal = desk.open(edit)
    desk.do("approve", proposal)
    before = texts(desk.scene)
    desk.scene.judge(memory)
    [reverted] = desk.do("revert", proposal).edits or ()
    assert reverted.reversal is not None and reverted.reversal.outcome == "refused"
    assert "is withheld in this store" in reverted.reversal.detail
    assert texts(desk.scene) == before


@pytest.mark.slow
@pytest.mark.parametrize("at", [HOME, AWAY])
@pytest.mark.parametrize("in_session", [False, True])
def test_an_edit_of_a_part_of_a_withheld_text_says_nothing_of_what_is_in_it(
    scanner_database: Path, at: str, in_session: bool
) -> None:
    scene = Scene(scanner=Scanner.load(scanner_database))
    memory = scene.create("/a", "one two two\n")
    scene.judge(memory)
    issued = scene.at(HOME).sessions.create(
        scene.call(), [StoreToAttach(scene.store, "read_write", "")], title=None, metadata={}, token_lifetime_s=60
    )
    scene.deliver()
    call = RequestContext(scene.at(at).sessions.verify(issued.token or "")) if in_session else scene.call()
    refusals = set()
    for old, new in (("three", ""), ("one", ""), ("two", ""), ("one", "ghp_" + "q8Zt3mW0xKcVbN5rYs2LdJ7fHgP1aEuR4oTi")):
        edits = [EditRequest("create", "/b", content="b"), EditRequest("str_replace", "/a", old=old, new=new)]
        with pytest.raises(InvalidRequest) as refused:
            scene.at(at).proposals.open(call, scene.store, why="tidy up", edits=edits, key=None)
        refusals.add((refused.value.field, refused.value.rule, str(list(refused.value.findings))))
    assert refusals == {("edits.1.path", "is, or names, a text that the safety scanner withholds here", "[]")}
