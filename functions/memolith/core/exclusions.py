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


@dataclass(frozen=True, slots=True)
class _Sign:
    """A pattern, and texts of which the plain form of each match contains one.

    They are looked for first: that takes a fraction of the pattern's time, and most texts hold none of them.
    """

    pattern: re.Pattern[str]
    needles: tuple[str, ...]

    def search(self, text: str, plain: str) -> re.Match[str] | None:
        """Return the first match in a text, given its `_plain` form too."""
        return next(self.matches(text, plain), None)

    def matches(self, text: str, plain: str) -> Iterator[re.Match[str]]:
        """Yield every match in a text, given its `_plain` form too."""
        for needle in self.needles:
            if needle in plain:
                yield from self.pattern.finditer(text)
                return


_DIGITS = str.maketrans("123456789", "000000000")


def _plain(text: str) -> str:
    """Return a text in lower case, with 0 for every digit."""
    return text.lower().translate(_DIGITS)


_FENCE = _Sign(re.compile(r"^```[^\n]*\n(.*?)(?:^```|\Z)", re.M | re.S), ("```",))
_PLACE = _Sign(
    re.compile(
        r"(?<![\w./-])[\w./-]{1,200}\."
        r"(?:py|ts|tsx|js|jsx|go|rs|java|kt|c|cc|cpp|h|rb|php|cs|swift|sql|sh):[0-9]{1,9}\b"
    ),
    (":0",),
)
_COMMIT = _Sign(
    re.compile(r"\b(?:commit|merge|merged|revert|reverted|cherry-pick(?:ed)?)\s+[0-9a-f]{7,40}\b", re.I),
    ("commit", "merge", "revert", "cherry-pick"),
)
_PULL = _Sign(re.compile(r"\b(?:PR|pull request|issue)\s*#[0-9]+", re.I), ("#0",))
_TRACE = _Sign(
    re.compile(
        r"Traceback \(most recent call last\)|^panic: "
        r"|^[^\S\n]+(?:at [\w.$<>]+\([^)\n]*:[0-9]+\)|File \"[^\"\n]+\", line)",
        re.M,
    ),
    ("traceback (most recent call last)", "panic: ", 'file "', "0)"),
)
_FIX = _Sign(
    re.compile(r"\b(?:fixed by|the fix was|fixed it by)\b[^\n.]{0,200}\.\w{1,5}\b", re.I),
    ("fixed by", "the fix was", "fixed it by"),
)
_WHY = re.compile(r"^[^\w\n]{0,20}Why[^\w\n]{0,4}:", re.M | re.I)
_MOMENTS = (
    "right now",
    "for now",
    "in this session",
    "this time only",
    "just this once",
    "todo next",
    "next step is",
)
_NOW = _Sign(re.compile(rf"\b(?:{'|'.join(_MOMENTS)})\b", re.I), _MOMENTS)
_RELATIVE = _Sign(
    re.compile(
        r"\b(?:today|tomorrow|yesterday|tonight|(?:next|last|this)\s+(?:week|month|quarter|monday|tuesday|wednesday|"
        r"thursday|friday|saturday|sunday))\b",
        re.I,
    ),
    ("day", "tomorrow", "tonight", "week", "month", "quarter"),
)
_DATE = re.compile(r"\b\d{4}-\d\d(?:-\d\d)?\b|\b(?:19|20)\d\d\b")


def exclusions(text: str) -> Iterator[Exclusion]:
    """Yield each reason not to remember a text, at most one of each rule. Linear in the text."""
    plain = _plain(text)
    yield from _code(text, plain)
    committed = list(_COMMIT.matches(text, plain))
    commits = [*committed, *_PULL.matches(text, plain)]
    if committed or len(commits) > COMMITS_MAX:
        first = min(commits, key=lambda match: match.start())
        yield _of("excl-git", "is history, which the repository keeps", first)
    match, fix = _TRACE.search(text, plain), _FIX.search(text, plain)
    if match is None and fix is not None and _WHY.search(text) is None:
        match = fix
    if match:
        yield _of("excl-debug", "is about a defect whose repair is in the code", match)
    match = _NOW.search(text, plain)
    if match:
        yield _of("excl-ephemeral", "holds for one task alone", match)
    for match in _RELATIVE.matches(text, plain):
        around = text[max(0, match.start() - DATE_WITHIN) : match.end() + DATE_WITHIN]
        if _DATE.search(around) is None:
            yield _of("excl-relative-date", "names a day only relative to the day on which it was written", match)
            return


def _code(text: str, plain: str) -> Iterator[Exclusion]:
    long = (fence for fence in _FENCE.matches(text, plain) if fence[1].count("\n") > FENCE_LINES_MAX)
    match = next(long, None) or _PLACE.search(text, plain)
    if match:
        yield _of("excl-code", "is what the code says", match)


def _of(rule: str, reason: str, match: re.Match[str]) -> Exclusion:
    return Exclusion(rule, reason, match.start(), match.end())
