"""Time and pauses."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """A wall clock that may be wrong, ticks that never go backwards, and a pause."""

    def now_us(self) -> int:
        """Return microseconds since 1970."""

    def ticks_us(self) -> int:
        """Return microseconds since some moment of this process's own; never set, never backwards.

        Between two invocations they may stand still, while a function's process is frozen; within one they go on, as
        fast as time does give or take a few parts of a hundred.
        """

    def pause(self, seconds: float) -> None:
        """Wait about so long."""
