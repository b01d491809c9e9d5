"""Memolith's search, as the frameworks' adapters ask it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import anthropic

from memolith.core.limits import SEARCH_LIMIT_MAX, SEARCH_QUERY_MAX_CHARS


def searched(client: anthropic.Anthropic, store_id: str, query: str, folder: str) -> Sequence[tuple[str, float]]:
    """Return the ids of the memories below a folder that match a query best, and their scores; 50 at most. One request.

    A query that is longer than the API takes is cut; one that says nothing finds nothing.

    Raises:
        anthropic.APIError.
    """
    if not query.strip():
        return ()
    asked = {"query": query.strip()[:SEARCH_QUERY_MAX_CHARS], "path_prefix": folder, "limit": SEARCH_LIMIT_MAX}
    options: Any = {"params": asked}
    answer: Any = client.get(f"/v1/memory_stores/{quote(store_id, safe='')}/search", cast_to=object, options=options)
    return [(hit["memory"]["id"], float(hit["score"])) for hit in answer["data"]]
