"""A file with a secret, on a mount of a store that takes secrets out: the file is what the store has."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith.clients.working_copy.store_client import Head
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


def test_a_file_is_replaced_and_deleted_by_who_saved_it_with_a_secret(redacting: Desk) -> None:
    redacting.save("/a.md", f"use {TOKEN}\n")
    redacting.save("/a.md", "new\n")
    redacting.append("/a.md", f"and {TOKEN}\n")
    redacting.copy.unlink("/a.md")
    assert redacting.stored() == {}


def test_a_text_that_came_while_the_stored_one_was_read_back_is_not_replaced_unread(
    redacting: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = redacting.copy.client.text

    def overtaken(memory_id: str) -> tuple[Head, bytes]:
        redacting.others_write("/a.md", "theirs\n")
        return read(memory_id)

    with monkeypatch.context() as overtaking:
        overtaking.setattr(redacting.copy.client, "text", overtaken)
        redacting.save("/a.md", f"use {TOKEN}\n")
    with pytest.raises(OSError, match="somebody else changed it meanwhile") as told:
        redacting.save("/a.md", "mine\n")
    assert told.value.errno == errno.ESTALE
    assert redacting.stored() == {"/a.md": "theirs\n"}
