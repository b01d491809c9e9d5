"""Put together again: payloads that were cut up, scrambled or spelled so that no line of them says anything.

Each function makes one more text out of the one as written, from ranges of it (`_stitched`) or word by word; each is
tried only where something in the text has the shape, and read with the rules for language like the text itself. For
the deeper look only: any of them makes sense of accidents now and then, which is why only weighty rules count there.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from memolith.scanner.layers import Layer
from memolith.scanner.offsets import Origin, by_piece, by_segment

Range = tuple[int, int]


def rejoined(text: str) -> Iterator[Layer]:
    """Every other text that the pieces of this one make.

    Args:
        text: as written, without surrogates. Each reading costs a pass or two over it.
    """
    for how, pieces, glue in (
        ("string literals put together", literals(text), ""),
        ("numbered parts put together", parts(text), ""),
        ("numbered parts put together", parts(text), " "),
        ("list items put together", items(text), " "),
        ("columns of a table put together", columns(text), " "),
        ("without marks inside words", unmarked(text), ""),
    ):
        if pieces:
            yield _stitched(how, text, pieces, glue)
    yield from respelled_deeply(text)


def _stitched(how: str, text: str, pieces: Sequence[Range], glue: str) -> Layer:
    starts, position = [], 0
    for start, stop in pieces:
        starts.append(position)
        position += stop - start + len(glue)
    return Layer(how, glue.join(text[start:stop] for start, stop in pieces), by_segment(starts, pieces))


_LITERAL = re.compile(r"\"([^\"\\\n]{1,400})\"|'([^'\\\n]{1,400})'|`([^`\\\n]{1,400})`")
_BETWEEN = re.compile(
    r"[\s\\]{0,40}(?:(?:\+|\.{1,2}|&|\|\||,|<<|~)?[\s\\]{0,40}|"
    r"[\s;,]{0,20}(?:(?:let|const|var|set|my|string)\s)?\s{0,20}[\w.$\[\]-]{1,40}\s{0,8}(?:\+=|:=|=|:)\s{0,8})"
)


def literals(text: str) -> list[Range]:
    """Return the insides of string literals that a program, or a reader of it, would put one after the other."""
    found = [(match.span(), match.span(match.lastindex or 0)) for match in _LITERAL.finditer(text)]
    chained: dict[Range, None] = {}
    for (outer, inner), (next_outer, next_inner) in pairwise(found):
        if next_outer[0] - outer[1] <= 120 and _BETWEEN.fullmatch(text, outer[1], next_outer[0]):
            chained |= {inner: None, next_inner: None}
    return list(chained)


_PART = re.compile(
    r"^[ \t>*#|_-]{0,12}(?:part|piece|chunk|fragment|segment|step|half|section|token|teil|partie|parte)?[ \t]{0,3}#?"
    r"(\d{1,2})[ \t]{0,3}(?:(?:of|/)[ \t]{0,3}\d{1,2})?[*_]{0,3}[ \t]{0,3}[:.)=-][*_]{0,3}[ \t]{0,4}"
    r"[\"'`]?([^\n]{1,300}?)[\"'`]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)


def parts(text: str) -> list[Range]:
    """Return what stands in numbered parts, in the order of their numbers."""
    found = sorted((int(match[1]), *match.span(2)) for match in _PART.finditer(text))
    return [(start, stop) for _, start, stop in found] if len(found) > 1 else []


_ITEM = re.compile(
    r"^[ \t>]{0,12}(?:[-*+•][ \t]{1,4}|\d{1,3}[.):][ \t]{1,4}|[a-z][.)][ \t]{1,4}|#{1,6}[ \t]{1,4})?"
    r"([^\n]{1,60}?)[ \t]{0,4}[.,;:!]?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_LONGEST_ITEM_WORDS = 4


def items(text: str) -> list[Range]:
    """Return runs of short lines and list items, without their markers and full stops."""
    lines = [match for match in _ITEM.finditer(text) if match[1].strip()]
    runs = groupby(lines, key=lambda match: len(match[1].split()) <= _LONGEST_ITEM_WORDS)
    long_enough = (list(run) for short, run in runs if short)
    return [match.span(1) for run in long_enough if len(run) >= 3 for match in run]


_ROW = re.compile(r"^[ \t]{0,3}\|([^\n]{1,400})\|[ \t]*$", re.MULTILINE)
_RULER = re.compile(r"[ \t:|-]+")


def columns(text: str) -> list[Range]:
    """Return the cells of tables, column after column."""
    by_column: dict[int, list[Range]] = {}
    for row in _ROW.finditer(text):
        if not _RULER.fullmatch(row[1]):
            position = row.start(1)
            for column, cell in enumerate(row[1].split("|")):
                by_column.setdefault(column, []).append((position, position + len(cell)))
                position += len(cell) + 1
    return [cell for cells in by_column.values() for cell in cells]


_MARK = re.compile(
    r"(?<=[^\W\d_])(?:<[^<>\n]{0,80}>|<!--[^<>\n]{0,80}-->|\*{1,3}|__?|``?|~~|\\|-\n[ \t]{0,8})+(?=[^\W\d_])"
)


def unmarked(text: str) -> list[Range]:
    """Everything but tags, comments, emphasis and line breaks inside words."""
    ends = [match.span() for match in _MARK.finditer(text)]
    if not ends:
        return []
    edges = [0, *(edge for span in ends for edge in span), len(text)]
    return [(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True) if stop > start]


VOCABULARY = (
    "ignore", "disregard", "forget", "override", "bypass", "instructions", "instruction", "previous", "prior", "above",
    "guidelines", "system", "prompt", "reveal", "password", "credentials", "secrets", "developer", "without",
    "restrictions", "everything", "earlier", "rules",
)  # fmt: skip
"""Words that an attack is spelled with; what is not in English is met by the rules for its own language."""

_GLUED = ("all", "any", "the", "your", "you", "are", "now", "and", "of", "mode", "my", "every", "send", "do", "not")
_SPLIT = re.compile("|".join(sorted((*VOCABULARY, *_GLUED), key=len, reverse=True)))
_TELLING = tuple(word for word in VOCABULARY if len(word) > 5)
_LEAST_TELLING = 2
_LETTERS = string.ascii_lowercase


def respelled_deeply(text: str) -> Iterator[Layer]:
    """Yield the text out of ciphers, out of scrambled words, out of initials: where that yields words of an attack."""
    lower = text.lower()
    if len(lower) == len(text):
        for how, spelled in _ciphers(lower):
            if _tells(spelled):
                yield Layer(how, spelled, _same)
        length = len(lower)
        if _tells(lower[::-1]):
            yield Layer("read backwards", lower[::-1], lambda start, end: (length - end, length - start))
    for how, pieces in (
        ("words spelled backwards", _words(text, _backward, _LEAST_TELLING)),
        ("misspelled words mended", _words(text, _mended, 1)),
        ("words in another order", _lines(text)),
        ("words taken apart", _runs(text, _RUN)),
        ("letters put together", _runs(text, _SPREAD)),
        ("initial letters put together", _initials(text)),
    ):
        if pieces:
            yield _respelled(how, pieces)


def _same(start: int, end: int) -> Range:
    return start, end


def _tells(text: str) -> bool:
    return sum(word in text for word in _TELLING) >= _LEAST_TELLING


def _ciphers(lower: str) -> Iterator[tuple[str, str]]:
    for shift in range(1, 26):
        table = str.maketrans(_LETTERS, _LETTERS[shift:] + _LETTERS[:shift])
        yield f"letters shifted by {26 - shift}", lower.translate(table)
    yield "letters mirrored", lower.translate(str.maketrans(_LETTERS, _LETTERS[::-1]))
    for one in "il":
        yield "digits read as letters", lower.translate(str.maketrans("013456789@$+|!(", f"o{one}easgtbgastilc"))


def _respelled(how: str, pieces: Sequence[tuple[str, Range]]) -> Layer:
    starts, position = [], 0
    for piece, _ in pieces:
        starts.append(position)
        position += len(piece)
    origin: Origin = by_piece(starts, [place for _, place in pieces])
    return Layer(how, "".join(piece for piece, _ in pieces), origin)


_WORD = re.compile(r"[A-Za-z]{2,16}")


def _words(text: str, respell: Callable[[str], str], least: int) -> list[tuple[str, Range]]:
    """Return the text with each word respelled for which that is a word of an attack; empty if it is fewer than
    `least`.
    """
    pieces, done, telling = [], 0, 0
    for match in _WORD.finditer(text):
        other = respell(match[0].lower())
        if other:
            pieces += [(text[done : match.start()], (done, match.start())), (other, match.span())]
            done, telling = match.end(), telling + (other in _TELLING)
    return [*pieces, (text[done:], (done, len(text)))] if telling >= least else []


_BACKWARD = {word[::-1]: word for word in (*VOCABULARY, *_GLUED)}


def _backward(word: str) -> str:
    return _BACKWARD.get(word, "")


def _key(word: str) -> str:
    return word[0] + "".join(sorted(word[1:-1])) + word[-1]


_SCRAMBLED = {_key(word): word for word in _TELLING}
_REAL_WORDS = frozenset({"revel", "passwords", "prompts", "systems"})
_DELETED = {
    short: word
    for word in _TELLING
    for short in (word[:place] + word[place + 1 :] for place in range(1, len(word) - 1))
    if short not in _REAL_WORDS
}
_LEAST_MENDED = 5
_ENDINGS = ("", "s", "d", "r", "ed", "ing", "es", "ly", "able", "al")


def _mended(word: str) -> str:
    """Return the word of an attack whose inner letters were shuffled, or that has one too few, too many or wrong."""
    if len(word) < _LEAST_MENDED:
        return ""
    known = _SCRAMBLED.get(_key(word)) or _DELETED.get(word)
    if known is None:
        shorter = (word[:place] + word[place + 1 :] for place in range(1, len(word)))
        known = next((right for short in shorter if (right := _whole_or_deleted(short))), None)
    if not known or any(word == known + end or word + end == known for end in _ENDINGS):
        return ""
    return known


def _whole_or_deleted(word: str) -> str | None:
    return word if word in _TELLING else _DELETED.get(word)


_LINE = re.compile(r"[^\n]{8,}")


def _lines(text: str) -> list[tuple[str, Range]]:
    """Lines whose words make an attack from right to left."""
    pieces = []
    for match in _LINE.finditer(text):
        words = match[0].split()
        if len(words) <= 40 and sum(word.strip(".,;:!").lower() in VOCABULARY for word in words) >= _LEAST_TELLING:
            pieces.append((" ".join(word.strip(".,;:!") for word in reversed(words)) + ".\n", match.span()))
    return pieces


_RUN = re.compile(r"[A-Za-z]{16,200}")
_SPREAD = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z][^A-Za-z0-9\n]{1,3}){10,200}[A-Za-z](?![A-Za-z0-9])")
_NO_LETTER = re.compile(r"[^a-z]")


def _runs(text: str, shape: re.Pattern[str]) -> list[tuple[str, Range]]:
    """Return runs of letters without blanks, taken apart at the words of an attack."""
    found = ((_NO_LETTER.sub("", match[0].lower()), match.span()) for match in shape.finditer(text))
    return [(_apart(run), place) for run, place in found if _tells(run)]


def _apart(run: str) -> str:
    return " ".join(_SPLIT.sub(r" \g<0> ", run).split()) + ".\n"


_FIRST = re.compile(r"^[\s>*#+.\d)(-]{0,12}([A-Za-z])", re.MULTILINE)


def _initials(text: str) -> list[tuple[str, Range]]:
    """Return the first letters of lines, if they are words of an attack."""
    return _if_telling([match.span(1) for match in _FIRST.finditer(text)], text)


def _if_telling(places: Iterable[Range], text: str) -> list[tuple[str, Range]]:
    where = list(places)
    letters = "".join(text[start:stop] for start, stop in where).lower()
    return [(_apart(letters), (where[0][0], where[-1][1]))] if _tells(letters) else []
