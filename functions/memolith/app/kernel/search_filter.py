"""Which memories a search is to find."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.errors import InvalidRequest
from memolith.core.limits import SEARCH_FILTER_MAX_CHARS, SEARCH_TAGS_ASKED_MAX
from memolith.core.search.frontmatter_fields import filter_value
from memolith.ports.packs import Restriction

LAST_US = 2**62


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which memories a search is to find; None finds all. Instants are inclusive.

    Attributes:
        type: of their frontmatter.
        tags: each of which their frontmatter has.
        author: who wrote the current version, as a version names it: ``api_key:apikey_…``, ``session:sesn_…``.
    """

    type: str | None = None
    tags: tuple[str, ...] = ()
    created_at_gte: int | None = None
    created_at_lte: int | None = None
    updated_at_gte: int | None = None
    updated_at_lte: int | None = None
    author: str | None = None


NO_FILTER = SearchFilter()


def restriction_of(prefix: str | None, filter: SearchFilter) -> Restriction:
    """Return what a pack can exclude by itself: all but the author. Raises InvalidRequest."""
    if len(filter.tags) > SEARCH_TAGS_ASKED_MAX:
        raise InvalidRequest("tags", f"must be at most {SEARCH_TAGS_ASKED_MAX}")
    asked = [("type", "type", filter.type)] if filter.type is not None else []
    asked += [("tags", "tag", tag) for tag in filter.tags]
    for field, _, value in asked:
        if not filter_value(value):
            raise InvalidRequest(field, "must not be empty")
        if len(value) > SEARCH_FILTER_MAX_CHARS:
            raise InvalidRequest(field, f"must be at most {SEARCH_FILTER_MAX_CHARS} characters")
    return Restriction(
        prefix,
        tuple((name, filter_value(value)) for _, name, value in asked),
        _interval(filter.created_at_gte, filter.created_at_lte),
        _interval(filter.updated_at_gte, filter.updated_at_lte),
    )


def _interval(since: int | None, until: int | None) -> tuple[int, int] | None:
    return None if since is None and until is None else (since or 0, LAST_US if until is None else until + 1)
