"""Taking secrets out of a text: each becomes ``[REDACTED:kind]``, and everything else stays as it was written.

A finding may name a part of a secret, or the place of one that was decoded before it was seen. So what is taken out is
wider than what was found: the rest of the same token, a key down to the line that ends it, every other place at which
the same value stands. Then the text is searched again, because a find can hide another one.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from memolith.scanner.excerpts import Spot
from memolith.scanner.findings import RedactedSecret, Severity
from memolith.scanner.passwords import end_of_password
from memolith.scanner.split_secrets import end_of_token

Find = Callable[[str], Sequence[Spot]]
"""Every place of a secret in a text."""

ROUNDS = 12
"""How often a text is searched, for `AT_ONCE` places each time."""

AT_ONCE = 20
"""Places that are taken out for one search: each is looked for in the whole text."""

EVERYWHERE_FROM = 8
"""Characters from which a value is taken out wherever it stands. A shorter one may be part of ordinary words."""

_TOKEN = string.ascii_letters + string.digits + "_~-"
_TOKEN_ENDS = _TOKEN + "+/="
_TOKEN_MAX = 4_096
_KEY_BEGINS = re.compile(r"-----BEGIN[A-Z ]{0,40}-----")
_LINE_BEGINS = r"(?:\\{1,4}[nrt]|[\s>#|*\"'`,]){0,80}"
"""What stands between two lines of a key: in a quotation, in a comment, between marks; or a break that is escaped."""
_KEY_REST = re.compile(
    r"(?:(?!-----(?:BEGIN|END))[\s\S]){0,16000}-----END[A-Z ]{0,40}-----"
    r"|(?:(?:\s{0,4}(?:[>#|*] ?){0,3}|\\{1,4}n)[A-Za-z-]{3,24}: [^\n\\]{0,80}(?=\n|\\))*"
    rf"(?:{_LINE_BEGINS}[A-Za-z0-9+/=]{{16,}}(?![^\s\"'`\\,;)]))*"
)
"""To the line that ends a key; where there is none, over the lines that could be of it."""

_PASSWORDS = frozenset({"secret-password", "secret-generic-password"})
_PREFIX = "secret-"
_NO_KIND = re.compile(r"[^a-z0-9-]+")

_Range = tuple[int, int, str]
"""Start, end and kind."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and what was taken out, with its place in the text as it was given."""

    text: str
    secrets: tuple[RedactedSecret, ...]


def redact(text: str, find: Find) -> Redacted:
    """Replace every secret that `find` reports as more than a hint. Pure; a search for each round, and one for a line
    that had to be decoded.

    A text without secrets comes back as it is; so does a text that was redacted before. A text with more secrets than
    its rounds find still has some: whoever stores it scans it once more.
    """
    given, taken = text, list[_Range]()
    for _ in range(ROUNDS):
        spots = [spot for spot in find(text) if spot.severity is not Severity.LOW][:AT_ONCE]
        if not spots:
            break
        ranges = _merged([one for spot in spots for one in _ranges(text, spot, find)])
        taken = _in_given(given, text, taken, ranges)
        text = _replaced(text, ranges)
    return Redacted(text, _told(given, taken))


def mark_of(kind: str) -> str:
    """Return what stands in a text for a secret of a kind."""
    return f"[REDACTED:{kind}]"


def _kind(spot: Spot) -> str:
    return _NO_KIND.sub("-", spot.rule.removeprefix(_PREFIX).lower())[:60] or "secret"


def _ranges(text: str, spot: Spot, find: Find) -> list[_Range]:
    """Return what has to go for one find."""
    kind, start, end = _kind(spot), spot.start, spot.end
    key = _KEY_BEGINS.match(text, start)
    if key is not None:
        rest = _KEY_REST.match(text, key.end())
        return [(start, rest.end() if rest and rest[0].strip() else end, kind)]
    if "\n" in text[start:end]:
        return [(first, last, kind) for first, last in _lines_with(text, spot, find)]
    value = text[start:end]
    places = [start]
    if len(value) >= EVERYWHERE_FROM:
        places = [match.start() for match in re.finditer(re.escape(value), text)]
    return [(*_whole(text, place, place + len(value), spot.rule, find), kind) for place in places]


def _whole(text: str, start: int, end: int, rule: str, find: Find) -> tuple[int, int]:
    """Return the range of all of a secret of which one on a single line was found."""
    start, end = _whole_token(text, start, end)
    if rule in _PASSWORDS:
        return start, end_of_password(text, start, end)

    def is_token(token: str) -> bool:
        return any(spot.severity is Severity.HIGH and (spot.start, spot.end) == (0, len(token)) for spot in find(token))

    return start, end_of_token(text, text[start:end], end, is_token)


def _lines_with(text: str, spot: Spot, find: Find) -> list[tuple[int, int]]:
    """Return the lines of a find that hold it by themselves, as for one that was decoded; else all of its range."""
    found, position = [], spot.start
    for line in text[spot.start : spot.end].splitlines(keepends=True):
        if any(one.rule == spot.rule for one in find(line)):
            blank = len(line) - len(line.lstrip())
            found.append((position + blank, position + len(line.rstrip())))
        position += len(line)
    return found or [(spot.start, spot.end)]


def _whole_token(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range with what stands before and after it without a gap: a rule may know only a part of a token."""
    before, after = text[max(0, start - _TOKEN_MAX) : start], text[end : end + _TOKEN_MAX]
    return start - len(before) + len(before.rstrip(_TOKEN)), end + len(after) - len(after.lstrip(_TOKEN_ENDS))


def _merged(ranges: Sequence[_Range]) -> list[_Range]:
    """Return the ranges in order; those that overlap as one, of the first's kind, and of equal ones the one given
    first, which is of the more severe find.
    """
    merged: list[_Range] = []
    for start, end, kind in sorted(ranges, key=itemgetter(0)):
        if merged and start < merged[-1][1]:
            first, last, of_kind = merged[-1]
            merged[-1] = (first, max(last, end), of_kind)
        else:
            merged.append((start, end, kind))
    return merged


def _replaced(text: str, ranges: Sequence[_Range]) -> str:
    pieces, done = [], 0
    for start, end, kind in ranges:
        pieces += [text[done:start], mark_of(kind)]
        done = end
    return "".join([*pieces, text[done:]])


def _in_given(given: str, text: str, taken: Sequence[_Range], ranges: Sequence[_Range]) -> list[_Range]:
    """Return what was taken from the text as given before, and now: `ranges` are places in what was left of it."""
    if not taken:
        return list(ranges)
    starts, given_starts, grown = [0], [0], 0
    for start, end, kind in taken:
        grown += len(mark_of(kind)) - (end - start)
        starts.append(end + grown)
        given_starts.append(end)
    now = []
    for start, end, kind in ranges:
        piece = bisect_right(starts, start) - 1
        moved = given_starts[piece] + (start - starts[piece])
        now.append((min(moved, len(given)), min(moved + end - start, len(given)), kind))
    return _merged([*taken, *now])


def _told(given: str, taken: Sequence[_Range]) -> tuple[RedactedSecret, ...]:
    told, line, counted = [], 1, 0
    for start, _, kind in taken:
        line += given.count("\n", counted, start)
        counted = start
        told.append(RedactedSecret(kind, line, start - given.rfind("\n", 0, start)))
    return tuple(told)
