"""LangGraph's store on an empty store of Memolith."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from memolith.clients.sdk.langgraph_store import MemolithStore
from tests.memory_tool.conftest import Fresh, fresh_tool


@dataclass(frozen=True, slots=True)
class Shelf:
    """The store, and what is behind it."""

    fresh: Fresh
    store: MemolithStore

    def another(self) -> MemolithStore:
        """As a second process would have it: it has met nothing yet."""
        return MemolithStore(self.fresh.backend.client(), self.fresh.store_id)

    def calls(self) -> int:
        """How many requests there were so far."""
        return len(self.fresh.backend.gateway.log)

    def create(self, path: str, content: str) -> str:
        """A memory that somebody puts there through the API; its id."""
        memories = self.fresh.backend.client().beta.memory_stores.memories
        return memories.create(self.fresh.store_id, path=path, content=content).id

    def rename(self, memory_id: str, path: str) -> None:
        memories = self.fresh.backend.client().beta.memory_stores.memories
        memories.update(memory_id, memory_store_id=self.fresh.store_id, path=path)


def fresh_shelf() -> Shelf:
    fresh = fresh_tool()
    return Shelf(fresh, MemolithStore(fresh.backend.client(), fresh.store_id))


@pytest.fixture
def shelf() -> Shelf:
    return fresh_shelf()
