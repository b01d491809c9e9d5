"""CPU time that one text may cost: a hard limit, and a note when it was reached.

Every part of a scan is linear in the text, but hostile texts choose the factor: ten thousand beginnings of a match, ten
thousand candidates for a secret. So the parts whose cost a text can choose ask a budget before each piece of work, and
leave the rest undone when it is spent. Whoever reads the report learns that from a finding of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

Meter = Callable[[], float]
"""Seconds of CPU that this thread has used; only differences count."""

cpu_of_this_thread: Meter = time.thread_time


@dataclass
class Budget:
    """Seconds of CPU from now on, and whether anything was left undone for want of them.

    Attributes:
        seconds: how many.
        meter: measures them.
        exhausted: whether some part of the work was left undone.
    """

    seconds: float
    meter: Meter = cpu_of_this_thread
    exhausted: bool = False
    _end: float = field(init=False)
    _parent: Budget | None = None
    _noted: bool = True

    def __post_init__(self) -> None:
        """Begin to count."""
        self._end = self.meter() + self.seconds

    @property
    def left(self) -> float:
        """Seconds that are left, 0 at least."""
        return max(0.0, self._end - self.meter())

    def spent(self) -> bool:
        """Whether nothing is left; asked before a piece of work, so this notes that the work is left undone."""
        if self.meter() < self._end:
            return False
        self.exhaust()
        return True

    def exhaust(self) -> None:
        """Note that some part of the work is left undone."""
        self.exhausted = True
        if self._parent is not None and self._noted:
            self._parent.exhaust()

    def forgive(self, since: float) -> None:
        """Do not count what was used since a reading of the meter: work that is done once a process, not for a text."""
        self._add(self.meter() - since)

    def _add(self, seconds: float) -> None:
        self._end += seconds
        if self._parent is not None:
            self._parent._add(seconds)

    def part(self, share: float, noted: bool = True) -> Budget:
        """Return a budget of its own of this share of what is left.

        Args:
            share: of 1.
            noted: whether what it leaves undone is noted here too; if not, the caller does the work in another way.
        """
        return Budget(self.left * share, self.meter, _parent=self, _noted=noted)
