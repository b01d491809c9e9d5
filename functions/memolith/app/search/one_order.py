"""What several stores have for one query, in one order.

Scores of two stores cannot be compared: a word that is rare in one may be in every text of another. So the candidates
are weighed again by what all of the stores have together, as if they were one store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memolith.app.search.retrieval import Found, candidate_of
from memolith.core.search import ranking
from memolith.core.search.ranking import Corpus, Ranked


def in_one_order(found: Sequence[Found]) -> list[tuple[int, Ranked]]:
    """Return the candidates of all, each with the number of its store, the best first. No call.

    What was found by its meaning alone comes last. Equal scores are in the order of the stores.
    """
    if len(found) == 1:
        return [(0, one) for one in found[0].ranked]
    places: dict[str, tuple[int, str]] = {}
    candidates, cosines = [], {}
    for number, one in enumerate(found):
        alone = {near.memory_id for near in one.near}
        for memory_id, document in one.documents.items():
            name = f"{number} {memory_id}"  # a store that was imported twice has the same ids twice
            places[name] = (number, memory_id)
            if memory_id not in alone:
                candidates.append(candidate_of(name, document))
            if memory_id in one.cosines:
                cosines[name] = one.cosines[memory_id]
    stems: dict[str, float] = {}
    for one in found:
        stems |= {stem: max(sure, stems.get(stem, 0.0)) for stem, sure in one.question.stems.items()}
    order = {stem: place for one in found for stem, place in one.question.places.items()}
    stems = dict(sorted(stems.items(), key=lambda one: order[one[0]]))  # as the query has them: pairs of words count
    names = frozenset[str]().union(*(one.question.names for one in found))
    ranked = ranking.rank(candidates, stems, names, found[0].question.intervals, _corpus(found))
    weighed = [(places[one.memory_id], one) for one in ranking.reordered(ranked, cosines)]
    ordered = [(number, replace(one, memory_id=memory_id)) for (number, memory_id), one in weighed]
    near = [(number, one) for number, store in enumerate(found) for one in store.near]
    return [*ordered, *sorted(near, key=lambda one: -one[1].score)]


def _corpus(found: Sequence[Found]) -> Corpus:
    """Return what is known of the memories of all stores together."""
    parts = [one.question.corpus for one in found]
    count = sum(part.count for part in parts)
    length = sum(part.count * part.average_length for part in parts)
    frequencies: dict[str, int] = {}
    for part in parts:
        for stem, frequency in part.frequencies.items():
            frequencies[stem] = frequencies.get(stem, 0) + frequency
    return Corpus(count, length / count if count else 0.0, frequencies)
