"""Uses of memories over HTTP: citations of a session, and who may see what was used."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.wire import cursors
from tests.api.harness import Backend


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


@pytest.fixture
def store(backend: Backend) -> str:
    client = backend.client()
    store = client.beta.memory_stores.create(name="Team notes").id
    for path in ("/a.md", "/b.md", "/c.md"):
        client.beta.memory_stores.memories.create(store, path=path, content="text")
    return store


@pytest.fixture
def session(backend: Backend, store: str) -> str:
    reply = backend.raw(
        "POST", "/v1/sessions", body={"resources": [{"type": "memory_store", "memory_store_id": store}]}
    )
    return str(reply.body["id"])


def test_a_session_cites_a_memory_once_with_each_message(backend: Backend, session: str) -> None:
    def cite(**body: Any) -> tuple[int, int]:
        reply = backend.raw("POST", f"/v1/sessions/{session}/citations", body=body)
        assert (reply.status, reply.body["type"]) == (200, "citation_receipt")
        return reply.body["accepted"], reply.body["duplicates"]

    entries = [{"path": "/a.md", "line_start": 1, "line_end": 2, "note": "which day"}, {"path": "/b.md"}]
    assert cite(entries=entries, message_id="turn-1") == (2, 0)
    assert cite(entries=entries, message_id="turn-1") == (0, 2)
    assert cite(entries=entries[:1]) == (1, 0)
    listed = backend.raw("GET", f"/v1/sessions/{session}/events").body["data"]
    assert [(one["type"], one["path"]) for one in listed] == [
        ("agent.memory_citation", one) for one in ("/a.md", "/b.md", "/a.md")
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"entries": []},
        {"entries": [{"path": ""}]},
        {"entries": [{"path": "/a" * 600}]},
        {"entries": [{"path": "/a", "line_start": 0}]},
        {"entries": [{"path": "/b"}, {"path": "/a", "line_start": 3, "line_end": 2}]},
        {"entries": [{"path": "/a", "note": "x" * 1_001}]},
        {"entries": [{"path": "/a", "more": 1}]},
        {"entries": [{"path": "/a"}] * 51},
        {"entries": [{"path": "/a"}], "message_id": "x" * 129},
        {"entries": [{"path": "/a"}], "memory_store_id": "memstore_useast1_01kb0000000000000000000000"},
    ],
)
def test_what_is_no_citation_is_refused(backend: Backend, session: str, body: dict[str, Any]) -> None:
    reply = backend.raw("POST", f"/v1/sessions/{session}/citations", body=body)
    assert (reply.status, reply.body["error"]["type"]) == (400, "invalid_request_error")


def test_memories_are_listed_with_their_uses_page_by_page_in_the_order_of_their_paths(
    backend: Backend, store: str
) -> None:
    first = backend.raw("GET", f"/v1/memory_stores/{store}/usage", "limit=2").body
    assert [one["path"] for one in first["data"]] == ["/a.md", "/b.md"]
    assert [one["counted_since"] for one in first["data"]] == [None, None]
    second = backend.raw("GET", f"/v1/memory_stores/{store}/usage", f"limit=2&page={first['next_page']}").body
    assert [one["path"] for one in second["data"]] == ["/c.md"]
    assert second["next_page"] is None
    assert backend.raw("GET", f"/v1/memory_stores/{store}/usage", "unused=true").body["data"] == []


def test_another_workspace_sees_no_uses_and_cites_nothing(backend: Backend, store: str, session: str) -> None:
    stranger = {"authorization": f"Bearer {backend.issue_key('other', 'write')}"}
    body = {"entries": [{"path": "/a.md"}]}
    assert backend.raw("GET", f"/v1/memory_stores/{store}/usage", headers=stranger).status == 404
    assert backend.raw("POST", f"/v1/sessions/{session}/citations", body=body, headers=stranger).status == 404


def test_a_key_that_may_only_read_sees_uses_and_cites_nothing(backend: Backend, store: str, session: str) -> None:
    reader = {"authorization": f"Bearer {backend.issue_key('main', 'read')}"}
    body = {"entries": [{"path": "/a.md"}]}
    assert backend.raw("GET", f"/v1/memory_stores/{store}/usage", headers=reader).status == 200
    assert backend.raw("POST", f"/v1/sessions/{session}/citations", body=body, headers=reader).status in (403, 404)


def test_a_cursor_that_a_caller_made_up_is_no_server_error(backend: Backend, store: str) -> None:
    for position in ("/" + "a" * 1_100, "a", ""):
        cursor = cursors.issue(("wrkspc_main", "usage", store, False), position, backend.clock.now_us())
        reply = backend.raw("GET", f"/v1/memory_stores/{store}/usage", f"page={cursor}")
        assert (reply.status, reply.body.get("error", {}).get("message", "")[:5]) == (400, "page:"), position
