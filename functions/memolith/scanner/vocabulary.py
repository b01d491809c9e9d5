"""The words of each sign, in ten languages: what a word, a phrase or a clause may be a sign of.

Signs are bits. What one word shows in every language is one number, a field of 64 bits for each language, so that the
words of a sentence are joined by one operation each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add, or_

UNSPACED = ("chinese", "japanese")
"""Languages without blanks: their words are looked for anywhere in a sentence."""

FIELD = 64
ALL = (1 << FIELD) - 1
MOST_KNOWN = 60_000
"""Words that are remembered; of longer runs of letters none."""
_LONGEST_KNOWN = 40
_MOST_SAID = 8_000
"""Words that are remembered for one language: of each sentence that may amount to something."""

_HEAD = 3
"""Letters by which beginnings of words are kept."""

_NO_STEMS: Mapping[str, int] = {}

INSIDE_WORDS = "@$!|"
"""Marks that a misspelled word may have for a letter; a word with one inside shows what its parts show."""

WITHOUT_MARKS = bytes.maketrans(INSIDE_WORDS.encode(), b" " * len(INSIDE_WORDS))

_WORD = re.compile(r"[^\W_]+")
_LETTERS_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")


class _Begun(dict[str, int]):
    """What words show, by word or by how it begins; remembers each word that it is asked for, up to a bound."""

    def __init__(self) -> None:
        super().__init__()
        self._whole: dict[str, int] = {}
        self._begun: dict[str, dict[str, int]] = {}

    def add(self, word: str, begun: bool, shown: int) -> None:
        """Let a word, or every word that begins so, show something more."""
        table = self._begun.setdefault(word[:_HEAD], {}) if begun else self._whole
        table[word] = table.get(word, 0) | shown

    def __missing__(self, word: str) -> int:
        """Return and remember what a word shows."""
        shown = self._whole.get(word, 0)
        for length in range(1, _HEAD + 1):
            for stem, of_stem in self._begun.get(word[:length], _NO_STEMS).items():
                if word.startswith(stem):
                    shown |= of_stem
        if len(self) < MOST_KNOWN and len(word) <= _LONGEST_KNOWN:
            self[word] = shown
        return shown


class _Said(dict[str, int]):
    """What words show in one language, without phrases; remembers each word that it is asked for, up to a bound."""

    def __init__(self, single: _Begun, language: int) -> None:
        super().__init__()
        self._single, self._shift = single, language * FIELD

    def __missing__(self, word: str) -> int:
        """Return and remember the signs of a word."""
        signs = self._single[word] >> self._shift & ALL
        if len(self) < _MOST_SAID and len(word) <= _LONGEST_KNOWN:
            self[word] = signs
        return signs


class Vocabulary(dict[bytes, int]):
    """What words show, by word in UTF-8: ``vocabulary[word]``. Fills itself as it is asked, up to a bound.

    A word shows every phrase of which it is the longest word: without it the phrase is not there.
    """

    def __init__(self, words: Mapping[str, Mapping[str, str]]) -> None:
        """Take lists of words, separated by commas, by sign and language.

        A word with a hyphen at its end may end anywhere; several words stand in that order.
        """
        super().__init__()
        self.names = tuple(words)
        self.bit = {name: 1 << place for place, name in enumerate(self.names)}
        self._spaced = [language for language in next(iter(words.values())) if language not in UNSPACED]
        self.languages = len(self._spaced) + len(UNSPACED)
        self._single, self._hints = _Begun(), _Begun()
        self._said = [_Said(self._single, number) for number in range(len(self._spaced))]
        self._phrases: list[dict[str, list[tuple[list[str], bool, int]]]] = [{} for _ in self._spaced]
        self._stems: list[dict[str, list[tuple[str, int]]]] = [{} for _ in UNSPACED]
        for name, lists in words.items():
            for language, listed in lists.items():
                self._add(self.bit[name], language, [word for word in map(str.strip, listed.split(",")) if word])

    def _add(self, bit: int, language: str, listed: Iterable[str]) -> None:
        if language in UNSPACED:
            for word in listed:
                self._stems[UNSPACED.index(language)].setdefault(word[:2], []).append((word, bit))
            return
        number = self._spaced.index(language)
        shown = bit << number * FIELD
        for entry in listed:
            words = _WORD.findall(entry)
            begun = entry.endswith("-")
            if len(words) == 1:
                self._single.add(words[0], begun, shown)
                continue
            self._phrases[number].setdefault(words[0], []).append((words[1:], begun, bit))
            longest = max(words, key=len)
            self._hints.add(longest, begun and longest == words[-1], shown)

    def set_of(self, names: Iterable[str]) -> int:
        """Return signs as bits."""
        return reduce(or_, (self.bit[name] for name in names), 0)

    def __missing__(self, word: bytes) -> int:
        """Return and remember what a word shows in every language."""
        parts = word.translate(WITHOUT_MARKS).split()
        if parts != [word]:
            shown = reduce(or_, (self[part] for part in parts), 0)
            return self._remembered(word, shown) if all(part in self for part in parts) else shown
        spelled = word.decode("utf-8", "ignore")
        if _LETTERS_UNSPACED.search(spelled):
            language = 1 if _KANA.search(spelled) else 0
            return self._of_run(spelled, language) << (len(self._spaced) + language) * FIELD
        return self._remembered(word, self._single[spelled] | self._hints[spelled])

    def _remembered(self, word: bytes, shown: int) -> int:
        if len(self) < MOST_KNOWN and len(word) <= _LONGEST_KNOWN:
            self[word] = shown
        return shown

    def _of_run(self, text: str, language: int) -> int:
        stems, shown = self._stems[language], 0
        for begin in stems.keys() & {*text, *map(add, text, text[1:])}:
            for stem, bit in stems[begin]:
                if stem in text:
                    shown |= bit
        return shown

    def of_clause(self, text: str, language: int) -> tuple[int, int]:
        """Return the signs of a clause in one language, and those of its first word."""
        if language >= len(self._spaced):
            return self._of_run(text, language - len(self._spaced)), 0
        clause, phrases, said_alone = _WORD.findall(text), self._phrases[language], self._said[language]
        here = first = 0
        for place, word in enumerate(clause):
            signs = said_alone[word]
            if word in phrases:
                for rest, begun, bit in phrases[word]:
                    said = clause[place + 1 : place + 1 + len(rest)]
                    if said == rest or (begun and said[:-1] == rest[:-1] and _begins(said, rest)):
                        signs |= bit
            here |= signs
            if place == 0:
                first = signs
        return here, first


def unspaced(text: str) -> bool:
    """Whether a text has letters of a language without blanks."""
    return _LETTERS_UNSPACED.search(text) is not None


def _begins(said: list[str], rest: list[str]) -> bool:
    return len(said) == len(rest) and said[-1].startswith(rest[-1])
