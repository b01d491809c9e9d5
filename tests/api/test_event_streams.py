"""Streams of a session's events as long polls, which is how a deployment on AWS answers them, with the unchanged SDK.

A laptop keeps them open: `tests/laptop/test_streams.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anthropic
import anyio
import pytest
from anthropic.lib.tools import _beta_session_runner

from memolith.wire.event_streams import POLL_LOOK_S, POLL_S
from tests.api.conftest import BACKENDS
from tests.api.harness import Backend


@pytest.fixture(params=["memolith", "far"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return BACKENDS[request.param](10_000)


@pytest.fixture
def session(backend: Backend) -> Any:
    client = backend.client()
    store = client.beta.memory_stores.create(name="Team notes")
    return client.beta.sessions.create(
        agent="agent_1",
        environment_id="env_1",
        resources=[{"type": "memory_store", "memory_store_id": store.id}],
        extra_body={"token_lifetime_seconds": 60},
    )


def say(backend: Backend, session: Any, text: str) -> None:
    content: Any = [{"type": "text", "text": text}]
    backend.client().beta.sessions.events.send(session.id, events=[{"type": "user.message", "content": content}])


def meanwhile(monkeypatch: pytest.MonkeyPatch, backend: Backend, number: int, act: Callable[[], object]) -> None:
    """Has something happen in the `number`-th pause from now on."""
    pause, pauses = backend.clock.pause, iter(range(1, 10_000))

    def paused(seconds: float) -> None:
        if next(pauses) == number:
            act()
        pause(seconds)

    monkeypatch.setattr(backend.clock, "pause", paused)


def test_a_stream_has_what_is_sent_while_it_is_open_and_nothing_of_before(
    backend: Backend, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(backend, session, "before")
    meanwhile(monkeypatch, backend, 3, lambda: say(backend, session, "meanwhile — während"))
    events = backend.client().beta.sessions.events
    backend.clock.paused_s.clear()
    [event] = list(events.stream(session.id, event_deltas=["agent.message"]))
    assert backend.clock.paused_s == [POLL_LOOK_S] * 3, "it answers as soon as something has come"
    assert event.type == "user.message"
    assert type(event).__name__ == "BetaManagedAgentsUserMessageEvent"
    listed = [one.to_dict() for one in events.list(session.id)]
    assert event.to_dict() == listed[1]
    assert [_text(one) for one in listed] == ["before", "meanwhile — während"]


def test_a_stream_on_which_nothing_comes_ends_within_the_gateways_time_and_can_be_opened_again(
    backend: Backend, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = backend.client().beta.sessions.events
    backend.clock.paused_s.clear()
    assert list(events.stream(session.id)) == []
    assert sum(backend.clock.paused_s) == POLL_S < 29
    meanwhile(monkeypatch, backend, 1, lambda: say(backend, session, "next"))
    assert len(list(events.stream(session.id))) == 1


def test_what_came_between_two_polls_is_listed_so_that_nothing_is_lost(
    backend: Backend, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, seen = backend.client().beta.sessions.events, dict[str, Any]()

    def follow() -> None:
        """As docs/transcripts.md says: a stream, then the list, each event once."""
        for event in (*events.stream(session.id), *events.list(session.id)):
            seen.setdefault(event.id, event)

    meanwhile(monkeypatch, backend, 2, lambda: say(backend, session, "in the first poll"))
    follow()
    say(backend, session, "between")
    meanwhile(monkeypatch, backend, 1, lambda: say(backend, session, "in the second poll"))
    follow()
    assert sorted(seen) == sorted(event.id for event in events.list(session.id))
    assert {_text(one.to_dict()) for one in seen.values()} == {"in the first poll", "between", "in the second poll"}


def test_the_sdks_tool_runner_runs_what_was_asked_for_before_its_stream_and_between_two_polls(
    backend: Backend, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_beta_session_runner, "STREAM_BACKOFF_START", 0.01)

    def ask(city: str) -> None:
        call = {"type": "agent.custom_tool_use", "name": "weather", "input": {"city": city}}
        assert backend.raw("POST", f"/v1/sessions/{session.id}/transcript", body={"events": [call]}).status == 200

    @anthropic.beta_async_tool
    async def weather(city: str) -> str:
        """Tell the weather of a city."""
        if city == "Oslo":
            ask("Lima")
        return f"rain in {city}"

    async def run() -> list[Any]:
        calls: list[Any] = []
        with anyio.move_on_after(5):
            async for call in backend.async_client().beta.sessions.events.tool_runner(session.id, tools=[weather]):
                calls.append(call)
                if len(calls) == 2:  # the stream says so, and the runner comes to its end
                    backend.client().beta.sessions.archive(session.id)
        return calls

    ask("Oslo")
    calls = asyncio.run(run())
    assert [(call.event.input, call.posted) for call in calls] == [({"city": "Oslo"}, True), ({"city": "Lima"}, True)]
    results = backend.client().beta.sessions.events.list(session.id, types=["user.custom_tool_result"])
    assert [_text(one.to_dict()) for one in results] == ["rain in Oslo", "rain in Lima"]


def test_the_stream_of_the_thread_is_the_sessions(
    backend: Backend, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, backend, 1, lambda: say(backend, session, "hello"))
    thread = session.id.replace("sesn_", "sthr_")
    stream = backend.client().beta.sessions.threads.events.stream(
        thread, session_id=session.id, event_deltas=["agent.thinking"]
    )
    assert [event.type for event in stream] == ["user.message"]


def test_a_stream_says_that_its_session_has_ended_and_one_of_an_ended_session_waits_for_nothing(
    backend: Backend, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = backend.client().beta.sessions

    def end() -> None:
        say(backend, session, "last words")
        sessions.archive(session.id)

    meanwhile(monkeypatch, backend, 2, end)
    last, ended = list(sessions.events.stream(session.id))
    assert (last.type, ended.type) == ("user.message", "session.status_terminated")
    assert ended.processed_at == sessions.retrieve(session.id).archived_at  # type: ignore[union-attr]  # an event of a status has it
    backend.clock.paused_s.clear()
    assert list(sessions.events.stream(session.id)) == [ended]
    assert backend.clock.paused_s == []
    assert [one.type for one in sessions.events.list(session.id)] == ["user.message"], (
        "it is no event of the transcript"
    )


def test_a_stream_of_a_session_that_is_deleted_says_so_and_ends(
    backend: Backend, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = backend.client().beta.sessions
    say(backend, session, "hello")
    meanwhile(monkeypatch, backend, 1, lambda: sessions.delete(session.id))
    assert [event.type for event in sessions.events.stream(session.id)] == ["session.deleted"]
    assert [event.type for event in sessions.events.stream(session.id)] == ["session.deleted"]


def test_a_session_streams_its_own_events_with_its_token_and_no_others(
    backend: Backend, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = backend.client(api_key=session.to_dict()["token"]).beta.sessions.events
    meanwhile(monkeypatch, backend, 1, lambda: say(backend, session, "hello"))
    assert [event.type for event in own.stream(session.id)] == ["user.message"]
    other = backend.client().beta.sessions.create(
        agent="a", environment_id="e", resources=[{"type": "memory_store", "memory_store_id": _store(session)}]
    )
    with pytest.raises(anthropic.NotFoundError):
        own.stream(other.id)


def test_a_stream_ends_with_the_right_to_it(backend: Backend, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token's own time is over while the poll waits; then its session is ended while it waits."""
    renewed = backend.raw("POST", f"/v1/sessions/{session.id}/token", body={"token_lifetime_seconds": 60}).body["token"]
    backend.clock.advance(50)
    with pytest.raises(anthropic.AuthenticationError, match="the token has ended"):
        backend.client(api_key=renewed).beta.sessions.events.stream(session.id)
    renewed = backend.raw("POST", f"/v1/sessions/{session.id}/token", body={"token_lifetime_seconds": 60}).body["token"]
    meanwhile(monkeypatch, backend, 2, lambda: backend.client().beta.sessions.archive(session.id))
    with pytest.raises(anthropic.AuthenticationError, match="session has been ended"):
        backend.client(api_key=renewed).beta.sessions.events.stream(session.id)


