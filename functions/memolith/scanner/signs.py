"""What a sentence speaks of, weighed: orders to the reader in words that no rule holds.

A rule names one meaning. An order has many more wordings than rules, but few ingredients: something is set aside, it
is the reader's rules; something is handed over, it is a secret, it goes to an address, nobody is to know. Each of some
forty such signs is a list of words in ten languages (`rules/signs/words.toml`), and a linear model
(`rules/signs/weights.toml`, learned by `scripts/train_signs.py`) adds up which of them stand in one sentence, and
which stand there together. The weights are the same for every language.

What stands around a sentence says nothing about it. What takes from it ("the report says", "attackers", "never", what
is past) counts only in the same clause, so that nothing in front of its colon or quotation mark excuses an order.

Linear in the text: every word is looked up once, and only a sentence whose words may reach the bar is weighed.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import or_
from pathlib import Path
from typing import Any, TypeVar

from memolith.scanner.budget import Budget
from memolith.scanner.findings import Family
from memolith.scanner.misspelling import suspicious
from memolith.scanner.rules import RULES_DIRECTORY, Rule
from memolith.scanner.vocabulary import ALL, FIELD, MOST_KNOWN, Vocabulary
from memolith.scanner.words import Kinds, Words

FOLDER = RULES_DIRECTORY / "signs"

_REMEDY = "Write it as a fact about the work instead of an order to the reader."
STRONG = Rule("order-signs", Family.INJECTION, "adds up to an order to the reader", _REMEDY, 7.0, (), general=True)
"""A sentence whose signs reject by themselves."""

WEAK = Rule(
    "order-signs-weak", Family.INJECTION, "resembles an order to the reader", _REMEDY, 3.5, (),
    general=True, near=True, sentence=True,
)  # fmt: skip
"""A sentence whose signs add up with another sign close to it."""

RULES = (STRONG, WEAK)

_LOCAL = frozenset({"said", "attackword", "we", "past", "neg"})
"""Signs that may take force from an order: they count in their own clause only."""

_COMMON = frozenset({"all", "this", "when", "person", "you", "prior", "urgent", "exec", "send", "task", "rules"})
"""Signs of everyday, which alone make no sentence worth weighing."""

_OTHERS = 0.5
"""What is not known before a sentence is read adds to it, as a rule at most: its first word, what takes from it."""

_LEAST_SIGNS, _LEAST_TELLING = 4, 2
"""Signs in a sentence that is worth weighing, and how many of them are no signs of everyday."""

_LONGEST_REMEMBERED = 40
"""Characters for signs in a sentence that is remembered."""

_WEIGHED_A_LOOK = 16
"""Sentences that are weighed between two looks at the budget."""

_CLAUSE = re.compile(r"[:\"“”«»()\[\]{}<>`|]")
_ADDRESS = re.compile(rb"://|(?<=[a-z0-9_.+-])@[a-z0-9]")


@dataclass(frozen=True, slots=True)
class Order:
    """A sentence that amounts to an order.

    Attributes:
        rule: `STRONG` or `WEAK`.
        start: in characters of the text.
        end: likewise.
        signs: what it speaks of, the heaviest first.
    """

    rule: Rule
    start: int
    end: int
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one clause shows in one language, as sets of bits."""

    here: int
    first: int = 0
    address: bool = False


Spoken = tuple[tuple[int, ...], tuple[int, ...]] | tuple[()]
"""The languages in which a sentence may amount to something: without an address and with one; nothing for neither."""


Key = TypeVar("Key")
Value = TypeVar("Value")


class _Memo(dict[Key, Value]):
    """What a function says, remembered up to a bound."""

    def __init__(self, asked: Callable[[Key], Value]) -> None:
        super().__init__()
        self._asked = asked

    def __missing__(self, key: Key) -> Value:
        value = self._asked(key)
        if len(self) < MOST_KNOWN and not (isinstance(key, str) and len(key) > _LONGEST_REMEMBERED):
            self[key] = value
        return value


def read_tables(directory: Path = FOLDER) -> dict[str, Any]:
    """Return the words and the weights as they are kept with the compiled rules: JSON can hold them."""
    return {
        "words": tomllib.loads((directory / "words.toml").read_text("utf-8")),
        "weights": tomllib.loads((directory / "weights.toml").read_text("utf-8")),
    }


