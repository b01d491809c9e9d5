"""Metrics that are dropped."""

from __future__ import annotations


class Unmeasured:
    """`ports.metrics.Metrics` that keeps nothing."""

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        """Do nothing."""

    def milliseconds(self, name: str, value: float, **dimensions: str) -> None:
        """Do nothing."""