def test_a_session_that_streams_what_a_tool_gave_with_its_own_token_is_believed_less(
    backend: Backend, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = {"type": "agent.tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a page"}]}
    path = f"/v1/sessions/{session.id}/transcript"
    own = backend.client(api_key=session.to_dict()["token"])
    before = own.beta.memory_stores.memories.create(_store(session), path="/before.md", content="x")
    meanwhile(monkeypatch, backend, 1, lambda: backend.raw("POST", path, body={"events": [result]}))
    assert [event.type for event in own.beta.sessions.events.stream(session.id)] == ["agent.tool_result"]
    after = own.beta.memory_stores.memories.create(_store(session), path="/after.md", content="x")
    assert (before.to_dict()["trust"], after.to_dict()["trust"]) == ("agent", "tool_external")


def test_a_stream_counts_as_one_request_of_a_limited_key(backend: Backend, session: Any) -> None:
    limited = backend.issue_key("main", "read", requests_per_minute=1)
    assert list(backend.client(api_key=limited).beta.sessions.events.stream(session.id)) == []
    with pytest.raises(anthropic.RateLimitError):
        backend.client(api_key=limited, max_retries=0).beta.sessions.events.stream(session.id)


def test_a_preview_that_there_is_not_is_refused_by_its_name(backend: Backend, session: Any) -> None:
    reply = backend.raw("GET", f"/v1/sessions/{session.id}/events/stream", "event_deltas[]=user.message")
    assert (reply.status, reply.error["message"]) == (
        400,
        "event_deltas[]: must be one of agent.message, agent.thinking",
    )


def _store(session: Any) -> str:
    return str(session.resources[0].memory_store_id)


def _text(event: Any) -> str:
    return str(event["content"][0]["text"])
