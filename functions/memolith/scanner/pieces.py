"""Taking secrets out of texts that are kept whatever they hold, such as what was said in a session.

A text is read a piece at a time, twice, with pieces that begin elsewhere the second time, so that a secret of up to
half a piece is whole in one of them. Both read the text as it was given: half a secret that is taken out where a piece
ends would hide the other half. What could not be read in time, or still shows a secret after it was redacted, is left
out: no text is kept unread.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memolith.scanner.budget import Budget
from memolith.scanner.excerpts import Spot
from memolith.scanner.redaction import ROUNDS, Range, mark_of, merged, redact, replaced

UNREAD = "[OMITTED_UNSCANNED]"
"""Stands for what was not read; also the kind of such a range, for the kinds of secrets have no capital letters."""

PIECE = 8_000
SHORTEST = 8
"""Characters; nothing shorter is taken for a secret."""

SEARCHES = 6 * ROUNDS
"""How often a piece is searched until nothing is found in it: it is kept, and no one scans it once more."""

PIECES_SECONDS = 5.0
"""CPU that the texts of one call may take; a megabyte of ordinary text takes a fifth of it."""

_BEARER = re.compile(r"(?i)\bbearer[ \t]+([A-Za-z0-9._~+/=-]{16,})")
_KEY_BEGINS = re.compile(r"-----BEGIN[A-Z ]{0,40}PRIVATE KEY-----")
_KEY_ENDS = re.compile(r"-----END[A-Z ]{0,40}-----")

Find = Callable[[str, Budget], Sequence[Spot]]
"""Returns every place of a secret in a text; notes in the budget what it left unread."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a text, and how many secrets were taken out; what was left out unread counts as one."""

    text: str
    count: int = 0


def keep(text: str, find: Find, budget: Budget) -> Kept:
    """Return the text without the secrets that are found in it."""
    if len(text) < SHORTEST:
        return Kept(text)
    if budget.spent():
        return Kept(UNREAD, 1)
    text, blocks = _without_key_blocks(text)
    text, bearers = _BEARER.subn(_without_token, text)
    taken = list[Range]()
    for first in (PIECE, PIECE // 2):
        if first == PIECE or len(text) > first:
            taken += (one for piece in _pieces(len(text), first) for one in _taken(text, piece, find, budget))
    ranges = _with_unread(merged(taken), [start for start, _, kind in taken if kind == UNREAD])
    return Kept(replaced(text, ranges, _mark), blocks + bearers + len(ranges))


def _without_key_blocks(text: str) -> tuple[str, int]:
    """Return the text without its keys that have an end, and how many they were. Linear: one end is looked for once."""
    kept, done, count = list[str](), 0, 0
    for begins in _KEY_BEGINS.finditer(text):
        if begins.start() < done:
            continue
        ends = _KEY_ENDS.search(text, begins.end())
        if ends is None:
            break
        kept += [text[done : begins.start()], mark_of("private-key")]
        done, count = ends.end(), count + 1
    return "".join([*kept, text[done:]]), count


def _without_token(match: re.Match[str]) -> str:
    return match[0].removesuffix(match[1]) + mark_of("bearer-token")


def _pieces(length: int, first: int) -> Iterator[tuple[int, int]]:
    start, stop = 0, first
    while start < length:
        yield start, min(stop, length)
        start, stop = stop, stop + PIECE


def _taken(text: str, piece: tuple[int, int], find: Find, budget: Budget) -> list[Range]:
    """Return what is to be taken out for what is found in a piece: all of the piece, if it was not read to its end."""
    first, last = piece
    given = text[first:last]
    redacted = redact(given, lambda shown: [] if budget.spent() else find(shown, budget), SEARCHES, at_once=len(given))
    if budget.exhausted or not redacted.clean:
        return [(first, last, UNREAD)]
    return [(first + start, first + end, kind) for start, end, kind in redacted.ranges]


def _with_unread(ranges: Sequence[Range], unread: Sequence[int]) -> list[Range]:
    """Return the ranges; of those in which an unread piece begins, the kind says so."""
    begins = sorted(unread)
    return [
        (start, end, UNREAD if bisect_left(begins, start) < bisect_left(begins, end) else kind)
        for start, end, kind in ranges
    ]


def _mark(kind: str) -> str:
    return kind if kind == UNREAD else mark_of(kind)
