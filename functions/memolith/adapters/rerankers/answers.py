"""What both services answer: a list of places with scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from memolith.ports.errors import Unavailable


def scores_of(results: Any, field: str, count: int) -> list[float]:
    """Return the score of each of `count` texts. Raises Unavailable: some are missing, twice there, or no numbers."""
    found: dict[int, float] = {}
    for one in results if isinstance(results, list) else []:
        place, score = (one.get("index"), one.get(field)) if isinstance(one, Mapping) else (None, None)
        if type(place) is int and isinstance(score, int | float) and math.isfinite(score):
            found[place] = float(score)
    if set(found) != set(range(count)):
        raise Unavailable("the reranker answered with scores that do not fit the texts")
    return [found[place] for place in range(count)]
