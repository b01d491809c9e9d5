"""Metrics that a test can ask for."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict

Series = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name and its dimensions, sorted."""


class RecordingMetrics:
    """`ports.metrics.Metrics` kept in memory. Safe for threads.

    Attributes:
        counts: the sum of each counter, by name and dimensions.
        durations_ms: every duration, in order, by name and dimensions.
    """

    def __init__(self) -> None:
        self.counts: Counter[Series] = Counter()
        self.durations_ms: defaultdict[Series, list[float]] = defaultdict(list)
        self._lock = threading.Lock()

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        with self._lock:
            self.counts[name, tuple(sorted(dimensions.items()))] += value

    def milliseconds(self, name: str, value: float, **dimensions: str) -> None:
        with self._lock:
            self.durations_ms[name, tuple(sorted(dimensions.items()))].append(value)

    def total(self, name: str) -> int:
        """Sum a counter over all its dimensions."""
        with self._lock:
            return sum(value for (counted, _), value in self.counts.items() if counted == name)
