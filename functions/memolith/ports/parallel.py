"""Doing a few independent reads at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Parallel(Protocol):
    """Threads in production; one after the other in a simulation."""

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Run every task and return their results in order. Raises the first error once all have ended."""

    def begin(self, task: Callable[[], T]) -> Callable[[], T]:
        """Begin a task beside the caller. What is returned waits for its result, or raises what it raised; repeatable.

        A task that nobody waits for may never run, and may not need anything that the caller does later but what the
        caller has done before it waits.
        """
