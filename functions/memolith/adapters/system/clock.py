"""The machine's clock. No other module reads it."""

from __future__ import annotations

import time


class SystemClock:
    """`ports.clock.Clock` on the machine's clock, which NTP may set back."""

    def now_us(self) -> int:
        return time.time_ns() // 1_000

    def ticks_us(self) -> int:
        return time.monotonic_ns() // 1_000

    def pause(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))  # noqa: TID251 - this is what the ban points to
