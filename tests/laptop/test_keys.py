"""API keys of a laptop: made, listed and revoked over HTTP and by the command, with no more rights than they say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.api.harness import Backend, memolith_backend
from tests.api.laptop import laptop_backends
from tests.support.folders import quick_folder


@pytest.fixture
def backend() -> Iterator[Backend]:
    with quick_folder() as root, laptop_backends(root) as build:
        yield build(10_000)


def keys(backend: Backend, method: str = "GET", path: str = "", key: str | None = None, **body: Any) -> Any:
    headers = {"authorization": f"Bearer {key}"} if key else None
    return backend.raw(method, f"/v1/api_keys{path}", body=body or None, headers=headers)


def test_a_key_may_what_its_scope_says_in_the_stores_that_it_names_and_is_refused_once_revoked(
    backend: Backend,
) -> None:
    stores = backend.client().beta.memory_stores
    mine, other = stores.create(name="Mine").id, stores.create(name="Other").id
    made = keys(backend, "POST", name="reader", scope="read", memory_store_ids=[mine], holder="agent").body
    assert (made["type"], made["scope"], made["memory_store_ids"], made["holder"]) == (
        "api_key",
        "read",
        [mine],
        "agent",
    )
    reader = backend.client(made["api_key"], max_retries=0).beta.memory_stores
    assert [store.id for store in reader.list()] == [mine]
    with pytest.raises(anthropic.PermissionDeniedError):
        reader.memories.create(mine, path="/a", content="1")
    with pytest.raises(anthropic.NotFoundError):
        reader.retrieve(other)
    revoked = keys(backend, "POST", f"/{made['id']}/revoke").body
    assert revoked["revoked_at"] and "api_key" not in revoked
    with pytest.raises(anthropic.AuthenticationError):
        list(reader.list())
    listed = keys(backend).body["data"]
    assert listed[0]["id"] == made["id"] and not any("api_key" in one for one in listed)
    assert made["api_key"] not in json.dumps(listed)


def test_none_but_an_admin_of_all_stores_manages_keys(backend: Backend) -> None:
    store = backend.client().beta.memory_stores.create(name="Notes").id
    token = backend.raw(
        "POST",
        "/v1/sessions",
        body={"resources": [{"type": "memory_store", "memory_store_id": store, "access": "read_write"}]},
    ).body["token"]
    limited = keys(backend, "POST", scope="admin", memory_store_ids=[store]).body["api_key"]
    writer = keys(backend, "POST", scope="write").body["api_key"]
    before = len(keys(backend).body["data"])
    for key in (token, limited, writer):
        assert keys(backend, key=key).status == 403
        assert keys(backend, "POST", key=key, scope="admin").status == 403
        assert keys(backend, "POST", "/apikey_laptop_01kb0000000000000000000000/revoke", key=key).status == 403
    assert len(keys(backend).body["data"]) == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scope": "owner"}, "scope"),
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"expires_at": "1971-01-01T00:00:00Z"}, "expires_at"),
        ({"memory_store_ids": ["x"]}, "stores"),
        ({"memory_store_ids": ["memstore_x"] * 17}, "memory_store_ids"),
        ({"holder": "cat"}, "holder"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_body_that_makes_no_sense_is_refused_and_its_field_named(
    backend: Backend, body: dict[str, Any], field: str
) -> None:
    before = len(keys(backend).body["data"])
    refused = keys(backend, "POST", **body)
    assert refused.status == 400 and field in refused.body["error"]["message"]
    assert len(keys(backend).body["data"]) == before


def test_a_key_that_nobody_issued_is_not_found(backend: Backend) -> None:
    for key_id in ("apikey_laptop_01kb0000000000000000000000", "nonsense"):
        assert keys(backend, "POST", f"/{key_id}/revoke").status == 404


def test_a_deployments_api_has_no_such_route() -> None:
    assert keys(memolith_backend()).status == 404
