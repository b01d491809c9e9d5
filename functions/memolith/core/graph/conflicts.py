"""Which statements contradict each other: those that claim different values for the same, at the same time. Pure.

Nothing here decides which of two is right, and nothing is hidden for it: a later statement stands beside the earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memolith.core.graph.valid_time import Interval, overlap

CONTRADICTS = ("contradicts", "conflicts_with", "disagrees_with", "widerspricht", "contredit", "contradice")
SUPERSEDES = ("supersedes", "replaces", "obsoletes", "ersetzt", "remplace", "reemplaza")
"""Types of relations by which a note says so itself."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement as far as conflicts depend on it: whose, which value of which kind, and when it holds, as it says."""

    memory_id: str
    line: int
    value: int
    free: bool
    valid: Interval | None


def contradicting(stated: Sequence[Stated]) -> Iterator[tuple[int, int]]:
    """Yield pairs, by their places, of statements of one key that contradict each other; the first come first.

    A note that gives several free values gives a list, of which nothing contradicts another note's value. Of a value
    that stands in a note twice, one statement is paired.
    """
    lists = {one.memory_id for one in stated for other in stated if _is_list(one, other)}
    seen: set[tuple[str, int, str, int]] = set()
    for place, one in enumerate(stated):
        for at, other in enumerate(stated[place + 1 :], place + 1):
            if one.value == other.value or not overlap(one.valid, other.valid):
                continue
            if one.free and other.free and lists & {one.memory_id, other.memory_id}:
                continue
            pair = (one.memory_id, one.value, other.memory_id, other.value)
            if pair not in seen:
                seen.add(pair)
                yield place, at


def _is_list(one: Stated, other: Stated) -> bool:
    return (
        one.memory_id == other.memory_id
        and one.free
        and other.free
        and one.value != other.value
        and overlap(one.valid, other.valid)
    )
