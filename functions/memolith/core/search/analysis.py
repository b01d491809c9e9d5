"""What of a text is searched: its words but for a few that carry nothing, stemmed; its passages; the names in it.

A memory and a query are taken apart by the same rules, or they would not meet. Stemming is the caller's (a `Stem`), as
it is a library's work; everything here is pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from memolith.core.search.words import Word, words

Stem = Callable[[str], str]
"""A word in lower case -> its stem."""

PASSAGE_WORDS = 110
"""How long a passage is: about a paragraph, so that words that stand together weigh more than words that do not."""

ENDING_MAX_CHARS = 5
"""``.md``, ``.json``: what comes after a path's last dot and is no longer says of what kind it is, not what of."""

_SENTENCE_END = re.compile(r"[.!?:\n]\W*$")
_LETTER_AGAIN = re.compile(r"[^\W\d_]")

STOP_WORDS = frozenset(
    """
    a an and are as at be but by did do does for from had has have her his how i in is it its my of on or our that the
    their they this to was we were what when where which who whom whose why with you your
    """.split()  # noqa: SIM905 - a list of words is read as prose
)
"""What no text is searched by, unless it is a name there. Few: each word that is left out is one that cannot count."""

WEAK_WORDS = STOP_WORDS | frozenset(
    """
    about above actually after again against all almost alone along already also although always am among another any
    anybody anyone anything anyway aren around away back became because become been before behind being below beside
    besides between beyond both came can cannot cant come could couldn date day describe didn doesn doing don done down
    during each either else enough especially etc even ever every everybody everyone everything explain far few find
    first further get gets getting give given go goes going gone gonna good got gotta hadn happen happened hasn haven
    having he here hers herself hey hi him himself however if indeed instead into isn itself just keep kind know known
    last later least less let lets like likely list little ll long look lot lots made make makes making many may maybe
    me mean mention mentioned might mine more most mostly much must myself name near need neither never nevertheless
    next no nobody none nor not nothing now off often oh ok okay once one ones only onto other others otherwise ours
    ourselves out over own part per perhaps please possible probably put quite rather re really remember remind right
    said same saw say saying says search see seem seemed seems seen several shall she should shouldn show since so some
    somebody someone something sometimes soon still such sure take taken tell than thank thanks theirs them themselves
    then there therefore these thing things think those though through thus time together too took toward towards try
    under until up upon us use used uses using usually ve very via want wants wasn way well went weren whatever
    whenever wherever whether while whoever whole will within without won would wouldn wow yeah year yes yet yours
    yourself yourselves
    """.split()  # noqa: SIM905 - a list of words is read as prose
)
"""Words that look for nothing by themselves, as almost every text has them; they count among what others found."""


@dataclass(frozen=True, slots=True)
class Analysed:
    """A text taken apart.

    Attributes:
        passages: its stems, a passage at a time, each as `passage` writes it; a search can find nothing else of it.
        starts: where in the text each passage begins.
        names: words that look like names, in lower case: a capital where no sentence begins, or before a colon, as
            where a person speaks.
    """

    passages: tuple[str, ...]
    starts: tuple[int, ...]
    names: frozenset[str]


def passage(stems: Iterable[str]) -> str:
    """Write stems as one text in which ``" stem "`` is found as often as the stem is there: two blanks part them."""
    joined = "  ".join(stems)
    return f" {joined} " if joined else ""


def length(passages: Iterable[str]) -> int:
    """Count the stems of passages."""
    return sum(one.count("  ") + 1 for one in passages if one)


def analysed(text: str, stem: Stem, known_names: frozenset[str] = frozenset()) -> Analysed:
    """Analyse a text in one pass. `known_names` are words that name something in it whatever their capitals."""
    found = list(words(text))
    names = frozenset(word.lower for word in found if not word.text.islower() and is_name(text, word))
    kept = names | known_names
    stems: list[list[str]] = []
    starts: list[int] = []
    room = 0
    for word in found:
        if not word.extra:
            if not room:
                stems.append([])
                starts.append(word.start)
                room = PASSAGE_WORDS
            room -= 1
        if word.lower not in STOP_WORDS or word.lower in kept:
            stems[-1].append(stem(word.lower))
    return Analysed(tuple(map(passage, stems)), tuple(starts), names)


def is_name(text: str, word: Word) -> bool:
    """Tell whether a word looks like a name where it stands."""
    if not _is_capital(word):
        return False
    if text[word.end : word.end + 1] == ":":
        return True
    begins = not _LETTER_AGAIN.search(text[max(0, word.start - 8) : word.start]) and word.start <= 8
    return not begins and not _SENTENCE_END.search(text, max(0, word.start - 8), word.start)


def _is_capital(word: Word) -> bool:
    return len(word.text) > 1 and word.text[0].isupper() and any(character.islower() for character in word.text)


def path_words(path: str) -> Iterator[Word]:
    """Yield the words of a path, which say what the memory is about, without a file name's extension."""
    stem, dot, ending = path.rpartition(".")
    return words(stem if dot and len(ending) <= ENDING_MAX_CHARS and "/" not in ending else path)


def path_names(path: str) -> frozenset[str]:
    """Return the words of a path, each of which counts as a name."""
    return frozenset(word.lower for word in path_words(path))


@dataclass(frozen=True, slots=True)
class QueryWords:
    """What a query asks for.

    Attributes:
        stems: all that count, in the order of their first place, each with the first word of which it is the stem.
        telling: those of them that look for memories.
        capitals: words that are written as names are.
        lowers: all words that tell, any of which a query in small letters may mean as a name.
    """

    stems: Mapping[str, str]
    telling: tuple[str, ...]
    capitals: frozenset[str]
    lowers: frozenset[str]


def beginnings(stem: str) -> tuple[str, ...]:
    """Return how forms of an English word with this stem begin: as the stem does, or but for its last letters, which
    differ in ``deny`` and ``denied`` (`deni`), ``move`` and ``moving`` (`move`), ``die`` and ``dying`` (`die`).
    """
    ends = {"i": ("y",), "e": ("i",)}.get(stem[-1:], ())
    return (stem, *(f"{stem[:-1]}{end}" for end in ends), *([f"{stem[:-2]}y"] if stem.endswith("ie") else []))


def query_words(query: str, stem: Stem) -> QueryWords:
    """Analyse a query. What it does without, it does without only where something else is left."""
    found = [word for word in words(query) if not (word.extra and len(word.lower) == 1)]
    named = {word.lower for word in found if is_name(query, word)}
    kept = [word for word in found if word.lower not in STOP_WORDS or word.lower in named] or found
    telling = [word for word in kept if word.lower not in WEAK_WORDS or word.lower in named] or kept
    stems: dict[str, str] = {}
    for word in kept:
        stems.setdefault(stem(word.lower), word.lower)
    return QueryWords(
        stems,
        tuple(dict.fromkeys(stem(word.lower) for word in telling)),
        frozenset(word.lower for word in telling if _is_capital(word)),
        frozenset(word.lower for word in telling),
    )
