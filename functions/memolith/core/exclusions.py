"""What should not be remembered, because it is elsewhere or soon over. Pure, and without a model.

Code and history say what they say better than a note about them; a recipe for a defect that was repaired helps no one;
what holds for one task, or on a day that is not named, misleads the next reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FENCE_LINES_MAX = 10
COMMITS_MAX = 2
DATE_WITHIN = 40
"""Characters within which a date makes a relative one absolute."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One reason not to remember a text, with the place of what gives it."""

    rule: str
    reason: str
    start: int
    end: int


_FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```|\Z)", re.M | re.S)
_PLACE = re.compile(
    r"(?<![\w./-])[\w./-]{1,200}\.(?:py|ts|tsx|js|jsx|go|rs|java|kt|c|cc|cpp|h|rb|php|cs|swift|sql|sh):\d{1,9}\b"
)
_COMMIT = re.compile(r"\b(?:commit|merge|merged|revert|reverted|cherry-pick(?:ed)?)\s+[0-9a-f]{7,40}\b", re.I)
_PULL = re.compile(r"\b(?:PR|pull request|issue)\s*#\d+", re.I)
_TRACE = re.compile(
    r"Traceback \(most recent call last\)|^\s+at [\w.$<>]+\([^)\n]*:\d+\)|^panic: |^\s+File \"[^\"\n]+\", line", re.M
)
_FIX = re.compile(r"\b(?:fixed by|the fix was|fixed it by)\b[^\n.]{0,200}\.\w{1,5}\b", re.I)
_WHY = re.compile(r"^[^\w\n]{0,20}Why[^\w\n]{0,4}:", re.M | re.I)
_NOW = re.compile(
    r"\b(?:right now|for now|in this session|this time only|just this once|todo next|next step is)\b", re.I
)
_RELATIVE = re.compile(
    r"\b(?:today|tomorrow|yesterday|tonight|(?:next|last|this)\s+(?:week|month|quarter|monday|tuesday|wednesday|thursday|"
    r"friday|saturday|sunday))\b",
    re.I,
)
_DATE = re.compile(r"\b\d{4}-\d\d(?:-\d\d)?\b|\b(?:19|20)\d\d\b")


def exclusions(text: str) -> Iterator[Exclusion]:
    """Yield each reason not to remember a text, at most one of each rule. Linear in the text."""
    yield from _code(text)
    commits = [*_COMMIT.finditer(text), *_PULL.finditer(text)]
    if len(commits) > COMMITS_MAX or any(_COMMIT.finditer(text)):
        first = min(commits, key=lambda match: match.start())
        yield _of("excl-git", "is history, which the repository keeps", first)
    match = _TRACE.search(text) or (None if _WHY.search(text) else _FIX.search(text))
    if match:
        yield _of("excl-debug", "is about a defect whose repair is in the code", match)
    match = _NOW.search(text)
    if match:
        yield _of("excl-ephemeral", "holds for one task alone", match)
    for match in _RELATIVE.finditer(text):
        around = text[max(0, match.start() - DATE_WITHIN) : match.end() + DATE_WITHIN]
        if _DATE.search(around) is None:
            yield _of("excl-relative-date", "names a day only relative to the day on which it was written", match)
            return


def _code(text: str) -> Iterator[Exclusion]:
    long = (fence for fence in _FENCE.finditer(text) if fence[1].count("\n") > FENCE_LINES_MAX)
    match = next(long, None) or _PLACE.search(text)
    if match:
        yield _of("excl-code", "is what the code says", match)


def _of(rule: str, reason: str, match: re.Match[str]) -> Exclusion:
    return Exclusion(rule, reason, match.start(), match.end())
