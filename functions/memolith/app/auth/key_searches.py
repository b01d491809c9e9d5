"""How often the bucket is searched for API keys that the index does not have.

The search is there for a key whose object has arrived and whose event has not been folded yet, and for a region whose
index is being rebuilt. Anybody can make up a key, and each search is a LIST a region: so a key that was just not found
is not searched for again for a short while, and of different ones a process searches for a few in a second.
"""

from __future__ import annotations

from memolith.app.kernel.recent import Recent
from memolith.ports.clock import Clock

MISSING_FOR_US = 10_000_000
"""For how long a key that was not in the bucket is taken not to be: what arrives meanwhile is found by its row."""

SEARCHES_AT_ONCE, SEARCHES_PER_SECOND = 10, 1
"""Searches in vain that one process may make: at once after a pause, and in the long run."""

KEPT_MAX = 100
"""Missing keys that are remembered: more than the searches of `MISSING_FOR_US` can find missing."""


class KeySearches:
    """One process's allowance of searches. Two threads that use it at once may make one search more.

    Args:
        clock: its wall clock, because ticks stand still while a function is frozen; a clock that is set back forgets.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._missing = Recent(clock, MISSING_FOR_US, KEPT_MAX)
        self._left: float = SEARCHES_AT_ONCE
        self._counted_us = clock.now_us()

    def is_missing(self, key: str) -> bool:
        """Tell whether the key, with the workspace that it was presented for, was searched for just now in vain."""
        return key in self._missing

    def take(self) -> bool:
        """Take one search; return False where none is left."""
        now_us = self._clock.now_us()
        passed_s = max(0, now_us - self._counted_us) / 1_000_000
        self._left = min(SEARCHES_AT_ONCE, self._left + passed_s * SEARCHES_PER_SECOND)
        self._counted_us = now_us
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def give_back(self) -> None:
        """Give a search back that found a key and its secret: it was no stranger's."""
        self._left += 1

    def note_missing(self, key: str) -> None:
        """Remember that a key was not found in its workspace; forget what was remembered longest."""
        self._missing.note(key)
