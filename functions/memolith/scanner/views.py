"""Views: readings that are made of parts of another reading, with the way back for each part."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from memolith.scanner.disguises import APART, Reading
from memolith.scanner.offsets import Origin, composed

BEFORE, AFTER = 100, 140
"""Characters around a part that was read in another way, which are shown with it."""

Part = tuple[str, int, int]
"""What a view says, and the range of the reading that it came from; its end first if it is read from right to left."""

Span = tuple[int, int]


def view_of(parent: Reading, how: str, parts: Sequence[Part]) -> Reading:
    """Return parts as a reading. A part as long as its range is followed back letter by letter, others as wholes."""
    text = "".join(said for said, _, _ in parts)
    through = f"{parent.how}, then {how}" if parent.how else how
    return Reading(through, text, text.encode(), composed(_way_back(parts), parent.origin))


def _way_back(parts: Sequence[Part]) -> Origin:
    starts, position = [], 0
    for said, _, _ in parts:
        starts.append(position)
        position += len(said)

    def span(place: int) -> Span:
        index = max(bisect_right(starts, place) - 1, 0)
        said, start, end = parts[index]
        if start > end:
            return start - 1 - place + starts[index], start - place + starts[index]
        if len(said) != end - start:
            return start, end
        return start + place - starts[index], start + place - starts[index] + 1

    def origin(start: int, end: int) -> Span:
        first, last = span(start), span(max(end - 1, start))
        low, high = min(first[0], last[0]), max(first[1], last[1])
        return low, max(high, low + 1)

    return origin


def reversed_parts(text: str, spans: Iterable[Span]) -> list[Part]:
    """Return ranges of a text from right to left, letter by letter."""
    parts: list[Part] = []
    for start, end in spans:
        parts += [(text[start:end][::-1], end, start), (APART, start, end)]
    return parts


def around(text: str, replaced: Iterable[Part], before: int = BEFORE, after: int = AFTER) -> list[Part]:
    """Return what replaces parts of a text, with what stands around each: places far from all of them are left out.

    Args:
        text: of the parent.
        replaced: in the order of the text; what overlaps one before is left out.
        before: how many characters before each are shown.
        after: likewise.
    """
    parts: list[Part] = []
    done = shown = 0
    for said, start, end in replaced:
        if start < done:
            continue
        if start - before > shown and parts:
            parts += [(text[done:shown], done, shown), (APART, shown, shown + 1)]
            done = start - before
        done = max(done, start - before)
        parts += [(text[done:start], done, start), (said, start, end)]
        done, shown = end, min(len(text), end + after)
    if parts:
        parts.append((text[done:shown], done, shown))
    return [part for part in parts if part[0]]


def merged(spans: Iterable[Span], length: int, wider: int) -> list[Span]:
    """Return ranges, each wider on both sides, within a text of that length; those that touch are one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        low, high = max(0, start - wider), min(length, end + wider)
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found
