"""Names of what is due, sent to a queue: each again after a while at the earliest."""

from __future__ import annotations

import json
from collections.abc import Iterable

from memolith.app.kernel.recent import Recent
from memolith.ports.clock import Clock
from memolith.ports.queue import Queue

NAMED_MAX = 10_000


class QueueNames:
    """Sends a message for each of one kind of thing, and remembers for a while that it did."""

    def __init__(self, clock: Clock, queue: Queue, kind: str, again_us: int) -> None:
        self._queue = queue
        self._kind = kind
        self._named = Recent(clock, again_us, NAMED_MAX)

    def send(self, ids: Iterable[str]) -> int:
        """Name those that were not named lately; return how many. A request for ten. Raises Unavailable."""
        due = [one for one in ids if one not in self._named]
        if due:
            self._queue.send([json.dumps({self._kind: one}) for one in due])
        for one in due:
            self._named.note(one)
        return len(due)
