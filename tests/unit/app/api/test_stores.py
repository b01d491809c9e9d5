"""Stores: made where the call lands, changed at home from anywhere, read everywhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Fault, Strike
from memolith.app.kernel.results import UNSET, Store
from memolith.core.errors import InvalidRequest, NotFound, PermissionDenied, Unavailable
from memolith.core.ids import ulid
from memolith.core.limits import METADATA_MAX_PAIRS
from tests.support.examples import examples
from tests.unit.app.scene import AWAY, HOME, Scene

NEVER_THERE = f"memstore_useast1_{ulid(1, bytes(10))}"


def update(scene: Scene, at: str = HOME, store: str | None = None, key: str | None = None, **changes: Any) -> Store:
    given_changes = {"name": UNSET, "description": UNSET, "metadata": UNSET, **changes}
    return scene.at(at).stores.update(scene.call(key), store or scene.store, **given_changes)


# ---- being made and found -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_store_is_born_where_the_call_lands_and_that_is_its_home(scene: Scene, region: str) -> None:
    call = scene.call()
    made = scene.at(region).stores.create(call, name="n", description="d", metadata={"k": "v"})
    assert (made.name, made.description, made.metadata) == ("n", "d", {"k": "v"})
    assert call.home == region
    assert made.id.startswith(f"memstore_{region.replace('-', '')}_")
    assert scene.at(region).stores.retrieve(scene.call(), made.id) == made


@pytest.mark.parametrize(("born", "asked"), [(HOME, AWAY), (AWAY, HOME)])
def test_a_region_that_has_not_heard_of_a_store_asks_the_region_it_was_born_in(
    scene: Scene, born: str, asked: str
) -> None:
    made = scene.create_store("fresh", at=born)
    call = scene.call()
    assert scene.at(asked).stores.retrieve(call, made.id) == made
    assert call.home == born
    memory = scene.create("/a", "text", store=made.id, at=asked)
    found = scene.at(asked).memories.retrieve(scene.call(), made.id, memory.id, full=True)
    assert found.content == "text"


def test_a_reader_that_may_write_no_row_finds_a_store_it_has_not_heard_of(scene: Scene) -> None:
    """Least privilege: what the reader fetches for want of a row it does not fold; the record's own event will."""
    made = scene.create_store("fresh", at=AWAY)
    with scene.intercepted_by(_no_commit):
        assert scene.at(HOME).stores.retrieve(scene.call(), made.id) == made


def _no_commit(call: PortCall, act: Any) -> Any:
    assert call.name != "index.commit"
    return act()


def test_the_newest_record_is_what_it_finds(scene: Scene) -> None:
    made = scene.create_store("fresh", at=AWAY)
    for number in range(12):
        update(scene, at=AWAY, store=made.id, name=f"name {number}")
    assert scene.at(HOME).stores.retrieve(scene.call(), made.id).name == "name 11"


def test_while_the_birth_region_does_not_answer_nobody_says_not_found(scene: Scene) -> None:
    made = scene.create_store("fresh", at=AWAY)
    strike = Strike(Fault.REFUSED, "objects.list", occurrence=2)
    with scene.struck_by(strike), pytest.raises(Unavailable):
        scene.at(HOME).stores.retrieve(scene.call(), made.id)


@pytest.mark.parametrize(
    "store_id", [NEVER_THERE, "memstore_x", "memstore_nowhere1_" + ulid(1, bytes(10)), "x", "a/b", "x" * 128]
)
@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_store_that_never_was_is_not_found(scene: Scene, region: str, store_id: str) -> None:
    with pytest.raises(NotFound):
        scene.at(region).stores.retrieve(scene.call(), store_id)


# ---- being changed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_change_is_read_where_it_was_asked_for_and_at_home(scene: Scene, region: str) -> None:
    scene.clock.advance(5)
    changed = update(scene, at=region, name="renamed", description="now described")
    assert (changed.name, changed.description) == ("renamed", "now described")
    assert changed.updated_at > changed.created_at
    for reader in (region, HOME):
        assert scene.at(reader).stores.retrieve(scene.call(), scene.store) == changed
        assert [store.name for store in scene.stores(at=reader).items] == ["renamed"]


