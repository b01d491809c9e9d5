"""A queue in memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from memolith.adapters.limits import check_messages


class MemoryQueue:
    """`ports.queue.Queue`; what was sent waits in `messages`, oldest first. Safe for threads."""

    def __init__(self) -> None:
        self.messages: deque[str] = deque()
        self._lock = threading.Lock()

    def send(self, messages: Sequence[str]) -> None:
        check_messages(messages)
        with self._lock:
            self.messages.extend(messages)

    def take(self, limit: int = 10) -> list[str]:
        """Removes and returns up to `limit` messages. Delivering them twice, or late, is for the taker to play."""
        with self._lock:
            return [self.messages.popleft() for _ in range(min(limit, len(self.messages)))]
