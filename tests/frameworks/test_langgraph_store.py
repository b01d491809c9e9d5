"""Where a store of Memolith is not a dictionary: others write at the same time, the scanner reads, places have
limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import InvalidNamespaceError, Item, Op, PutOp, SearchOp
from typing_extensions import TypedDict

from memolith.clients.sdk.langgraph_store import FoundItem, ItemConflict, MemolithStore, StoredItem, UnreadableItem
from memolith.clients.sdk.writes import WriteStaged
from tests.frameworks.conftest import Shelf

USERS = ("users", "ada")


def got(store: MemolithStore, key: str) -> Item:
    item = store.get(USERS, key)
    assert item is not None
    return item


def test_an_item_is_a_json_document_that_people_can_read(shelf: Shelf) -> None:
    shelf.store.put(USERS, "prefs", {"tone": "dry, naïve", "tags": ["a"]})
    document = '{\n  "tone": "dry, naïve",\n  "tags": [\n    "a"\n  ]\n}\n'
    assert shelf.fresh.paths() == {"/users/ada/prefs.json": document}


def test_an_edit_through_the_memory_tool_is_seen(shelf: Shelf) -> None:
    shelf.store.put(USERS, "prefs", {"tone": "dry"})
    shelf.fresh.say(command="str_replace", path="/memories/users/ada/prefs.json", old_str="dry", new_str="warm")
    assert got(shelf.store, "prefs").value == {"tone": "warm"}


# ---- others write at the same time ----------------------------------------------------------------------------------


def test_a_put_on_what_was_read_is_refused_when_somebody_else_was_there_first(shelf: Shelf) -> None:
    shelf.store.put(USERS, "prefs", {"n": 1})
    read = got(shelf.store, "prefs")
    shelf.another().put(USERS, "prefs", {"n": 2})
    with pytest.raises(ItemConflict, match="no longer what was read") as raised:
        shelf.store.put_if(USERS, "prefs", {"n": 10}, read)
    assert (raised.value.namespace, raised.value.key) == (USERS, "prefs")
    assert got(shelf.store, "prefs").value == {"n": 2}


def test_a_put_where_nothing_is_expected_never_overwrites(shelf: Shelf) -> None:
    first = shelf.store.put_if(USERS, "lock", {"by": "me"}, None)
    with pytest.raises(ItemConflict, match="something is there already"):
        shelf.another().put_if(USERS, "lock", {"by": "you"}, None)
    assert shelf.store.put_if(USERS, "lock", {"by": "me again"}, first).value == {"by": "me again"}
    assert got(shelf.store, "lock").value == {"by": "me again"}


def test_a_put_on_an_item_that_was_deleted_is_refused(shelf: Shelf) -> None:
    read = shelf.store.put_if(USERS, "prefs", {"n": 1}, None)
    shelf.another().delete(USERS, "prefs")
    with pytest.raises(ItemConflict, match="no longer there"):
        shelf.store.put_if(USERS, "prefs", {"n": 2}, read)
    assert shelf.store.get(USERS, "prefs") is None


def test_an_item_that_a_search_found_can_be_put_on_too(shelf: Shelf) -> None:
    shelf.store.put(USERS, "prefs", {"n": 1})
    (found,) = shelf.store.search(USERS)
    assert isinstance(found, FoundItem)
    shelf.store.put_if(USERS, "prefs", {"n": 2}, found)
    with pytest.raises(ItemConflict):
        shelf.store.put_if(USERS, "prefs", {"n": 3}, found)


def test_what_was_read_elsewhere_is_no_precondition(shelf: Shelf) -> None:
    item = shelf.store.put_if(USERS, "one", {"n": 1}, None)
    with pytest.raises(ValueError, match="expected"):
        shelf.store.put_if(USERS, "two", {"n": 1}, item)
    plain = Item(value={}, key="one", namespace=USERS, created_at=item.created_at, updated_at=item.updated_at)
    with pytest.raises(ValueError, match="expected"):
        shelf.store.put_if(USERS, "one", {"n": 2}, plain)


def test_of_many_that_sign_at_once_none_is_lost(shelf: Shelf) -> None:
    def sign(name: int) -> None:
        store = shelf.another()
        while True:
            item = store.get(USERS, "list")
            names = item.value["names"] if item else []
            try:
                store.put_if(USERS, "list", {"names": [*names, name]}, item)
            except ItemConflict:
                continue
            return

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(sign, range(16)))
    assert sorted(got(shelf.store, "list").value["names"]) == list(range(16))


def test_two_that_put_the_same_value_on_the_same_item_are_both_told_that_it_is_there(shelf: Shelf) -> None:
    """The API's rule, so that a put whose answer was lost can be sent again; a value that says whose it is differs."""
    read = shelf.store.put_if(USERS, "counter", {"n": 1}, None)
    shelf.another().put_if(USERS, "counter", {"n": 2}, read)
    assert shelf.store.put_if(USERS, "counter", {"n": 2}, read).value == {"n": 2}
    shelf.another().put_if(USERS, "counter", {"n": 2, "by": "you"}, got(shelf.store, "counter"))
    with pytest.raises(ItemConflict):
        shelf.store.put_if(USERS, "counter", {"n": 2, "by": "me"}, read)


