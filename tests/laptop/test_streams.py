"""Streams of a session's events as ``memolith serve`` keeps them open: the unchanged SDK, real sockets and threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from typing import Any

import anthropic
import pytest

from memolith.adapters.memory import ManualClock, RecordingMetrics
from memolith.adapters.system import SystemClock, SystemRandomness
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.entry.compose_laptop import LocalSite, Machine, open_site, owner_key
from memolith.entry.serve import Server
from memolith.ports.clock import Clock
from memolith.wire import event_streams
from memolith.wire.event_streams import STREAMS_MAX
from tests.support.folders import quick_folder
from tests.support.sdk import client_of

WITHIN_S = 30


class Laptop:
    """A server in this process, and a session of one store."""

    def __init__(self, root: Path, clock: Clock) -> None:
        self.site: LocalSite = open_site(
            root, LettingAllThrough(), Machine(clock, SystemRandomness(), RecordingMetrics())
        )
        self.server = Server(self.site, 0)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        self.client = self.client_with(owner_key(root, self.site.region))
        store = self.client.beta.memory_stores.create(name="Team notes").id
        self.session = self.client.beta.sessions.create(
            agent="agent_1",
            environment_id="env_1",
            resources=[{"type": "memory_store", "memory_store_id": store}],
        ).id

    def client_with(self, key: str) -> anthropic.Anthropic:
        return client_of(self.server.url, key, timeout=WITHIN_S)

    def say(self, text: str) -> str:
        """Send an event; its id."""
        content: Any = [{"type": "text", "text": text}]
        sent = self.client.beta.sessions.events.send(
            self.session, events=[{"type": "user.message", "content": content}]
        )
        return (sent.data or [])[0].id

    def end(self) -> None:
        self.server.stop()
        self.thread.join(WITHIN_S)
        self.site.close()


@pytest.fixture
def root() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def laptop(root: Path) -> Iterator[Laptop]:
    made = Laptop(root, SystemClock())
    yield made
    made.end()


def listen(stream: Any) -> tuple[threading.Thread, Queue[Any]]:
    """Reads a stream in a thread of its own: what came, and None, or an error, at its end."""
    came: Queue[Any] = Queue()

    def read() -> None:
        try:
            for event in stream:
                came.put(event)
            came.put(None)
        except anthropic.APIError as error:
            came.put(error)

    thread = threading.Thread(target=read)
    thread.start()
    return thread, came


def test_what_one_thread_sends_another_receives_at_once_until_the_session_ends(laptop: Laptop) -> None:
    laptop.say("before")
    stream = laptop.client.beta.sessions.events.stream(laptop.session)
    thread, came = listen(stream)
    for text in ("first", "zweitens — ünïcode\u2028"):
        sent = laptop.say(text)
        event = came.get(timeout=WITHIN_S)
        assert (event.id, event.type, event.content[0].text) == (sent, "user.message", text)
    laptop.client.beta.sessions.archive(laptop.session)
    assert came.get(timeout=WITHIN_S).type == "session.status_terminated"
    assert came.get(timeout=WITHIN_S) is None
    thread.join(WITHIN_S)


def test_streams_have_a_limit_and_leave_threads_for_other_requests(laptop: Laptop) -> None:
    events = laptop.client.beta.sessions.events
    with ExitStack() as streams:
        for _ in range(STREAMS_MAX):
            streams.enter_context(events.stream(laptop.session))
        with pytest.raises(anthropic.InternalServerError, match=f"{STREAMS_MAX} streams open.*close one") as refused:
            events.stream(laptop.session)
        assert (refused.value.status_code, refused.value.type) == (503, "overloaded_error")
        assert len(laptop.client.beta.sessions.list(limit=1).data) == 1, "other requests are answered"


def test_a_client_that_goes_away_gives_the_place_of_its_stream_back(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock whose pauses take no time: that it has gone is noticed when the next sign of life is sent."""
    monkeypatch.setattr(event_streams, "STREAMS_MAX", 1)
    laptop = Laptop(root, ManualClock())
    try:
        laptop.client.beta.sessions.events.stream(laptop.session).close()
        thread, came = listen(_opened(laptop))
        laptop.client.beta.sessions.delete(laptop.session)
        assert came.get(timeout=WITHIN_S).type in ("session.deleted", "session.status_terminated")
        thread.join(WITHIN_S)
    finally:
        laptop.end()


def _opened(laptop: Laptop) -> Any:
    """A stream, once the server has noticed that a client has gone."""
    for _ in range(1_000):
        try:
            return laptop.client.beta.sessions.events.stream(laptop.session)
        except anthropic.InternalServerError:
            laptop.client.beta.sessions.retrieve(laptop.session)
    raise AssertionError("the place of a stream whose client has gone is not given back")


def test_a_stream_whose_key_is_revoked_ends_with_the_error_that_a_request_would_get(laptop: Laptop) -> None:
    made: Any = laptop.client.post("/v1/api_keys", cast_to=object, body={"name": "for a while", "scope": "read"})
    stream = laptop.client_with(made["api_key"]).beta.sessions.events.stream(laptop.session)
    thread, came = listen(stream)
    laptop.say("hello")
    assert came.get(timeout=WITHIN_S).type == "user.message"
    laptop.client.post(f"/v1/api_keys/{made['id']}/revoke", cast_to=object)
    ended = came.get(timeout=WITHIN_S)
    assert isinstance(ended, anthropic.APIStatusError)
    assert "authentication_error" in str(ended.body) and "revoked" in str(ended.body)
    thread.join(WITHIN_S)


def test_a_server_that_is_told_to_end_ends_its_streams(laptop: Laptop) -> None:
    thread, came = listen(laptop.client.beta.sessions.events.stream(laptop.session))
    laptop.end()
    assert came.get(timeout=WITHIN_S) is None
    thread.join(WITHIN_S)
    assert not laptop.thread.is_alive()
