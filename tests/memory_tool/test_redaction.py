"""A model that writes a secret into a store that redacts is told so, by the memory tool and by the tools beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import httpx2
import pytest

from memolith.clients.sdk.memory_tool import MemolithMemoryTool
from memolith.scanner import Scanner
from tests.api.harness import memolith_backend
from tests.mcp.conftest import Server
from tests.memory_tool.conftest import Fresh, say

TOKEN = "ghp_" + "q8Zt3mW0xKcVbN5rYs2LdJ7fHgP1aEuR4oTi"
TOLD = (
    "(1 secret was taken out before this was stored: github-pat. Where a secret stood, the file now says [REDACTED:…]."
)


@pytest.fixture(scope="module")
def scanner(scanner_database: Path) -> Scanner:
    return Scanner.load(scanner_database)


@pytest.fixture
def fresh(scanner: Scanner) -> Fresh:
    """A tool on an empty store that redacts."""
    backend = memolith_backend(scanner=scanner)
    client = backend.client()
    made = client.beta.memory_stores.create(name="Notes", extra_body={"scan_policy": {"secrets": "redact"}})
    return Fresh(backend, made.id, MemolithMemoryTool(client, made.id))


def test_a_file_that_was_created_with_a_secret_says_what_was_taken_out(fresh: Fresh) -> None:
    said = fresh.say(command="create", path="/memories/a.md", file_text=f"token {TOKEN}\n")
    assert said.text.startswith("File created successfully at: /memories/a.md\n\n" + TOLD)
    assert fresh.paths() == {"/a.md": "token [REDACTED:github-pat]\n"}
    quiet = fresh.say(command="create", path="/memories/b.md", file_text="no secret\n")
    assert quiet.text == "File created successfully at: /memories/b.md"


def test_an_edit_shows_the_text_as_it_was_stored_and_the_next_edit_begins_there(fresh: Fresh) -> None:
    fresh.say(command="create", path="/memories/a.md", file_text="first\nsecond\n")
    said = fresh.say(command="str_replace", path="/memories/a.md", old_str="second", new_str=f"token {TOKEN}")
    assert TOLD in said.text
    assert "2\ttoken [REDACTED:github-pat]" in said.text
    assert TOKEN not in said.text
    said = fresh.say(command="insert", path="/memories/a.md", insert_line=0, insert_text=f"top {TOKEN}")
    assert TOLD in said.text
    said = fresh.say(
        command="str_replace", path="/memories/a.md", old_str="token [REDACTED:github-pat]", new_str="in the vault"
    )
    assert "taken out" not in said.text
    assert fresh.paths() == {"/a.md": "top [REDACTED:github-pat]\nfirst\nin the vault\n"}


def test_an_edit_is_told_as_done_though_the_text_that_was_stored_cannot_be_read(fresh: Fresh) -> None:
    fresh.say(command="create", path="/memories/a.md", file_text="first\nsecond\n")
    is_written = False

    def handle(request: httpx2.Request) -> httpx2.Response:
        nonlocal is_written
        if is_written:
            raise httpx2.ReadTimeout("too late")
        is_written = request.method != "GET"
        return fresh.backend.gateway.handle_request(request)

    client = fresh.backend.client(max_retries=0).with_options(
        http_client=httpx2.Client(transport=httpx2.MockTransport(handle))
    )
    command = {"command": "str_replace", "path": "/memories/a.md", "old_str": "second", "new_str": f"token {TOKEN}"}
    said = say(MemolithMemoryTool(client, fresh.store_id), command)
    assert not said.is_error
    assert said.text.startswith("The file /memories/a.md has been edited.\n\n" + TOLD)
    assert fresh.paths() == {"/a.md": "first\ntoken [REDACTED:github-pat]\n"}


def test_a_note_that_is_written_with_a_secret_answers_with_the_hash_of_what_is_stored(fresh: Fresh) -> None:
    server = Server(fresh)
    _, made, _ = server.call("write_note", path="a.md", content=f"token {TOKEN}\n")
    stored = hashlib.sha256(b"token [REDACTED:github-pat]\n").hexdigest()
    assert made is not None
    assert (made["outcome"], made["redacted"], made["content_sha256"]) == ("created", ["github-pat"], stored)
    _, changed, _ = server.call(
        "write_note", path="a.md", content=f"two {TOKEN}\n", expected_content_sha256=made["content_sha256"]
    )
    assert changed is not None
    assert (changed["outcome"], changed["redacted"]) == ("replaced", ["github-pat"])
    text, _, _ = server.call("edit_note", path="a.md", old_str="two", new_str="three")
    assert "three [REDACTED:github-pat]" in text
