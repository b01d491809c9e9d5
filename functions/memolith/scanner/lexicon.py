"""The words that the scanner knows, and the forms in which a disguise leaves them.

A disguise takes something from a word that a reader can do without: the blank after it, its vowels, how often a letter
stands, where the alphabet begins, the order of its letters. What is left is the same for the word as written and for
the word in disguise, and is its normal form under that disguise. So one look into one table undoes all spellings of
a kind: the form of a word of which the letters count from its first one is the same under every shift.

The words are those of the rules and of the signs, in all languages with letters; nothing is listed here but the small
ones between them. Made once a process, before any text is read.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

_SMALL = """
a an the and or of to in on at for from with by as is it be are was i you your me my we us our all any this that these
those not no do now then so if new only just please send tell give show print say reply about into
der die das den dem ein eine und oder von zu im in mit auf fur ist du dein deine mir mich uns alle alles nicht nur jetzt
le la les un une des du de et ou a au aux en sur pour est tu ton ta tes vos mes moi nous tout tous toutes ne pas que qui
el los las una y o del al con por para es tus su sus mi todo todos todas no solo que se lo
il gli i uno e di da nel con per tuo tue tuoi tutte tutti tutto non che si
os as um uma do da dos das em no na com suas seus voce todas tudo nao
w z i na do od nie wszystkie wszystko swoje te to sie o po
""".split()  # noqa: SIM905 - a list of so many quoted words is hard to read

_ALPHABET = string.ascii_lowercase
_WORD_OF_PATTERN = re.compile(r"(?<![\\\w])[^\W\d_]{4,}")
_WORD = re.compile(r"[^\W\d_]+")
_BEGUN = re.compile(r"[^\W\d_]+(?=-(?:,|$))")
_UNSPACED = frozenset({"chinese", "japanese"})
_ASCII_WORD = re.compile(r"[a-z]+")

STEM = 5
"""Letters by which a word is known if it goes on otherwise than it is listed."""

_SHIFTS = [str.maketrans(_ALPHABET, _ALPHABET[shift:] + _ALPHABET[:shift]) for shift in range(26)]
_FROM_FIRST = {letter: _SHIFTS[-place % 26] for place, letter in enumerate(_ALPHABET)}
MIRRORED = str.maketrans(_ALPHABET, _ALPHABET[::-1])
_MIRROR = bytes.maketrans(_ALPHABET.encode(), _ALPHABET[::-1].encode())
_FROM_FIRST_BYTE = [
    bytes(97 + (byte - first) % 26 if 97 <= byte < 123 else byte for byte in range(256)) for first in range(256)
]
_DOUBLED, _THRICE = re.compile(rb"(.)\1+"), re.compile(rb"(.)\1\1")
_DOUBLES = re.compile(r"(.)\1+")
_STRETCHED = re.compile(r"(.)\1\1+")
_NO_VOWELS = str.maketrans("", "", "aeiou")
_SIGNS = str.maketrans("0123456789@$!|+(€£§{<¢", "oizeasgtbgasiitcelsccc")
_ALIKE = str.maketrans("lqz", "igs")
"""Letters for which people write the same digit."""


def words_of(rules: Iterable[Sequence[str]], signs: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the words of patterns and of signs: English ones first, then those that occur most often.

    For whoever builds the database. A word with a hyphen at its end may end in other ways.
    """
    counted = Counter(word for patterns in rules for pattern in patterns for word in _WORD_OF_PATTERN.findall(pattern))
    begun = set()
    for lists in signs.values():
        for language, listed in lists.items():
            if language not in _UNSPACED:
                counted.update(_WORD.findall(listed))
                begun.update(_BEGUN.findall(listed))
    english = {word for lists in signs.values() for word in _WORD.findall(lists.get("english", ""))}
    often = sorted(counted, key=lambda word: (word not in english, -counted[word]))
    return [word + "-" * (word in begun) for word in often]


def shifted(text: str, shift: int) -> str:
    """Return a text with every letter of the alphabet shifted."""
    return text.translate(_SHIFTS[shift % 26])


@dataclass(frozen=True, slots=True)
class _Forms:
    """What a glance at a word is compared with, in UTF-8."""

    shifted: frozenset[bytes]
    heads: frozenset[bytes]
    words: frozenset[bytes]
    sums: frozenset[tuple[int, int, int]]
    squeezed: frozenset[bytes]


