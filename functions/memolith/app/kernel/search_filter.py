"""Which memories a search is to find."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which memories a search is to find; None finds all. Instants are inclusive.

    Attributes:
        type: of their frontmatter.
        tags: each of which their frontmatter has.
    """

    type: str | None = None
    tags: tuple[str, ...] = ()
    created_at_gte: int | None = None
    created_at_lte: int | None = None
    updated_at_gte: int | None = None
    updated_at_lte: int | None = None


NO_FILTER = SearchFilter()
