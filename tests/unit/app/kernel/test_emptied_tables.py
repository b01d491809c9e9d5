"""Tables that somebody emptied: the first call that meets them says that it cannot tell, before any tick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import MemoryIndex, MemoryQueue
from memolith.app.kernel.results import Memory, ReadConsistency, RequestContext, StoreToAttach
from memolith.core.decide import sha256_hex
from memolith.core.errors import Busy, NotFound, PathConflict, Unavailable
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.control import CompletenessRow, ControlRow
from memolith.ports.index import Change
from tests.support.cloud import straight
from tests.support.rebuilds import Operator
from tests.unit.app.replication.test_watermark import empty, settle
from tests.unit.app.scene import AWAY, HOME, Scene

UNKNOWN = "mem_01m80gqgrfyn8361t51thggc0z"
UNKNOWN_VERSION = "memver_01m80gqgrfyn8361t51thggc0z"


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    scene.create("/a", "first")
    scene.deliver()
    settle(scene)
    return scene


def wipe(scene: Scene, region: str = HOME) -> None:
    """Every table of the generation is deleted and made anew, empty; nobody tells the region."""
    database = scene.cloud.sites[region].database
    database.drop(1)
    database.make(1)


def demanding(scene: Scene, **demand: Any) -> RequestContext:
    return RequestContext(scene.call().credentials, ReadConsistency(**demand))


def listed(scene: Scene, at: str = HOME, as_of: int | None = None, depth: int = 0, **demand: Any) -> Any:
    page: dict[str, Any] = {"path_prefix": None, "limit": 9, "after": None, "full": False}
    call = demanding(scene, **demand)
    if as_of is not None:
        return scene.at(at).snapshots.page(call, scene.store, as_of=as_of, **page)
    return scene.at(at).memories.page(call, scene.store, depth=depth, **page)


Act = Callable[[Scene, Memory], object]

CALLS: dict[str, tuple[tuple[str, ...], Act]] = {
    "a read": (("memories",), lambda s, m: s.read(m)),
    "a read as the home has it": (
        ("memories",),
        lambda s, m: s.at(HOME).memories.retrieve(demanding(s, home=True), s.store, m.id, full=True),
    ),
    "a read elsewhere as the home has it": (
        ("memories",),
        lambda s, m: s.at(AWAY).memories.retrieve(demanding(s, home=True), s.store, m.id, full=False),
    ),
    "a read of a version that was demanded": (
        ("versions",),
        lambda s, m: s.at(HOME).memories.retrieve(demanding(s, min_version=m.version_id), s.store, m.id, full=True),
    ),
    "a read as of an instant": (
        ("memories",),
        lambda s, m: s.at(HOME).snapshots.retrieve(s.call(), s.store, m.id, full=False, as_of=m.created_at),
    ),
    "a listing": (("memories", "paths"), lambda s, m: listed(s)),
    "a listing of folders": (("memories", "paths"), lambda s, m: listed(s, depth=1)),
    "a listing as the home has it": (("memories", "paths"), lambda s, m: listed(s, home=True)),
    "a listing as of an instant": (("memories",), lambda s, m: listed(s, as_of=m.created_at)),
    "a version": (("versions",), lambda s, m: s.version(m.version_id)),
    "the versions of a memory": (("memories", "versions"), lambda s, m: s.versions(memory_id=m.id)),
    "the versions of a store": (("versions",), lambda s, m: s.versions()),
    "the stores": (("stores",), lambda s, m: s.stores()),
    "an update": (("memories",), lambda s, m: s.update(m, "second")),
    "an update that landed elsewhere": (("memories",), lambda s, m: s.update(m, "second", at=AWAY)),
    "a deletion": (("memories",), lambda s, m: s.delete(m)),
    "a creation below": (("paths",), lambda s, m: s.create("/a/b")),
    "a creation at the top": (("paths",), lambda s, m: s.create("/b")),
    "a redaction": (("versions",), lambda s, m: s.redact(m.version_id)),
    "the divergent versions": (
        ("versions",),
        lambda s, m: s.at(HOME).divergent.page(s.call(), s.store, limit=9, after=None),
    ),
    "the withheld texts": (
        ("verdicts",),
        lambda s, m: s.at(HOME).quarantine.page(s.call(), s.store, include_released=False, limit=9, after=None),
    ),
    "everything at once": (("memories",), lambda s, m: s.at(HOME).bulk_read.page(s.call(), s.store, after=None)),
    "a search": (("versions",), lambda s, m: s.at(HOME).search.search(s.call(), s.store, query="first", limit=9)),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_an_emptied_region_would_not_find_it_cannot_tell(scene: Scene, call: str) -> None:
    memory = scene.read(next(iter(scene.cloud.rows(HOME, "memories")))[1])
    wipe(scene)
    with pytest.raises(Unavailable):
        CALLS[call][1](scene, memory)


@pytest.mark.parametrize(("call", "table"), [(call, table) for call in CALLS for table in CALLS[call][0]])
def test_what_a_region_would_not_find_in_one_emptied_table_it_cannot_tell(scene: Scene, call: str, table: str) -> None:
    memory = scene.read(next(iter(scene.cloud.rows(HOME, "memories")))[1])
    empty(scene, table)
    with pytest.raises(Unavailable):
        CALLS[call][1](scene, memory)


def in_full(scene: Scene) -> Any:
    page: dict[str, Any] = {"path_prefix": None, "limit": 9, "after": None, "full": True, "depth": 0}
    return scene.at(HOME).memories.page(scene.call(), scene.store, **page)


def context(scene: Scene) -> Any:
    sessions, attached = scene.at(HOME).sessions, [StoreToAttach(scene.store, "read_only", "")]
    began = sessions.create(scene.call(), attached, title=None, metadata={}, token_lifetime_s=60)
    return sessions.context(scene.call(), began.record.session_id, refresh=False).stores


TEXTS: dict[str, Act] = {
    "read": lambda s, m: s.read(m),
    "listed": lambda s, m: in_full(s),
    "a version's": lambda s, m: s.version(m.version_id),
    "of the past": lambda s, m: s.at(HOME).snapshots.retrieve(s.call(), s.store, m.id, full=True, as_of=m.created_at),
    "read with all others": lambda s, m: s.at(HOME).bulk_read.page(s.call(), s.store, after=None),
    "in a session's context": lambda s, m: context(s),
}


@pytest.mark.parametrize("way", TEXTS)
def test_a_withheld_text_is_not_shown_while_the_table_of_verdicts_is_emptied(scene: Scene, way: str) -> None:
    memory = scene.read(next(iter(scene.cloud.rows(HOME, "memories")))[1])
    scene.judge(memory)
    scene.deliver()
    assert "first" not in str(TEXTS[way](scene, memory)), "or this shows nothing"
    empty(scene, "verdicts")
    with pytest.raises(Unavailable, match="emptied"):
        TEXTS[way](scene, memory)


def test_a_path_and_its_ancestor_are_never_both_memories_though_the_tables_were_emptied_between(scene: Scene) -> None:
    wipe(scene)
    with pytest.raises(Unavailable):
        scene.create("/a/b")
    settle(scene)
    Operator(scene.cloud, MemoryQueue()).run()
    assert scene.paths() == ["/a"]


def test_an_old_row_that_came_back_into_an_emptied_table_claims_nothing(scene: Scene) -> None:
    """An event of the first version is delivered again: its row is the only one, and is not the newest."""
    memory = scene.create("/b", "first")
    first = next(event.key for event in scene.cloud.pending if "/log/" in event.key)
    scene.update(memory, "second")
    scene.deliver()
    settle(scene)
    wipe(scene)
    scene.cloud.sites[HOME].indexing.object_arrived(first)
    call = scene.call()
    assert scene.at(HOME).memories.retrieve(call, scene.store, memory.id, full=False).content_sha256 == sha256_hex(
        "first"
    )
    assert call.complete_until is None
    with pytest.raises(Unavailable):
        scene.read(memory)
    with pytest.raises(Unavailable):
        scene.versions(memory_id=memory.id)


@pytest.mark.parametrize(("table", "first_at"), [("logs", "/d/b/c"), ("logs", "/d/b"), ("memories", "/d/b")])
def test_an_old_entry_that_comes_again_takes_no_memory_out_of_the_listing_where_one_table_was_emptied(
    scene: Scene, table: str, first_at: str
) -> None:
    """The entry is of the memory's path before, or of who was there before. A writer must not come above it."""
    memory = scene.create(first_at, "text")
    first = next(event.key for event in scene.cloud.pending if "/log/" in event.key)
    if first_at == "/d/b":
        scene.update(memory, path="/elsewhere")
        memory = scene.create("/d/b/c", "other")
    scene.update(memory, path="/d/b")
    scene.deliver()
    settle(scene)
    empty(scene, table, HOME)
    scene.cloud.sites[HOME].indexing.object_arrived(first)
    with pytest.raises((PathConflict, Busy)):
        scene.create("/d", "above")
    if table == "logs":
        assert "/d/b" in [one.path for one in listed(scene).items]


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_an_old_row_that_came_back_into_an_emptied_table_does_not_answer_a_read_that_demands_a_later_version(
    scene: Scene, at: str
) -> None:
    """The table of heads alone is emptied, so that the one of versions has what is demanded. The home can tell."""
    memory = scene.create("/b", "first")
    first = next(event.key for event in scene.cloud.pending if "/log/" in event.key)
    later = scene.update(memory, "second")
    scene.deliver()
    settle(scene)
    empty(scene, "memories", at)
    scene.cloud.sites[at].indexing.object_arrived(first)
    assert scene.at(at).memories.retrieve(scene.call(), scene.store, memory.id, full=True).content == "first"
    call = demanding(scene, min_version=later.version_id)
    if at == HOME:
        with pytest.raises(Unavailable):
            scene.at(HOME).memories.retrieve(call, scene.store, memory.id, full=True)
    else:
        assert scene.at(at).memories.retrieve(call, scene.store, memory.id, full=True).content == "second"


