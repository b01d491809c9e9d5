"""Spots and what is shown of them: from a place in a text to a finding that a person can act on and nobody can abuse.

A finding goes into logs, into the history of a version and back to the agent that wrote the text. So an excerpt masks
every secret of the text, masks whatever else looks like one, and names invisible characters instead of repeating them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter

from memolith.scanner.findings import RANK, Family, Finding, Severity
from memolith.scanner.passwords import end_of_password

MOST_SECRETS = 20
"""Of one text that are told: the rest would only repeat that there are some."""

EXCERPT_LENGTH = 80
_MARGIN = 16
_AROUND = 200
"""Characters on both sides of an excerpt in which a secret may begin or end that reaches into it."""
_TOKEN_LIKE = re.compile(r"(?=[A-Za-z_+/=.~-]{0,60}[0-9])[A-Za-z0-9_+/=.~-]{16,}")
_NAMED_VALUE = re.compile(
    r"(?:pass\w*|pwd|secret|token|key|kennwort|contraseña|senha|clave|mot de passe|пароль|密码)"
    r"[\"'`*_\])]{0,3}\s{0,3}(?:=|:=|=>|[:：]|\sis\s)\s{0,3}[\"'`*_]{0,3}([^\s\"'`<>]{4,400})",
    re.IGNORECASE,
)
_PART_OF_SECRET = re.compile(r"[^\s\"'`<>]{0,400}")


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the text as written where a rule applies; everything of a `Finding` but how it is shown."""

    rule: str
    family: Family
    severity: Severity
    reason: str
    remedy: str
    start: int
    end: int
    weight: float = 0.0


def show(spots: Iterable[Spot], text: str, allow: frozenset[str] = frozenset()) -> list[Finding]:
    """Return the findings of a text's spots, with every secret among them masked in every excerpt.

    Of the secrets, at most `MOST_SECRETS` are told: those of the highest severity, and of these the first given.

    Args:
        spots: of every rule, those of `allow` too: what is not told is masked all the same.
        text: in which they stand.
        allow: ids of rules whose finds are not told.
    """
    spots = list(spots)
    secrets = _masks(text, ((spot.start, spot.end) for spot in spots if spot.family is Family.SECRET))
    told = [spot for spot in spots if spot.rule not in allow]
    worst = sorted((spot for spot in told if spot.family is Family.SECRET), key=lambda spot: RANK[spot.severity])
    untold = set(map(id, worst[MOST_SECRETS:]))
    return [_finding(spot, text, secrets) for spot in told if id(spot) not in untold]


def _masks(text: str, secrets: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges of secrets to the last character that may be a part of one, in order; no two touch."""
    return _joined((start, _end_of_secret(text, start, end)) for start, end in secrets)


def _end_of_secret(text: str, start: int, end: int) -> int:
    rest = _PART_OF_SECRET.match(text, end)
    return max(rest.end() if rest else end, end_of_password(text, start, end))


def _finding(spot: Spot, text: str, secrets: Sequence[tuple[int, int]]) -> Finding:
    line, column = line_and_column(text, spot.start)
    shown = excerpt(text, spot.start, spot.end, secrets)
    return Finding(
        spot.rule, spot.family, spot.severity, spot.reason, spot.remedy, line, column, shown, round(spot.weight, 1)
    )


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """1-based line and column, in code points; lines end at line feeds alone."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def excerpt(text: str, start: int, end: int, secrets: Sequence[tuple[int, int]]) -> str:
    """Return what stands at a range of a text and a little around it, at most `EXCERPT_LENGTH` characters, fit to be
    shown. `secrets`: ranges to hide, in order; no two touch.
    """
    left = max(text.rfind("\n", 0, start) + 1, start - _MARGIN)
    right = min(end + _MARGIN, left + 2 * EXCERPT_LENGTH)
    line_end = text.find("\n", end, right)
    right = min(right if line_end < 0 else line_end, len(text))
    pieces, done = [], left
    for secret_start, secret_end in _secret_ranges(text, left, right, secrets):
        if secret_end > done and secret_start < right:
            pieces += [
                _visible(text[done : max(done, secret_start)]),
                f"[{secret_end - secret_start} characters hidden]",
            ]
            done = secret_end
    pieces.append(_visible(text[done:right]) if done < right else "")
    shown = _TOKEN_LIKE.sub("[hidden]", "".join(pieces)).strip()
    return shown if len(shown) <= EXCERPT_LENGTH else shown[: EXCERPT_LENGTH - 1] + "…"


def _secret_ranges(text: str, left: int, right: int, secrets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Where secrets stand that reach into a range: the known ones to their last character, and what looks like one.

    They are looked for in the text around the range, because a piece of a token does not look like a token.
    """
    first, last = max(0, left - _AROUND), min(len(text), right + _AROUND)
    ranges = [match.span() for match in _TOKEN_LIKE.finditer(text, first, last)]
    ranges += (match.span(1) for match in _NAMED_VALUE.finditer(text, first, last))
    reaching = bisect_left(secrets, left, key=itemgetter(1))
    ranges += takewhile(lambda secret: secret[0] <= right, secrets[reaching:])
    return _joined(ranges)


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _visible(text: str) -> str:
    """Return the text with line breaks as blanks and every other character that shows nothing as ``<U+200B>``."""
    return "".join(map(_visible_char, text))


def _visible_char(char: str) -> str:
    if char in "\n\r\t":
        return " "
    if char.isprintable() and not (0xFE00 <= ord(char) <= 0xFE0F or 0xE0100 <= ord(char) <= 0xE01EF):
        return " " if unicodedata.category(char) == "Zs" else char
    return f"<U+{ord(char):04X}>"