class Signs:
    """The signs and what they are worth. Immutable but for memos of words; safe to share between threads."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        """Take what `read_tables` returned."""
        known = self._known = Vocabulary(tables["words"])
        names = known.names
        weights: Mapping[str, Any] = tables["weights"]
        given: Mapping[str, float] = weights["weight"]
        self._reject, self._note = float(weights["reject"]), float(weights["note"])
        self._bias = given.get("bias", 0.0)
        self._address = given.get("address", 0.0)
        self._one = [given.get(name, 0.0) for name in names]
        self._first = [given.get(f"first:{name}", 0.0) for name in names]
        self._two = [[given.get(pair_name(a, b), 0.0) for b in names] for a in names]
        self._triples: list[str] = weights["triples"]
        self._three = [(known.set_of(triple.split()), given.get(triple, 0.0)) for triple in self._triples]
        self._three_of = [
            [each for each in self._three if _places(each[0])[:1] == [place]] for place in range(len(names))
        ]
        self._local = known.set_of(_LOCAL)
        self._telling = known.set_of(set(names) - _LOCAL - _COMMON)
        self._kinds = Kinds(known, self._telling, known.set_of(set(names) - _LOCAL), suspicious)
        self._hopeful = _Memo[str, Spoken](self.spoken)
        self._worth = _Memo[int, float](lambda signs: self.weigh(Seen(signs)))

    def words(self, text: str, encoded: bytes) -> Words:
        """Return the words of a folded text, or of another reading; `encoded` is the same in UTF-8."""
        return Words(text, encoded, self._kinds)

    def find(self, words: Words, budget: Budget) -> Iterator[Order]:
        """Yield the sentences of a text that amount to an order.

        Args:
            words: of the text.
            budget: what it may cost; the rest is left out when it is spent.
        """
        encoded = words.encoded
        flat = len(words.text) == len(encoded)
        addresses = _addresses(encoded)
        weighed = 0
        spoken = map(self._hopeful.__getitem__, words.sentences())
        for number, hopeful in [(number, languages) for number, languages in enumerate(spoken) if languages]:
            start, end = words.place(number)
            best, here = self._note, 0
            addressed = bisect_left(addresses, start) < bisect_left(addresses, end + 1)
            for language in hopeful[addressed]:
                weighed += 1
                if weighed % _WEIGHED_A_LOOK == 0 and budget.spent():
                    return
                for seen in self._seen(encoded, start, end, language):
                    score = self.weigh(seen)
                    if score >= best:
                        best, here = score, seen.here
            if here:
                low = start if flat else len(encoded[:start].decode())
                high = end if flat else low + len(encoded[start:end].decode())
                yield Order(STRONG if best >= self._reject else WEAK, low, high, self._heaviest(here))

    def count(self, text: str) -> int:
        """Return how many signs a short folded text has at most, in one language and without those that take force."""
        sentences = self.words(text, text.encode()).sentences()
        return max((self._kinds.most(kinds)[1] for kinds in sentences), default=0)

    def clauses(self, text: str) -> Iterator[Seen]:
        """Yield what every clause of a text shows, however little it is. For training."""
        encoded = text.encode()
        words = self.words(text, encoded)
        for number, kinds in enumerate(words.sentences()):
            shown = self._kinds.signs(kinds)
            start, end = words.place(number)
            for language in self._likely(shown):
                yield from self._seen(encoded, start, end, language)

    def features(self, seen: Seen) -> Iterator[str]:
        """Yield the names of the weights that a clause is worth."""
        named = self._known.bit.items()
        names = [name for name, bit in named if seen.here & bit]
        yield "bias"
        yield from names
        yield from (pair_name(a, b) for a, b in combinations(names, 2))
        yield from (f"first:{name}" for name, bit in named if seen.first & bit)
        for triple, (bits, _) in zip(self._triples, self._three, strict=True):
            if seen.here & bits == bits:
                yield triple
        if seen.address:
            yield "address"

    def weigh(self, seen: Seen) -> float:
        """Return the sum of the weights of `features`."""
        here = seen.here
        places = _places(here)
        score = self._bias
        for done, place in enumerate(places):
            row = self._two[place]
            score += self._one[place]
            for other in places[done + 1 :]:
                score += row[other]
            for bits, worth in self._three_of[place]:
                if here & bits == bits:
                    score += worth
        for place in _places(seen.first):
            score += self._first[place]
        return score + self._address if seen.address else score

    def _heaviest(self, here: int) -> tuple[str, ...]:
        places = _places(here & ~self._local)
        worth = {a: self._one[a] + sum(max(0.0, self._two[a][b]) for b in places if b != a) for a in places}
        return tuple(self._known.names[place] for place in sorted(worth, key=lambda place: -worth[place])[:4])

    def _likely(self, shown: int) -> list[int]:
        """Return the languages that a sentence may be in: those with most signs."""
        counts = [(shown >> language * FIELD & ALL).bit_count() for language in range(self._known.languages)]
        least = max(2, *counts)
        return [language for language, count in enumerate(counts) if count >= least]

    def spoken(self, kinds: str) -> Spoken:
        """Return the likely languages in which a sentence may amount to something: as it is, and with an address."""
        telling, signs = self._kinds.most(kinds)
        if telling < _LEAST_TELLING or signs < _LEAST_SIGNS:
            return ()
        shown = self._kinds.signs(kinds)
        fields = [(language, shown >> language * FIELD & ALL & ~self._local) for language in self._likely(shown)]
        worth = [
            (language, self._worth[signs])
            for language, signs in fields
            if signs.bit_count() >= _LEAST_SIGNS and (signs & self._telling).bit_count() >= _LEAST_TELLING
        ]
        least = self._note - _OTHERS
        plain = tuple(language for language, score in worth if score >= least)
        addressed = tuple(language for language, score in worth if score + self._address >= least)
        return (plain, addressed) if plain or addressed else ()

    def _seen(self, encoded: bytes, start: int, end: int, language: int) -> Iterator[Seen]:
        """Yield what each clause of a sentence shows in a language."""
        address = _ADDRESS.search(encoded, start, min(len(encoded), end + 1)) is not None
        sentence = encoded[start:end].decode("utf-8", "ignore")
        clauses = [self._known.of_clause(clause, language) for clause in _CLAUSE.split(sentence)]
        whole = reduce(or_, (here for here, _ in clauses), 0) & ~self._local
        for here, first in clauses:
            if here & ~self._local:
                yield Seen(whole | here, first, address)


def pair_name(one: str, other: str) -> str:
    """Return the name of the weight of two signs in one clause."""
    return "+".join(sorted((one, other)))


def _addresses(encoded: bytes) -> list[int]:
    """Return about where addresses stand, in order: a search for fixed letters is ten times cheaper than `_ADDRESS`."""
    found = []
    for mark in (b"://", b"@"):
        place = encoded.find(mark)
        while place >= 0:
            found.append(place)
            place = encoded.find(mark, place + 1)
    return sorted(found)


def _places(bits: int) -> list[int]:
    places = []
    while bits:
        low = bits & -bits
        places.append(low.bit_length() - 1)
        bits ^= low
    return places
