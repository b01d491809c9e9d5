"""Sessions and their tokens, with the unchanged SDK, at home and in a region that hears of things late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import jwt
import pytest

from memolith.adapters.jwk import made
from memolith.core.times import rfc3339
from tests.api.harness import Backend
from tests.api.session_calls import bearer, begin_session, begin_session_with, create_store, key_id, listed_sessions


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


def _token(backend: Backend, *resources: dict[str, Any]) -> str:
    return str(begin_session(backend, *resources).body["token"])


def test_a_session_shows_its_stores_as_they_were_and_where_they_are_mounted(backend: Backend) -> None:
    one, two, odd = (
        create_store(backend, "Demo Memory"),
        create_store(backend, "demo  memory!"),
        create_store(backend, "記憶"),
    )
    reply = begin_session(
        backend,
        {"memory_store_id": one, "instructions": "read first"},
        {"memory_store_id": two, "access": "read_only"},
        {"memory_store_id": odd},
        title="Tuesday",
        metadata={"team": "a"},
    )
    paths = [resource["mount_path"] for resource in reply.body["resources"]]
    assert paths == ["/mnt/memory/demo-memory", "/mnt/memory/demo-memory-2", "/mnt/memory/store"]
    backend.client().beta.memory_stores.update(one, name="Another name")
    again = backend.raw("GET", f"/v1/sessions/{reply.body['id']}").body
    assert again == {name: value for name, value in reply.body.items() if not name.startswith("token")}
    assert again["resources"][0]["name"] == "Demo Memory"
    assert again["resources"][0]["instructions"] == "read first"


def test_the_sdk_begins_sessions(backend: Backend) -> None:
    session = backend.client().beta.sessions.create(
        agent="agent_1",
        environment_id="env_1",
        resources=[{"type": "memory_store", "memory_store_id": create_store(backend), "access": "read_only"}],
    )
    assert session.status == "idle"
    assert session.resources[0].type == "memory_store"


def test_null_in_a_resource_of_the_sdk_means_the_same_as_leaving_its_field_out(backend: Backend) -> None:
    """The SDK types `access` as optional."""
    session = backend.client().beta.sessions.create(
        agent="agent_1",
        environment_id="env_1",
        resources=[{"type": "memory_store", "memory_store_id": create_store(backend), "access": None}],
        extra_body={"token_lifetime_seconds": None},
    )
    [resource] = session.resources
    assert resource.type == "memory_store"
    assert resource.access == "read_write"


def test_what_a_token_writes_carries_the_session(backend: Backend) -> None:
    store = create_store(backend)
    session = begin_session(backend, {"memory_store_id": store}).body
    memories = backend.client(session["token"]).beta.memory_stores.memories
    memory = memories.create(store, path="/a", content="x")
    memories.update(memory.id, memory_store_id=store, content="y")
    versions = backend.client(session["token"]).beta.memory_stores.memory_versions.list(store, memory_id=memory.id)
    for version in versions:
        assert version.created_by is not None
        assert version.created_by.to_dict() == {"type": "session_actor", "session_id": session["id"]}


def test_a_token_of_one_store_opens_no_other_and_nothing_else(backend: Backend) -> None:
    store, other = create_store(backend), create_store(backend, "other")
    client = backend.client(_token(backend, {"memory_store_id": store}))
    with pytest.raises(anthropic.NotFoundError):
        client.beta.memory_stores.memories.create(other, path="/a", content="x")
    with pytest.raises(anthropic.NotFoundError):
        client.beta.memory_stores.retrieve(other)
    attempts: list[Callable[[], object]] = [
        lambda: client.beta.memory_stores.create(name="mine"),
        lambda: client.beta.memory_stores.list(),
        lambda: client.beta.memory_stores.update(store, name="mine"),
        lambda: client.beta.memory_stores.archive(store),
        lambda: client.beta.memory_stores.delete(store),
        lambda: client.post("/v1/sessions", cast_to=object, body={"resources": []}),
    ]
    for attempt in attempts:
        with pytest.raises((anthropic.PermissionDeniedError, anthropic.BadRequestError)):
            attempt()
    assert client.beta.memory_stores.retrieve(store).id == store


def test_read_only_holds_against_a_client_that_lies(backend: Backend) -> None:
    store = create_store(backend)
    memory = backend.client().beta.memory_stores.memories.create(store, path="/a", content="x")
    client = backend.client(_token(backend, {"memory_store_id": store, "access": "read_only"}))
    memories = client.beta.memory_stores.memories
    assert memories.retrieve(memory.id, memory_store_id=store).content == "x"
    attempts: list[Callable[[], object]] = [
        lambda: memories.create(store, path="/b", content="y"),
        lambda: memories.update(memory.id, memory_store_id=store, content="y"),
        lambda: memories.update(memory.id, memory_store_id=store, path="/c"),
        lambda: memories.delete(memory.id, memory_store_id=store),
        lambda: client.beta.memory_stores.memory_versions.redact(memory.memory_version_id, memory_store_id=store),
    ]
    for attempt in attempts:
        with pytest.raises(anthropic.PermissionDeniedError):
            attempt()
    assert [item.to_dict()["path"] for item in memories.list(store)] == ["/a"]


def test_a_session_that_has_ended_opens_nothing(backend: Backend) -> None:
    store = create_store(backend)
    session = begin_session(backend, {"memory_store_id": store}).body
    client = backend.client(session["token"])
    client.beta.memory_stores.memories.list(store)
    ended = backend.raw("POST", f"/v1/sessions/{session['id']}/archive").body
    assert ended["status"] == "terminated"
    assert backend.raw("POST", f"/v1/sessions/{session['id']}/archive").body == ended
    with pytest.raises(anthropic.AuthenticationError):
        client.beta.memory_stores.memories.list(store)
    assert backend.raw("POST", f"/v1/sessions/{session['id']}/token").status == 400


def test_a_token_ends_by_itself_and_another_can_be_had(backend: Backend) -> None:
    store = create_store(backend)
    session = begin_session(backend, {"memory_store_id": store}, token_lifetime_seconds=60).body
    backend.clock.advance(61)
    with pytest.raises(anthropic.AuthenticationError):
        backend.client(session["token"]).beta.memory_stores.memories.list(store)
    renewed = backend.raw("POST", f"/v1/sessions/{session['id']}/token", body={"token_lifetime_seconds": 120}).body
    assert list(backend.client(renewed["token"]).beta.memory_stores.memories.list(store)) == []


def test_a_key_that_may_only_read_gives_no_leave_to_write(backend: Backend) -> None:
    store, reader = create_store(backend), {"authorization": f"Bearer {backend.issue_key('main', 'read')}"}
    body = {"resources": [{"type": "memory_store", "memory_store_id": store}]}
    assert backend.raw("POST", "/v1/sessions", body=body, headers=reader).status == 403
    body["resources"][0]["access"] = "read_only"
    assert backend.raw("POST", "/v1/sessions", body=body, headers=reader).status == 200


def test_a_session_of_another_workspace_is_not_found(backend: Backend) -> None:
    session = begin_session(backend, {"memory_store_id": create_store(backend)}).body
    stranger = {"authorization": f"Bearer {backend.issue_key('other', 'admin')}"}
    assert backend.raw("GET", f"/v1/sessions/{session['id']}", headers=stranger).status == 404
    assert backend.raw("POST", f"/v1/sessions/{session['id']}/archive", headers=stranger).status == 404


@pytest.mark.parametrize(
    ("resources", "field"),
    [
        ([], "resources"),
        ([{"type": "memory_store", "memory_store_id": "STORE"}] * 2, "resources.1.memory_store_id"),
        ([{"type": "memory_store", "memory_store_id": "STORE", "access": "admin"}], "resources.0.access"),
        ([{"type": "file", "memory_store_id": "STORE"}], "resources.0.type"),
        ([{"type": "memory_store", "memory_store_id": "STORE", "instructions": "x" * 4097}], "instructions"),
    ],
)
def test_a_session_that_cannot_be_is_refused_by_the_field(
    backend: Backend, resources: list[dict[str, str]], field: str
) -> None:
    store = create_store(backend)
    named = [{**one, "memory_store_id": store} for one in resources]
    reply = backend.raw("POST", "/v1/sessions", body={"resources": named})
    assert reply.status == 400
    assert field in reply.error["message"]


def test_an_archived_store_is_not_attached_but_stays_with_earlier_sessions(backend: Backend) -> None:
    store = create_store(backend)
    client = backend.client(_token(backend, {"memory_store_id": store}))
    backend.client().beta.memory_stores.archive(store)
    assert begin_session(backend, {"memory_store_id": store}).status == 400
    assert list(client.beta.memory_stores.memories.list(store)) == []


FOREIGN_KEY = jwt.PyJWK.from_dict(dict(made(b"2" * 32)), "EdDSA")


def test_a_made_up_token_opens_nothing(backend: Backend) -> None:
    store = create_store(backend)
    token = _token(backend, {"memory_store_id": store})
    claims = jwt.decode(token.removeprefix("st-memolith-"), options={"verify_signature": False})
    claims["acc"] = {store: "read_write"}
    forged = [
        jwt.encode(claims, FOREIGN_KEY, algorithm="EdDSA", headers={"kid": "k1"}),
        jwt.encode(claims, FOREIGN_KEY, algorithm="EdDSA", headers={"kid": "k2"}),
        jwt.encode(claims, "2" * 32, algorithm="HS256", headers={"kid": "k1"}),
        jwt.encode(claims, "", algorithm="none", headers={"kid": "k1"}),
        jwt.encode(claims, "2" * 64, algorithm="HS512", headers={"kid": "k1"}),
        token.removeprefix("st-memolith-")[:-2] + "xx",
        "",
        "a.b.c",
    ]
    for text in forged:
        with pytest.raises(anthropic.AuthenticationError):
            backend.client(f"st-memolith-{text}").beta.memory_stores.memories.list(store)


@pytest.mark.parametrize("store_id", ["", "x", "memstore_" + "x" * 2_048], ids=["empty", "short", "longer than a key"])
def test_a_store_id_that_no_row_can_have_is_not_found(backend: Backend, store_id: str) -> None:
    reply = begin_session(backend, {"memory_store_id": store_id})
    assert (reply.status, reply.body["error"]["type"]) == (404, "not_found_error")


# ---- the key that a session comes from -----------------------------------------------------------------------------


def _opens(backend: Backend, token: str, store: str) -> int:
    return backend.raw("GET", f"/v1/memory_stores/{store}/memories", headers=bearer(token)).status


def test_a_session_ends_with_the_key_that_began_it(backend: Backend) -> None:
    store, key = create_store(backend), backend.issue_key("main", "write")
    session = begin_session_with(backend, key, store)
    other = begin_session(backend, {"memory_store_id": store}).body
    assert session["created_by"] == {"type": "api_actor", "api_key_id": key_id(key)}
    assert _opens(backend, session["token"], store) == 200
    backend.memolith.api_keys.revoke("wrkspc_main", key_id(key))
    reply = backend.raw("GET", f"/v1/memory_stores/{store}/memories", headers=bearer(session["token"]))
    assert (reply.status, reply.error["type"]) == (401, "authentication_error")
    assert "revoked" in reply.error["message"]
    assert _opens(backend, other["token"], store) == 200
    renewed = backend.raw("POST", f"/v1/sessions/{session['id']}/token")
    assert renewed.status == 400
    assert "revoked" in renewed.error["message"]


def test_a_token_ends_with_the_key_that_asked_for_it_though_another_began_the_session(backend: Backend) -> None:
    store, leaked = create_store(backend), backend.issue_key("main", "write")
    session = begin_session(backend, {"memory_store_id": store}).body
    renewed = backend.raw("POST", f"/v1/sessions/{session['id']}/token", headers=bearer(leaked)).body
    assert _opens(backend, renewed["token"], store) == 200
    backend.memolith.api_keys.revoke("wrkspc_main", key_id(leaked))
    assert _opens(backend, renewed["token"], store) == 401
    assert _opens(backend, session["token"], store) == 200


def test_a_key_that_expires_takes_its_sessions_with_it(backend: Backend) -> None:
    store = create_store(backend)
    ends_us = backend.clock.now_us() + 120_000_000
    key = backend.issue_key("main", "write", expires_at=ends_us)
    session = begin_session_with(backend, key, store, token_lifetime_seconds=3_600)
    assert session["token_expires_at"] <= rfc3339(ends_us)
    assert _opens(backend, key, store) == _opens(backend, session["token"], store) == 200
    backend.clock.advance(121)
    assert _opens(backend, key, store) == _opens(backend, session["token"], store) == 401
    assert backend.raw("POST", f"/v1/sessions/{session['id']}/token").status == 400


def test_a_token_begins_and_prolongs_no_session(backend: Backend) -> None:
    """So the key behind a token is the one that a caller began its session with, or asked with for the token."""
    store = create_store(backend)
    session = begin_session(backend, {"memory_store_id": store}).body
    token = bearer(session["token"])
    body = {"resources": [{"type": "memory_store", "memory_store_id": store}]}
    assert backend.raw("POST", "/v1/sessions", body=body, headers=token).status == 403
    assert backend.raw("POST", f"/v1/sessions/{session['id']}/token", headers=token).status == 403
    assert backend.raw("GET", "/v1/sessions", headers=token).status == 403
    assert backend.raw("POST", f"/v1/sessions/{session['id']}", body={"title": "x"}, headers=token).status == 403
    assert backend.raw("DELETE", f"/v1/sessions/{session['id']}", headers=token).status == 403


# ---- change, delete ------------------------------------------------------------------------------------------------


def test_a_sessions_title_and_metadata_change_and_nothing_else(backend: Backend) -> None:
    store = create_store(backend)
    begun = begin_session(backend, {"memory_store_id": store}, title="Tuesday", metadata={"team": "a", "run": "1"}).body
    address = f"/v1/sessions/{begun['id']}"
    changed = backend.raw("POST", address, body={"title": "Wednesday", "metadata": {"run": None, "by": "me"}}).body
    assert (changed["title"], changed["metadata"]) == ("Wednesday", {"team": "a", "by": "me"})
    assert changed["updated_at"] > changed["created_at"] == begun["created_at"]
    assert backend.raw("GET", address).body == changed
    again = backend.raw("POST", address, body={"metadata": {"by": None}}).body
    assert (again["title"], again["metadata"]) == ("Wednesday", {"team": "a"})
    assert backend.raw("POST", address, body={}).body == again
    assert backend.raw("POST", address, body={"title": ""}).body["title"] is None
    assert _opens(backend, begun["token"], store) == 200
    assert backend.raw("POST", address, body={"agent": {"tools": []}}).status == 400
    crowd = {f"key{number}": "x" for number in range(16)}
    assert backend.raw("POST", address, body={"metadata": crowd}).status == 400


def test_a_deleted_session_opens_nothing_and_is_told_apart_from_one_that_never_was(backend: Backend) -> None:
    store = create_store(backend)
    session = begin_session(backend, {"memory_store_id": store}).body
    address = f"/v1/sessions/{session['id']}"
    assert backend.raw("DELETE", address).body == {"type": "session_deleted", "id": session["id"]}
    assert _opens(backend, session["token"], store) == 401
    assert backend.raw("DELETE", address).status == 200
    assert backend.raw("GET", address).body["status"] == "terminated"
    assert backend.raw("POST", address, body={"title": "x"}).status == 400
    assert listed_sessions(backend) == []
    unknown = address[:-26] + "0" * 26
    assert backend.raw("DELETE", unknown).status == 404
    assert backend.raw("POST", unknown, body={"title": "x"}).status == 404
