"""Which memories a search is to find."""

from __future__ import annotations

from dataclasses import dataclass


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