def test_tables_that_are_whole_say_of_what_is_not_there_that_it_is_not(scene: Scene) -> None:
    with pytest.raises(NotFound):
        scene.read(UNKNOWN)
    with pytest.raises(NotFound):
        scene.update(UNKNOWN, "x")
    with pytest.raises(NotFound):
        scene.version(UNKNOWN_VERSION)
    call = scene.call()
    assert (
        not scene.at(HOME)
        .memories.page(call, scene.store, path_prefix="/x/", depth=0, limit=9, after=None, full=False)
        .items
    )
    assert call.complete_until is not None


def test_tables_that_a_rebuild_has_just_switched_to_are_marked_before_any_tick(scene: Scene) -> None:
    memory = scene.read(next(iter(scene.cloud.rows(HOME, "memories")))[1])
    Operator(scene.cloud, MemoryQueue()).run()
    assert scene.read(memory).content == "first"
    site = scene.cloud.sites[HOME]
    generation = site.region.index.generation
    site.database.drop(generation)
    site.database.make(generation)
    with pytest.raises(Unavailable):
        scene.read(memory)


def test_a_batch_that_was_torn_by_the_first_marking_is_looked_at_again() -> None:
    """The marks were read before they were put, and the row that names them after: nothing has been emptied."""
    scene = Scene()
    site = scene.cloud.sites[HOME]
    index = site.region.index
    key = CompletenessRow.key(1)
    row = index.read([key])[key]
    real = index.read
    torn: list[bool] = []

    def read(keys: Any) -> Any:
        found = dict(real(keys))
        if not torn and any(one.pk == "mark" for one in keys):
            torn.append(True)
            return {one: row for one, row in found.items() if one.pk != "mark"}
        return found

    index.read = read  # type: ignore[method-assign]  # the test's own takes its place
    assert row is not None and site.region.view(marked=["memories"]).complete and torn


