"""A queue's dead letters in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memolith.adapters.memory.queue import MemoryQueue
from memolith.ports.dead_letters import Depths

LETTERS_PER_MOVE = 10


class MemoryDeadLetters:
    """`ports.dead_letters.DeadLetters` between two queues in memory. Safe for threads."""

    def __init__(self, queue: MemoryQueue, dead_letters: MemoryQueue) -> None:
        self._queue = queue
        self._dead_letters = dead_letters

    def depths(self) -> Depths:
        return Depths(len(self._queue.messages), 0, len(self._dead_letters.messages))

    def look(self, limit: int) -> Sequence[str]:
        return list(self._dead_letters.messages)[:limit]

    def send_back(self) -> Iterator[int]:
        wanted, moved = len(self._dead_letters.messages), 0
        while moved < wanted and (letters := self._dead_letters.take(min(LETTERS_PER_MOVE, wanted - moved))):
            self._queue.send(letters)
            moved += len(letters)
            yield moved
