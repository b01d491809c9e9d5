"""How many calls a minute a limited key may make: a token bucket for each key, in this process.

Approximate by design: no call is made to count, so each process of a function counts for itself. A key that `n` of them
serve at once may make up to `n` times as many calls. It keeps one key from taking a region's capacity, and no bill.
"""

from __future__ import annotations

import math

from memolith.core.errors import RateLimited
from memolith.core.rows.identity import ApiKeyRow
from memolith.ports.clock import Clock

KEPT_MAX = 1_000
"""Keys that one process counts; the one that called longest ago is forgotten, and begins with a full bucket again."""


class KeyRates:
    """One process's buckets, each of a minute's calls. Two threads that use one at once may make one call more.

    Args:
        clock: its wall clock, because ticks stand still while a function is frozen.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, int]] = {}

    def take(self, key: ApiKeyRow) -> None:
        """Count one call of a key. No call of a port but the clock's.

        Raises:
            RateLimited: the key has a limit, and has used it up.
        """
        limit = key.requests_per_minute
        if limit is None:
            return
        now_us = self._clock.now_us()
        left, counted_us = self._buckets.pop(key.key_id, (float(limit), now_us))
        left = min(limit, left + max(0, now_us - counted_us) * limit / 60_000_000)
        taken = left >= 1
        while len(self._buckets) >= KEPT_MAX:
            self._buckets.pop(next(iter(self._buckets), ""), None)
        self._buckets[key.key_id] = (left - 1 if taken else left, now_us)
        if not taken:
            raise RateLimited(limit, max(1, math.ceil((1 - left) * 60 / limit)))
