"""A session's resources and its one thread, with the unchanged SDK and over HTTP; the model has no sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import pytest

from memolith.wire import cursors
from tests.api.harness import Backend


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


@pytest.fixture
def stores(backend: Backend) -> list[str]:
    memory_stores = backend.client().beta.memory_stores
    first = memory_stores.create(name="Team notes", description="what the team knows").id
    return [first, memory_stores.create(name="Scratch").id]


@pytest.fixture
def session(backend: Backend, stores: list[str]) -> Any:
    return backend.client().beta.sessions.create(
        agent={"type": "agent", "id": "agent_1", "version": 3},
        environment_id="env_1",
        resources=[
            {"type": "memory_store", "memory_store_id": stores[0], "instructions": "read first"},
            {"type": "memory_store", "memory_store_id": stores[1], "access": "read_only"},
        ],
    )


def thread_of(session: Any) -> str:
    return str(session.id).replace("sesn_", "sthr_")


def test_the_resources_of_a_session_are_its_stores_as_they_were_when_it_began(
    backend: Backend, session: Any, stores: list[str]
) -> None:
    client = backend.client()
    client.beta.memory_stores.update(stores[0], name="Renamed")
    listed = list(client.beta.sessions.resources.list(session.id))
    assert listed == session.resources
    first, second = listed
    assert first.type == second.type == "memory_store"
    assert (first.memory_store_id, first.name, first.description) == (stores[0], "Team notes", "what the team knows")
    assert (first.access, first.instructions, first.mount_path) == (
        "read_write",
        "read first",
        "/mnt/memory/team-notes",
    )
    assert (second.description, second.access) == ("", "read_only")
    assert client.beta.sessions.resources.retrieve(stores[1], session_id=session.id) == second


def test_resources_are_listed_in_pages_of_the_size_that_is_asked_for(
    backend: Backend, session: Any, stores: list[str]
) -> None:
    resources = backend.client().beta.sessions.resources
    page = resources.list(session.id, limit=1)
    assert len(page.data) == 1
    assert [one.memory_store_id for one in page if one.type == "memory_store"] == stores  # goes on with the next page
    assert resources.list(session.id, limit=1000).next_page is None
    with pytest.raises(anthropic.BadRequestError, match="limit: must be a whole number from 1 to 1000"):
        resources.list(session.id, limit=1001)
    for cursor in ("page_nonsense", str(backend.client().beta.sessions.list(limit=1).next_page or "page_x")):
        with pytest.raises(anthropic.BadRequestError, match="page: "):
            resources.list(session.id, page=cursor)


def test_a_resource_or_thread_that_the_session_does_not_have_is_not_found(backend: Backend, session: Any) -> None:
    sessions = backend.client().beta.sessions
    other = backend.client().beta.memory_stores.create(name="Not attached").id
    for resource in (other, "sesrsc_1"):
        with pytest.raises(anthropic.NotFoundError, match=f"session_resource {resource} was not found"):
            sessions.resources.retrieve(resource, session_id=session.id)
        with pytest.raises(anthropic.NotFoundError, match="session_resource"):
            sessions.resources.delete(resource, session_id=session.id)
        with pytest.raises(anthropic.NotFoundError, match="session_resource"):
            sessions.resources.update(resource, session_id=session.id, authorization_token="t")
    for ask in (
        lambda: sessions.threads.retrieve("sthr_1", session_id=session.id),
        lambda: sessions.threads.archive("sthr_1", session_id=session.id),
        lambda: sessions.threads.events.list("sthr_1", session_id=session.id),
        lambda: sessions.threads.events.stream("sthr_1", session_id=session.id),
    ):
        with pytest.raises(anthropic.NotFoundError, match="session_thread sthr_1 was not found"):
            ask()


def test_what_would_change_a_sessions_resources_or_threads_is_refused_with_what_to_do_instead(
    backend: Backend, session: Any, stores: list[str]
) -> None:
    path = f"/v1/sessions/{session.id}"
    file = {"type": "file", "file_id": "file_1", "mount_path": "/x"}
    for method, where, body, field in (
        ("POST", "/resources", file, "type"),
        ("POST", f"/resources/{stores[0]}", {"authorization_token": "ghp_secret"}, "authorization_token"),
        ("DELETE", f"/resources/{stores[0]}", None, "resource_id"),
    ):
        reply = backend.raw(method, path + where, body=body)
        message = reply.error["message"]
        assert (reply.status, message.split(":")[0]) == (400, field)
        assert message.endswith(
            "create another session with POST /v1/sessions, whose resources name the stores that it needs"
        )
        assert "ghp_secret" not in message
    reply = backend.raw("POST", f"{path}/threads/{thread_of(session)}/archive")
    assert reply.status == 400
    assert reply.error["message"].endswith(f"archive the session with POST {path}/archive")
    assert list(backend.client().beta.sessions.resources.list(session.id)) == session.resources


@pytest.mark.parametrize(
    ("where", "body", "message"),
    [
        ("", {"type": "file"}, "file_id: is required"),
        ("", {"type": "file", "file_id": "f" * 129}, "file_id: must be at most 128 characters long"),
        (
            "",
            {"type": "file", "file_id": "f", "mount_path": "x" * 1025},
            "mount_path: must be at most 1024 characters long",
        ),
        ("", {"type": "file", "file_id": "f", "more": 1}, "more: is not a field of this request"),
        ("/memstore_1", {}, "authorization_token: is required"),
        (
            "/memstore_1",
            {"authorization_token": "t" * 4097},
            "authorization_token: must be at most 4096 characters long",
        ),
        ("/memstore_1", {"authorization_token": ""}, "authorization_token: must be at least 1 character long"),
    ],
)
def test_a_bad_body_for_a_resource_is_refused_with_its_field_and_the_rule(
    backend: Backend, session: Any, where: str, body: dict[str, Any], message: str
) -> None:
    reply = backend.raw("POST", f"/v1/sessions/{session.id}/resources{where}", body=body)
    assert (reply.status, reply.error["message"]) == (400, message)


def test_a_session_has_one_thread_which_ends_with_it(backend: Backend, session: Any) -> None:
    sessions = backend.client().beta.sessions
    [thread] = sessions.threads.list(session.id)
    assert sessions.threads.retrieve(thread.id, session_id=session.id) == thread
    assert (thread.id, thread.session_id, thread.type) == (thread_of(session), session.id, "session_thread")
    assert (thread.status, thread.parent_thread_id, thread.archived_at) == ("idle", None, None)
    assert thread.agent.type == "agent"
    assert (thread.agent.id, thread.agent.version) == ("agent_1", 3)
    assert (thread.created_at, thread.updated_at) == (session.created_at, session.updated_at)
    assert list(sessions.threads.list(session.id, statuses=["running", "terminated"])) == []
    ended = sessions.archive(session.id)
    [thread] = sessions.threads.list(session.id, statuses=["running", "terminated"])
    assert (thread.status, thread.archived_at, thread.updated_at) == ("terminated", ended.archived_at, ended.updated_at)
    assert list(sessions.threads.list(session.id, statuses=["idle"])) == []


def test_the_events_of_the_thread_are_those_of_the_session(backend: Backend, session: Any) -> None:
    events, threads = backend.client().beta.sessions.events, backend.client().beta.sessions.threads
    for said in ("one", "two", "three"):
        events.send(session.id, events=[{"type": "user.message", "content": [{"type": "text", "text": said}]}])
    listed = list(threads.events.list(thread_of(session), session_id=session.id, limit=2))
    assert listed == list(events.list(session.id))
    assert len(listed) == 3
    assert len(threads.events.list(thread_of(session), session_id=session.id, limit=1000).data) == 3


def test_a_sessions_own_token_reads_its_parts_and_no_others_and_changes_none(
    backend: Backend, session: Any, stores: list[str]
) -> None:
    own = backend.client(api_key=session.to_dict()["token"]).beta.sessions
    assert list(own.resources.list(session.id)) == session.resources
    assert own.resources.retrieve(stores[0], session_id=session.id) == session.resources[0]
    assert [one.id for one in own.threads.list(session.id)] == [thread_of(session)]
    assert list(own.threads.events.list(thread_of(session), session_id=session.id)) == []
    changes: tuple[Callable[[], object], ...] = (
        lambda: own.resources.add(session.id, type="file", file_id="f"),
        lambda: own.resources.delete(stores[0], session_id=session.id),
        lambda: own.threads.archive(thread_of(session), session_id=session.id),
    )
    for change in changes:
        with pytest.raises(anthropic.PermissionDeniedError):
            change()
    other = backend.client().beta.sessions.create(
        agent="a", environment_id="e", resources=[{"type": "memory_store", "memory_store_id": stores[0]}]
    )
    _is_hidden(own, other)


def test_another_workspace_is_told_nothing_of_a_sessions_parts(backend: Backend, session: Any) -> None:
    _is_hidden(backend.client(api_key=backend.issue_key("other", "admin")).beta.sessions, session)


def test_a_cursor_that_a_caller_made_up_shows_a_stranger_nothing(backend: Backend, session: Any) -> None:
    """A cursor is not signed; the one thread of a session has no second page."""
    digest = "0" * 32
    stranger = {"authorization": f"Bearer sk-memolith-main-useast1_{'0' * 26}-{digest}"}
    for resource in ("session_resources", "session_threads"):
        where = f"/v1/sessions/{session.id}/{resource.removeprefix('session_')}"
        cursor = cursors.issue(("wrkspc_main", resource, session.id), _store(session), backend.clock.now_us())
        assert backend.raw("GET", where, f"page={cursor}", headers=stranger).status == 401
        assert backend.raw("GET", where, f"page={cursor}").status == 200


def test_a_key_that_may_not_read_all_stores_of_a_session_is_told_nothing_of_its_parts(
    backend: Backend, session: Any, stores: list[str]
) -> None:
    narrow = backend.issue_key("main", "read", stores=[stores[0]])
    _is_hidden(backend.client(api_key=narrow).beta.sessions, session)


def _store(session: Any) -> str:
    return str(session.resources[0].memory_store_id)


def _is_hidden(sessions: Any, session: Any) -> None:
    asked: tuple[Callable[[], object], ...] = (
        lambda: sessions.resources.list(session.id),
        lambda: sessions.threads.list(session.id),
        lambda: sessions.threads.retrieve(thread_of(session), session_id=session.id),
        lambda: sessions.threads.events.list(thread_of(session), session_id=session.id),
        lambda: sessions.threads.events.stream(thread_of(session), session_id=session.id),
        lambda: sessions.events.stream(session.id),
    )
    for ask in asked:
        with pytest.raises(anthropic.NotFoundError, match=f"session {session.id} was not found"):
            ask()
