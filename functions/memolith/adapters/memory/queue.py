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
        """Remove and return up to `limit` messages. The caller simulates late or repeated delivery."""
        with self._lock:
            return [self.messages.popleft() for _ in range(min(limit, len(self.messages)))]
