"""The order of what a search found: how well a memory's text answers a query.

The index gives candidates; here they are weighed again, by all of the text, by the one passage that answers best, by
the names that the query names, and by the time that it names. The weights were measured on long conversations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memolith.core.search.query_dates import Interval

SATURATION = 1.2
"""BM25's k1. Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009)."""

LENGTH_WEIGHT = 0.75
"""BM25's b."""

PASSAGE_WEIGHT = 0.6
NAME_WEIGHT = 0.5
DATE_WEIGHT = 0.6
"""Of the best score without it: what was written in the interval comes before what fits a little better and was not."""

NEAR_US = 3 * 86_400_000_000
"""How far beyond an interval the boost fades out: what happened on a day is often written down some days later."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of all memories together.

    Attributes:
        count: how many there are.
        average_length: of their texts, in words that count.
        frequencies: in how many of them each word of the query is.
        name_frequencies: in how many each name of the query is a name.
    """

    count: int
    average_length: float
    frequencies: Mapping[str, int]
    name_frequencies: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory as ranking sees it. `passages` are stems; instants are microseconds since 1970."""

    memory_id: str
    passages: tuple[tuple[str, ...], ...]
    names: frozenset[str]
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory, its score (only the order means anything), and which of its passages answers best."""

    memory_id: str
    score: float
    passage: int


def rank(
    candidates: Sequence[Candidate],
    stems: Sequence[str],
    names: frozenset[str],
    when: Sequence[Interval],
    corpus: Corpus,
) -> list[Ranked]:
    """Return the candidates, the best first; equal scores are ordered by id, so that the order is repeatable."""
    weights = {stem: rarity(corpus.frequencies.get(stem, 0), corpus.count) for stem in stems}
    name_weights = {name: rarity(corpus.name_frequencies.get(name, 0), corpus.count) for name in names}
    found = []
    for candidate in candidates:
        body, passage, best = _weighed(candidate, weights, corpus.average_length)
        named = sum(weight for name, weight in name_weights.items() if name in candidate.names)
        found.append((candidate, body + PASSAGE_WEIGHT * best + NAME_WEIGHT * named, passage))
    top = max((score for _, score, _ in found), default=0.0)
    ranked = [
        Ranked(one.memory_id, score + DATE_WEIGHT * max(top, 1.0) * nearness(one, when), passage)
        for one, score, passage in found
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.memory_id))


def rarity(frequency: int, count: int) -> float:
    """Return how much a word tells: BM25's idf, never negative."""
    return math.log(1 + (max(count, frequency) - frequency + 0.5) / (frequency + 0.5))


def _weighed(candidate: Candidate, weights: Mapping[str, float], average_length: float) -> tuple[float, int, float]:
    """Return what all of the text is worth, which passage is worth most, and how much."""
    total: dict[str, int] = {}
    length, best, best_worth = 0, 0, 0.0
    for number, passage in enumerate(candidate.passages):
        length += len(passage)
        counts: dict[str, int] = {}
        for stem in passage:
            if stem in weights:
                counts[stem] = counts.get(stem, 0) + 1
                total[stem] = total.get(stem, 0) + 1
        worth = _bm25(counts, weights, 1.0) if counts else 0.0
        if worth > best_worth:
            best, best_worth = number, worth
    return _bm25(total, weights, length / average_length if average_length else 1.0), best, best_worth


def _bm25(counts: Mapping[str, int], weights: Mapping[str, float], relative_length: float) -> float:
    norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * relative_length)
    return sum(weights[stem] * count * (SATURATION + 1) / (count + norm) for stem, count in counts.items())


def nearness(candidate: Candidate, when: Sequence[Interval]) -> float:
    """Return 1 for what was made or changed in one of the intervals, less shortly before or after, 0 for the rest."""
    best = 0.0
    for since, until in when:
        for instant in (candidate.created_at, candidate.updated_at):
            away = max(since - instant, instant - until + 1, 0)
            best = max(best, 1 - away / NEAR_US)
    return best


def alike(word: str, other: str) -> bool:
    """Tell whether one letter more, less or changed, or two letters swapped, turns the one word into the other."""
    if abs(len(word) - len(other)) > 1 or word == other:
        return word == other
    at = next((at for at, pair in enumerate(zip(word, other, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        return True
    rest, other_rest = word[at:], other[at:]
    swapped = len(rest) > 1 and rest[1] + rest[0] + rest[2:] == other_rest
    return rest[1:] == other_rest[1:] or rest == other_rest[1:] or rest[1:] == other_rest or swapped
