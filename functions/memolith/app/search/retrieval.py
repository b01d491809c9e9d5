"""What a pack finds for a query, and in which order, before the index has its say.

Two steps: a few words, names and times of the query *look for* candidates, so that a search costs the same in a store
of ten thousand memories; then *all* of its words put the candidates in order. Where there is a model of meanings, it
has a say in the order of the first, and looks for memories where words find next to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memolith.core.search import analysis, ranking
from memolith.core.search.phrases import Phrase, have_all, phrases_of
from memolith.core.search.query_dates import named_intervals
from memolith.core.search.ranking import Candidate, Corpus, Ranked
from memolith.ports.packs import ALL, Document, Matching, Pack, Packs, Restriction
from memolith.ports.vectors import Encoder

CANDIDATES_MAX = 60
WIDER = 4
WIDEST_MAX = 960
"""How many candidates are looked at, four times as many each time, where phrases leave fewer than `ENOUGH`."""

ENOUGH = 50
"""As many as one answer has at most."""

NAMED_MAX = 50
DATED_MAX = 50
INTERVALS_MAX = 3

LOOKING_MAX = 8
"""How many words of a query look for memories, the rarest first; all of them count in the order."""

COMMON = 0.2
"""A word that is in more of the memories than this looks for none, and only costs; unless all words are like that."""

COMMON_FROM = 50
COMMON_LOOKING_MAX = 2

NAMED_EVERYWHERE = 0.5
"""A name that is in more of the memories than this tells nothing."""

NAME_SHARE = 0.5
"""Of the memories with a word, in how many it must be a name, for a query in small letters to mean the name."""

REPLACED_FROM_CHARS = 4
REPLACEMENTS_MAX = 3
REPLACEMENT_SURENESS = 0.6
"""How much a word counts that stands in for one that the store does not have."""

FEW = 5
"""Where words find fewer memories than this, those that mean about the same are looked for among all."""

NEAR = 0.35
"""The least cosine at which a text is about the same; texts about something else have less than 0.3."""

NEAR_MAX = 10
NEAR_AMONG_MAX = 10_000
"""How many memories are looked through for this, those that changed last; some 60 ms for that many."""

BEGINNING_CHARS = 5
"""How much words have in common at least of which one stands for the other with another ending."""

PART_CHARS = 4
"""How long each of two words is at least that are written as one (``Datenbank|migration``)."""

ANY_PART = "datenbank"
"""What stands for any first part of a longer word where only the rest counts."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query as the store's own words have it.

    Attributes:
        stems: all that count, with how sure it is that each was meant.
        looking: those of them that look for candidates.
        names: words that it uses as names.
        intervals: the times that it names.
        within: which memories may match at all.
        phrases: what a text has to have word for word.
        near: their stems, as far as texts are searched by them.
        places: which word of the query each stem stands for, by its number.
    """

    stems: Mapping[str, float]
    looking: tuple[str, ...]
    names: frozenset[str]
    intervals: tuple[tuple[int, int], ...]
    corpus: Corpus
    within: Restriction
    phrases: tuple[Phrase, ...] = ()
    near: tuple[tuple[str, ...], ...] = ()
    places: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates in their order, and their documents by id.

    `cosines` says how near the first of them are to the query, where there is a model of meanings; `near` are those
    that it alone has found. `more` says that there may be further candidates.
    """

    question: Question
    ranked: Sequence[Ranked]
    documents: Mapping[str, Document]
    cosines: Mapping[str, float] = field(default_factory=dict)
    near: Sequence[Ranked] = ()
    more: bool = False


