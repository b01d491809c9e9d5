"""A model of another service that says how well texts answer a query. Off unless a deployment names one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Is sent texts that the caller may read, and says how well each answers. Safe for threads."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a score for each text, in their order; the higher the better. One request, within seconds.

        Raises:
            Unavailable: it does not answer, or with what is no answer. The message names no text.
        """
