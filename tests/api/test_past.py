"""Reading the past: a store as of an instant. All of this is ours; the API knows versions alone."""

from __future__ import annotations

from datetime import datetime

import anthropic
import pytest

from memolith.core.times import parse_rfc3339, rfc3339
from tests.api.harness import DAY_US, Backend

STORES = "/v1/memory_stores"
ABSENT = "mem_01kb0000000000000000000000"


def microseconds(moment: datetime) -> int:
    return parse_rfc3339(moment.isoformat())


def settle(backend: Backend) -> str:
    """The instant that it is now, once a snapshot of it can be had."""
    instant = rfc3339(backend.clock.now_us())
    backend.clock.advance(61)
    return instant


def listed(client: anthropic.Anthropic, store_id: str, as_of: str, **options: object) -> list[tuple[object, object]]:
    """Path and content of every memory of an instant, as the SDK's own pages bring them."""
    options = {"view": "full", "limit": 2, **options}
    pages = client.beta.memory_stores.memories.list(store_id, extra_query={"as_of": as_of}, **options)  # type: ignore[arg-type]  # keywords of more than one type
    return sorted((getattr(row, "path", None) or "", getattr(row, "content", None)) for row in pages)


def test_a_store_is_listed_as_it_was(backend: Backend, client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    before = settle(backend)
    a, b = (memories.create(store_id, path=path, content=f"first {path}") for path in ("/n/a", "/n/b"))
    memories.create(store_id, path="/z", content="first /z")
    first = settle(backend)
    memories.update(a.id, memory_store_id=store_id, content="second")
    memories.update(b.id, memory_store_id=store_id, path="/moved")
    second = settle(backend)
    memories.delete(a.id, memory_store_id=store_id)
    memories.create(store_id, path="/n/a", content="another memory")
    third = settle(backend)
    assert listed(client, store_id, before) == []
    assert listed(client, store_id, first) == [("/n/a", "first /n/a"), ("/n/b", "first /n/b"), ("/z", "first /z")]
    assert listed(client, store_id, second) == [("/moved", "first /n/b"), ("/n/a", "second"), ("/z", "first /z")]
    assert listed(client, store_id, third) == [("/moved", "first /n/b"), ("/n/a", "another memory"), ("/z", "first /z")]
    assert listed(client, store_id, first, path_prefix="/n/", limit=1) == [
        ("/n/a", "first /n/a"),
        ("/n/b", "first /n/b"),
    ]
    assert listed(client, store_id, first, view="basic") == [("/n/a", None), ("/n/b", None), ("/z", None)]


def test_a_store_is_searched_as_it_was(backend: Backend, client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    a, b = (memories.create(store_id, path=path, content=f"wombat {path[-1]}") for path in ("/n/a", "/n/b"))
    first = settle(backend)
    memories.update(a.id, memory_store_id=store_id, content="numbat")
    memories.delete(b.id, memory_store_id=store_id)
    memories.create(store_id, path="/z", content="wombat z")
    second = settle(backend)

    def found(instant: str, query: str = "wombat", **more: str) -> set[tuple[str, str]]:
        asked = "&".join(f"{name}={value}" for name, value in {"query": query, "as_of": instant, **more}.items())
        rows = backend.raw("GET", f"/v1/memory_stores/{store_id}/search", asked).body["data"]
        return {(row["memory"]["path"], row["excerpt"]) for row in rows}

    assert found(first) == {("/n/a", "wombat a"), ("/n/b", "wombat b")}
    assert found(first, "numbat") == set()
    assert found(first, path_prefix="/z/") == set()
    assert found(second) == {("/z", "wombat z")}
    assert found(second, "numbat") == {("/n/a", "numbat")}


def test_a_memory_is_retrieved_as_it_was(backend: Backend, client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    before = settle(backend)
    made = memories.create(store_id, path="/a", content="first")
    first = settle(backend)
    memories.update(made.id, memory_store_id=store_id, content="second", path="/b")
    second = settle(backend)
    memories.delete(made.id, memory_store_id=store_id)
    gone = settle(backend)

    def at(instant: str) -> tuple[object, ...]:
        then = memories.retrieve(made.id, memory_store_id=store_id, extra_query={"as_of": instant})
        return then.path, then.content, then.memory_version_id == made.memory_version_id, then.created_at

    assert at(first) == ("/a", "first", True, made.created_at)
    assert at(second) == ("/b", "second", False, made.created_at)
    for instant in (before, gone):
        with pytest.raises(anthropic.NotFoundError):
            at(instant)
    with pytest.raises(anthropic.NotFoundError):
        memories.retrieve(ABSENT, memory_store_id=store_id, extra_query={"as_of": first})


def test_a_version_bears_its_own_instant_and_not_the_one_before(backend: Backend, store_id: str) -> None:
    made = backend.client().beta.memory_stores.memories.create(store_id, path="/a", content="first")
    settle(backend)
    url = f"{STORES}/{store_id}/memories/{made.id}"
    exactly = microseconds(made.created_at)
    assert backend.raw("GET", url, f"as_of={rfc3339(exactly)}").status == 200
    assert backend.raw("GET", url, f"as_of={rfc3339(exactly - 1)}").status == 404


def test_what_was_erased_since_is_in_order_as_blank(
    backend: Backend, client: anthropic.Anthropic, store_id: str
) -> None:
    memories = client.beta.memory_stores.memories
    made = memories.create(store_id, path="/n/a", content="first")
    first = settle(backend)
    memories.update(made.id, memory_store_id=store_id, content="second")
    second = settle(backend)
    client.beta.memory_stores.memory_versions.redact(made.memory_version_id, memory_store_id=store_id)
    memories_url = f"{STORES}/{store_id}/memories"
    for view in ("basic", "full"):
        (row,) = backend.raw("GET", memories_url, f"as_of={first}&view={view}").body["data"]
        one = backend.raw("GET", f"{memories_url}/{made.id}", f"as_of={first}&view={view}").body
        for shown in (row, one):
            assert (shown["id"], shown["memory_version_id"]) == (made.id, made.memory_version_id)
            assert (shown["blank"], shown["path"], shown["content"], shown["content_sha256"]) == (
                True,
                None,
                None,
                None,
            )
            assert shown["updated_at"] == rfc3339(microseconds(made.updated_at))
    assert backend.raw("GET", memories_url, f"as_of={first}&path_prefix=/n/").body["data"] == []
    (row,) = backend.raw("GET", memories_url, f"as_of={second}&view=full").body["data"]
    assert (row["blank"], row["content"]) == (False, "second")


def test_an_instant_that_is_not_complete_yet_is_refused(backend: Backend, store_id: str) -> None:
    """409, not to be repeated at once: it tells how far a snapshot may be asked for."""
    url = f"{STORES}/{store_id}/memories"
    for path in (url, f"{url}/{ABSENT}"):
        reply = backend.raw("GET", path, f"as_of={rfc3339(backend.clock.now_us())}")
        if backend.region == backend.home:
            assert (reply.status, reply.error["type"]) == (409, "memory_snapshot_incomplete_error")
            assert reply.headers["x-should-retry"] == "false"
            assert reply.headers["x-memolith-complete-until"] != "unknown"
        else:
            assert reply.status in (200, 404)
        future = backend.raw("GET", path, f"as_of={rfc3339(backend.clock.now_us() + DAY_US)}")
        assert (future.status, future.error["message"]) == (400, "as_of: must not be in the future")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("as_of=yesterday", "as_of: must be an RFC 3339 date and time"),
        ("as_of=", "as_of: must be an RFC 3339 date and time"),
        ("as_of=2026-11-21T10:00:00", "as_of: must be an RFC 3339 date and time"),
        ("as_of=2026-01-01T00:00:00Z&as_of=2026-01-01T00:00:00Z", "as_of: must be given once"),
        ("as_of=2026-01-01T00:00:00Z&depth=1", "depth: cannot be combined with as_of"),
        ("as_of=2026-01-01T00:00:00Z&path_prefix=notes", "path_prefix"),
    ],
)
def test_a_question_at_fault_is_told_field_and_rule(backend: Backend, store_id: str, query: str, message: str) -> None:
    reply = backend.raw("GET", f"{STORES}/{store_id}/memories", query)
    assert reply.status == 400
    assert reply.error["message"].startswith(message)


def test_a_cursor_belongs_to_its_instant(backend: Backend, client: anthropic.Anthropic, store_id: str) -> None:
    for name in "abc":
        client.beta.memory_stores.memories.create(store_id, path=f"/{name}", content=name)
    first, second = settle(backend), settle(backend)
    url = f"{STORES}/{store_id}/memories"
    page = backend.raw("GET", url, f"as_of={first}&limit=1").body["next_page"]
    assert backend.raw("GET", url, f"as_of={first}&limit=1&page={page}").status == 200
    for query in (f"as_of={second}", "", f"as_of={first}&path_prefix=/n/"):
        reply = backend.raw("GET", url, f"{query}&page={page}")
        assert (reply.status, reply.error["message"].split(":")[0]) == (400, "page")