def test_puts_at_once_without_a_precondition_all_succeed_and_leave_their_versions(shelf: Shelf) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: shelf.another().put(USERS, "note", {"n": n}), range(16)))
    memories = shelf.fresh.backend.client().beta.memory_stores
    versions = list(memories.memory_versions.list(shelf.fresh.store_id))
    assert len(versions) == 16
    assert got(shelf.store, "note").value["n"] in range(16)


def test_what_was_renamed_or_replaced_by_others_is_not_taken_for_the_item(shelf: Shelf) -> None:
    shelf.store.put(USERS, "prefs", {"n": 1})
    read = got(shelf.store, "prefs")
    assert isinstance(read, StoredItem)
    shelf.rename(read.memory_id, "/users/ada/old.json")
    assert shelf.store.get(USERS, "prefs") is None
    shelf.store.delete(USERS, "prefs")
    assert got(shelf.store, "old").value == {"n": 1}
    shelf.another().put(USERS, "prefs", {"n": 2})
    assert got(shelf.store, "prefs").value == {"n": 2}


# ---- what is no item ------------------------------------------------------------------------------------------------


def test_a_memory_in_the_way_of_an_item_is_named(shelf: Shelf) -> None:
    shelf.create("/users", "not a folder")
    with pytest.raises(ItemConflict, match="stands in the way") as raised:
        shelf.store.put(USERS, "prefs", {})
    assert raised.value.path == "/users"


def test_what_is_no_item_is_passed_over_by_a_search_and_told_by_a_get(shelf: Shelf) -> None:
    shelf.store.put(USERS, "prefs", {"n": 1})
    for name, content in {"list.json": "[1]", "broken.json": "{", "deep.json": "[" * 100_000, "a.md": "{}"}.items():
        shelf.create(f"/users/ada/{name}", content)
    shelf.create("/notes.d/a.json", "{}")
    assert [item.key for item in shelf.store.search(())] == ["prefs"]
    assert shelf.store.list_namespaces() == [USERS]
    for key in ("list", "broken", "deep"):
        with pytest.raises(UnreadableItem, match=f"/users/ada/{key}.json is no JSON object"):
            shelf.store.get(USERS, key)


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {"n": float("nan")},
        {"n": {1: "one"}},
        {"n": [{"deep": {None: 1}}]},
        {"n": object()},
        {"n": "\ud800"},
        {"n": {1, 2}},
    ],
)
def test_a_value_that_would_not_come_back_the_same_is_refused_and_nothing_is_stored(shelf: Shelf, value: Any) -> None:
    with pytest.raises(ValueError, match="value: must be a JSON object"):
        shelf.store.batch([PutOp(USERS, "first", {"n": 1}), PutOp(USERS, "second", value)])
    assert shelf.fresh.paths() == {}


