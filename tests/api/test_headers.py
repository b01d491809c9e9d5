"""Who asks and what every answer says of itself: keys, workspaces, scopes, regions, request ids."""

from __future__ import annotations

import anthropic
import httpx2
import pytest

from tests.api.harness import BASE_URL, Backend

STORES = "/v1/memory_stores"


def test_both_forms_of_authentication_are_equals(backend: Backend) -> None:
    """SDK 2.x sends Authorization: Bearer, earlier ones X-Api-Key."""
    for headers in (
        {"authorization": f"Bearer {backend.api_key}"},
        {"authorization": f"bearer  {backend.api_key} "},
        {"Authorization": "", "X-Api-Key": backend.api_key},
        {"authorization": f"Bearer {backend.api_key}", "x-api-key": backend.api_key},
        {"authorization": f"Bearer {backend.api_key}", "x-api-key": "sk-ant-of-another-vendor"},
        {"authorization": "Basic dTpw", "x-api-key": backend.api_key},
    ):
        assert backend.raw("GET", STORES, headers=headers).status == 200
    token = anthropic.Anthropic(
        auth_token=backend.api_key, base_url=BASE_URL, http_client=httpx2.Client(transport=backend.gateway)
    )
    assert list(token.beta.memory_stores.list()) == []


def test_a_key_that_is_none_of_ours_is_unauthenticated(backend: Backend) -> None:
    known = backend.api_key
    for headers in (
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": f"Basic {known}"},
        {"authorization": known},
        {"authorization": f"Bearer {known} {known}"},
        {"authorization": f"Bearer {known},Bearer {known}"},
        {"authorization": "Bearer sk-ant-x"},
        {"authorization": f"Bearer {known[:-1]}"},
        {"authorization": f"Bearer {known}0"},
        {"authorization": f"Bearer {known.replace('-main-', '-other-')}"},
        {"authorization": f"Bearer {known.upper()}"},
        {"authorization": "Bearer ключ"},
        {"authorization": "", "x-api-key": known[:30]},
        {"authorization": f"Bearer {known}", "x-api-key": backend.issue_key("main", "read")},
    ):
        reply = backend.raw("GET", STORES, headers=headers)
        assert (reply.status, reply.error["type"]) == (401, "authentication_error"), headers
        assert "anthropic-workspace-id" not in reply.headers
        assert known not in str(reply.body)


def test_a_workspace_header_must_match_the_keys_workspace(backend: Backend) -> None:
    """That it must match is the API's; 403, whether or not that workspace exists, is ours."""
    client = backend.client()
    assert list(client.beta.memory_stores.list(workspace_id="wrkspc_main")) == []
    backend.issue_key("other", "admin")
    for workspace in ("wrkspc_other", "wrkspc_nowhere", "main", ""):
        reply = backend.raw("GET", STORES, headers={"anthropic-workspace-id": workspace})
        assert (reply.status, reply.error["type"]) == (403, "permission_error")


def test_a_keys_scope_is_what_it_may_do(backend: Backend, store_id: str) -> None:
    """Ours: the API's keys have no scope. A read key reads, a write key also writes memories, an admin key all."""
    own = backend.client().beta.memory_stores
    memory = own.memories.create(store_id, path="/a", content="1")
    own.memories.update(memory.id, memory_store_id=store_id, content="2")
    reader = backend.client(backend.issue_key("main", "read")).beta.memory_stores
    writer = backend.client(backend.issue_key("main", "write")).beta.memory_stores
    for key in (reader, writer):
        assert key.retrieve(store_id).id == store_id
        assert len(list(key.list())) == 1
        assert key.memories.retrieve(memory.id, memory_store_id=store_id).content == "2"
        assert len(list(key.memories.list(store_id))) == 1
        assert len(list(key.memory_versions.list(store_id))) == 2
        with pytest.raises(anthropic.PermissionDeniedError):
            key.create(name="x")
        with pytest.raises(anthropic.PermissionDeniedError):
            key.update(store_id, name="x")
        with pytest.raises(anthropic.PermissionDeniedError):
            key.archive(store_id)
        with pytest.raises(anthropic.PermissionDeniedError):
            key.delete(store_id)
        with pytest.raises(anthropic.PermissionDeniedError):
            key.memory_versions.redact(memory.memory_version_id, memory_store_id=store_id)
    with pytest.raises(anthropic.PermissionDeniedError):
        reader.memories.create(store_id, path="/b", content="x")
    with pytest.raises(anthropic.PermissionDeniedError):
        reader.memories.update(memory.id, memory_store_id=store_id, content="x")
    with pytest.raises(anthropic.PermissionDeniedError):
        reader.memories.delete(memory.id, memory_store_id=store_id)
    writer.memories.create(store_id, path="/b", content="x")
    writer.memories.update(memory.id, memory_store_id=store_id, content="3")
    writer.memories.delete(memory.id, memory_store_id=store_id)


def test_every_answer_says_which_region_gave_it_and_whose_home_it_asked(backend: Backend, store_id: str) -> None:
    own = backend.raw("GET", f"{STORES}/{store_id}")
    assert (own.headers["x-memolith-region"], own.headers["x-memolith-home"]) == (backend.region, backend.home)
    refused = backend.raw("GET", f"{STORES}/{store_id}/memories/mem_01kb0000000000000000000000")
    assert (refused.status, refused.headers["x-memolith-home"]) == (404, backend.home)
    for path in (STORES, f"{STORES}/x", "/nowhere"):
        assert backend.raw("GET", path).headers["x-memolith-home"] == "unknown"
    assert own.headers["anthropic-workspace-id"] == "wrkspc_main"
    assert own.headers["cache-control"] == "no-store"


def test_request_ids_are_unique_and_reach_the_sdk(backend: Backend) -> None:
    client = backend.client()
    ids = {client.beta.memory_stores.create(name="x")._request_id for _ in range(20)}
    assert len(ids) == 20
    assert None not in ids


def test_requests_are_counted_by_operation_and_status(backend: Backend, store_id: str) -> None:
    backend.raw("GET", f"{STORES}/{store_id}")
    backend.raw("GET", f"{STORES}/x")
    of_requests = [(labels, total) for (name, labels), total in backend.metrics.counts.items() if name == "requests"]
    counts = {tuple(value for _, value in labels): total for labels, total in of_requests}
    assert counts == {("create_store", "200"): 1, ("retrieve_store", "200"): 1, ("retrieve_store", "404"): 1}
    assert all(duration >= 0 for series in backend.metrics.durations_ms.values() for duration in series)


def test_logs_tell_of_requests_without_paths_ids_content_or_keys(
    backend: Backend, store_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="memolith")
    memories = backend.client().beta.memory_stores.memories
    memory = memories.create(store_id, path="/private/diary", content="dear diary")
    list(memories.list(store_id, path_prefix="/private/"))
    backend.raw("POST", f"{STORES}/{store_id}/memories", body={"path": "/private/x", "content": 1})
    logged = "".join(str(record.__dict__) for record in caplog.records)
    assert logged.count("'operation'") == 3
    for private in ("private", "diary", memory.id, store_id, backend.api_key, backend.api_key[-20:]):
        assert private not in logged
