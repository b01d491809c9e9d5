"""Ways back: from a place in a text that was made from another to the place it was made from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

Origin = Callable[[int, int], tuple[int, int]]
"""From a range of a made text to the range of the original that it came from."""


def in_characters(encoded: bytes, positions: Iterable[int]) -> dict[int, int]:
    """For each position in a UTF-8 text the number of characters before it; inside a character, its end.

    One pass, however many positions.
    """
    characters, done, count = {}, 0, 0
    for position in sorted(set(positions)):
        whole = max(position, done)
        while whole < len(encoded) and encoded[whole] & 0xC0 == 0x80:
            whole += 1
        count += len(encoded[done:whole].decode())
        characters[position], done = count, whole
    return characters


def by_piece(starts: Sequence[int], places: Sequence[tuple[int, int]]) -> Origin:
    """Return the way back from pieces that were made as wholes: a match stands for every piece that it touches.

    Args:
        starts: where each piece begins in the made text.
        places: where each came from.
    """

    def origin(start: int, end: int) -> tuple[int, int]:
        first = bisect_right(starts, start) - 1
        last = max(bisect_right(starts, end - 1) - 1, first)
        return places[first][0], max(places[last][1], places[first][1])

    return origin


def by_segment(starts: Sequence[int], segments: Sequence[tuple[int, int]]) -> Origin:
    """Return the way back from segments that were copied as they are: character for character.

    Args:
        starts: where each segment begins in the made text.
        segments: where each was copied from.
    """

    def place(position: int) -> int:
        index = bisect_right(starts, position) - 1
        start, stop = segments[index]
        return min(start + position - starts[index], stop - 1)

    def origin(start: int, end: int) -> tuple[int, int]:
        first, last = place(start), place(end - 1)
        return min(first, last), max(first, last) + 1

    return origin


def composed(inner: Origin, outer: Origin) -> Origin:
    """First the way from the made text back to one in between, then from there."""
    return lambda start, end: outer(*inner(start, end))
