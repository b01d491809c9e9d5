"""API keys over HTTP, on a laptop and of a deployment: made, listed and revoked, with no more rights than they say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import anthropic
import pytest

from memolith.adapters.memory import ManualClock, RecordingMetrics, SeededRandomness
from memolith.entry.compose_keys import refuse_token
from memolith.wire.http import HttpApi
from memolith.wire.routes.table import KEY_ROUTES
from scripts.local_cloud.front_door import function_for
from tests.api.harness import Backend
from tests.api.laptop import laptop_backends
from tests.support.cloud import Cloud
from tests.support.folders import quick_folder


def deployed() -> Backend:
    """A deployment, whose gateway has each request answered by the function that it is for."""
    clock = ManualClock()
    cloud = Cloud(("us-east-1",), clock=clock)
    cloud.claim_complete("us-east-1", clock.now_us())
    memolith = cloud.sites["us-east-1"].memolith
    others = HttpApi(memolith, clock, SeededRandomness(1), RecordingMetrics())
    issuing = HttpApi(memolith, clock, SeededRandomness(2), RecordingMetrics(), KEY_ROUTES, refuse_token)

    def answer(event: Mapping[str, Any]) -> dict[str, Any]:
        asked = event["requestContext"]["http"]
        return (issuing if function_for(asked["method"], asked["path"]) == "keys" else others).answer(event)

    def issue_key(name: str, scope: str, **limits: Any) -> str:
        return cloud.key(scope, f"wrkspc_{name}", **limits)

    return Backend(memolith, clock, issue_key, served=answer)


@pytest.fixture(params=["laptop", "deployed"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    if request.param == "deployed":
        yield deployed()
        return
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
        (
            {"expires_at": "9999-12-31T23:59:59-05:00"},
            "expires_at: must be before the year 10000 in UTC",
        ),
        ({"memory_store_ids": ["x"]}, "memory_store_ids: must name"),
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


def test_keys_are_listed_newest_first_and_a_page_at_a_time(backend: Backend) -> None:
    made = [keys(backend, "POST", name=f"key {number}").body["id"] for number in range(5)]
    listed: list[str] = []
    query = "limit=2"
    while True:
        page = backend.raw("GET", "/v1/api_keys", query).body
        listed += [one["id"] for one in page["data"]]
        if page["next_page"] is None:
            break
        query = f"limit=2&page={page['next_page']}"
    assert listed[:5] == made[::-1] and len(listed) == len(set(listed))
    assert backend.raw("GET", "/v1/api_keys", "limit=0").error["message"].startswith("limit")
    assert backend.raw("GET", "/v1/api_keys", "page=page_x").error["message"].startswith("page")
    assert backend.raw("GET", "/v1/api_keys", "scope=read").error["message"].startswith("scope")


def test_the_keys_of_another_workspace_are_not_there(backend: Backend) -> None:
    theirs = backend.issue_key("other", "admin")
    mine = keys(backend, "POST", name="mine").body["id"]
    assert mine not in json.dumps(keys(backend, key=theirs).body)
    assert keys(backend, "POST", f"/{mine}/revoke", key=theirs).status == 404
    assert keys(backend).body["data"][0]["revoked_at"] is None


def test_a_stranger_is_refused_before_its_body_is_read(backend: Backend) -> None:
    stranger = f"sk-memolith-main-{'laptop_' + '0' * 26}-{'a' * 32}"
    for key in (stranger, "nonsense", ""):
        reply = backend.raw("POST", "/v1/api_keys", body=b"{", headers={"authorization": f"Bearer {key}"})
        assert (reply.status, reply.error["type"]) == (401, "authentication_error")
