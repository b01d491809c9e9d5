"""A queue whose messages are gathered while a batch is handled, and sent together at its end."""

from __future__ import annotations

from collections.abc import Sequence

from memolith.ports.queue import Queue


class GatheredQueue:
    """`ports.queue.Queue` that keeps what is sent until `flush`. One process, one batch at a time."""

    def __init__(self, inner: Queue) -> None:
        self._inner = inner
        self._messages: list[str] = []

    def send(self, messages: Sequence[str]) -> None:
        """Keep the messages. No call."""
        self._messages.extend(messages)

    def flush(self) -> None:
        """Send what was kept, if anything was. Raises as `Queue.send`; nothing is kept then, either."""
        messages, self._messages = self._messages, []
        if messages:
            self._inner.send(messages)
