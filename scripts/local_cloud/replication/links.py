"""One pair of buckets: what is owed on it, and what is due now. Pure: the time comes in as a number.

When an object is due is computed from the settings of the moment, from draws made once when it was added. So a lag
that is taken back takes effect on what waits already, and an object's luck does not change with each look.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from random import Random

from scripts.local_cloud.replication.ledger import Owed
from scripts.local_cloud.replication.settings import Settings

HELD_BACK_MS = 300.0
"""How long a reordered object waits beyond its turn, at most; half of it at least."""

SECOND_COPY_WITHIN_MS = 200.0
"""How soon after the first copy a duplicated one follows."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    owed: Owed
    not_before_ms: float
    is_duplicate: bool
    jitter: float
    held: float
    held_back_ms: float
    duplicated: float


@dataclass(frozen=True, slots=True)
class Due:
    """An object whose turn it is; ``again`` says that a second copy is to follow."""

    owed: Owed
    is_duplicate: bool
    again: bool


@dataclass(slots=True)
class Link:
    """A queue ordered by due time. Not safe between threads; its owner locks.

    Without `reorder` nothing overtakes: an object is due no earlier than the one before it, whatever its jitter.
    """

    random: Random
    _settings: Settings = field(default_factory=Settings)
    _waiting: dict[int, _Waiting] = field(default_factory=dict)
    _heap: list[tuple[float, int]] = field(default_factory=list)
    _last_due_ms: float = 0.0
    _next_ticket: int = 0

    def add(self, owed: Owed, *, not_before_ms: float = 0.0, is_duplicate: bool = False) -> None:
        """Take on a debt. ``not_before_ms`` puts it off (a failed copy, a second one) and takes it out of the order."""
        draw = self.random.random
        held_back_ms = HELD_BACK_MS * (0.5 + draw() / 2)
        waiting = _Waiting(owed, not_before_ms, is_duplicate, draw(), draw(), held_back_ms, draw())
        self._waiting[self._next_ticket] = waiting
        self._push(self._next_ticket, waiting)
        self._next_ticket += 1

    def add_second_copy(self, owed: Owed, now_ms: float) -> None:
        """Owe a copy that was just made once more, at some moment of the next 200 ms."""
        self.add(owed, not_before_ms=now_ms + SECOND_COPY_WITHIN_MS * self.random.random(), is_duplicate=True)

    def use(self, settings: Settings) -> None:
        """Apply new settings to what waits as well."""
        self._settings = settings
        self._heap.clear()
        self._last_due_ms = 0.0
        for ticket, waiting in self._waiting.items():
            self._push(ticket, waiting)

    def take(self, now_ms: float) -> Due | None:
        """Remove the object that has been due longest from the queue; None if none is due yet, or all are held."""
        if not self._heap or self._heap[0][0] > now_ms:
            return None
        _, ticket = heapq.heappop(self._heap)
        waiting = self._waiting.pop(ticket)
        again = not waiting.is_duplicate and waiting.duplicated < self._settings.duplicate
        return Due(waiting.owed, waiting.is_duplicate, again)

    def next_due_ms(self) -> float | None:
        """Return when something will be due, or None if only held objects wait."""
        return self._heap[0][0] if self._heap else None

    def __len__(self) -> int:
        return len(self._waiting)

    def oldest_ms(self) -> int | None:
        """Return when the oldest waiting object was written."""
        return min((waiting.owed.version.written_ms for waiting in self._waiting.values()), default=None)

    def _push(self, ticket: int, waiting: _Waiting) -> None:
        settings = self._settings
        if settings.held(waiting.owed.version.key):
            return
        due = waiting.owed.version.written_ms + settings.lag_ms + waiting.jitter * settings.jitter_ms
        if waiting.not_before_ms:
            due = max(due, waiting.not_before_ms)
        elif waiting.held < settings.reorder:
            due += waiting.held_back_ms
        elif not settings.reorder:
            due = self._last_due_ms = max(due, self._last_due_ms)
        heapq.heappush(self._heap, (due, ticket))
