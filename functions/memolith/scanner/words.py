"""The words of a text, cut apart once: for the signs of its sentences, and for its misspelled words.

Every word is looked up once, and becomes a character for the signs that it is of: of most words there are none. So a
sentence is a short string, and only few sentences are read word by word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate
from operator import or_

from memolith.scanner.case_folding import distinct
from memolith.scanner.vocabulary import ALL, FIELD, INSIDE_WORDS, MOST_KNOWN, WITHOUT_MARKS, Vocabulary, unspaced

LONGEST = 400
"""Bytes of a sentence that are read together; a longer one is read in pieces."""

_ENDS = ((b". ", b".\n"), (b".\v", b".\n"), (b"! ", b"!\n"), (b"; ", b";\n"))
"""Ends of a sentence, after `_TO_MARKS`."""

_UNSPACED_END = re.compile("[.!?;](?=[^ -\u02ff])")


def _translation(marks: dict[str, str]) -> bytes:
    kept = "\n" + INSIDE_WORDS
    chars = (marks.get(char, char if char.isalnum() or char in kept else "\t") for char in map(chr, range(128)))
    return "".join(chars).encode() + bytes(range(128, 256))


_TO_MARKS = _translation({" ": " ", '"': "\v", "'": "\v", ")": "\v", ".": ".", "?": ";", ";": ";"})
_TO_BLANKS = _translation({}).replace(b"\t", b" ")

_BREAK_WORD = b"\x01"
"""Between two sentences: a word that no text has, as its letters are blanks."""

_BREAK = b" " + _BREAK_WORD + b" "
_END, _SUSPECT, _ODD, _FIRST = "\n", "\x00", "\x01", 0x100
"""Between two sentences; a word that may be misspelled; one that may be another in disguise; and the first of the
characters that stand for signs."""


_AT_A_TIME = 256
"""Sentences whose words are looked up at a time: so many stay in the processor's cache, a whole text does not."""

_COUNTED = 16
"""Bits for how many signs count, below those for how many are telling."""

_MOST_CHARS = 4_000
"""Characters for more than one sign."""


def _never(word: bytes) -> bool:
    return False


class Kinds(dict[bytes, str]):
    """What a word is, by word in UTF-8, in characters: one for its signs, if it has any, and one if it is suspicious.

    Fills itself as it is asked, up to a bound.
    """

    def __init__(self, known: Vocabulary, telling: int, counted: int, suspicious: Callable[[bytes], bool]) -> None:
        """Take the words, the signs that are telling, all that count, and what says that a word may be misspelled."""
        super().__init__()
        self[_BREAK_WORD] = _END
        self.suspicious = suspicious
        self._known, self._telling, self._counted = known, telling, counted
        self._most = {_SUSPECT: 0, _ODD: 0}
        self._chars: dict[int, str] = {0: ""}
        self._signs: dict[str, int] = {_SUSPECT: 0, _ODD: 0}
        self._sets_of: dict[tuple[frozenset[str], frozenset[str]], tuple[int, int, int]] = {}
        self.odd: Callable[[bytes], bool] = _never

    def __missing__(self, word: bytes) -> str:
        """Return and remember what a word is."""
        kind = self._spelled(self._known[word])
        if self.suspicious(word):
            kind += _SUSPECT
        if self.odd(word):
            kind += _ODD
        if len(self) < MOST_KNOWN and word in self._known:
            self[word] = kind
        return kind

    def _spelled(self, signs: int) -> str:
        """Return a character for signs that stand together in one word; past a bound, one for each of them."""
        char = self._chars.get(signs)
        if char is None and (signs.bit_count() == 1 or len(self._chars) < _MOST_CHARS):
            char = self._chars[signs] = chr(_FIRST + len(self._chars))
            self._signs[char] = signs
            fields = [signs >> language * FIELD & ALL for language in range(self._known.languages)]
            telling = max((field & self._telling).bit_count() for field in fields)
            self._most[char] = telling << _COUNTED | max((field & self._counted).bit_count() for field in fields)
        return self._spelled(signs & -signs) + self._spelled(signs & signs - 1) if char is None else char

    def most(self, kinds: str) -> tuple[int, int]:
        """Return how many telling signs words may be of in one language, and how many signs that count, at most."""
        most = sum(map(self._most.__getitem__, kinds))
        return most >> _COUNTED, most & (1 << _COUNTED) - 1

    def speak_of(self, kinds: str, grave: frozenset[str], weighty: frozenset[str], least: int) -> bool:
        """Whether words may be, in one language, of a sign that is grave and of so many that are weighty."""
        signs = self.signs(kinds)
        one, several, everywhere = self._sets(grave, weighty)
        if not signs & everywhere:
            return False
        fields = (signs >> language * FIELD & ALL for language in range(self._known.languages))
        return any(field & one and (field & several).bit_count() >= least for field in fields)

    def _sets(self, grave: frozenset[str], weighty: frozenset[str]) -> tuple[int, int, int]:
        known = self._sets_of.get((grave, weighty))
        if known is None:
            one = self._known.set_of(grave)
            everywhere = reduce(or_, (one << language * FIELD for language in range(self._known.languages)), 0)
            known = self._sets_of[grave, weighty] = (one, self._known.set_of(weighty), everywhere)
        return known

    def signs(self, kinds: str) -> int:
        """Return the signs of words in every language, given what the words are."""
        return reduce(or_, map(self._signs.__getitem__, kinds), 0)


