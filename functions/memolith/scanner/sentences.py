"""Signs in one sentence: a meaning is there when every one of its signs is, in whatever order they stand.

A language may put "your", "instructions" and "no longer apply" in any order, and an author may put anything between
them. So a rule may name lists of expressions instead of a pattern: the engine finds the rarest of them, and here the
sentence around it is searched for the others. That is linear in the sentence, however it is built.

A sentence ends at its mark, at an empty line, before the next item of a list and at the edge of a table's cell. A dot
inside an address or a file name ends nothing. A sign right after a "not" or "never" is none: "never send the token" is
no order to send it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

REACH = 260
"""Characters within which the signs stand, and which a sentence may have before and after what the engine found."""

_END = re.compile(r"[.!?;\x00](?![a-z0-9/=&_<-])|[ \t]\|[ \t]|\n(?=[ \t]*(?:\n|[*+-] |\||[0-9]{1,3}[.)] ))")
_NEGATED = re.compile(
    r"(?:\b(?:never|not|cannot|ne|no|non|nao|nie|не|nicht|niemals|nunca|mai|jamais|nigdy|никогда)|n['’]t|别|不要|不得|不|勿)"
    r"(?:[ \t*_]+(?:ever|just|simply|blindly|automatically))?[ \t*_]{0,3}$"
)
_BEFORE = 24
_PIECE = 1_000

Span = tuple[int, int]


def sentences(text: str, start: int, stop: int) -> Iterator[Span]:
    """Yield the sentences of a window, the first and the last as far as they reach into it; long ones in pieces."""
    for end in _END.finditer(text, start, stop):
        yield from _pieces(start, end.start())
        start = end.end()
    yield from _pieces(start, stop)


def _pieces(start: int, stop: int) -> Iterator[Span]:
    """Yield parts of a sentence that are short enough to be searched between two looks at a budget, and overlap."""
    while stop - start > _PIECE:
        yield start, start + _PIECE
        start += _PIECE - REACH
    yield start, stop


def spans_of(signs: Sequence[re.Pattern[str]], text: str, start: int, stop: int) -> Iterator[Span]:
    """Yield the least part of a sentence that holds every sign, if it is at most `REACH` long; else nothing.

    Args:
        signs: all have to be found; the first one is looked for first, so that it should be the rarest.
        text: that the sentence belongs to.
        start: of the sentence.
        stop: of the sentence.
    """
    first, *others = signs
    for found in first.finditer(text, start, stop):
        if _negated(text, start, found):
            continue
        low, high = found.span()
        for sign in others:
            other = _nearest(sign, text, (max(start, high - REACH), min(stop, low + REACH)), found)
            if other is None:
                break
            low, high = min(low, other.start()), max(high, other.end())
        else:
            yield low, high
            return


def _nearest(sign: re.Pattern[str], text: str, within: Span, to: re.Match[str]) -> re.Match[str] | None:
    """Return the match of a sign that stands nearest to another, none that is negated."""
    best: re.Match[str] | None = None
    for found in sign.finditer(text, *within):
        if not _negated(text, within[0], found) and (best is None or _gap(found, to) < _gap(best, to)):
            best = found
    return best


def _gap(one: re.Match[str], other: re.Match[str]) -> int:
    return max(one.start() - other.end(), other.start() - one.end())


def _negated(text: str, start: int, found: re.Match[str]) -> bool:
    return _NEGATED.search(text, max(start, found.start() - _BEFORE), found.start()) is not None
