"""Streams of events over HTTP: open ones where a process can send what it has not finished, else long polls.

Lambda behind an HTTP API answers once and whole, so there a stream is a poll: it answers as soon as something has come,
and after `POLL_S` at the latest, with a complete body of server-sent events; then the client asks again.
See docs/adr/0084-a-stream-is-a-long-poll-on-aws.md.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

from memolith.app.api.event_tail import EventTail
from memolith.core.errors import Busy
from memolith.ports.clock import Clock
from memolith.wire.errors import failure_of, trace
from memolith.wire.event_views import KEPT_ALIVE, OPENED, event_view, frame
from memolith.wire.json_views import Json

_log = logging.getLogger(__name__)

POLL_S = 15.0
"""How long a poll waits: half of what API Gateway and the function have."""

POLL_LOOK_S = 1.0
"""How long a poll waits between two looks: each costs index reads."""

LIVE_LOOK_S = 0.25

KEEP_ALIVE_S = 5.0
"""How long an open stream is silent: a client that has gone is noticed when something is sent to it."""

STREAMS_MAX = 8
"""Streams that one process has open: half of the threads that answer requests, as each keeps one."""


class EventStream:
    """The answer of an operation that goes on.

    Args:
        tail: what comes of the session's events.
        admit: checks again what the request presented; a session's token has an end.
        show: is told what is about to be sent, before it is.

    Attributes:
        is_over: whether all has been sent.
    """

    def __init__(self, tail: EventTail, admit: Callable[[], object], show: Callable[[Json], None]) -> None:
        self._tail = tail
        self._admit = admit
        self._show = show
        self.is_over = False

    def first(self) -> str:
        """Return what is sent at once; of a session that has ended that is all."""
        return OPENED + self._end()

    def look(self) -> str:
        """Return what has come since the last look; "" for nothing. Raises what `EventTail.news` does."""
        self._admit()
        events = [event_view(event) for event in self._tail.news()]
        self._show({"data": events})
        return "".join(frame(str(event["type"]), event) for event in events) + self._end()

    def poll(self, clock: Clock) -> str:
        """Return what comes within `POLL_S`: what the first look that finds something has found. Raises as `look`."""
        until, text = clock.ticks_us() + round(POLL_S * 1_000_000), self.first()
        while not self.is_over and clock.ticks_us() < until:
            clock.pause(POLL_LOOK_S)
            news = self.look()
            if news:
                return text + news
        return text

    def _end(self) -> str:
        end = self._tail.end
        self.is_over = end is not None
        return "" if end is None else frame(end.type, event_view(end))


class LiveStreams:
    """The streams that one process has open, no more than `STREAMS_MAX`. Safe for threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open = 0
        self._closed = False

    def begin(self, stream: EventStream, request_id: str) -> LiveStream:
        """Take a place for a stream, which its `close` gives back. Raises Busy where there is none."""
        with self._lock:
            if self._open >= STREAMS_MAX:
                raise Busy(
                    f"this server has {STREAMS_MAX} streams open, and no more at once",
                    hint="close one, or list the session's events instead",
                )
            self._open += 1
        return LiveStream(self._chunks(stream, request_id), self._leave)

    def close(self) -> None:
        """End every stream at its next look, and each that begins from now on. Repeatable."""
        self._closed = True

    def _leave(self) -> None:
        with self._lock:
            self._open -= 1

    def _chunks(self, stream: EventStream, request_id: str) -> Iterator[bytes]:
        yield stream.first().encode()
        sent_us = self._clock.ticks_us()
        while not stream.is_over and not self._closed:
            self._clock.pause(LIVE_LOOK_S)
            try:
                text = stream.look()
            except Exception as error:  # noqa: BLE001 the status has been sent: what goes wrong now is told in the stream
                yield _failed(error, request_id).encode()
                return
            if not text and self._clock.ticks_us() - sent_us >= KEEP_ALIVE_S * 1_000_000:
                text = KEPT_ALIVE
            if text:
                yield text.encode()
                sent_us = self._clock.ticks_us()


class LiveStream:
    """One open stream: what is sent, piece by piece. Whoever sends it closes it, whatever happened."""

    def __init__(self, chunks: Iterator[bytes], leave: Callable[[], None]) -> None:
        self._chunks = chunks
        self._leave: Callable[[], None] | None = leave

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def close(self) -> None:
        """Give the place back. Repeatable."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()


def _failed(error: Exception, request_id: str) -> str:
    """Make the event by which the SDK learns of an error, as it would from a status."""
    failure = failure_of(error, writes=False)
    if failure.status == 500:
        _log.error("unexpected error in a stream", extra={"request_id": request_id, "trace": trace(error)})
    return frame("error", failure.body(request_id))
