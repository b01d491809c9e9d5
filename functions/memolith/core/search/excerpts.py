"""The part of a text that is shown with a hit: where a passage has most of what was asked for.

A passage is not taken apart again for it: only those of its words are that begin, somewhere in them, as a stem does
that is asked for. Ten excerpts cost less than the search that found them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from memolith.core.search.analysis import Stem
from memolith.core.search.words import CAMEL, MARKS, PAIRED, words

PASSAGE_MAX_CHARS = 4_000
"""How far an excerpt is looked for in a passage of very long words."""

WORD_END_WITHIN = 100
"""How far back from where an excerpt is full the end of a word is looked for."""

BEGINNING_MAX_CHARS = 5
"""How much of a stem a word is recognized by before it is stemmed itself: stemming changes what comes later."""

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
    lower = part.lower()
    if len(lower) != len(part):
        lower = part
    found = []
    for match in _worth_a_look(stems, CAMEL.search(part) is not None).finditer(lower):
        near = words(part[match.start() : match.end()])
        found += [(match.start() + word.start, one) for word in near if (one := stem(word.lower)) in stems]
    return found


def _last_word_end(text: str, begin: int, end: int) -> int:
    if end >= len(text):
        return len(text)
    low = max(begin, end - WORD_END_WITHIN)
    ends = [low + match.end() for match in _END.finditer(text[low : end + 1])]
    return max((one for one in ends if one <= end), default=end)


@lru_cache(maxsize=64)
def _worth_a_look(stems: frozenset[str], within_words: bool) -> re.Pattern[str]:
    """Find what may be a word with one of these stems, up to the next blank: what begins as one of them does, and what
    has a letter beyond ASCII, as folding changes it. With `within_words` also what goes on so, as in ``getUser``.
    """
    known = {one[: min(BEGINNING_MAX_CHARS, max(len(one) - 1, 1))] if len(one) > 2 else one for one in stems}
    before = "" if within_words else "(?<![a-z0-9])"
    return re.compile(f"(?<!\\S)[!-~]*[^\\x00-\\x7f]\\S*|{before}(?:{'|'.join(map(re.escape, sorted(known)))})\\S*")
