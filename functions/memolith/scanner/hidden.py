"""Where a text holds words that a person who looks at it rendered does not see, and a model that reads it does.

Comments, the alternative text of images, titles of links, attributes of elements, elements styled away, front matter,
link definitions that define nothing. What stands there is as ordinary as an image's description, so nothing is a
finding by itself; but an order to the reader has no business there (`memolith.scanner.deep`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

_STYLED_AWAY = (
    r"display\s{0,2}:\s{0,2}none|visibility\s{0,2}:\s{0,2}hidden|font-size\s{0,2}:\s{0,2}[01](?:px|pt|em)?\s{0,2}[;\"']|"
    r"opacity\s{0,2}:\s{0,2}0(?:\.0+)?\s{0,2}[;\"']|\bhidden\b|color\s{0,2}:\s{0,2}(?:white|transparent|#fff(?:fff)?)\b"
)
_HIDDEN = re.compile(
    r"!\[(?P<alternative>[^\]\n]{1,600})\](?=[(\[])"
    r"|\]\([^()\s]{0,300}[ \t]{1,8}[\"'(](?P<title>[^\"\n]{1,600})[\"')]\)"
    r"|^[ \t]{0,3}\[[^\]\n]{1,40}\]:[ \t]{0,8}(?:<>|\S{1,300})[ \t]{1,8}[\"'(](?P<definition>[^\n]{1,600})[\"')][ \t]*$"
    r"|\b(?:alt|title|aria-label|aria-description|placeholder|summary|content|data-[a-z-]{1,24})="
    r"(?:\"(?P<attribute>[^\"<>{}]{1,600})\"|'(?P<apostrophes>[^'<>{}]{1,600})')"
    rf"|<(?P<element>[a-z][a-z0-9]{{0,9}})\b(?=[^<>]{{0,300}}(?:{_STYLED_AWAY}))[^<>]{{0,300}}>"
    r"(?P<styled>(?:[^<]|<(?!/(?P=element))){1,4000})",
    re.IGNORECASE | re.MULTILINE,
)
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\n((?:(?!---[ \t]*$)[^\n]{0,600}\n){1,80})---[ \t]*$", re.MULTILINE)
_CODE = re.compile(r"[{}();=<>$]")
MOST_CODE = 0.03
"""The share of characters of code from which a comment counts as code."""


def hidden_ranges(text: str) -> list[tuple[int, int]]:
    """Where such words stand, in the order of the text. Code in a comment is no such words."""
    front = _FRONT_MATTER.match(text)
    ranges = [front.span(1)] if front else []
    ranges += (match.span(str(match.lastgroup)) for match in _HIDDEN.finditer(text, front.end() if front else 0))
    return [span for span in sorted([*ranges, *_comments(text)]) if _prose(text, span)]


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands between the marks of a comment; one that is never closed hides the rest of a page."""
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        end = len(text) if end < 0 else end
        yield start + 4, end
        start = text.find("<!--", end)


def _prose(text: str, span: tuple[int, int]) -> bool:
    start, end = span
    return len(_CODE.findall(text, start, end)) <= MOST_CODE * (end - start)


class Ranges:
    """Ranges of a text, asked a place at a time."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Take ranges in the order of the text."""
        self._starts = [start for start, _ in ranges]
        self._ends = list(accumulate((end for _, end in ranges), max))

    def enclose(self, start: int, end: int) -> bool:
        """Whether one of the ranges holds all of this one."""
        index = bisect_right(self._starts, start) - 1
        return index >= 0 and end <= self._ends[index]
