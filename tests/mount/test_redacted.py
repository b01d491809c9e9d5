"""A file with a secret, on a mount of a store that takes secrets out: the file is what the store has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith.scanner import Scanner
from tests.api.harness import memolith_backend
from tests.mount.conftest import Desk, desk_over

TOKEN = "ghp_" + "q8Zt3mW0xKcVbN5rYs2LdJ7fHgP1aEuR4oTi"


@pytest.fixture
def redacting(scanner_database: Path) -> Iterator[Desk]:
    with desk_over(memolith_backend(scanner=Scanner.load(scanner_database))) as desk:
        stores = desk.backend.client().beta.memory_stores
        stores.update(desk.store_id, extra_body={"scan_policy": {"secrets": "redact"}})
        yield desk


def test_a_file_shows_what_was_stored_of_it_and_the_next_edit_begins_there(redacting: Desk) -> None:
    redacting.save("/a.md", f"use {TOKEN}\n")
    assert redacting.read("/a.md") == "use [REDACTED:github-pat]\n"
    redacting.append("/a.md", f"and {TOKEN}\n")
    redacting.append("/a.md", "end\n")
    text = "use [REDACTED:github-pat]\nand [REDACTED:github-pat]\nend\n"
    assert redacting.read("/a.md") == text
    assert redacting.stored() == {"/a.md": text}
    kept = [path.read_bytes() for path in redacting.folder.rglob("*") if path.is_file()]
    assert not any(TOKEN.encode() in content for content in kept)
    assert redacting.names() == ["a.md"]
