"""From a rule's pattern to what the engine looks for: cheaper, and never missing where the pattern matches.

The engine pays for every place where a pattern might begin and for every state that it then keeps, so its version has
no long counters: repeated words become any characters of the same sentence, or are written out if they are few and
stand inside a group; repetitions of many characters lose their bounds. Those of few characters, such as the gap between
two words, keep them: for a rare word at the end of what is short the engine only looks back, and for one at the end of
what may be long it begins at every place. And it begins at the pattern's mark ``(?#)``, if there is one: whoever writes
a pattern that starts with words of everyday puts the mark before the first rare one. What is left ends wherever the
pattern ends, and that is all that is asked of it: the pattern itself is then tried on the text before
(`memolith.scanner.engine`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

GAP = r"[\s*_\"'`~>#|\\/-]{1,8}"
"""What stands between two words: blanks, line breaks with their comment or quote marks, emphasis."""

SENTENCE_ENDS = ".!?;\x00"
SENTENCE = r"[^.!?;\x00]"
"""A character of the same sentence."""

MARK = "(?#)"

LONG_RUN = 14
"""A repetition of at least so many characters keeps its lower bound, which is most of what makes it rare."""

_COUNTED = (GAP.removesuffix("{1,8}"), "[a-z]")
"""What is repeated a few times only: it keeps its bounds."""

_REPETITION = re.compile(r"(?<!\\)\{(\d+),(\d+)\}")
_FEW = re.compile(r"(?P<group>\(\?:[^()]*\))\{(?P<least>\d),(?P<most>[23])\}")
"""A few words: written out, so that the engine forgets a beginning after them, and not at the sentence's end."""

_PIECE = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\(|\)|\||.", re.DOTALL)
_QUANTIFIER = re.compile(r"[?*+]|\{\d+(?:,\d+)?\}")
_ANY = f"{SENTENCE}*"


def loosen(pattern: str) -> str:
    """Return the engine's version of an expanded pattern: matches end wherever the pattern's do, and elsewhere too."""
    loose = "".join(map(_unbounded, _parts(pattern.rpartition(MARK)[2])))
    while f"{_ANY}{_ANY}" in loose or f"{_ANY}{GAP}{_ANY}" in loose:
        loose = loose.replace(f"{_ANY}{_ANY}", _ANY).replace(f"{_ANY}{GAP}{_ANY}", _ANY)
    return loose


def _parts(pattern: str) -> Iterator[str]:
    """Yield the parts of a concatenation, each with its quantifier; bars outside a group are parts too."""
    depth, current, position = 0, "", 0
    while match := _PIECE.match(pattern, position):
        piece, position = match[0], match.end()
        depth += (piece == "(") - (piece == ")")
        current += piece
        if depth == 0:
            quantifier = _QUANTIFIER.match(pattern, position)
            if quantifier:
                current, position = current + quantifier[0], quantifier.end()
            yield current
            current = ""


def _unbounded(part: str) -> str:
    """Return a part without counters: repeated groups as any characters of a sentence, else with a star or a plus."""
    repeated = _REPETITION.search(part[part.rfind(")") :]) if part.startswith("(") else None
    if repeated and part.endswith(repeated[0]) and repeated[2] != "1":
        return _ANY
    return _REPETITION.sub(_unlimited, _FEW.sub(_one_by_one, part))


def _one_by_one(few: re.Match[str]) -> str:
    least, most = int(few["least"]), int(few["most"])
    return few["group"] * least + f"{few['group']}?" * (most - least)


def _unlimited(repetition: re.Match[str]) -> str:
    least, most = int(repetition[1]), int(repetition[2])
    if most == 1 or repetition.string.endswith(_COUNTED, 0, repetition.start()):
        return repetition[0]
    if least >= LONG_RUN:
        return f"{{{least},}}"
    return "+" if least else "*"
