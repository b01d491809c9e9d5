"""Randomness that a seed repeats. For tests and simulations only: the seed reveals every id and secret."""

from __future__ import annotations

import random
import threading


class SeededRandomness:
    """`ports.ids.Randomness` from a seed. Safe for threads, though their order then decides who gets what."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a repeatable sequence is the purpose
        self._lock = threading.Lock()

    def bytes(self, count: int) -> bytes:
        with self._lock:
            return self._random.randbytes(count)

    def fraction(self) -> float:
        with self._lock:
            return self._random.random()
