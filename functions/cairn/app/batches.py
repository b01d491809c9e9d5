"""Work in batches: as many at once as a port takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """`items`, at most `size` at a time; each batch is taken when it is asked for."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