def retrieve(
    packs: Packs, pack: Pack, query: str, now_us: int, within: Restriction = ALL, most: int = CANDIDATES_MAX
) -> Found:
    """Return what a pack has for a query, the best first, of the `most` that match best. No call but to the pack.

    Raises:
        DamagedPack.
    """
    question = understand(packs, pack, query, now_us, within)
    documents, more = _candidates(pack, question, most)
    candidates = [candidate_of(one.memory_id, one) for one in documents.values()]
    ranked = ranking.rank(candidates, question.stems, question.names, question.intervals, question.corpus)
    if packs.encoder is None:
        return Found(question, ranked, documents, more=more)
    first = [one.memory_id for one in ranked[: ranking.REORDERED_MAX]]
    likeness = packs.encoder.likeness(query, pack.vectors(packs.encoder.name, first))
    cosines = {id: one.cosine for id, one in likeness.items()}
    ranked, near = ranking.reordered(ranked, cosines), list[Ranked]()
    if len(ranked) < FEW and not question.phrases:
        near = _near(packs.encoder, pack, query, within, known=documents)
        documents |= _documents(pack, [one.memory_id for one in near])
        near = [one for one in near if one.memory_id in documents]
    return Found(question, [*ranked, *near], documents, cosines, near, more)


def candidate_of(name: str, document: Document) -> Candidate:
    """Return a document as ranking sees it, under a name."""
    return Candidate(name, document.passages, document.length, document.names, document.created_at, document.updated_at)


def _candidates(pack: Pack, question: Question, most: int) -> tuple[dict[str, Document], bool]:
    """Return candidates that have every phrase, and whether there may be more.

    The index knows of a phrase less than the text does: where its words stand, and none of those that carry nothing.
    Where few of the best candidates have it, as in ``"on call"``, more are looked at.
    """
    found = _matching(pack, question, most)
    documents, looked_at = _with_phrases(pack, _documents(pack, found), question.phrases), set(found)
    while question.phrases and len(looked_at) >= most and len(documents) < ENOUGH and most < WIDEST_MAX:
        most = min(most * WIDER, WIDEST_MAX)
        further = [id for id in _matching(pack, question, most) if id not in looked_at]
        documents |= _with_phrases(pack, _documents(pack, further), question.phrases)
        looked_at.update(further)
    return documents, len(looked_at) >= most


def _with_phrases(pack: Pack, documents: dict[str, Document], phrases: Sequence[Phrase]) -> dict[str, Document]:
    """Leave out texts that lack a phrase. Of one that the pack has only in part, the index knows just its words."""
    if not phrases:
        return documents
    texts = pack.contents(list(documents))
    return {
        id: one for id, one in documents.items() if id not in texts or have_all(f"{one.path}\n{texts[id]}", phrases)
    }


def _documents(pack: Pack, memory_ids: Sequence[str]) -> dict[str, Document]:
    return {one.memory_id: one for one in pack.documents(memory_ids)}


def _near(encoder: Encoder, pack: Pack, query: str, within: Restriction, known: Mapping[str, object]) -> list[Ranked]:
    """Return memories that no word leads to and that mean about the same, the nearest first."""
    likeness = encoder.likeness(query, pack.vectors_within(encoder.name, within, NEAR_AMONG_MAX))
    near = [(id, one) for id, one in likeness.items() if one.cosine >= NEAR and id not in known]
    near.sort(key=lambda one: (-one[1].cosine, one[0]))
    return [Ranked(id, one.cosine, one.passage + 1) for id, one in near[:NEAR_MAX]]


def understand(packs: Packs, pack: Pack, query: str, now_us: int, within: Restriction) -> Question:
    """Read a query by what the pack knows of its words."""
    count, average_length = pack.extent()
    asked = analysis.query_words(query, packs.stem)
    frequencies = dict(pack.frequencies(list(asked.stems)))
    stems: dict[str, float] = {}
    looking: list[str] = []
    places: dict[str, int] = {}
    for place, (stem, word) in enumerate(asked.stems.items()):
        known = [(stem, 1.0)] if stem in frequencies else list(_replacements(packs, pack, word, frequencies))
        stems.update({one: max(sure, stems.get(one, 0.0)) for one, sure in known})
        places |= {one: places.get(one, place) for one, _ in known}
        if stem in asked.telling:
            looking += [one for one, _ in known]
    phrases = phrases_of(query)
    groups = [group for phrase in phrases for group in phrase.groups]
    near = [tuple(packs.stem(word) for word in group if word not in analysis.STOP_WORDS) for group in groups]
    named = pack.name_frequencies(sorted(asked.capitals or asked.lowers))
    names = {
        name
        for name, frequency in named.items()
        if frequency <= max(NAMED_EVERYWHERE * count, COMMON_FROM)
        and (name in asked.capitals or frequency >= NAME_SHARE * frequencies.get(packs.stem(name), count))
    }
    return Question(
        stems,
        _rarest(looking, frequencies, count) or _rarest(list(stems), frequencies, count),
        frozenset(names),
        named_intervals(query, now_us)[:INTERVALS_MAX],
        Corpus(count, average_length, frequencies),
        within,
        phrases,
        tuple(group for group in near if group),
        places,
    )


