"""One after the other: what a simulation can interleave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

T = TypeVar("T")


class OneByOne:
    """`ports.parallel.Parallel` without threads. Every task runs, as it would with them, also after one has failed."""

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Run the tasks one by one. A crash (a BaseException, no Exception) ends it at once: the caller is dead."""
        results: list[T] = []
        errors: list[Exception] = []
        for task in tasks:
            try:
                results.append(task())
            except Exception as error:  # noqa: BLE001 - raised below, once every task has run
                errors.append(error)
        if errors:
            raise errors[0]
        return results

    def begin(self, task: Callable[[], T]) -> Callable[[], T]:
        """Run the task once it is waited for."""
        return cache(task)
