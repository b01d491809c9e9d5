"""Time and pauses."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """A wall clock that may be wrong, and a pause."""

    def now_us(self) -> int:
        """Microseconds since 1970."""

    def pause(self, seconds: float) -> None:
        """Waits about so long."""