def _rarest(stems: Sequence[str], frequencies: Mapping[str, int], count: int) -> tuple[str, ...]:
    ordered = sorted(dict.fromkeys(stems), key=lambda stem: (frequencies[stem], stem))
    common = max(COMMON * count, COMMON_FROM)
    rare = [stem for stem in ordered if frequencies[stem] <= common]
    return tuple((rare or ordered[:COMMON_LOOKING_MAX])[:LOOKING_MAX])


def _replacements(packs: Packs, pack: Pack, word: str, frequencies: dict[str, int]) -> Iterator[tuple[str, float]]:
    """Yield what a store has in place of a word that it has not: the same with another ending; a longer word that ends
    with it, or the two words that it is made of; or the same with one slip.

    Endings first: they are what stems of other languages than English differ by (``Rechnung``, ``Rechnungen``).
    """
    stem = packs.stem(word)
    if len(stem) < REPLACED_FROM_CHARS or not stem.isalpha():
        return
    found = _other_endings(pack, stem) or _longer(packs, pack, word) or _halves(packs, pack, word) or _slip(pack, stem)
    for one in sorted(found, key=lambda one: (-found[one], one))[:REPLACEMENTS_MAX]:
        frequencies[one] = found[one]
        yield one, REPLACEMENT_SURENESS


def _other_endings(pack: Pack, stem: str) -> Mapping[str, int]:
    near = pack.stems_from(stem[:BEGINNING_CHARS]) if len(stem) >= BEGINNING_CHARS else {}
    return {
        one: count
        for one, count in near.items()
        if one.startswith(stem) or (stem.startswith(one) and len(stem) - len(one) <= 3)
    }


def _longer(packs: Packs, pack: Pack, word: str) -> Mapping[str, int]:
    """Find words that end with this one, by what a stemmer leaves of it there: of a longer word it takes off more."""
    if len(word) < BEGINNING_CHARS:
        return {}
    ending = packs.stem(f"{ANY_PART}{word}").removeprefix(ANY_PART)
    longer = pack.stems_to(ending) if len(ending) >= PART_CHARS else {}
    return {one: count for one, count in longer.items() if len(one) - len(ending) >= PART_CHARS}


def _halves(packs: Packs, pack: Pack, word: str) -> Mapping[str, int]:
    """Find the two words that this one is made of, the first of them as long as can be."""
    cuts = range(len(word) - PART_CHARS, PART_CHARS - 1, -1)
    halves = [(packs.stem(word[:cut]), packs.stem(word[cut:])) for cut in cuts]
    known = pack.frequencies([half for both in halves for half in both])
    both = next((both for both in halves if all(half in known for half in both)), ())
    return {half: known[half] for half in both}


def _slip(pack: Pack, stem: str) -> Mapping[str, int]:
    slips = {one: count for one, count in pack.stems_from(stem[:1]).items() if ranking.alike(stem, one)}
    if not slips:
        return slips
    first = max(slips, key=lambda one: (slips[one], one))
    return {first: slips[first]}


def _matching(pack: Pack, question: Question, most: int) -> list[str]:
    """Find candidates by the words; by words and names; by the time that is named, with words and without."""
    looking = Matching(question.looking, near=question.near, within=question.within, limit=most)
    found = pack.matching(looking)
    if question.names and question.looking:
        found += pack.matching(replace(looking, names=sorted(question.names), limit=NAMED_MAX))
    for since, until in question.intervals:
        near = replace(looking, interval=(since, until + ranking.LOOK_AFTER_US), limit=DATED_MAX)
        if question.looking:
            found += pack.matching(near)
        found += pack.matching(replace(near, stems=()))
    return list(dict.fromkeys(found))
