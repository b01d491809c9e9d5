"""Reads that demand more than the region that is asked knows by itself: the home's answer, or a version at least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memolith.adapters.layered import Call, Crash, Fault, Strike
from memolith.app.kernel.results import (
    DelegatedCredentials,
    Memory,
    Page,
    ReadConsistency,
    RequestContext,
    Store,
    Version,
    VersionFilter,
)
from memolith.core.errors import Busy, InvalidRequest, NotFound, Unavailable
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from memolith.wire.rpc import keys_calls
from tests.support.cloud import WORKSPACE
from tests.unit.app.failing import hold_back
from tests.unit.app.scene import AWAY, HOME, Scene

PUT = "objects.put_if_absent"
UNKNOWN = "memver_01kb0000000000000000000000"
HOMES = ReadConsistency(home=True)


class Reader:
    """Reads with a demand, in one region."""

    def __init__(self, scene: Scene, region: str, demand: ReadConsistency) -> None:
        self.scene, self.memolith, self.demand = scene, scene.at(region), demand

    def call(self) -> RequestContext:
        return RequestContext(self.scene.call().credentials, self.demand)

    def read(self, memory: Memory, full: bool = True) -> Memory:
        return self.memolith.memories.retrieve(self.call(), self.scene.store, memory.id, full=full)

    def paths(self) -> list[str]:
        page = self.memolith.memories.page(
            self.call(), self.scene.store, path_prefix=None, depth=0, limit=100, after=None, full=False
        )
        return [item.path for item in page.items]

    def versions(self, memory: Memory | None = None, full: bool = False) -> Page[Version]:
        filter = VersionFilter(memory_id=None if memory is None else memory.id)
        return self.memolith.versions.page(self.call(), self.scene.store, filter, limit=100, after=None, full=full)

    def version(self, version_id: str) -> Version:
        return self.memolith.versions.retrieve(self.call(), self.scene.store, version_id, full=True)

    def store(self) -> Store:
        return self.memolith.stores.retrieve(self.call(), self.scene.store)


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def made(scene: Scene) -> Memory:
    """A memory that both regions know."""
    made = scene.create("/n/a", "first")
    scene.deliver()
    return made


# ---- the home's answer --------------------------------------------------------------------------------------------


def test_what_has_not_arrived_here_is_the_homes_to_answer(scene: Scene, made: Memory) -> None:
    scene.update(made, "second")
    new = scene.create("/n/new", "new")
    reader = Reader(scene, AWAY, HOMES)
    assert scene.read(made, at=AWAY).content == "first"
    assert reader.read(made).content == "second"
    assert reader.read(made, full=False).content is None
    assert reader.read(new).content == "new"
    assert reader.paths() == ["/n/a", "/n/new"]
    assert [version.operation for version in reader.versions(made).items] == ["modified", "created"]
    assert sorted(str(version.content) for version in reader.versions(full=True).items) == ["first", "new", "second"]
    assert reader.version(new.version_id).content == "new"


@pytest.mark.parametrize("demanded", ["home", "min_version"])
def test_what_the_home_told_a_reader_elsewhere_is_in_no_plain_read_there_before_it_has_arrived(
    scene: Scene, made: Memory, demanded: str
) -> None:
    second = scene.update(made, "second")
    demand = HOMES if demanded == "home" else ReadConsistency(min_version=second.version_id)
    before = [scene.cloud.rows(AWAY, table) for table in ("memories", "logs", "paths", "versions")]
    assert Reader(scene, AWAY, demand).read(made).content == "second"
    assert scene.read(made, at=AWAY).content == "first"
    assert [scene.cloud.rows(AWAY, table) for table in ("memories", "logs", "paths", "versions")] == before
    scene.deliver()
    assert scene.read(made, at=AWAY).content == "second"


def test_the_home_answers_the_same_here_and_there(scene: Scene, made: Memory) -> None:
    scene.update(made, "second", path="/moved")
    here, there = (Reader(scene, region, HOMES) for region in (HOME, AWAY))
    asked: list[Callable[[Reader], object]] = [
        lambda reader: reader.read(made),
        Reader.paths,
        lambda reader: reader.versions(full=True),
        lambda reader: reader.version(made.version_id),
        Reader.store,
    ]
    for ask in asked:
        assert ask(here) == ask(there)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_version_whose_writer_died_is_in_order_once_it_is_indexed(scene: Scene, made: Memory, region: str) -> None:
    """Whoever asks next, and demands nothing, must not see less."""
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, PUT)):
        scene.update(made, "second")
    assert scene.read(made).content == "first"
    assert Reader(scene, region, HOMES).read(made).content == "second"
    assert scene.read(made).content == "second"


def test_a_history_begins_with_the_head_of_the_log(scene: Scene, made: Memory) -> None:
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, PUT)):
        scene.delete(made)
    assert scene.history(made) == ["created"]
    assert [version.operation for version in Reader(scene, AWAY, HOMES).versions(made).items] == ["deleted", "created"]


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_history_has_the_creation_that_only_its_copy_elsewhere_was_indexed_of(scene: Scene, region: str) -> None:
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, PUT)):
        scene.create("/n/a", "first")
    [event] = hold_back(scene)
    scene.cloud.buckets.replicate(event, AWAY)
    scene.cloud.sites[AWAY].indexing.object_arrived(event.key)
    scene.drop_events()
    assert scene.paths() == []
    [memory] = scene.page(at=AWAY).items
    assert isinstance(memory, Memory)
    assert scene.history(memory, at=AWAY) == ["created"]
    asked = [Reader(scene, at, HOMES).versions(memory, full=True).items for at in (AWAY, region)]
    assert [[(one.operation, one.content) for one in answer] for answer in asked] == [[("created", "first")]] * 2


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_memory_is_followed_over_renames_that_the_index_lost(scene: Scene, made: Memory, region: str) -> None:
    restore = scene.remember_index()
    scene.update(made, "second")
    scene.update(made, path="/n/b")
    scene.update(made, "third")
    scene.update(made, path="/n/c")
    restore()
    assert scene.read(made).path == "/n/a"
    seen = Reader(scene, region, HOMES).read(made)
    assert (seen.path, seen.content) == ("/n/c", "third")
    assert scene.paths() == ["/n/c"]


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_memory_whose_end_the_index_lost_is_not_found(scene: Scene, made: Memory, region: str) -> None:
    restore = scene.remember_index()
    scene.delete(made)
    restore()
    with pytest.raises(NotFound):
        Reader(scene, region, HOMES).read(made)


def test_a_memory_is_at_its_source_until_the_second_put(scene: Scene, made: Memory) -> None:
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, PUT, 2)):
        scene.update(made, path="/n/b")
    assert Reader(scene, AWAY, HOMES).read(made).path == "/n/a"


def test_a_void_above_a_head_is_passed_over(scene: Scene, made: Memory) -> None:
    """Two renames of one memory to one path leave one."""
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, PUT, 2)):
        scene.update(made, path="/n/b")
    scene.update(made, "second")
    scene.deliver()
    restore = scene.remember_index()
    scene.update(made, path="/n/b")
    restore()
    seen = Reader(scene, HOME, HOMES).read(made)
    assert (seen.path, seen.content) == ("/n/b", "second")


def test_nothing_older_is_given_where_the_home_does_not_answer(scene: Scene, made: Memory) -> None:
    reader = Reader(scene, AWAY, HOMES)
    for fault in (Fault.REFUSED, Fault.LOST_REPLY):
        with scene.struck_by(Strike(fault, "peers.call")), pytest.raises(Unavailable, match=HOME):
            reader.read(made)
    with scene.struck_by(Strike(Fault.REFUSED, "objects.head")), pytest.raises(Unavailable):
        reader.read(made)


def test_nothing_is_given_that_the_index_could_not_be_brought_to_hold(scene: Scene, made: Memory) -> None:
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, PUT)):
        scene.update(made, "second")
    with scene.struck_by(Strike(Fault.REFUSED, "index.commit")), pytest.raises(Unavailable, match="object=indexer"):
        Reader(scene, HOME, HOMES).read(made)


def test_a_memory_that_others_keep_writing_is_busy_after_a_while(scene: Scene, made: Memory) -> None:
    def written_meanwhile(call: Call, act: Callable[[], Any]) -> Any:
        if getattr(call, "name", "") == "objects.head":
            scene.switch.around = straight
            scene.update(made, f"text {scene.clock.now_us()}")
            scene.clock.advance(1)
            scene.switch.around = written_meanwhile
        return act()

    straight = scene.switch.around
    with scene.intercepted_by(written_meanwhile), pytest.raises(Busy):
        Reader(scene, HOME, HOMES).read(made)


def test_what_the_home_does_not_know_is_not_found_and_what_it_cannot_tell_is_unavailable(scene: Scene) -> None:
    never = scene.create("/n/b")
    scene.deliver()
    unknown = Memory("mem_01kb0000000000000000000000", scene.store, UNKNOWN, "/x", "", 0, 0, 0)
    for region in (HOME, AWAY):
        with pytest.raises(NotFound):
            Reader(scene, region, HOMES).read(unknown)
        with pytest.raises(NotFound):
            Reader(scene, region, HOMES).version(UNKNOWN)
    index = scene.cloud.sites[HOME].region.index
    incomplete = ControlRow(serving=1, complete=False).to_attributes()
    index.commit([Change(ControlRow.KEY, None, incomplete, unconditional=True)])
    for region in (HOME, AWAY):
        assert Reader(scene, region, HOMES).read(never).path == "/n/b"
        with pytest.raises(Unavailable):
            Reader(scene, region, HOMES).read(unknown)


def test_a_caller_who_was_let_in_here_need_not_be_known_there(scene: Scene, made: Memory) -> None:
    answer = keys_calls(scene.at(AWAY).api_keys)(
        {"call": "keys.create", "workspace_id": "wrkspc_default", "name": "new", "scope": "read"}
    )
    scene.drop_events()
    call = scene.call(str(answer["api_key"]))
    call.demand = HOMES
    assert scene.at(AWAY).memories.retrieve(call, scene.store, made.id, full=True).content == "first"


def test_another_workspace_finds_nothing_at_home_either(scene: Scene, made: Memory) -> None:
    stranger = RequestContext(DelegatedCredentials("wrkspc_other", "api_key:apikey_x", "read"), HOMES)
    with pytest.raises(NotFound, match="memory_store"):
        scene.at(HOME).memories.retrieve(stranger, scene.store, made.id, full=True)


def test_a_store_is_as_its_record_is_at_home(scene: Scene, made: Memory) -> None:
    scene.at(HOME).stores.update(scene.call(), scene.store, name="new name", description="", metadata={"k": "v"})
    reader = Reader(scene, AWAY, HOMES)
    assert scene.at(AWAY).stores.retrieve(scene.call(), scene.store).name == "notes"
    assert (reader.store().name, dict(reader.store().metadata)) == ("new name", {"k": "v"})
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, PUT)):
        scene.at(HOME).stores.archive(scene.call(), scene.store)
    assert reader.store().archived_at is not None
    assert scene.at(HOME).stores.retrieve(scene.call(), scene.store).archived_at is not None
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    for ask in (reader.store, lambda: reader.read(made)):
        with pytest.raises(NotFound, match="memory_store"):
            ask()


def test_a_home_that_has_moved_says_so_and_passes_nothing_on(scene: Scene, made: Memory) -> None:
    call = RequestContext(DelegatedCredentials(WORKSPACE, "api_key:apikey_x", "read"), HOMES)
    with pytest.raises(Unavailable, match="moved"):
        scene.at(AWAY).memories.retrieve(call, scene.store, made.id, full=True)


# ---- a version at least -------------------------------------------------------------------------------------------


def test_a_version_that_is_here_is_waited_for_by_nobody(scene: Scene, made: Memory) -> None:
    reader = Reader(scene, AWAY, ReadConsistency(min_version=made.version_id))
    assert reader.read(made).content == "first"
    assert reader.paths() == ["/n/a"]
    assert scene.clock.paused_s == []


def test_a_version_that_arrives_is_waited_for(scene: Scene, made: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    second = scene.update(made, "second")
    pause = scene.clock.pause

    def arrives_meanwhile(seconds: float) -> None:
        pause(seconds)
        if len(scene.clock.paused_s) == 2:
            scene.deliver()

    monkeypatch.setattr(scene.clock, "pause", arrives_meanwhile)
    reader = Reader(scene, AWAY, ReadConsistency(min_version=second.version_id))
    with scene.struck_by():
        assert reader.read(made).content == "second"
    assert scene.clock.paused_s == [0.05, 0.1]


def test_a_version_that_does_not_arrive_in_time_is_read_from_its_home(scene: Scene, made: Memory) -> None:
    second = scene.update(made, "second")
    new = scene.create("/n/new", "new")
    reader = Reader(scene, AWAY, ReadConsistency(min_version=new.version_id))
    assert reader.read(new).content == "new"
    assert sum(scene.clock.paused_s) == pytest.approx(0.75)
    assert reader.paths() == ["/n/a", "/n/new"]
    assert reader.versions(made).items[0].id == second.version_id
    assert reader.version(new.version_id).content == "new"
    assert reader.store().id == scene.store


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_version_that_nobody_knows_is_refused_by_its_name(scene: Scene, made: Memory, region: str) -> None:
    reader = Reader(scene, region, ReadConsistency(min_version=UNKNOWN))
    for ask in (lambda: reader.read(made), reader.paths, reader.versions, reader.store):
        with pytest.raises(InvalidRequest, match=f"x-memolith-min-version: {UNKNOWN} is not known in this store"):
            ask()


def test_a_version_of_another_store_is_none_of_this_one(scene: Scene, made: Memory) -> None:
    other = scene.create_store("other").id
    foreign = scene.create("/a", store=other)
    with pytest.raises(InvalidRequest):
        Reader(scene, HOME, ReadConsistency(min_version=foreign.version_id)).read(made)


def test_nothing_older_is_given_while_the_home_does_not_answer(scene: Scene, made: Memory) -> None:
    second = scene.update(made, "second")
    reader = Reader(scene, AWAY, ReadConsistency(min_version=second.version_id))
    with scene.struck_by(Strike(Fault.REFUSED, "peers.call")), pytest.raises(Unavailable):
        reader.read(made)


def test_rows_that_were_read_before_the_version_came_are_not_what_is_answered(scene: Scene, made: Memory) -> None:
    """A batch is not one moment: the head may have been read just before the version was folded."""
    stale = scene.cloud.rows(AWAY, "memories")
    second = scene.update(made, "second")
    scene.deliver()
    torn: list[object] = []

    def first_batch_is_torn(call: Call, act: Callable[[], Any]) -> Any:
        rows = act()
        if getattr(call, "name", "") == "index.read" and not torn:
            torn.append(call)
            return {
                key: stale.get((key.pk, key.sk), row) if key.table == "memories" else row for key, row in rows.items()
            }
        return rows

    with scene.intercepted_by(first_batch_is_torn):
        assert Reader(scene, AWAY, ReadConsistency(min_version=second.version_id)).read(made).content == "second"
    assert torn


def test_writes_take_no_notice_of_a_demand(scene: Scene, made: Memory) -> None:
    call = RequestContext(scene.call().credentials, ReadConsistency(home=True, min_version=UNKNOWN))
    written = scene.at(AWAY).memories.update(
        call, scene.store, made.id, content="second", path=None, expected_content_sha256=None, full=False
    )
    assert scene.read(made).version_id == written.version_id
