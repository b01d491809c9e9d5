"""What of a text is searched: its words without those that carry nothing, stemmed; its passages; the names in it.

A memory and a query are taken apart by the same rules, or they would not meet. Stemming is the caller's (a `Stem`), as
it is a library's work; everything here is pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

Stem = Callable[[str], str]
"""A word in lower case -> its stem."""

PASSAGE_WORDS = 110
"""How long a passage is: about a paragraph, so that words that stand together weigh more than words that do not."""

WORD_MAX_CHARS = 40
"""What is longer is a hash or a blob, which no one types; it is cut, so that it still finds itself."""

ENDING_MAX_CHARS = 5
"""``.md``, ``.json``: what comes after a path's last dot and is no longer says of what kind it is, not what of."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_APOSTROPHE = re.compile("['’]")
_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
"""Scripts that do not part their words: two characters at a time stand for words."""

_SENTENCE_END = re.compile(r"[.!?:\n]\W*$")

STOP_WORDS = frozenset(
    """
    a about above actually after again against all almost alone along already also although always am among an and
    another any anybody anyone anything anyway are aren around as at away back be became because become been before
    behind being below beside besides between beyond both but by came can cannot cant come could couldn did didn do
    does doesn doing don done down during each either else enough especially etc even ever every everybody everyone
    everything far few first for from further get gets getting give given go goes going gone gonna good got gotta had
    hadn has hasn have haven having he her here hers herself hey hi him himself his how however i if in indeed instead
    into is isn it its itself just keep kind know known last later least less let lets like likely little ll lot lots
    made make makes making many may maybe me mean might mine more most mostly much must my myself near need neither
    never nevertheless next no nobody none nor not nothing now of off often oh ok okay on once one ones only onto or
    other others otherwise our ours ourselves out over own part per perhaps please possible probably put quite rather
    re really right said same saw say saying says see seem seemed seems seen several shall she should shouldn since
    so some somebody someone something sometimes soon still such sure take taken tell than thank thanks that the their
    theirs them themselves then there therefore these they thing things think this those though through thus time to
    together too took toward towards try under until up upon us use used uses using usually ve very via want wants was
    wasn way we well went were weren what whatever when whenever where wherever whether which while who whoever whole
    whom whose why will with within without won would wouldn wow yeah yes yet you your yours yourself yourselves
    """.split()  # noqa: SIM905 - a list of words is read as prose
)

QUESTION_WORDS = frozenset(
    """
    anything date day describe did do does explain find give happen happened how list long look many mention
    mentioned much name remember remind say search show tell time what when where which who whom whose why year
    """.split()  # noqa: SIM905
)
"""Of a query alone: what asks, and not what is asked for. Left in, they are slower, and worse."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text: as it stands there, in lower case, and where."""

    text: str
    lower: str
    start: int
    end: int


def words(text: str) -> Iterator[Word]:
    """Yield the words of a text in order. A contraction is one word: ``don't`` -> ``don``, as its tail says nothing."""
    for match in _WORD.finditer(text):
        found = match[0]
        if found.isascii() and found.isalnum():
            yield Word(found, found.lower()[:WORD_MAX_CHARS], match.start(), match.end())
        elif _WITHOUT_SPACES.search(found):
            yield from _pairs(found, match.start())
        else:
            head = _APOSTROPHE.split(found, maxsplit=1)[0]
            yield Word(head, folded(head), match.start(), match.end())


def _pairs(run: str, start: int) -> Iterator[Word]:
    if len(run) == 1:
        yield Word(run, run, start, start + 1)
    for at in range(len(run) - 1):
        yield Word(run[at : at + 2], folded(run[at : at + 2]), start + at, start + at + 2)


def folded(word: str) -> str:
    """Fold a word to lower case, without accents, and not longer than `WORD_MAX_CHARS`."""
    if word.isascii():
        return word.lower()[:WORD_MAX_CHARS]
    plain = unicodedata.normalize("NFKD", word.casefold())
    kept = "".join(character for character in plain if character.isalnum())
    return (kept or word.casefold())[:WORD_MAX_CHARS]


@dataclass(frozen=True, slots=True)
class Analysed:
    """A text taken apart.

    Attributes:
        passages: its stems, a passage at a time; all of them together are what a search can find of it.
        names: words that look like names, in lower case: a capital where no sentence begins, or before a colon, as
            where a person speaks.
    """

    passages: tuple[tuple[str, ...], ...]
    names: frozenset[str]


def analysed(text: str, stem: Stem) -> Analysed:
    """Analyse a text in one pass."""
    found = list(words(text))
    parts = (found[start : start + PASSAGE_WORDS] for start in range(0, len(found), PASSAGE_WORDS))
    stems = tuple(tuple(stem(word.lower) for word in part if word.lower not in STOP_WORDS) for part in parts)
    names = frozenset(
        word.lower
        for number, word in enumerate(found)
        if _is_capital(word) and word.lower not in STOP_WORDS and _names(text, word, first=number == 0)
    )
    return Analysed(stems, names)


def _names(text: str, word: Word, *, first: bool) -> bool:
    begins = first or _SENTENCE_END.search(text, max(0, word.start - 8), word.start)
    return not begins or text[word.end : word.end + 1] == ":"


def place(text: str, passage: int, wanted: Callable[[str], bool]) -> tuple[int, int]:
    """Return where a passage begins, and its first wanted word; where it begins, twice, if it has none."""
    inside = islice(words(text), passage * PASSAGE_WORDS, (passage + 1) * PASSAGE_WORDS)
    first = next(inside, None)
    if first is None:
        return 0, 0
    found = next((word.start for word in chain((first,), inside) if wanted(word.lower)), first.start)
    return first.start, found


def path_names(path: str) -> frozenset[str]:
    """Return the words of a path, which name what the memory is about, without a file name's extension."""
    stem, dot, ending = path.rpartition(".")
    named = stem if dot and len(ending) <= ENDING_MAX_CHARS and "/" not in ending else path
    return frozenset(word.lower for word in words(named) if word.lower not in STOP_WORDS)


def _is_capital(word: Word) -> bool:
    return len(word.text) > 1 and word.text[0].isupper() and any(character.islower() for character in word.text)


@dataclass(frozen=True, slots=True)
class QueryWords:
    """What a query asks for: stems in the order of their first place, and the words that may be names."""

    stems: tuple[str, ...]
    capitals: frozenset[str]
    lowers: frozenset[str]


def query_words(query: str, stem: Stem) -> QueryWords:
    """Analyse a query. Words that only ask are left out, unless nothing else is left."""
    found = list(words(query))
    telling = [word for word in found if word.lower not in STOP_WORDS and word.lower not in QUESTION_WORDS]
    telling = telling or [word for word in found if word.lower not in STOP_WORDS]
    stems = tuple(dict.fromkeys(stem(word.lower) for word in telling))
    capitals = frozenset(word.lower for word in telling if _is_capital(word))
    return QueryWords(stems, capitals, frozenset(word.lower for word in telling))
