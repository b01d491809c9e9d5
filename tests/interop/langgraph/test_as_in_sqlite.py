"""The tests of LangGraph's store in SQLite on a store of Memolith."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.interop.langgraph.upstream import NO_VECTORS, EmptyStore, suite_of, theirs

THEIRS = theirs("langgraph_checkpoint_sqlite-3.1.2", "test_store.py")


@pytest.fixture
def store() -> EmptyStore:
    return EmptyStore()


@contextmanager
def create_vector_store(*_: object, **__: object) -> Iterator[EmptyStore]:
    """Make the store of their tests of vectors, which are of much else besides."""
    yield EmptyStore()


THEIRS.create_vector_store = create_vector_store  # type: ignore[attr-defined]  # their tests look there

NOT_OF_A_STORE = (
    "test_escape_glob_literal",
    "test_list_namespaces_prefix_uses_indexable_condition",
    "test_namespace_match_pattern",
    "test_nonnull_migrations",
)
DIFFER = {
    **dict.fromkeys(
        (
            "test_embed_with_path",
            "test_embed_with_path_operation_config",
            "test_scores",
            "test_vector_search_with_filters",
            "test_vector_store_initialization",
            "test_vector_update_with_embedding",
        ),
        NO_VECTORS,
    ),
    "test_filter_keys_with_hyphens_and_digits": "a filter names fields, as LangGraph's store in memory does, no paths",
    "test_sql_injection_vulnerability": "a filter is no SQL: a field may have any name, and none of that name is found",
}

globals().update(suite_of(THEIRS, NOT_OF_A_STORE, DIFFER))
