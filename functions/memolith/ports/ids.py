"""Randomness."""

from __future__ import annotations

from typing import Protocol


class Randomness(Protocol):
    """Unpredictable bytes for ids, salts and secrets; and a fraction for jitter."""

    def bytes(self, count: int) -> bytes:
        """Return `count` unpredictable bytes."""

    def fraction(self) -> float:
        """Return a number from 0 up to, not including, 1."""