@dataclass(frozen=True)
class Words:
    """The words of one reading of a text.

    Attributes:
        text: the folded copy, or another reading.
        encoded: the same in UTF-8.
        kinds: what every word counts for.
    """

    text: str
    encoded: bytes
    kinds: Kinds

    def sentences(self) -> list[str]:
        """Return what the words of each sentence are."""
        return self._of_words.replace(_ODD, "").split(_END)[:-1]

    def odd_sentences(self) -> list[tuple[int, list[bytes]]]:
        """Return the sentences with words that may be other words in disguise, by number, and their words."""
        if _ODD not in self._of_words:
            return []
        return [
            (number, self._pieces[number].split())
            for number, kinds in enumerate(self._of_words.split(_END)[:-1])
            if _ODD in kinds
        ]

    @property
    def count(self) -> int:
        """How many sentences there are."""
        return len(self._pieces)

    def place(self, number: int) -> tuple[int, int]:
        """Return where a sentence begins and ends, in bytes."""
        end = self._ends[number + 1]
        return self._ends[number], end - self._pieces[number].endswith(b"\n")

    def suspects(self) -> set[bytes]:
        """Return the words that may be misspelled ones."""
        if not self._without_blanks and _SUSPECT not in self._of_words:
            return set()
        return set(filter(self.kinds.suspicious, set(self.encoded.translate(_TO_BLANKS).split())))

    @cached_property
    def _without_blanks(self) -> bool:
        """Whether a sentence may begin without a blank before it."""
        return len(self.text) != len(self.encoded) and unspaced(distinct(self.encoded))

    @cached_property
    def _pieces(self) -> list[bytes]:
        """The sentences, each with the line break at its end; of a long one its pieces."""
        encoded = _UNSPACED_END.sub("\n", self.text).encode() if self._without_blanks else self.encoded
        marked = encoded.translate(_TO_MARKS)
        for end, broken in _ENDS:
            marked = marked.replace(end, broken)
        pieces = marked.translate(_TO_BLANKS).splitlines(keepends=True)
        if max(map(len, pieces), default=0) > LONGEST:
            return [piece for line in pieces for piece in _cut(line)]
        return pieces

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(map(len, self._pieces), initial=0))

    @cached_property
    def _of_words(self) -> str:
        pieces = self._pieces
        if not self._without_blanks:
            parts = (pieces[first : first + _AT_A_TIME] for first in range(0, len(pieces), _AT_A_TIME))
            return "".join("".join(map(self.kinds.__getitem__, _words_of(part))) for part in parts)
        words = _words_of(pieces)
        known = {word: self.kinds[word] for word in set(words)}  # runs without a blank are remembered by nobody else
        return "".join(map(known.__getitem__, words))


def _words_of(pieces: list[bytes]) -> list[bytes]:
    """Return the words of sentences, with `_BREAK_WORD` after each sentence."""
    return _BREAK.join([*pieces, b""]).split()


def _cut(line: bytes) -> Iterator[bytes]:
    while len(line) > LONGEST:
        cut = line[:LONGEST].translate(WITHOUT_MARKS).rfind(b" ") + 1 or LONGEST
        yield line[:cut]
        line = line[cut:]
    yield line