@pytest.mark.parametrize(
    ("op", "error", "reason"),
    [
        (PutOp(USERS, "k", {}, ttl=5), NotImplementedError, "ttl"),
        (SearchOp(USERS, limit=-1), ValueError, "limit"),
        (SearchOp(USERS, offset=-1), ValueError, "limit and offset"),
        (PutOp(("a.b",), "k", {}), InvalidNamespaceError, "period"),
        (PutOp(("a", ""), "k", {}), InvalidNamespaceError, "empty"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_done(
    shelf: Shelf, op: Op, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        shelf.store.batch([PutOp(USERS, "first", {"n": 1}), op])
    assert shelf.fresh.paths() == {}


def test_a_query_finds_the_items_that_match_best_under_its_prefix(shelf: Shelf) -> None:
    shelf.store.put(USERS, "food", {"likes": "pizza with anchovies", "n": 1})
    shelf.store.put(USERS, "travel", {"likes": "trains, and pizza in Naples", "n": 2})
    shelf.store.put(("users", "bob"), "food", {"likes": "pizza"})
    shelf.store.put(USERS, "tone", {"prefers": "short answers"})
    shelf.fresh.say(command="create", path="/memories/users/ada/plain.txt", file_text="pizza")
    found = shelf.store.search(USERS, query="Does she like anchovies on a pizza?")
    assert [item.key for item in found] == ["food", "travel"]
    scores = [item.score or 0 for item in found]
    assert scores[0] > scores[1] > 0
    assert [item.key for item in shelf.store.search(USERS, query="pizza", filter={"n": {"$gt": 1}})] == ["travel"]
    assert [item.key for item in shelf.store.search(USERS, query="anchovies pizza", limit=1, offset=1)] == ["travel"]
    assert {item.namespace for item in shelf.store.search((), query="pizza")} == {USERS, ("users", "bob")}
    assert shelf.store.search(USERS, query="submarine") == []
    assert shelf.store.put_if(USERS, "food", {"likes": "ramen"}, found[0]).value == {"likes": "ramen"}
    assert shelf.store.search(USERS, query="anchovies") == []


def test_a_query_may_be_longer_than_a_search_may_be(shelf: Shelf) -> None:
    shelf.store.put(USERS, "food", {"likes": "pizza"})
    assert [item.key for item in shelf.store.search(USERS, query=f"pizza {'x' * 2_000}")] == ["food"]


def test_a_ttl_is_refused_by_put_too(shelf: Shelf) -> None:
    with pytest.raises(NotImplementedError, match="TTL"):
        shelf.store.put(USERS, "k", {}, ttl=5)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"n": {"$in": [1]}}, r"no operator '\$in'"),
        ({"n": {"$\ud800": 1}}, r"no operator '\$\\ud800'"),
        ({"n": {"$gt": "x"}}, "compares numbers"),
    ],
)
def test_a_filter_that_cannot_be_meant_says_why(shelf: Shelf, asked: dict[str, Any], reason: str) -> None:
    shelf.store.put(USERS, "k", {"n": 1})
    with pytest.raises(ValueError, match=reason):
        shelf.store.search(USERS, filter=asked)


@pytest.mark.parametrize("value", [None, "x", [], {}])
def test_what_cannot_be_compared_does_not_match(shelf: Shelf, value: object) -> None:
    shelf.store.put(USERS, "k", {"n": value})
    assert shelf.store.search(USERS, filter={"n": {"$gt": 0}}) == []
    assert shelf.store.search(USERS, filter={"other": {"$lte": 0}}) == []


@pytest.mark.parametrize(
    ("namespace", "key", "value", "reason"),
    [
        (("a",) * 20, "k", {}, "20 segments"),
        (("a",), "k" * 1_100, {}, "1024 characters"),
        (("a",), "k", {"text": "x" * 102_400}, "102400 bytes"),
    ],
)
def test_what_the_store_does_not_take_is_refused_with_its_rule(
    shelf: Shelf, namespace: tuple[str, ...], key: str, value: dict[str, Any], reason: str
) -> None:
    with pytest.raises(anthropic.APIStatusError, match=reason):
        shelf.store.put(namespace, key, value)
    assert shelf.fresh.paths() == {}


# ---- what it costs --------------------------------------------------------------------------------------------------


