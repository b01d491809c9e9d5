"""A clock that stands still until it is told otherwise."""

from __future__ import annotations

import threading


class ManualClock:
    """`ports.clock.Clock`: a pause takes no time but moves the clock by as much. Safe for threads.

    Attributes:
        paused_s: every pause that was asked for, in seconds.
    """

    def __init__(self, now_us: int = 1_790_000_000_000_000) -> None:
        self._now_us = now_us
        self._ticks_us = 0
        self._lock = threading.Lock()
        self.paused_s: list[float] = []

    def now_us(self) -> int:
        with self._lock:
            return self._now_us

    def ticks_us(self) -> int:
        with self._lock:
            return self._ticks_us

    def pause(self, seconds: float) -> None:
        with self._lock:
            self.paused_s.append(seconds)
            self._now_us += round(seconds * 1_000_000)
            self._ticks_us += round(seconds * 1_000_000)

    def advance(self, seconds: float) -> None:
        """Move the clock; backwards if negative, as real clocks do, without moving its ticks back."""
        with self._lock:
            self._now_us += round(seconds * 1_000_000)
            self._ticks_us += max(0, round(seconds * 1_000_000))
