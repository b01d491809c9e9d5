"""Listing memories: order, prefixes, depth, pages that stay right while others write."""

from __future__ import annotations

from collections.abc import Callable

import anthropic
import pytest

from memolith.core.limits import CURSOR_LIFETIME_US
from tests.api.harness import Backend

TREE = ["/a", "/b/c/d", "/b/c/e", "/b/f", "/b-g", "/b0", "/notes/todo.md", "/notes-archive/todo.md", "/ä/1", "/🧠"]


@pytest.fixture
def tree(client: anthropic.Anthropic, store_id: str) -> str:
    for path in reversed(TREE):
        client.beta.memory_stores.memories.create(store_id, path=path, content=path)
    return store_id


def paths(client: anthropic.Anthropic, store_id: str, **query: object) -> list[str]:
    return [row.path for row in client.beta.memory_stores.memories.list(store_id, **query)]  # type: ignore[arg-type]  # keywords of more than one type


def test_the_whole_store_is_listed_in_path_order(client: anthropic.Anthropic, tree: str) -> None:
    """The API says stable and server-defined; byte-wise is ours."""
    assert paths(client, tree) == sorted(TREE, key=str.encode)
    assert paths(client, tree, limit=3) == sorted(TREE, key=str.encode)
    assert paths(client, tree, depth=0, path_prefix="/") == sorted(TREE, key=str.encode)


def test_a_prefix_matches_whole_segments(client: anthropic.Anthropic, tree: str) -> None:
    assert paths(client, tree, path_prefix="/notes/") == ["/notes/todo.md"]
    assert paths(client, tree, path_prefix="/b/") == ["/b/c/d", "/b/c/e", "/b/f"]
    assert paths(client, tree, path_prefix="/b/c/") == ["/b/c/d", "/b/c/e"]
    assert paths(client, tree, path_prefix="/ä/") == ["/ä/1"]
    assert paths(client, tree, path_prefix="/nothing/") == []
    assert paths(client, tree, path_prefix="/a/") == []


def test_depth_one_rolls_deeper_memories_up(client: anthropic.Anthropic, tree: str) -> None:
    top = ["/a", "/b-g", "/b/", "/b0", "/notes-archive/", "/notes/", "/ä/", "/🧠"]
    assert paths(client, tree, depth=1) == top
    assert paths(client, tree, depth=1, path_prefix="/b/") == ["/b/c/", "/b/f"]
    rows = client.beta.memory_stores.memories.list(tree, depth=1).data
    assert [row.type for row in rows] == ["memory_prefix" if path.endswith("/") else "memory" for path in top]
    for limit in range(1, 9):
        assert paths(client, tree, depth=1, limit=limit) == top, "a prefix counts toward the limit, and comes once"


