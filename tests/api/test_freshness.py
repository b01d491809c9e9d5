"""How fresh an answer is, and how fresh it is asked to be. All of this is ours."""

from __future__ import annotations

import anthropic
import pytest

from memolith.core.times import parse_rfc3339
from tests.api.harness import Backend


@pytest.fixture(scope="module")
def backend(shared_backend: Backend) -> Backend:
    """Shared: each test has a store of its own."""
    return shared_backend


STORES = "/v1/memory_stores"
UNTIL, LAG = "x-memolith-complete-until", "x-memolith-lag-ms"
UNKNOWN = "memver_01kb0000000000000000000000"


def test_every_answer_to_a_get_says_how_fresh_it_is(backend: Backend, store_id: str) -> None:
    made = backend.client().beta.memory_stores.memories.create(store_id, path="/a", content="1")
    store = f"{STORES}/{store_id}"
    asked = {
        STORES: 200,
        store: 200,
        f"{store}/memories": 200,
        f"{store}/memories/{made.id}": 200,
        f"{store}/memories/mem_01kb0000000000000000000000": 404,
        f"{store}/memory_versions": 200,
        f"{store}/memory_versions/{made.memory_version_id}": 200,
        f"{store}/memory_versions/{UNKNOWN}": 404,
    }
    for path, status in asked.items():
        reply = backend.raw("GET", path)
        assert reply.status == status
        until_us = parse_rfc3339(reply.headers[UNTIL])
        assert int(reply.headers[LAG]) == max(0, backend.clock.now_us() - until_us) // 1000


def test_an_answer_to_a_write_does_not(backend: Backend, store_id: str) -> None:
    reply = backend.raw("POST", f"{STORES}/{store_id}/memories", body={"path": "/a", "content": "1"})
    assert not {UNTIL, LAG} & reply.headers.keys()


def test_what_is_refused_before_the_index_is_read_is_of_unknown_freshness(backend: Backend, store_id: str) -> None:
    for path, query, headers in (
        (STORES, "", {"authorization": "Bearer x"}),
        (f"{STORES}/{store_id}/memories", "limit=0", {}),
        ("/nowhere", "", {}),
    ):
        reply = backend.raw("GET", path, query, headers=headers)
        assert reply.status >= 400
        assert reply.headers[UNTIL] == "unknown"
        assert LAG not in reply.headers


@pytest.mark.parametrize(
    ("header", "value", "rule"),
    [
        ("x-memolith-consistency", "strong", "must be region or home"),
        ("x-memolith-consistency", "", "must be region or home"),
        ("x-memolith-consistency", "Home", "must be region or home"),
        ("x-memolith-consistency", "home,region", "must be region or home"),
        ("x-memolith-min-version", "7", "must be the id of a version"),
        ("x-memolith-min-version", "", "must be the id of a version"),
        ("x-memolith-min-version", f"{UNKNOWN}x", "must be the id of a version"),
        ("x-memolith-min-version", "mem_01kb0000000000000000000000", "must be the id of a version"),
    ],
)
def test_another_value_is_refused_by_name_and_rule(
    backend: Backend, store_id: str, header: str, value: str, rule: str
) -> None:
    for method, path in (("GET", STORES), ("GET", f"{STORES}/{store_id}/memories"), ("POST", STORES)):
        reply = backend.raw(method, path, headers={header: value})
        assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
        assert reply.error["message"].startswith(f"{header}: {rule}")


@pytest.mark.parametrize("headers", [{"x-memolith-consistency": "home"}, {"x-memolith-min-version": UNKNOWN}])
def test_a_listing_of_stores_has_no_one_home(backend: Backend, headers: dict[str, str]) -> None:
    reply = backend.raw("GET", STORES, headers=headers)
    assert (reply.status, reply.error["message"].split(":")[0]) == (400, next(iter(headers)))


def test_the_sdk_reads_what_it_demands(backend: Backend, client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    made = memories.create(store_id, path="/a", content="1")
    newest = memories.update(made.id, memory_store_id=store_id, content="2")
    for headers in (
        {"x-memolith-consistency": "home"},
        {"x-memolith-consistency": "region"},
        {"x-memolith-min-version": newest.memory_version_id},
        {"x-memolith-consistency": "home", "x-memolith-min-version": newest.memory_version_id},
    ):
        assert memories.retrieve(made.id, memory_store_id=store_id, extra_headers=headers).content == "2"
        listed = memories.list(store_id, view="full", extra_headers=headers)
        assert [row.content for row in listed if row.type == "memory"] == ["2"]
        versions = client.beta.memory_stores.memory_versions.list(store_id, view="full", extra_headers=headers)
        assert [version.content for version in versions] == ["2", "1"]
        assert client.beta.memory_stores.retrieve(store_id, extra_headers=headers).id == store_id
    client.with_options(default_headers={"x-memolith-consistency": "home"}).beta.memory_stores.memories.delete(
        made.id, memory_store_id=store_id
    )
    with pytest.raises(anthropic.NotFoundError):
        memories.retrieve(made.id, memory_store_id=store_id, extra_headers={"x-memolith-consistency": "home"})


def test_a_version_that_is_none_of_the_stores_is_refused(backend: Backend, store_id: str) -> None:
    reply = backend.raw("GET", f"{STORES}/{store_id}/memories", headers={"x-memolith-min-version": UNKNOWN})
    assert (reply.status, reply.error["message"]) == (
        400,
        f"x-memolith-min-version: {UNKNOWN} is not known in this store",
    )
