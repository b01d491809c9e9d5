"""Work in batches: as many at once as a port takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield `items`, at most `size` at a time; each batch is taken when it is asked for."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def gallop(probe: Callable[[int], T | None]) -> T | None:
    """Find the last of a run of taken positions 1..n, by doubling and then bisecting; None when position 1 is free."""
    last, low, step = None, 0, 1
    while (found := probe(low + step)) is not None:
        last, low, step = found, low + step, step * 2
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        found = probe(middle)
        if found is None:
            high = middle
        else:
            last, low = found, middle
    return last
