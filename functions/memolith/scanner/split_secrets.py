"""Secrets that were broken into lines: by an editor, by a page, or to hide them.

A vendor's tokens begin in its own way, and that beginning is what the pass over the text as written looks for at the
end of a line (`BROKEN`). What follows on the next lines, without quotation marks, operators and labels, is put behind
it; if the result is a whole token and its first line alone was none, it is a secret from the first piece to the last.

What is a whole token already may go on below: the longest forms have no fixed length, and a line of one is one too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from memolith.scanner.budget import Budget
from memolith.scanner.excerpts import Spot
from memolith.scanner.findings import Family, Severity

_BEGINS = (
    r"(?:gh[pousr]_|github_pat_|gl(?:pat|dt|rt)-|sk-ant-|sk-proj-|xox[abep]-|AKIA|ASIA|AIza|hf_|npm_|pypi-AgE"
    r"|dop_v1_|shpat_|sk_live_|rk_live_|hvs\.|SG\.|gsk_|r8_|sbp_|figd_|lin_api_|glsa_)"
)
_CHAR = r"[A-Za-z0-9_.+/=-]"
_LINE_END = r"[\"'`]?[ \t]{0,4}(?:[+\\&.,|][ \t]{0,4}){0,2}\r?\n"
BROKEN = rf"\b{_BEGINS}{_CHAR}{{2,80}}{_LINE_END}"
"""A line that ends in the beginning of a token; for the engine, which reports where the line ends."""

_LAST_WORD = re.compile(rf"({_BEGINS}{_CHAR}{{2,80}}){_LINE_END}\Z")
_NEXT_PIECE = re.compile(
    r"[ \t>|*#/-]{0,12}(?:[A-Za-z][A-Za-z0-9 _-]{0,24}[:=][ \t]{0,3})?"
    rf"[\"'`]?({_CHAR}{{4,90}})(?![^\s\"'`,;)\]\\+]|{_CHAR})(?:{_LINE_END})?"
)
_NEXT_LINE = re.compile(
    rf"{_LINE_END}[ \t>|*#/-]{{0,12}}[\"'`]?(?!{_BEGINS})({_CHAR}{{4,90}})"
    r"(?=[\"'`]?[ \t]{0,4}(?:[+\\&.,|;)\]}][ \t]{0,4}){0,3}(?:\r?\n|\Z))"
)
"""The rest of a line, and the next one if nothing but a piece stands there; a label says that it is another thing."""
_GENERATED = re.compile(r"[0-9].*[A-Za-z]|[A-Za-z].*[0-9]|[a-z].?[A-Z]")
_AROUND = 160
MOST_PIECES = 6
MOST_BREAKS = 20
"""Of the breaks of one text that are looked at; each is a few questions to the engine."""

RULE = "secret-split-token"
REASON = "a token in the form that its vendor gives to tokens, broken into lines"
REMEDY = "Remove the token and revoke it; keep it in a secret manager."

IsToken = Callable[[str], bool]
"""Tells whether a text holds a whole token of a vendor's form, or whether it is one."""


def find_split(
    text: str, breaks: Iterable[int], has_token: IsToken, is_token: IsToken, budget: Budget
) -> Iterator[Spot]:
    """Yield the tokens that are broken into lines.

    Args:
        text: as written.
        breaks: positions in characters at which a line ends whose last word begins like a token.
        has_token: asked of what was put together, and of its first piece.
        is_token: asked of a token with a line more.
        budget: what this may cost; what was not looked at is noted there.
    """
    done = 0
    for end in islice(breaks, MOST_BREAKS):
        if budget.spent():
            return
        first = _LAST_WORD.search(text, max(done, end - _AROUND), end)
        if first is None or has_token(first[1]):
            continue
        joined, position = first[1], end
        for _ in range(MOST_PIECES):
            piece = _NEXT_PIECE.match(text, position)
            if piece is None or not any(char.isdigit() for char in piece[1]):
                break
            joined, position = joined + piece[1], piece.end()
            if has_token(joined):
                done = end_of_token(text, joined, piece.end(1), is_token)
                yield Spot(RULE, Family.SECRET, Severity.HIGH, REASON, REMEDY, first.start(1), done)
                break


def end_of_token(text: str, token: str, end: int, is_token: IsToken) -> int:
    """Return where a token ends that may go on over the lines below.

    A line belongs to it if it stands alone, looks generated, and is one token together with what stands above it.

    Args:
        text: as written.
        token: what is known of it, without what stands between its lines.
        end: where that ends.
        is_token: asked of the token with a line more.
    """
    for _ in range(MOST_PIECES):
        line = _NEXT_LINE.match(text, end)
        if line is None or not _GENERATED.search(line[1]):
            break
        token += line[1]
        if not is_token(token):
            break
        end = line.end(1)
    return end
