"""Words that are no words of any text as they are written, and are words of ours read in another way.

Every word of a text is looked up once, like its signs, and remembered. A word by itself proves nothing, since every
other string of four letters is some word shifted by something; so a sentence is odd where two of its words are words
of ours in the same way, or where one has digits among its letters and is a long word of ours without them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from memolith.scanner.lexicon import MIRRORED, Lexicon, stretched
from memolith.scanner.vocabulary import MOST_KNOWN
from memolith.scanner.words import Kinds

REVERSED, MIRROR, RESPELLED, SURE, TELEPHONE = "r", "m", "w", "s", "n"
SHIFTED = 0x100
"""The first of the marks that stand for shifts."""

_SEVERAL = 2
_SPELLED = 8
_NEAR = 3
"""Sentences within which two words make each other odd."""

_LONG = 7
"""Letters from which one word that is spelled otherwise is enough."""

_SHORTEST, _LONGEST = 3, 40
_NO_VOWELS = re.compile("[a-z][^aeiou]+")
_TELEPHONE = frozenset(
    """
    alpha alfa bravo charlie delta echo foxtrot golf hotel india juliett juliet kilo lima mike november oscar papa
    quebec romeo sierra tango uniform victor whiskey xray yankee zulu
    """.split()  # noqa: SIM905 - a list of so many quoted words is hard to read
)


class Oddities(dict[bytes, str]):
    """In which ways a word is one of ours, by word in UTF-8, a mark for each. Fills itself as it is asked."""

    def __init__(self, lexicon: Lexicon, kinds: Kinds) -> None:
        """Take the words that are ours, and which of them are signs of an order."""
        super().__init__()
        self._lexicon = lexicon
        self._kinds = kinds
        self._of_telephone = frozenset(word.encode() for word in _TELEPHONE)

    def __missing__(self, word: bytes) -> str:
        """Return and remember the ways of a word."""
        ways = self._ways(word.decode("utf-8", "ignore")) if self._worth_asking(word) else ""
        if len(self) < MOST_KNOWN and len(word) <= _LONGEST:
            self[word] = ways
        return ways

    def _worth_asking(self, word: bytes) -> bool:
        if not _SHORTEST <= len(word) <= _LONGEST:
            return False
        if not (word.isalpha() and word.isascii()):
            return not word.isdigit()
        return word in self._of_telephone or (len(word) > _SHORTEST and self._lexicon.may_know(word))

    def of_sentences(self, sentences: Iterable[tuple[int, list[bytes]]]) -> dict[str, list[int]]:
        """Return for each way the sentences, by number, that are odd in it.

        Args:
            sentences: by number, with their words.
        """
        odd: dict[str, list[int]] = {}
        last: dict[str, int] = {}
        for number, words in sentences:
            marks = "".join(map(self.__getitem__, words)).replace(SURE, RESPELLED * _SEVERAL)
            for way, count in Counter(marks).items():
                before = last.get(way, -_NEAR - 1)
                near = number - before <= _NEAR and way != TELEPHONE
                if near or count >= (_SPELLED if way == TELEPHONE else _SEVERAL):
                    numbers = odd.setdefault(way, [])
                    numbers += [before, number] if near and numbers[-1:] != [before] else [number]
                last[way] = number
        return odd

    def _ways(self, word: str) -> str:
        known = self._lexicon
        if word in _TELEPHONE:
            return TELEPHONE
        if word[-1] in "!|":
            word = word.rstrip("!|")
        if word in known.words or len(word) < _SHORTEST:
            return ""
        if not word.isalpha():
            return self._ways_of_signs(word)
        if len(word) < 4 or not word.isascii():
            return REVERSED if len(word) > 4 and word[::-1] in known.words else ""
        ways = ""
        if len(word) > 4:
            ways = "".join(chr(SHIFTED + shift) for shift in known.shifts(word) if shift)
            if known.is_long(word[::-1]):
                ways += REVERSED
            if 0 in known.shifts(word.translate(MIRRORED)):
                ways += MIRROR
        if known.knows(word) and not stretched(word):
            return ways
        meant = self.meant(word)
        if meant is None or min(len(word), len(meant)) < _SHORTEST + 1:
            return ways
        vowelless = _NO_VOWELS.fullmatch(word) is not None
        if not self._kinds[meant.encode()]:
            return ways + RESPELLED * vowelless
        if len(word) >= _LONG - vowelless:
            return ways + SURE
        return ways + RESPELLED if len(meant) != len(word) or len(meant) >= _LONG - 1 else ways

    def _ways_of_signs(self, word: str) -> str:
        if word.isdigit() or not any(map(str.isalpha, word)):
            return ""
        meant = self._lexicon.of_signs(word)
        if meant:
            signs = self._kinds[meant.encode()]
            return (SURE if len(meant) > 4 else RESPELLED) if signs else ""
        back = word[::-1]
        return REVERSED if len(word) > 3 and self._lexicon.of_signs(back) else ""

    def meant(self, word: str) -> str | None:
        """Return the word of ours that a word is in some other spelling; None if it is none."""
        known = self._lexicon
        if word in known.words or not word.isascii():
            return None
        if not word.isalpha():
            return None if word.isdigit() else known.of_signs(word)
        found = known.squeezed(word)
        if found is None and _NO_VOWELS.fullmatch(word):
            found = known.of_consonants(word)
        if found is None and len(word) > 3:
            found = known.shuffled(word) or self._from_pig_latin(word)
        return found

    def _from_pig_latin(self, word: str) -> str | None:
        if not word.endswith("ay"):
            return None
        rest = word[:-2]
        turned = [rest[:-1]] if rest.endswith("w") else []
        turned += (rest[-count:] + rest[:-count] for count in (1, 2, 3))
        return next((each for each in turned if each in self._lexicon.words), None)


def telephone_letter(word: str) -> str:
    """Return the letter that a word of the telephone alphabet stands for, or nothing."""
    return word[0] if word in _TELEPHONE else ""


def with_neighbors(numbers: list[int], most: int) -> Iterator[int]:
    """Yield sentences by number, and those before and after each."""
    last = -1
    for number in numbers:
        for near in range(max(number - 1, last + 1), min(number + 2, most)):
            yield near
            last = near
