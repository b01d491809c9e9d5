"""Threads for a few independent reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

THREADS = 16


class ThreadParallel:
    """`ports.parallel.Parallel` on one pool of threads, kept for the life of the process.

    Tasks must not call `run` themselves: with every thread waiting for another, none would be left to do the work.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="memolith")

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Run the tasks at once. The first runs in the caller's own thread, so that two cost one hand-over."""
        if not tasks:
            return []
        others = [self._pool.submit(task) for task in tasks[1:]]
        try:
            first = tasks[0]()
        finally:
            wait(others)
        return [first, *(other.result() for other in others)]

    def begin(self, task: Callable[[], T]) -> Callable[[], T]:
        """Hand the task to a thread of the pool; it waits for its turn where all are busy."""
        return self._pool.submit(task).result
