"""The asynchronous tests of LangGraph's store in SQLite on a store of Memolith."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.interop.langgraph.upstream import NO_VECTORS, EmptyStore, suite_of, theirs

THEIRS = theirs("langgraph_checkpoint_sqlite-3.1.2", "test_async_store.py")


@pytest.fixture
def store() -> EmptyStore:
    return EmptyStore()


@asynccontextmanager
async def create_vector_store(*_: object, **__: object) -> AsyncIterator[EmptyStore]:
    """Make the store of their tests of vectors, which are of much else besides."""
    yield EmptyStore()


THEIRS.create_vector_store = create_vector_store  # type: ignore[attr-defined]  # their tests look there

DIFFER = {
    "test_no_running_loop": "its synchronous methods work in the thread of an event loop, too",
    **dict.fromkeys(
        ("test_embed_with_path", "test_vector_store_initialization", "test_vector_update_with_embedding"), NO_VECTORS
    ),
}

globals().update(suite_of(THEIRS, (), DIFFER))
