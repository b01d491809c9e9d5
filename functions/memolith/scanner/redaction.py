"""Taking secrets out of a text: each becomes ``[REDACTED:kind]``, and everything else stays as it was written.

A finding may name a part of a secret, or the place of one that was decoded before it was seen. So what is taken out is
wider than what was found: the rest of the same token, a key down to the line that ends it, every other place at which
the same value stands. Then the text is searched again, because a find can hide another one.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from memolith.scanner.excerpts import Spot
from memolith.scanner.findings import RedactedSecret, Severity
from memolith.scanner.passwords import end_before_escape, end_of_password
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
_ESCAPED = re.compile(r"u[0-9A-Fa-f]{4}|[bfnrt]")
"""What stands behind the backslash of an escape of JSON: a character for another one, and no part of a token."""
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

Range = tuple[int, int, str]
"""Start, end and kind."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and what was taken out, with its place in the text as it was given.

    Attributes:
        text: without them.
        secrets: what was taken out, in order.
        ranges: where each of them stood.
        clean: whether the last search found nothing; else the rounds were too few.
    """

    text: str
    secrets: tuple[RedactedSecret, ...]
    ranges: tuple[Range, ...] = ()
    clean: bool = True


def redact(text: str, find: Find, rounds: int = ROUNDS, at_once: int = AT_ONCE) -> Redacted:
    """Replace every secret that `find` reports as more than a hint. Pure; a search for each round, and one for a line
    that had to be decoded.

    A text without secrets comes back as it is; so does a text that was redacted before. A text with more secrets than
    its rounds find still has some: whoever stores it scans it once more.

    Args:
        text: as given.
        find: searches it, and what is left of it.
        rounds: how often, at most.
        at_once: places that are taken out for one search, at most.
    """
    given, taken = text, list[Range]()
    for _ in range(rounds):
        spots = [spot for spot in find(text) if spot.severity is not Severity.LOW][:at_once]
        if not spots:
            return Redacted(text, _told(given, taken), tuple(taken))
        ranges = _over_marks(merged([one for spot in spots for one in _ranges(text, spot, find)]), taken)
        taken = _in_given(taken, ranges)
        text = replaced(text, ranges)
    return Redacted(text, _told(given, taken), tuple(taken), clean=False)


def mark_of(kind: str) -> str:
    """Return what stands in a text for a secret of a kind."""
    return f"[REDACTED:{kind}]"


def _kind(spot: Spot) -> str:
    return _NO_KIND.sub("-", spot.rule.removeprefix(_PREFIX).lower())[:60] or "secret"


def _ranges(text: str, spot: Spot, find: Find) -> list[Range]:
    """Return what has to go for one find."""
    kind, start, end = _kind(spot), spot.start, spot.end
    key = _KEY_BEGINS.match(text, start)
    if key is not None:
        rest = _KEY_REST.match(text, key.end())
        return [(start, rest.end() if rest and rest[0].strip() else end, kind)]
    if "\n" in text[start:end]:
        return [(first, last, kind) for first, last in _lines_with(text, spot, find)]
    value = text[start : end_before_escape(text, start, end)]
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
    first = start - len(before) + len(before.rstrip(_TOKEN))
    escaped = _ESCAPED.match(text, first, start) if text[first - 1 : first] == "\\" else None
    return escaped.end() if escaped else first, end + len(after) - len(after.lstrip(_TOKEN_ENDS))


def merged(ranges: Sequence[Range]) -> list[Range]:
    """Return the ranges in order; those that overlap as one, of the first's kind, and of equal ones the one given
    first, which is of the more severe find.
    """
    joined: list[Range] = []
    for start, end, kind in sorted(ranges, key=itemgetter(0)):
        if joined and start < joined[-1][1]:
            first, last, of_kind = joined[-1]
            joined[-1] = (first, max(last, end), of_kind)
        else:
            joined.append((start, end, kind))
    return joined


def replaced(text: str, ranges: Sequence[Range], mark: Callable[[str], str] = mark_of) -> str:
    """Return the text with the mark of its kind in the place of each range."""
    pieces, done = [], 0
    for start, end, kind in ranges:
        pieces += [text[done:start], mark(kind)]
        done = end
    return "".join([*pieces, text[done:]])


def _over_marks(ranges: Sequence[Range], taken: Sequence[Range]) -> list[Range]:
    """Return the ranges of a text over all of each mark that they have a part of: no half of one stays in the text."""
    ends, _ = _moves(taken)
    starts = [end - len(mark_of(kind)) for end, (_, _, kind) in zip(ends[1:], taken, strict=True)]
    wider = []
    for start, end, kind in ranges:
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, end) - 1
        start = starts[first] if first >= 0 and ends[first + 1] > start else start
        wider.append((start, max(end, ends[last + 1]), kind))
    return merged(wider)


def _in_given(taken: Sequence[Range], ranges: Sequence[Range]) -> list[Range]:
    """Return what was taken from the text as given before, and now: `ranges` are places in what was left of it."""
    ends, given = _moves(taken)

    def moved(position: int) -> int:
        before = bisect_right(ends, position) - 1
        return given[before] + position - ends[before]

    return merged([*((moved(start), moved(end), kind) for start, end, kind in ranges), *taken])


def _moves(taken: Sequence[Range]) -> tuple[list[int], list[int]]:
    """Return where each mark ends in what is left of a text, and in the text as given; first, where both begin."""
    ends, given, grown = [0], [0], 0
    for start, end, kind in taken:
        grown += len(mark_of(kind)) - (end - start)
        ends.append(end + grown)
        given.append(end)
    return ends, given


def _told(given: str, taken: Sequence[Range]) -> tuple[RedactedSecret, ...]:
    told, line, counted = [], 1, 0
    for start, _, kind in taken:
        line += given.count("\n", counted, start)
        counted = start
        told.append(RedactedSecret(kind, line, start - given.rfind("\n", 0, start)))
    return tuple(told)
