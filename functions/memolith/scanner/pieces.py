"""Taking secrets out of texts that are kept whatever they hold, such as what was said in a session.

A text is read a piece at a time, twice, with pieces that begin elsewhere the second time, so that a secret of up to
half a piece is whole in one of them. What could not be read in time, or still shows a secret after it was redacted, is
left out: no text is kept unread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memolith.scanner.budget import Budget
from memolith.scanner.excerpts import Spot
from memolith.scanner.findings import Severity
from memolith.scanner.redaction import mark_of, redact

UNREAD = "[OMITTED_UNSCANNED]"

PIECE = 8_000
SHORTEST = 8
"""Characters; nothing shorter is taken for a secret."""

SEARCHES = 6
"""How often a piece is redacted until nothing is found in it: one redaction has an end of its own."""

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
    count = blocks + bearers
    for first in (PIECE, PIECE // 2):
        if first == PIECE or len(text) > first:
            pieces = [_keep_piece(piece, find, budget) for piece in _pieces(text, first)]
            text, count = "".join(one.text for one in pieces), count + sum(one.count for one in pieces)
    return Kept(text, count)


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


def _pieces(text: str, first: int) -> Iterator[str]:
    start, stop = 0, first
    while start < len(text):
        yield text[start:stop]
        start, stop = stop, stop + PIECE


def _keep_piece(piece: str, find: Find, budget: Budget) -> Kept:
    count = 0
    for _ in range(SEARCHES):
        if budget.spent():
            return Kept(UNREAD, count + 1)
        redacted = redact(piece, lambda text: find(text, budget))
        count += len(redacted.secrets)
        piece = redacted.text
        if budget.exhausted:
            return Kept(UNREAD, count + 1)
        if not any(spot.severity is not Severity.LOW for spot in find(piece, budget)):
            return Kept(piece, count)
    return Kept(UNREAD, count + 1)
