"""Doing a few independent reads at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Parallel(Protocol):
    """Threads in production; one after the other in a simulation."""

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Run every task and return their results in order. Raises the first error once all have ended."""
