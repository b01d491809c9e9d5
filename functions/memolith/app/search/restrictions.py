"""What packs can exclude by themselves of what a search asks for."""

from __future__ import annotations

from memolith.app.kernel.search_filter import SearchFilter
from memolith.core.errors import InvalidRequest
from memolith.core.limits import SEARCH_FILTER_MAX_CHARS, SEARCH_TAGS_ASKED_MAX
from memolith.core.search.frontmatter_fields import filter_value
from memolith.ports.packs import Restriction

LAST_US = 2**62


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