def test_content_is_listed_on_demand_and_twenty_at_a_time(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    for number in range(45):
        memories.create(store_id, path=f"/{number:02}", content=str(number))
    basic = memories.list(store_id, limit=100)
    assert len(basic.data) == 45
    assert all(row.type == "memory" and row.content is None for row in basic.data)
    full = memories.list(store_id, limit=100, view="full")
    assert 1 <= len(full.data) <= 20, "a larger limit is capped, not refused"
    assert [row.content for row in full if row.type == "memory"] == [str(number) for number in range(45)]
    assert len(memories.list(store_id).data) == 20


def test_pages_lose_and_repeat_nothing_while_others_write(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    made = [memories.create(store_id, path=f"/{number:02}", content="x") for number in range(20)]
    seen = []
    page = memories.list(store_id, limit=5)
    for round_number in range(4):
        seen += [row.path for row in page.data]
        last = made[5 * round_number + 4]
        memories.delete(last.id, memory_store_id=store_id)
        memories.create(store_id, path=f"/{5 * round_number:02}!", content="behind the cursor")
        if round_number < 3:
            page = page.get_next_page()
    assert seen == [f"/{number:02}" for number in range(20)]


def test_a_page_sees_what_was_written_ahead_of_it(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    for path in ("/a", "/b", "/m"):
        memories.create(store_id, path=path, content="x")
    page = memories.list(store_id, limit=2)
    memories.create(store_id, path="/c", content="x")
    assert [row.path for row in page] == ["/a", "/b", "/c", "/m"]


def test_a_cursor_may_change_limit_and_view_but_not_the_filters(backend: Backend, store_id: str) -> None:
    """Ours: the API calls cursors opaque and says no more."""
    memories = backend.client().beta.memory_stores.memories
    for number in range(6):
        memories.create(store_id, path=f"/a/{number}", content="x")
    cursor = str(memories.list(store_id, limit=2).next_page)
    assert [row.path for row in memories.list(store_id, limit=3, page=cursor).data] == ["/a/2", "/a/3", "/a/4"]
    full = memories.list(store_id, view="full", page=cursor).data
    assert [row.path for row in full] == ["/a/2", "/a/3", "/a/4", "/a/5"]
    other = backend.client().beta.memory_stores.create(name="other").id
    foreign: list[Callable[[], object]] = [
        lambda: memories.list(store_id, path_prefix="/a/", page=cursor),
        lambda: memories.list(store_id, depth=1, page=cursor),
        lambda: memories.list(other, page=cursor),
        lambda: backend.client().beta.memory_stores.memory_versions.list(store_id, page=cursor),
        lambda: backend.client().beta.memory_stores.list(page=cursor),
    ]
    for listing in foreign:
        with pytest.raises(anthropic.BadRequestError, match="page"):
            listing()


WEEK_AGO, IN_A_WEEK = "2026-09-14T00:00:00Z", "2026-09-28T00:00:00Z"


@pytest.mark.parametrize(
    "others",
    [
        {"created_at_gte": WEEK_AGO},
        {"created_at_lte": IN_A_WEEK},
        {"include_archived": True},
    ],
    ids=str,
)
def test_a_cursor_of_stores_belongs_to_its_filters(backend: Backend, others: dict[str, object]) -> None:
    """Ours: a filter that changes on the way would silently leave out or repeat."""
    stores = backend.client().beta.memory_stores
    made = [stores.create(name="s").id for _ in range(3)]
    for first, second in (({}, others), (others, {})):
        cursor = stores.list(limit=1, **first).next_page  # type: ignore[arg-type]  # keywords of more than one type
        with pytest.raises(anthropic.BadRequestError, match="page"):
            stores.list(page=str(cursor), **second)  # type: ignore[arg-type]  # keywords of more than one type
        assert [one.id for one in stores.list(page=str(cursor), **first)] == made[1::-1]  # type: ignore[arg-type]  # keywords of more than one type


@pytest.mark.parametrize("field", ["memory_id", "operation", "api_key_id", "created_at_gte", "created_at_lte"])
def test_a_cursor_of_versions_belongs_to_its_filters(backend: Backend, store_id: str, field: str) -> None:
    """Ours."""
    memories = backend.client().beta.memory_stores.memories
    versions = backend.client().beta.memory_stores.memory_versions
    memory = memories.create(store_id, path="/a", content="0")
    for content in ("1", "2", "3"):
        memories.update(memory.id, memory_store_id=store_id, content=content)
    values = {
        "memory_id": memory.id,
        "operation": "modified",
        "api_key_id": "apikey_" + backend.api_key.split("-")[3],
        "created_at_gte": WEEK_AGO,
        "created_at_lte": IN_A_WEEK,
    }
    filtered = {field: values[field]}
    for first, second in (({}, filtered), (filtered, {})):
        cursor = versions.list(store_id, limit=1, **first).next_page  # type: ignore[arg-type]  # keywords of more than one type
        with pytest.raises(anthropic.BadRequestError, match="page"):
            versions.list(store_id, page=str(cursor), **second)  # type: ignore[arg-type]  # keywords of more than one type
        assert len(list(versions.list(store_id, page=str(cursor), **first))) >= 2  # type: ignore[arg-type]  # keywords of more than one type


def test_a_cursor_of_another_workspace_is_foreign(backend: Backend) -> None:
    stranger = backend.client(backend.issue_key("other", "admin")).beta.memory_stores
    for client in (stranger, backend.client().beta.memory_stores):
        for _ in range(2):
            client.create(name="s")
    cursor = stranger.list(limit=1).next_page
    with pytest.raises(anthropic.BadRequestError, match="page"):
        backend.client().beta.memory_stores.list(page=str(cursor))


def test_a_cursor_expires_after_a_week(backend: Backend, store_id: str) -> None:
    """Ours."""
    memories = backend.client().beta.memory_stores.memories
    for path in ("/a", "/b"):
        memories.create(store_id, path=path, content="x")
    cursor = str(memories.list(store_id, limit=1).next_page)
    backend.clock.advance(CURSOR_LIFETIME_US / 1_000_000 - 1)
    assert [row.path for row in memories.list(store_id, page=cursor).data] == ["/b"]
    backend.clock.advance(2)
    with pytest.raises(anthropic.BadRequestError, match=r"page.*expired"):
        memories.list(store_id, page=cursor)


def test_a_memory_is_listed_where_it_is_and_nowhere_else(client: anthropic.Anthropic, tree: str) -> None:
    """Read your own write: in the list the moment it is acknowledged."""
    memories = client.beta.memory_stores.memories
    listed = {row.path: row for row in memories.list(tree) if row.type == "memory"}
    memories.update(listed["/a"].id, memory_store_id=tree, path="/z")
    memories.delete(listed["/b0"].id, memory_store_id=tree)
    changed = memories.update(listed["/b-g"].id, memory_store_id=tree, content="new")
    now = {row.path: row for row in memories.list(tree) if row.type == "memory"}
    assert set(now) == set(TREE) - {"/a", "/b0"} | {"/z"}
    assert now["/b-g"].content_sha256 == changed.content_sha256
    assert now["/b-g"].memory_version_id == changed.memory_version_id