def declare_incomplete(scene: Scene) -> None:
    incomplete = ControlRow(serving=1, complete=False).to_attributes()
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    index.commit([Change(ControlRow.KEY, None, incomplete, unconditional=True)])


NOTICES = {"declared incomplete": declare_incomplete, "marked by the first tick": settle}


def unmarked() -> Scene:
    """One memory, in tables that no tick has marked yet."""
    scene = Scene()
    scene.create("/a", "first")
    scene.deliver()
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    index.commit([Change(CompletenessRow.key(1), None, None, unconditional=True)])
    return scene


@pytest.mark.parametrize("since", NOTICES)
def test_a_creation_does_not_trust_tables_that_were_unmarked_and_vanish_before_its_look(since: str) -> None:
    """No tick has marked the tables yet: they vanish between a creator's claim and its look at the path's ancestors."""
    scene = unmarked()

    def emptied_after_the_claim(call: PortCall, act: Callable[[], Any]) -> Any:
        result = act()
        if call.name == "index.commit":
            scene.switch.around = straight
            NOTICES[since](scene)
            wipe(scene)
        return result

    with scene.intercepted_by(emptied_after_the_claim), pytest.raises(Unavailable):
        scene.create("/a/b")
    Operator(scene.cloud, MemoryQueue()).run()
    assert scene.paths() == ["/a"]


