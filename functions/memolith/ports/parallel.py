"""Doing a few independent reads at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Parallel(Protocol):
    """Threads in production; one after the other in a simulation."""

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Every task's result, in order. The first error is raised once all have ended."""