def test_what_an_update_does_not_mention_stays(scene: Scene) -> None:
    update(scene, description="d", metadata={"k": "v"})
    assert update(scene, name="n").description == "d"
    assert update(scene, description="").metadata == {"k": "v"}


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_metadata_is_merged_and_null_deletes(scene: Scene, region: str) -> None:
    update(scene, metadata={"a": "1", "b": "2"})
    assert update(scene, at=region, metadata={"b": None, "c": "3", "d": None}).metadata == {"a": "1", "c": "3"}


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_merge_beyond_the_limit_of_pairs_is_refused(scene: Scene, region: str) -> None:
    full = {f"k{number}": "" for number in range(METADATA_MAX_PAIRS)}
    update(scene, metadata=full)
    with pytest.raises(InvalidRequest, match="metadata"):
        update(scene, at=region, metadata={"one": "more"})
    assert update(scene, at=region, metadata={"one": "more", "k0": None}).metadata.keys() >= {"one"}


def test_a_change_that_changes_nothing_writes_nothing(scene: Scene) -> None:
    before = update(scene, description="d", metadata={"a": "1"})
    puts = len(scene.cloud.buckets.page(HOME, f"{HOME}/store/", None, 100).keys)
    scene.clock.advance(5)
    assert update(scene, name="notes", description="d", metadata={"a": "1", "b": None}) == before
    assert len(scene.cloud.buckets.page(HOME, f"{HOME}/store/", None, 100).keys) == puts


def test_writing_memories_does_not_change_the_store(scene: Scene) -> None:
    before = scene.at(HOME).stores.retrieve(scene.call(), scene.store)
    scene.clock.advance(5)
    scene.create("/a")
    assert scene.at(HOME).stores.retrieve(scene.call(), scene.store) == before


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_key_that_is_limited_to_stores_has_no_sessions_read_by_themselves(scene: Scene, region: str) -> None:
    """What sessions said that have other stores, too, would come into one that the key reads."""
    limited = scene.cloud.key(stores=[scene.store])

    def choose(key: str | None = None, **pipelines: Any) -> dict[str, Any]:
        found = update(scene, at=region, key=key, pipelines=pipelines).pipelines
        scene.deliver()
        return dict(json.loads(found or "{}"))

    def refused(field: str, **pipelines: Any) -> None:
        with pytest.raises(PermissionDenied, match=f"pipelines.{field}"):
            choose(limited, **pipelines)

    assert choose(limited, usage="count", idle_hours=3)["idle_hours"] == 3
    refused("auto_extract", auto_extract="propose")
    refused("auto_dream", auto_dream="write", idle_hours=4)
    choose(auto_extract="propose", auto_dream="propose")
    repeated = choose(limited, auto_extract="propose", auto_dream="write", idle_hours=5)
    assert (repeated["auto_extract"], repeated["auto_dream"], repeated["idle_hours"]) == ("propose", "write", 5)
    choose(dreams="off", extraction="off")
    refused("dreams", dreams="propose")
    refused("extraction", extraction="allow")
    assert choose(limited, auto_extract="off", auto_dream="off", dreams="allow")["dreams"] == "allow"
    refused("auto_dream", auto_dream="propose")


def test_two_changes_at_once_are_both_there(scene: Scene) -> None:
    """The second put meets the first one's slot, reads it, and changes that."""
    raced: list[bool] = []

    def race(call: PortCall, act: Any) -> Any:
        if call.name == "objects.put_if_absent" and not raced:
            raced.append(True)
            update(scene, name="theirs")
        return act()

    with scene.intercepted_by(race):
        changed = update(scene, description="mine")
    assert (changed.name, changed.description) == ("theirs", "mine")


