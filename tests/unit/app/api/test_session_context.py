"""Contexts of sessions below the wire: verdicts, lost rows, an index being rebuilt, and what a context costs."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import CallCounts
from memolith.adapters.memory import MemoryIndex
from memolith.app.kernel.results import SessionContext, StoreToAttach
from memolith.core.errors import Unavailable
from memolith.core.objects.verdict_record import VerdictOutcome
from memolith.core.rows.control import ControlRow
from memolith.core.rows.identity import SessionRow
from memolith.core.trust import TOOL_INTERNAL
from memolith.ports.index import Change
from tests.support.cloud import WORKSPACE
from tests.unit.app.scene import AWAY, HOME, Scene
from tests.unit.app.trace import Trace

SECRET = "the bad text"
PERSON = "api_key:apikey_useast1_x"


def set_control(scene: Scene, *, complete: bool) -> None:
    control = ControlRow(serving=1, complete=complete)
    change = Change(ControlRow.KEY, None, control.to_attributes(), unconditional=True)
    MemoryIndex(scene.cloud.sites[HOME].database).commit([change])


def begin(scene: Scene, *, at: str = HOME) -> str:
    attached = [StoreToAttach(scene.store, "read_only", "")]
    session = scene.at(at).sessions.create(scene.call(), attached, title=None, metadata={}, token_lifetime_s=3_600)
    return session.record.session_id


def ask(scene: Scene, session_id: str, *, at: str = HOME, refresh: bool = False) -> SessionContext:
    return scene.at(at).sessions.context(scene.call(), session_id, refresh=refresh)


@pytest.mark.parametrize("path", ["/MEMORY.md", "/a.md"])
def test_a_withheld_text_is_in_nobodys_context_and_comes_back_with_its_release(scene: Scene, path: str) -> None:
    bad = scene.create(path, f"---\nname: {SECRET}\n---\n{SECRET}")
    session = begin(scene)
    scene.deliver()
    before = ask(scene, session)
    assert SECRET in before.text
    scene.judge(bad)
    scene.deliver()
    for region in (HOME, AWAY):
        text = ask(scene, session, at=region).text
        assert SECRET not in text
        assert "is withheld" in text
    scene.judge(bad, VerdictOutcome.RELEASE, (), PERSON)
    scene.deliver()
    assert ask(scene, session) == ask(scene, session, at=AWAY) == before


def test_a_redaction_holds_for_contexts_of_both_regions(scene: Scene) -> None:
    made = scene.create("/MEMORY.md", SECRET)
    session = begin(scene)
    scene.deliver()
    assert all(SECRET in ask(scene, session, at=region).text for region in (HOME, AWAY))
    scene.update(made, "better")
    scene.redact(made.version_id)
    assert SECRET not in ask(scene, session).text
    scene.deliver()
    assert ask(scene, session, at=AWAY) == ask(scene, session)
    assert "was erased since" in ask(scene, session).text


def test_a_session_whose_row_was_lost_has_the_context_that_it_began_with(scene: Scene) -> None:
    scene.create("/a.md", "x")
    forget = scene.remember_index()
    session = begin(scene)
    first = ask(scene, session)
    forget()
    assert ask(scene, session) == first


def test_a_session_that_sinks_where_it_has_not_arrived_keeps_the_context_that_it_began_with(scene: Scene) -> None:
    """Its row is made there of the version that says so, which has no context."""
    service = scene.call(scene.cloud.key("write", holder="service"))
    scene.at(HOME).memories.create(service, scene.store, path="/MEMORY.md", content="one", full=False)
    scene.deliver()
    session = begin(scene)
    first = ask(scene, session, at=AWAY)
    row = SessionRow.from_attributes(scene.cloud.rows(AWAY, "keys")[WORKSPACE, session])
    assert (row.trust, row.context) == (TOOL_INTERNAL, None)
    scene.clock.advance(5)
    objects = scene.objects(AWAY)
    assert ask(scene, session, at=AWAY) == first
    assert scene.objects(AWAY) == objects
    scene.deliver()
    assert ask(scene, session) == ask(scene, session, at=AWAY) == first


def test_contexts_may_be_folded_in_any_order_and_the_newest_one_stays(scene: Scene) -> None:
    session = begin(scene, at=AWAY)
    scene.deliver()
    scene.create("/a.md", "x")
    ask(scene, session, refresh=True)
    scene.clock.advance(5)
    scene.deliver()
    scene.create("/b.md", "x")
    newest = ask(scene, session, refresh=True)
    keys = [key for key, _ in scene.objects() if f"/{session}/" in key]
    assert len(keys) == 3
    for key in reversed(keys):
        scene.cloud.sites[HOME].indexing.object_arrived(key)
    assert ask(scene, session) == newest


def test_a_session_begins_while_the_index_is_rebuilt_and_has_its_context_afterwards(scene: Scene) -> None:
    scene.create("/a.md", "x")
    set_control(scene, complete=False)
    session = begin(scene)
    before = scene.objects()
    with pytest.raises(Unavailable):
        ask(scene, session)
    assert scene.objects() == before
    set_control(scene, complete=True)
    first = ask(scene, session)
    assert "- [a](a.md)" in first.text
    scene.create("/b.md", "x")
    assert ask(scene, session) == first


def test_the_row_that_every_call_of_a_token_reads_holds_no_pins(scene: Scene) -> None:
    made = scene.create("/a.md", "x")
    session = begin(scene)
    rows = scene.cloud.rows(HOME, "keys").values()
    [row] = [SessionRow.from_attributes(row) for row in rows if row.get("session_id") == session]
    assert made.version_id not in row.record
    assert row.context == f"0000000001/{HOME}"


OPEN = "read control+keys"
FOLD = ["read keys", "transact journal+keys"]
MARKS = "read memories+paths+versions"


@pytest.mark.parametrize(
    ("paths", "beginning", "asking"),
    [
        (
            ["/MEMORY.md", "/a.md"],
            ["read control+keys+stores", "read paths", "read memories", MARKS, "put session", *FOLD],
            [OPEN, "get session", "read stores+versions", "get log", "read verdicts"],
        ),
        (
            ["/a.md", "/b.md"],
            ["read control+keys+stores", "read paths", "query paths", "read memories", MARKS, "put session", *FOLD],
            [OPEN, "get session", "read stores+versions", "[get log | get log]", "read verdicts"],
        ),
        (
            [],
            ["read control+keys+stores", "read paths", "query paths", MARKS, "put session", *FOLD],
            [OPEN, "get session", "read stores"],
        ),
    ],
)
def test_what_a_session_and_its_context_ask_for(paths: list[str], beginning: list[str], asking: list[str]) -> None:
    trace = Trace()
    scene = Scene(parallel=trace)
    for path in paths:
        scene.create(path, "x")
    trace.clear()
    with scene.intercepted_by(trace):
        session = begin(scene)
    assert trace.of(HOME) == beginning
    trace.clear()
    with scene.intercepted_by(trace):
        ask(scene, session)
    assert trace.of(HOME) == asking


@pytest.mark.slow
def test_of_a_large_store_deletions_do_not_take_the_places_of_memories(scene: Scene) -> None:
    made = []
    for number in range(500):
        scene.clock.advance(0.001)
        made.append(scene.create(f"/{number:03}.md", "x"))
    for memory in made[-150:]:
        scene.delete(memory)
    [store] = ask(scene, begin(scene)).stores
    assert store.text.splitlines() == [f"- [{number:03}]({number:03}.md)" for number in range(349, 149, -1)]
    assert store.more


@pytest.mark.slow
def test_a_context_of_a_store_with_many_memories_reads_two_hundred_at_most() -> None:
    scene, beginning, asking = Scene(), CallCounts(), CallCounts()
    for number in range(600):
        scene.create(f"/{number}.md", "x")
    with scene.intercepted_by(beginning):
        session = begin(scene)
    assert beginning.requests["dynamodb.Query"] <= 5
    assert "s3.GetObject" not in beginning.requests
    with scene.intercepted_by(asking):
        ask(scene, session)
    assert asking.requests["s3.GetObject"] == 201
    assert "dynamodb.Query" not in asking.requests


def test_what_was_pinned_of_emptied_tables_is_no_context(scene: Scene) -> None:
    """They do not say so yet: a context of nothing would be the session's for good."""
    scene.create("/a.md", "x")
    database = scene.cloud.sites[HOME].database
    database.drop(1)
    database.make(1)
    session = begin(scene)
    with pytest.raises(Unavailable):
        ask(scene, session)
