"""LangGraph's store where the store of Memolith has secrets taken out: an item is what is stored, not what was sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from memolith.clients.sdk.langgraph_store import MemolithStore
from memolith.scanner import Scanner
from tests.api.harness import memolith_backend

USER = ("users", "ada")
SAID = {"said": 'He wrote "the password is Marble#41xQ7" to me'}
STORED = {"said": 'He wrote "the password is [REDACTED:password]" to me'}


@pytest.fixture
def store(scanner_database: Path) -> MemolithStore:
    """A store that redacts."""
    client = memolith_backend(scanner=Scanner.load(scanner_database)).client()
    made = client.beta.memory_stores.create(name="Notes", extra_body={"scan_policy": {"secrets": "redact"}})
    return MemolithStore(client, made.id)


def test_a_put_if_returns_the_value_that_is_stored_and_not_the_secret(store: MemolithStore) -> None:
    item = store.put_if(USER, "note", SAID, None)
    assert item.value == STORED
    item = store.put_if(USER, "note", {**SAID, "n": 2}, item)
    assert item.value == {**STORED, "n": 2}
    same = store.put_if(USER, "note", {**SAID, "n": 2}, item)
    read = store.get(USER, "note")
    assert read is not None
    assert same.value == read.value == {**STORED, "n": 2}