def test_when_a_store_was_changed_never_runs_backwards_though_the_clock_does(scene: Scene) -> None:
    first = update(scene, name="one")
    scene.clock.advance(-60)
    second = update(scene, name="two")
    assert second.updated_at > first.updated_at


def test_a_store_is_changed_on_what_its_log_says_though_the_index_is_behind(scene: Scene) -> None:
    restore = scene.remember_index()
    update(scene, name="newer")
    restore()
    assert update(scene, description="mine").name == "newer"


# ---- being deleted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_deleted_store_is_not_found_with_all_that_was_in_it(scene: Scene, region: str) -> None:
    memory = scene.create("/a", "text")
    scene.deliver()
    assert scene.at(region).stores.delete(scene.call(), scene.store) == scene.store
    scene.deliver()
    for reader in (HOME, AWAY):
        attempts = [
            lambda at=reader: scene.at(at).stores.retrieve(scene.call(), scene.store),
            lambda at=reader: scene.read(memory, at=at),
            lambda at=reader: scene.paths(at=at),
            lambda at=reader: scene.versions(at=at),
            lambda at=reader: scene.version(memory.version_id, at=at),
            lambda at=reader: scene.create("/b", at=at),
            lambda at=reader: scene.at(at).stores.delete(scene.call(), scene.store),
        ]
        for attempt in attempts:
            with pytest.raises(NotFound):
                attempt()  # type: ignore[no-untyped-call]  # lambdas with a default have no type
        assert scene.stores(at=reader, include_archived=True).items == ()


def test_no_row_keeps_the_words_or_the_salt_of_a_deleted_store(scene: Scene) -> None:
    update(scene, name="secret plans", description="of the board", metadata={"who": "knows"})
    scene.deliver()
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.deliver()
    for region in (HOME, AWAY):
        text = repr(scene.cloud.rows(region, "stores"))
        assert "secret plans" not in text and "board" not in text and "knows" not in text
        assert all(row["salt"] == "" for row in scene.cloud.rows(region, "stores").values())


# ---- being listed ---------------------------------------------------------------------------------------------------


@settings(max_examples=examples(25))
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "", "archive", "delete"])), max_size=8),
    st.integers(1, 4),
    st.booleans(),
    st.none() | st.integers(-1, 25),
    st.none() | st.integers(-1, 25),
)
def test_pages_of_stores_are_what_a_naive_listing_cuts(
    births: list[tuple[int, str]], limit: int, archived: bool, since: int | None, until: int | None
) -> None:
    scene = Scene()
    start = scene.clock.now_us()
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    expected: list[Store] = []
    for pause, fate in births:
        scene.clock.advance(pause)
        store = scene.create_store()
        if fate == "archive":
            store = scene.at(HOME).stores.archive(scene.call(), store.id)
        if fate == "delete":
            scene.at(HOME).stores.delete(scene.call(), store.id)
        elif archived or fate != "archive":
            expected.append(store)
    gte = None if since is None else start + since * 1_000_000
    lte = None if until is None else start + until * 1_000_000
    expected = [one for one in expected if gte is None or one.created_at >= gte]
    expected = [one for one in expected if lte is None or one.created_at <= lte]
    expected.sort(key=lambda one: (one.created_at, one.id), reverse=True)
    listed: list[Store] = []
    after: str | None = None
    for _ in range(20):
        page = scene.stores(created_at_gte=gte, created_at_lte=lte, include_archived=archived, limit=limit, after=after)
        assert len(page.items) <= limit
        listed += page.items
        after = page.next_after
        if after is None:
            break
    assert listed == expected


def test_each_workspace_lists_its_own(scene: Scene) -> None:
    key = scene.cloud.key(workspace_id="wrkspc_other")
    theirs = scene.create_store("theirs", key=key)
    call = scene.call(key)
    page = scene.at(HOME).stores.page(
        call, created_at_gte=None, created_at_lte=None, include_archived=True, limit=10, after=None
    )
    assert [store.id for store in page.items] == [theirs.id]
    assert [store.id for store in scene.stores().items] == [scene.store]
