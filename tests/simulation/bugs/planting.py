"""How a defect is planted: a subclass, or a function, takes the place of the product's own while a world runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from memolith.adapters.memory import MemoryBuckets, MemoryObjects
from tests.simulation.options import Options, drawn

Planted = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Bug:
    """One planted defect: what it does, how it is planted, and which checkers are to catch it."""

    name: str
    plant: Planted
    caught_by: tuple[str, ...]
    options: Callable[[int], Options] = drawn


@contextmanager
def in_place_of(*replacements: tuple[object, str, object]) -> Iterator[None]:
    patches = [mock.patch.object(owner, name, new) for owner, name, new in replacements]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in reversed(patches):
            patch.stop()


class BadObjects(MemoryObjects):
    """Objects that know where they are kept."""

    def __init__(self, buckets: MemoryBuckets, region: str) -> None:
        super().__init__(buckets, region)
        self._here = (buckets, region)
