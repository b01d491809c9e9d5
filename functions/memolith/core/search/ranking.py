"""The order of what a search found: how well a memory's text answers a query.

The index gives candidates; here they are weighed again, by all of the text, by the one passage that answers best, by
the names that the query names, and by the time that it names. docs/search.md has what each of these was measured to
give.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from memolith.core.search.query_dates import Interval

SATURATION = 1.2
"""BM25's k1. Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009)."""

LENGTH_WEIGHT = 0.75
"""BM25's b."""

PASSAGE_WEIGHT = 1.0
USUAL_PASSAGE = 70.0
"""How many stems a passage of running text has; one that is shorter says more by each."""

PAIR_WEIGHT = 0.5
"""What two words of the query tell in addition where they stand side by side in a text as they do in the query.
Source: Metzler, Croft, "A Markov Random Field Model for Term Dependencies" (2005)."""

NAME_WEIGHT = 0.4
DATE_WEIGHT = 0.4
"""Of the best score by the words alone. A name counts by how many of the names asked for are there."""

MEANING_WEIGHT = 0.75
"""Of the best score, for a text that means just what the query does (a cosine of 1). Two texts about the same have some
0.4, so that meaning decides among those whose words answer about as well."""

REORDERED_MAX = 30
"""How many of the best are put in another order by their meaning."""

DAY_US = 86_400_000_000
BEFORE_US, AFTER_US = 8 * DAY_US, 30 * DAY_US
"""How fast the boost fades before an interval and after it: what happened is often told of some weeks later."""

LOOK_AFTER_US = 10 * DAY_US
"""How far after an interval memories are looked for by their time."""

Pair = tuple[str, str, float]
"""Two words that follow each other in the query, and what they are worth where they do so in a text."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of all memories together.

    Attributes:
        count: how many there are.
        average_length: of their texts, in stems.
        frequencies: in how many of them each stem of the query is.
    """

    count: int
    average_length: float
    frequencies: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory as ranking sees it.

    Attributes:
        passages: as `analysis.passage` writes them.
        length: of all of them, in stems.
        created_at, updated_at: microseconds since 1970.
    """

    memory_id: str
    passages: tuple[str, ...]
    length: int
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
    stems: Mapping[str, float],
    names: frozenset[str],
    when: Sequence[Interval],
    corpus: Corpus,
) -> list[Ranked]:
    """Return the candidates, the best first; equal scores are ordered by id, so that the order is repeatable.

    Args:
        stems: what is asked for, each with how sure it is that it was meant: 1 for what the query says.
    """
    weights = {
        f" {stem} ": sure * rarity(corpus.frequencies.get(stem, 0), corpus.count) for stem, sure in stems.items()
    }
    pairs = [(first, second, (one + other) / 2) for (first, one), (second, other) in pairwise(weights.items())]
    found = [(one, *_weighed(one, weights, pairs, corpus.average_length)) for one in candidates]
    top = max((score for _, score, _ in found), default=0.0) or 1.0
    ranked = [
        Ranked(one.memory_id, score + top * (NAME_WEIGHT * _share(names, one) + DATE_WEIGHT * nearness(one, when)), at)
        for one, score, at in found
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.memory_id))


def reordered(ranked: Sequence[Ranked], cosines: Mapping[str, float]) -> list[Ranked]:
    """Return the same memories, the first of them ordered by what they mean, too.

    `cosines` says how near each is to the query. One that is missing, as its text is newer than the vectors, counts as
    the others do on the average: it keeps its place among them.
    """
    first, rest = ranked[:REORDERED_MAX], ranked[REORDERED_MAX:]
    known = [max(cosines[one.memory_id], 0.0) for one in first if one.memory_id in cosines]
    if not known:
        return list(ranked)
    usual, top = sum(known) / len(known), first[0].score or 1.0
    worths = [MEANING_WEIGHT * top * max(cosines.get(one.memory_id, usual), 0.0) for one in first]
    moved = [replace(one, score=one.score + worth) for one, worth in zip(first, worths, strict=True)]
    return [*sorted(moved, key=lambda one: (-one.score, one.memory_id)), *rest]


def rarity(frequency: int, count: int) -> float:
    """Return how much a word tells: BM25's idf, never negative."""
    return math.log(1 + (max(count, frequency) - frequency + 0.5) / (frequency + 0.5))


def _share(names: frozenset[str], candidate: Candidate) -> float:
    return len(names & candidate.names) / len(names) if names else 0.0


def _weighed(
    candidate: Candidate, weights: Mapping[str, float], pairs: Sequence[Pair], average_length: float
) -> tuple[float, int]:
    """Return what the text is worth, as a whole and by its best passage, and which passage that is.

    Every stem is looked for once, in all of the text; only passages that have one of them are weighed.
    """
    passages = candidate.passages
    ends = list(accumulate(map(len, passages)))
    text = "".join(passages)
    total: dict[str, int] = {}
    counted: dict[int, dict[str, int]] = {}
    for stem in weights:
        at = text.find(stem)
        while at >= 0:
            total[stem] = total.get(stem, 0) + 1
            number = bisect_right(ends, at)
            counts = counted.setdefault(number, {})
            counts[stem] = counts.get(stem, 0) + 1
            at = text.find(stem, at + len(stem))
    best, best_worth = 0, 0.0
    for number in sorted(counted):
        passage, counts = passages[number], counted[number]
        worth = _bm25(counts, weights, (passage.count("  ") + 1) / USUAL_PASSAGE)
        worth += _side_by_side(passage, counts, pairs) if len(counts) > 1 else 0.0
        if worth > best_worth:
            best, best_worth = number, worth
    whole = _bm25(total, weights, candidate.length / average_length if average_length else 1.0)
    return whole + PASSAGE_WEIGHT * best_worth, best


def _side_by_side(passage: str, counts: Mapping[str, int], pairs: Sequence[Pair]) -> float:
    """Return what words are worth that follow each other as in the query."""
    worth = 0.0
    for first, second, both in pairs:
        if first in counts and second in counts and (count := passage.count(first + second)):
            worth += both * count * (SATURATION + 1) / (count + SATURATION)
    return PAIR_WEIGHT * worth


def _bm25(counts: Mapping[str, int], weights: Mapping[str, float], relative_length: float) -> float:
    norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * relative_length)
    worth = 0.0
    for stem, count in counts.items():
        worth += weights[stem] * count * (SATURATION + 1) / (count + norm)
    return worth


def nearness(candidate: Candidate, when: Sequence[Interval]) -> float:
    """Return 1 for what was made or changed in one of the intervals, less before or after, and ever less far away."""
    best = 0.0
    for since, until in when:
        for instant in (candidate.created_at, candidate.updated_at):
            away = (since - instant) / BEFORE_US if instant < since else max(instant - until, 0) / AFTER_US
            best = max(best, math.exp(-away))
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
