"""API keys that expire, and keys that are limited to stores, as their callers see it."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.api.harness import Backend


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


def _store(backend: Backend, name: str = "Team notes") -> str:
    return backend.client().beta.memory_stores.create(name=name).id


def _bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def _begin(*stores: str) -> dict[str, Any]:
    return {"resources": [{"type": "memory_store", "memory_store_id": store} for store in stores]}


def test_an_expired_key_is_refused_from_the_very_microsecond_on(backend: Backend) -> None:
    store = _store(backend)
    key = backend.issue_key("main", "read", expires_at=backend.clock.now_us() + 60_000_000)
    client = backend.client(key)
    assert client.beta.memory_stores.retrieve(store).id == store
    backend.clock.advance(60)
    with pytest.raises(anthropic.AuthenticationError, match="expired"):
        client.beta.memory_stores.retrieve(store)
    assert backend.client().beta.memory_stores.retrieve(store).id == store


def test_a_key_without_limits_reaches_a_store_that_was_made_after_it(backend: Backend) -> None:
    key = backend.issue_key("main", "read")
    assert backend.client(key).beta.memory_stores.retrieve(_store(backend)).name == "Team notes"


def test_a_limited_key_finds_its_own_stores_and_no_other(backend: Backend) -> None:
    mine, other = _store(backend, "mine"), _store(backend, "other")
    memory = backend.client().beta.memory_stores.memories.create(other, path="/a", content="x")
    limited = backend.client(backend.issue_key("main", "admin", stores=[mine])).beta.memory_stores
    made = limited.memories.create(mine, path="/a", content="y", view="full")
    assert limited.memories.retrieve(made.id, memory_store_id=mine).content == "y"
    assert limited.retrieve(mine).name == "mine"
    for attempt in (
        lambda: limited.retrieve(other),
        lambda: limited.update(other, name="mine"),
        lambda: limited.archive(other),
        lambda: limited.delete(other),
        lambda: limited.memories.list(other),
        lambda: limited.memories.create(other, path="/b", content="z"),
        lambda: limited.memories.retrieve(memory.id, memory_store_id=other),
        lambda: limited.memories.delete(memory.id, memory_store_id=other),
        lambda: limited.memory_versions.list(other),
        lambda: limited.memory_versions.redact(memory.memory_version_id, memory_store_id=other),
    ):
        with pytest.raises(anthropic.NotFoundError):
            attempt()
    assert [one.to_dict()["path"] for one in backend.client().beta.memory_stores.memories.list(other)] == ["/a"]


@pytest.mark.parametrize("below", ["search?query=x", "pack", "quarantine", "divergent", "memory_versions"])
def test_no_listing_below_a_store_answers_a_key_that_is_limited_to_others(backend: Backend, below: str) -> None:
    mine, other = _store(backend, "mine"), _store(backend, "other")
    key = _bearer(backend.issue_key("main", "admin", stores=[mine]))
    path, _, query = below.partition("?")
    assert backend.raw("GET", f"/v1/memory_stores/{other}/{path}", query, headers=key).status == 404


def test_a_store_outside_a_keys_limit_answers_as_one_that_never_was(backend: Backend) -> None:
    mine, other = _store(backend, "mine"), _store(backend, "other")
    key = _bearer(backend.issue_key("main", "admin", stores=[mine]))
    unknown = mine[:-26] + "0" * 26
    replies = [backend.raw("GET", f"/v1/memory_stores/{store}", headers=key) for store in (other, unknown)]
    texts = [reply.error["message"].replace(store, "…") for reply, store in zip(replies, (other, unknown), strict=True)]
    assert [reply.status for reply in replies] == [404, 404]
    assert texts[0] == texts[1]


def test_a_limited_key_makes_no_store_and_is_told_why(backend: Backend) -> None:
    key = backend.issue_key("main", "admin", stores=[_store(backend)])
    with pytest.raises(anthropic.PermissionDeniedError, match="limited"):
        backend.client(key).beta.memory_stores.create(name="another")


def test_a_limited_key_lists_its_stores_alone_newest_first_and_page_by_page(backend: Backend) -> None:
    stores = [_store(backend, str(number)) for number in range(5)]
    mine = [stores[0], stores[2], stores[3]]
    listing = backend.client(backend.issue_key("main", "read", stores=mine)).beta.memory_stores
    assert [one.id for one in listing.list()] == mine[::-1]
    assert [one.id for one in listing.list(limit=1)] == mine[::-1]
    backend.client().beta.memory_stores.archive(stores[2])
    assert [one.id for one in listing.list(limit=1)] == [stores[3], stores[0]]
    assert [one.id for one in listing.list(limit=1, include_archived=True)] == mine[::-1]


def test_a_key_that_is_limited_to_another_workspaces_store_gains_nothing(backend: Backend) -> None:
    foreign = _store(backend)
    client = backend.client(backend.issue_key("other", "admin", stores=[foreign]))
    assert list(client.beta.memory_stores.list()) == []
    with pytest.raises(anthropic.NotFoundError):
        client.beta.memory_stores.retrieve(foreign)


def test_a_limited_key_begins_sees_and_ends_sessions_of_its_stores_alone(backend: Backend) -> None:
    mine, other = _store(backend, "mine"), _store(backend, "other")
    key = _bearer(backend.issue_key("main", "admin", stores=[mine]))
    own = backend.raw("POST", "/v1/sessions", body=_begin(mine), headers=key)
    assert own.status == 200
    assert backend.raw("POST", "/v1/sessions", body=_begin(mine, other), headers=key).status == 404
    foreign = backend.raw("POST", "/v1/sessions", body=_begin(mine, other)).body
    address = f"/v1/sessions/{foreign['id']}"
    for method, path in (
        ("GET", address),
        ("POST", f"{address}/token"),
        ("POST", f"{address}/archive"),
        ("POST", f"{address}/context"),
        ("DELETE", address),
    ):
        assert backend.raw(method, path, headers=key).status == 404, (method, path)
    listed = backend.raw("GET", "/v1/sessions", headers=key).body["data"]
    assert [one["id"] for one in listed] == [own.body["id"]]
    assert backend.raw("GET", address).body["status"] == "idle"


def test_a_key_with_a_limit_of_calls_is_told_when_to_come_back(backend: Backend) -> None:
    store = _store(backend)
    client = backend.client(backend.issue_key("main", "read", requests_per_minute=3), max_retries=0)
    for _ in range(3):
        assert client.beta.memory_stores.retrieve(store).id == store
    with pytest.raises(anthropic.RateLimitError, match="3 requests a minute") as refused:
        client.beta.memory_stores.retrieve(store)
    assert refused.value.response.headers["retry-after"] == "20"
    assert refused.value.body["error"]["type"] == "rate_limit_error"  # type: ignore[index]  # JSON has no type
    assert backend.client().beta.memory_stores.retrieve(store).id == store
    backend.clock.advance(20)
    assert client.beta.memory_stores.retrieve(store).id == store


def test_a_session_uses_its_keys_calls(backend: Backend) -> None:
    store = _store(backend)
    key = backend.issue_key("main", "write", requests_per_minute=2)
    begun = backend.raw("POST", "/v1/sessions", body=_begin(store), headers=_bearer(key))
    assert begun.status == 200
    token, path = _bearer(begun.body["token"]), f"/v1/memory_stores/{store}/memories"
    assert backend.raw("GET", path, headers=token).status == 200
    assert backend.raw("GET", path, headers=token).status == 429
