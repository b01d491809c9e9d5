"""The part of a text that is shown with a hit: where a passage has most of what was asked for.

A passage is not taken apart again for it: only those of its words are that begin, somewhere in them, as a stem does
that is asked for. Ten excerpts cost less than the search that found them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from memolith.core.search.analysis import Stem
from memolith.core.search.words import CAMEL, MARKS, PAIRED, WORD_MAX_CHARS, words

PASSAGE_MAX_CHARS = 4_000
"""How far an excerpt is looked for in a passage of very long words."""

WORD_END_WITHIN = 100
"""How far back from where an excerpt is full the end of a word is looked for."""

BEGINNING_MAX_CHARS = 5
"""How much of a stem a word is recognized by before it is stemmed itself: stemming changes what comes later."""

_AFTER_WORDS = ".,;:!?"
"""Stripped before a look whether a text is one plain word, as most are, which is its own only word."""

_BLANK = re.compile(r"\s")
_BEYOND_ASCII = re.compile(r"(?<!\S)[!-~]*[^\x00-\x7f]\S*")
_INSIDE = f"\\w'’ʼʻ{MARKS}"
_BEGIN = re.compile(f"[{PAIRED}]|(?<![{_INSIDE}])[^\\W_]")
_END = re.compile(f"[{PAIRED}][{MARKS}]*|[^\\W_][{MARKS}]*(?![{_INSIDE}])")


def excerpt(text: str, starts: Sequence[int], number: int, stems: Collection[str], stem: Stem, max_chars: int) -> str:
    """Cut out what of a passage answers best: from the word on that has most of the wanted stems behind it.

    It begins and ends where a word does. Without a wanted word it is the passage's beginning.

    Args:
        starts: where the passages begin; `number` says which of them is meant, from 0.
    """
    bounds = [*starts, len(text)] if starts else [0, len(text)]
    start, until = bounds[number : number + 2]
    part = text[start : min(until, start + PASSAGE_MAX_CHARS)]
    hits = _hits(part, frozenset(stems), stem)
    reach = max_chars * 3 // 4

    def together(place: int) -> int:
        return len({one for other, one in hits if 0 <= other - place < reach})

    at = max((place for place, _ in hits), key=lambda place: (together(place), -place), default=0)
    first = _BEGIN.search(part, max(at - (max_chars - reach), 0))
    begin = first.start() if first is not None else at
    begin = start + (min(begin, at) if hits else begin)
    return text[begin : _last_word_end(text, begin, begin + max_chars)].strip()


def _hits(part: str, stems: frozenset[str], stem: Stem) -> list[tuple[int, str]]:
    """Return where words of these stems stand, each with its stem."""
    found: set[tuple[int, str]] = set()
    for start, end in _worth_a_look(part, stems):
        text = part[start:end]
        plain = text.rstrip(_AFTER_WORDS)
        if plain.isascii() and plain.isalnum() and (plain[1:].islower() or plain.isdecimal()):
            if (one := stem(plain.lower()[:WORD_MAX_CHARS])) in stems:
                found.add((start, one))
            continue
        found |= {(start + word.start, one) for word in words(text) if (one := stem(word.lower)) in stems}
    return sorted(found)


def _worth_a_look(part: str, stems: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield from where to which blank there may be words with these stems: what begins as one of them does, and all
    with a letter beyond ASCII, as folding changes it. What goes on so (``getUser``) counts where there are humps.
    """
    lower = part.lower()
    if len(lower) != len(part):
        lower = part
    for match in () if lower.isascii() else _BEYOND_ASCII.finditer(lower):
        yield match.span()
        lower = f"{lower[: match.start()]}{' ' * len(match[0])}{lower[match.end() :]}"
    within_words = CAMEL.search(part) is not None
    known = {one[: min(BEGINNING_MAX_CHARS, max(len(one) - 1, 1))] if len(one) > 2 else one for one in stems}
    for beginning in known:
        at = lower.find(beginning)
        while at >= 0:
            end = at + 1
            if within_words or not at or not lower[at - 1].isalnum():
                blank = _BLANK.search(lower, at)
                end = len(part) if blank is None else blank.start()
                yield at, end
            at = lower.find(beginning, end)


def _last_word_end(text: str, begin: int, end: int) -> int:
    if end >= len(text):
        return len(text)
    low = max(begin, end - WORD_END_WITHIN)
    ends = [low + match.end() for match in _END.finditer(text[low : end + 1])]
    return max((one for one in ends if one <= end), default=end)