@pytest.mark.parametrize("call", ["an update", "a deletion"])
@pytest.mark.parametrize("since", NOTICES)
def test_a_write_does_not_trust_tables_that_were_unmarked_and_vanish_before_it_reads_the_head_again(
    since: str, call: str
) -> None:
    """It has lost its slot, and has read which tables serve: they vanish between that and its look at the new head."""
    scene = unmarked()
    [memory] = listed(scene).items

    def lost_its_slot(call: PortCall, act: Callable[[], Any]) -> Any:
        if call.name == "objects.put_if_absent":
            scene.switch.around = straight
            scene.update(memory, "of another")
            scene.switch.around = emptied_after_the_view
        return act()

    def emptied_after_the_view(call: PortCall, act: Callable[[], Any]) -> Any:
        result = act()
        if call.name == "index.read" and "control" in call.subjects:
            scene.switch.around = straight
            NOTICES[since](scene)
            wipe(scene)
        return result

    with scene.intercepted_by(lost_its_slot), pytest.raises(Unavailable):
        CALLS[call][1](scene, memory)
    Operator(scene.cloud, MemoryQueue()).run()
    assert scene.read(memory).content == "of another"


@pytest.mark.parametrize("path", ["/x", "/a/below"])
def test_a_creation_does_not_trust_tables_that_vanish_between_its_two_looks(scene: Scene, path: str) -> None:
    """It looks below its path and above it; what is there was seen by the first look, or the second one finds out."""
    scene.create("/x/y")
    scene.deliver()
    calls: list[str] = []

    def emptied_after_the_first_look(call: PortCall, act: Callable[[], Any]) -> Any:
        result = act()
        calls.append(call.name)
        if "index.commit" in calls[:-1]:
            scene.switch.around = straight
            wipe(scene)
        return result

    with scene.intercepted_by(emptied_after_the_first_look), pytest.raises((PathConflict, Unavailable)):
        scene.create(path)
    Operator(scene.cloud, MemoryQueue()).run()
    assert scene.paths() == ["/a", "/x/y"]


def test_rows_of_an_index_that_is_incomplete_anyway_are_read_whatever_its_marks(scene: Scene) -> None:
    """A rebuild is under way: what the tables do not have is answered with 503, and what they have is served."""
    region = scene.cloud.sites[HOME].region
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    index.commit(
        [Change(ControlRow.KEY, None, ControlRow(serving=1, complete=False).to_attributes(), unconditional=True)]
    )
    wipe(scene)
    assert region.read_whole(replace(region.view([]), mark=None), [], "paths") == {}


@pytest.mark.parametrize("came_back", [False, True])
def test_the_head_of_a_live_memory_is_not_redacted_where_its_row_went_after_the_tables_mark_was_read(
    scene: Scene, came_back: bool
) -> None:
    """A batch is not one moment. Nothing is left in the table, or what an older version's event has brought back."""
    [memory] = listed(scene).items
    older = scene.cloud.rows(HOME, "memories")[scene.store, memory.id]
    head = scene.update(memory, "second")

    def torn(call: PortCall, act: Callable[[], Any]) -> Any:
        rows = act()
        if call.name != "index.read" or set(call.subjects) != {"memories"}:
            return rows
        scene.switch.around = straight
        wipe(scene)
        then = {key: row for key, row in rows.items() if key.sk != memory.id}
        return {**then, MemoryRow.key(scene.store, memory.id): older} if came_back else then

    with scene.intercepted_by(torn), pytest.raises(Unavailable):
        scene.redact(head.version_id)
    assert not [key for key, _ in scene.objects() if "/redaction/" in key]
    assert b"second" in scene.bodies()