def test_pages_are_asked_for_only_as_far_as_needed(shelf: Shelf) -> None:
    for n in range(45):
        shelf.store.put(USERS, f"{n:02}", {"n": n, "even": n % 2 == 0})
    before = shelf.calls()
    assert [item.value["n"] for item in shelf.store.search(USERS, limit=5, offset=10)] == [10, 11, 12, 13, 14]
    assert shelf.calls() - before == 1
    found = shelf.store.search(USERS, filter={"even": True}, limit=5, offset=18)
    assert [item.key for item in found] == ["36", "38", "40", "42", "44"]
    assert shelf.calls() - before == 1 + 3


def test_an_item_that_was_met_before_is_one_request(shelf: Shelf) -> None:
    store = shelf.another()
    shelf.store.put(USERS, "prefs", {"n": 1})
    before = shelf.calls()
    got(store, "prefs")
    assert shelf.calls() - before == 2
    got(store, "prefs")
    assert shelf.calls() - before == 3
    store.put(USERS, "prefs", {"n": 2})
    assert shelf.calls() - before == 5


# ---- in LangGraph itself --------------------------------------------------------------------------------------------


class State(TypedDict):
    said: str


def remember(state: State, runtime: Runtime[None]) -> State:
    assert runtime.store is not None
    runtime.store.put(USERS, "last", {"said": state["said"]})
    return {"said": "noted"}


async def recall(state: State, runtime: Runtime[None]) -> State:
    assert runtime.store is not None
    item = await runtime.store.aget(USERS, "last")
    await runtime.store.aput(USERS, "recalled", {"n": len(await runtime.store.asearch(USERS))})
    assert item is not None
    return {"said": item.value["said"]}


def test_a_graph_remembers_across_threads_of_conversation(shelf: Shelf) -> None:
    writing, reading = StateGraph(State), StateGraph(State)
    writing.add_node("remember", remember).add_edge(START, "remember").add_edge("remember", END)
    reading.add_node("recall", recall).add_edge(START, "recall").add_edge("recall", END)
    assert writing.compile(store=shelf.store).invoke({"said": "I like tea"}) == {"said": "noted"}
    recalled = asyncio.run(reading.compile(store=shelf.another()).ainvoke({"said": "what do I like?"}))
    assert recalled == {"said": "I like tea"}
    assert set(shelf.fresh.paths()) == {"/users/ada/last.json", "/users/ada/recalled.json"}


def test_asynchronous_code_has_the_precondition_too(shelf: Shelf) -> None:
    async def twice() -> None:
        item = await shelf.store.aput_if(USERS, "prefs", {"n": 1}, None)
        await shelf.store.aput_if(USERS, "prefs", {"n": 2}, item)
        with pytest.raises(ItemConflict):
            await shelf.store.aput_if(USERS, "prefs", {"n": 3}, item)
        await shelf.store.adelete(USERS, "prefs")
        assert await shelf.store.alist_namespaces() == []

    asyncio.run(twice())


def staged(shelf: Shelf) -> None:
    """From now on a person approves every write."""
    body = {"approval": {"paths": [{"prefix": "/"}]}}
    assert shelf.fresh.backend.raw("POST", f"/v1/memory_stores/{shelf.fresh.store_id}", body=body).status == 200


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.put(USERS, "new", {"n": 2}),
        lambda store: store.put(USERS, "n", {"n": 2}),
        lambda store: store.put_if(USERS, "new", {"n": 2}, None),
        lambda store: store.put_if(USERS, "n", {"n": 2}, store.get(USERS, "n")),
        lambda store: store.delete(USERS, "n"),
    ],
    ids=["put of a new item", "put", "put_if of a new item", "put_if", "delete"],
)
def test_a_write_that_waits_for_approval_is_not_told_as_done(
    shelf: Shelf, write: Callable[[MemolithStore], object]
) -> None:
    shelf.store.put(USERS, "n", {"n": 1})
    staged(shelf)
    with pytest.raises(WriteStaged, match="staged for approval as prop_") as waiting:
        write(shelf.store)
    with pytest.raises(WriteStaged, match=waiting.value.proposal_id):
        write(shelf.store)
    proposals = shelf.fresh.backend.raw("GET", f"/v1/memory_stores/{shelf.fresh.store_id}/proposals").body["data"]
    assert [one["id"] for one in proposals] == [waiting.value.proposal_id]
    assert got(shelf.store, "n").value == {"n": 1}
    assert shelf.store.get(USERS, "new") is None
