"""What is counted and measured."""

from __future__ import annotations

from typing import Protocol


class Metrics(Protocol):
    """Counters and durations; never content, paths or ids of memories."""

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        """Add `value` to a counter."""

    def milliseconds(self, name: str, value: float, **dimensions: str) -> None:
        """Record one duration."""
