"""Names that were noted a short while ago: bounded in age and number."""

from __future__ import annotations

from memolith.ports.clock import Clock


class Recent:
    """Remembers names for a while, and forgets what was noted longest ago.

    Args:
        clock: its wall clock, because ticks stand still while a function is frozen; a clock that is set back forgets.
        age_us: for how long a name is remembered.
        most: how many names are.
    """

    def __init__(self, clock: Clock, age_us: int, most: int) -> None:
        self._clock = clock
        self._age_us = age_us
        self._most = most
        self._noted: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        age_us = self._clock.now_us() - self._noted.get(name, -self._age_us)
        return 0 <= age_us < self._age_us

    def note(self, name: str) -> None:
        """Remember a name from now on."""
        self._noted.pop(name, None)
        while len(self._noted) >= self._most:
            self._noted.pop(next(iter(self._noted), ""), None)
        self._noted[name] = self._clock.now_us()