class Lexicon:
    """The words, by what a disguise leaves of them. Immutable."""

    def __init__(self, words: Iterable[str]) -> None:
        """Take what `words_of` returned."""
        words = list(words)
        self.listed = list(dict.fromkeys([*(word.rstrip("-") for word in words), *_SMALL]))
        self.begun = frozenset(word[:-1] for word in words if word.endswith("-"))
        self.words = frozenset(self.listed)
        self.stems = frozenset(word[:STEM] for word in self.listed if len(word) >= STEM)
        long = [word for word in self.listed if len(word) >= 4 and _ASCII_WORD.fullmatch(word)]
        self._long = frozenset(long)
        self._from_first: dict[str, list[str]] = {}
        for word in long:
            self._from_first.setdefault(from_first(word[:7]), []).append(word)
        self._squeezed = _first_of((squeezed(word), word) for word in self.listed if word.isascii())
        self._alike = _first_of((alike(word), word) for word in self.listed if len(word) > 1 and word.isascii())
        self._shuffled = _first_of((_key(word), word) for word in long if len(word) > 4)
        _ = self._forms, self.by_consonants  # made here, so that no text's budget pays for them

    @cached_property
    def by_consonants(self) -> dict[str, list[str]]:
        """The words by their consonants."""
        table: dict[str, list[str]] = {}
        for word in self.listed:
            if word.isascii():
                table.setdefault(without_vowels(word), []).append(word)
        return table

    def may_know(self, word: bytes) -> bool:
        """Whether it is worth asking what a word of small letters, which is not listed, is in some other spelling.

        Asked for every new word of every text, so it takes half a microsecond for most of them.
        """
        forms = self._forms
        head = word[:7]
        if head.translate(_FROM_FIRST_BYTE[word[0]]) in forms.shifted or head.translate(_MIRROR) in forms.heads:
            return True
        if word[::-1] in forms.words or (sum(word), word[0], word[-1]) in forms.sums or word.endswith(b"ay"):
            return True
        once = _DOUBLED.sub(rb"\1", word)
        if once != word and (once in forms.squeezed or len(once) * 2 <= len(word) or _THRICE.search(word)):
            return True
        return len(word[1:].translate(None, b"aeiou")) == len(word) - 1

    @cached_property
    def _forms(self) -> _Forms:
        return _Forms(
            frozenset(form.encode() for form in self._from_first),
            frozenset(word[:7].encode() for word in self._long),
            frozenset(word.encode() for word in self._long),
            frozenset((sum(word.encode()), ord(word[0]), ord(word[-1])) for word in self._shuffled.values()),
            frozenset(form.encode() for form in self._squeezed),
        )

    def knows(self, word: str) -> bool:
        """Whether a word is listed, or begins as one that is long enough to go on in other ways."""
        return word in self.words or word[:STEM] in self.stems

    def shifts(self, word: str) -> set[int]:
        """Return by how much the letters of a word may be shifted for it to be one of ours."""
        listed = self._from_first.get(from_first(word[:7]))
        if listed is None:
            return set()
        first = ord(word[0])
        return {(ord(meant[0]) - first) % 26 for meant in listed if len(meant) == len(word) or len(meant) > 6}

    def is_long(self, word: str) -> bool:
        """Whether a word of at least four letters is listed."""
        return word in self._long

    def squeezed(self, word: str) -> str | None:
        """Return the word whose letters are written twice or more; of a short one most of them are."""
        form = squeezed(word)
        if form == word:
            return None
        for often in (r"\1", r"\1\1"):
            less = _STRETCHED.sub(often, word)
            if less in self.words:
                return less
        most = len(form) * 2 <= len(word) or stretched(word)
        meant = self._squeezed.get(form)
        if meant and (most or len(meant) > 4):
            return meant
        return form if most and len(word) > 5 else None

    def of_signs(self, word: str) -> str | None:
        """Return the word in which digits and signs stand for letters."""
        return self._alike.get(alike(word))

    def shuffled(self, word: str) -> str | None:
        """Return the word whose inner letters are in another order."""
        return self._shuffled.get(_key(word)) if len(word) > 4 else None

    def of_consonants(self, word: str) -> str | None:
        """Return the word that lost its vowels, or all but its first letter's."""
        for meant in self.by_consonants.get(without_vowels(word), ()):
            if word[0] not in "aeiou" or meant[0] == word[0]:
                return meant
        return None

    def starred(self, word: str) -> str | None:
        """Return the word some letters of which are stars."""
        for meant in self.by_consonants.get(without_vowels(word.replace("*", "")), ()):
            if len(meant) == len(word) and all(a in (b, "*") for a, b in zip(word, meant, strict=True)):
                return meant
        return None


def from_first(word: str) -> str:
    """Return a word of the alphabet with its letters counted from its first: the same however they are shifted."""
    return word.translate(_FROM_FIRST[word[0]]) if word[:1] in _FROM_FIRST else word


def stretched(word: str) -> bool:
    """Whether a letter stands three times in a row."""
    return _STRETCHED.search(word) is not None


def squeezed(word: str) -> str:
    """Return a word with every letter once where it stands several times in a row."""
    return _DOUBLES.sub(r"\1", word)


def without_vowels(word: str) -> str:
    """Return the consonants of a word."""
    return word.translate(_NO_VOWELS)


def unsigned(word: str) -> str:
    """Return a word with the letters that its digits and signs most often stand for."""
    return word.translate(_SIGNS)


def alike(word: str) -> str:
    """Return a word with one letter for all that are written as the same digit."""
    return unsigned(word).translate(_ALIKE)


def _key(word: str) -> str:
    return word[0] + "".join(sorted(word[1:-1])) + word[-1]


def _first_of(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    table: dict[str, str] = {}
    for form, word in pairs:
        table.setdefault(form, word)
    return table
