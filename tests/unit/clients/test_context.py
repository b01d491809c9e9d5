"""``memolith context`` and ``memolith lint``: through the real SDK, against the real use cases over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from memolith.clients.cli import main
from memolith.core.errors import InvalidRequest, MemolithError
from tests.api.harness import Backend, memolith_backend
from tests.api.loopback import serving

GOOD = "---\nname: Deploys\ndescription: how we deploy\ntype: project\n---\n**Why:** x\n**How to apply:** y\n"


class Terminal:
    """Runs commands against one backend, and makes what they are about. `environment` says all that a command finds."""

    def __init__(self, backend: Backend, port: int, root: Path) -> None:
        self.backend = backend
        self.environment = {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": backend.api_key,
            "MEMOLITH_ROOT": str(root),
        }
        self.store = backend.client().beta.memory_stores.create(name="Team notes").id

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(main.app, list(words), env=self.environment)

    def create(self, path: str, content: str) -> None:
        self.backend.client().beta.memory_stores.memories.create(self.store, path=path, content=content)

    def begin(self) -> Any:
        resources = [{"type": "memory_store", "memory_store_id": self.store}]
        return self.backend.raw("POST", "/v1/sessions", body={"resources": resources}).body


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """In a folder without a local cloud, whose address a command would find in the one where the tests are run."""
    monkeypatch.chdir(tmp_path)
    backend = memolith_backend()
    with serving(backend.answer) as port:
        yield Terminal(backend, port, tmp_path / "none")


def test_a_sessions_context_is_printed_byte_for_byte_until_a_refresh(terminal: Terminal) -> None:
    session = terminal.begin()
    first = terminal.run("context", session["id"])
    terminal.create("/deploys.md", GOOD)
    again = terminal.run("context", session["id"])
    fresh = terminal.run("context", session["id"], "--refresh", "--json")
    assert (first.exit_code, first.stdout, "This store was empty." in first.stdout) == (0, again.stdout, True)
    assert "- [Deploys](deploys.md): how we deploy" in json.loads(fresh.stdout)["text"]


def test_stores_are_shown_as_a_session_would_be_told_and_no_session_is_left_open(terminal: Terminal) -> None:
    terminal.create("/deploys.md", GOOD)
    answer = json.loads(terminal.run("context", terminal.store, "--read-only", "--json").stdout)
    assert "read only; writes are refused" in answer["text"]
    assert "- [Deploys](deploys.md): how we deploy" in answer["text"]
    session = terminal.backend.raw("GET", f"/v1/sessions/{answer['session_id']}").body
    assert session["status"] == "terminated"


def test_what_is_no_session_and_no_store_is_refused(terminal: Terminal) -> None:
    for words in (["sesn_a", "sesn_b"], [terminal.store, "sesn_a"]):
        assert isinstance(terminal.run("context", *words).exception, InvalidRequest)
    assert "no store is called notes" in str(terminal.run("context", "notes").exception)
    refused = terminal.run("context", "sesn_useast1_01kb0000000000000000000000")
    assert isinstance(refused.exception, MemolithError)
    assert "was not found" in refused.exception.message


def test_a_store_and_a_folder_are_linted_alike(terminal: Terminal, tmp_path: Path) -> None:
    texts = {"MEMORY.md": "- [a](a.md): x\n- [gone](gone.md): x\n", "a.md": GOOD, "n/b.md": "no frontmatter"}
    for name, text in texts.items():
        terminal.create(f"/{name}", text)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "image.md").write_bytes(b"\x00")
    store = terminal.run("lint", terminal.store, "--json")
    folder = terminal.run("lint", str(tmp_path), "--json")
    found = json.loads(store.stdout)["remarks"]
    assert [(one["path"], one["line"], one["rule"]) for one in found] == [
        ("/MEMORY.md", 2, "dead-link"),
        ("/n/b.md", 1, "frontmatter-missing"),
    ]
    unread = {"path": "/image.md", "line": 1, "rule": "unread", "message": "binary"}
    assert [one for one in json.loads(folder.stdout)["remarks"] if one != unread] == found
    assert unread in json.loads(folder.stdout)["remarks"]
    assert (store.exit_code, folder.exit_code) == (1, 1)


def test_paths_of_a_store_that_look_alike_are_a_mistake(terminal: Terminal) -> None:
    for path in ("/Notes.md", "/notes.md"):
        terminal.create(path, GOOD)
    ran = terminal.run("lint", terminal.store)
    assert (ran.exit_code, ran.stdout) == (
        1,
        "/notes.md:1: path-twin: /notes.md is easily taken for /Notes.md\n2 memories read, 1 remarks\n",
    )


def test_the_exit_code_says_whether_anything_is_amiss_or_could_not_be_read(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(GOOD)
    clean = terminal.run("lint", str(tmp_path))
    assert (clean.exit_code, clean.stdout) == (0, "1 memories read, 0 remarks\n")
    (tmp_path / "a.md").write_text(GOOD + "[x](\x1b[31m.md)\n")
    amiss = terminal.run("lint", str(tmp_path))
    assert (amiss.exit_code, "\x1b" in amiss.stdout) == (1, False)
    assert "/a.md:8: dead-link: no memory is at \\x1b[31m.md" in amiss.stdout
    assert terminal.run("lint", str(tmp_path / "nowhere")).exit_code == 2


def test_what_keeps_a_store_from_being_linted_ends_the_command_as_any_other(terminal: Terminal) -> None:
    environment, nobody = terminal.environment, "memstore_useast1_01kb0000000000000000000000"
    assert [terminal.run("lint", one).exit_code for one in (nobody, "Nobody")] == [4, 4]
    terminal.environment = environment | {"ANTHROPIC_API_KEY": "sk-memolith-wrkspc_default-useast1_x-wrong"}
    assert [terminal.run("lint", one).exit_code for one in (nobody, "Nobody")] == [7, 7]
    terminal.environment = environment | {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    refused = terminal.run("lint", "Nobody")
    assert (refused.exit_code, terminal.run("lint", nobody).exit_code) == (8, 8)
    assert "Nobody is neither a file nor a folder; as a store: http://127.0.0.1:1" in refused.stderr
    terminal.environment = environment | {"ANTHROPIC_BASE_URL": ""}
    assert terminal.run("lint", "Nobody").exit_code == 2, "no address is known"


def test_what_had_better_not_be_remembered_is_a_warning_and_no_mistake(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(GOOD + "\nIt breaks at app.py:120.\nWe deploy tomorrow.\n")
    (tmp_path / "code.py").write_text("# tomorrow\n")
    ran = terminal.run("lint", str(tmp_path))
    assert "/a.md:9: warning: excl-code: 'app.py:120' is what the code says" in ran.stdout
    assert "/a.md:10: warning: excl-relative-date: 'tomorrow' names a day only relative" in ran.stdout
    assert (ran.exit_code, "2 remarks" in ran.stdout) == (0, True)
    (tmp_path / "a.md").write_text("We deploy tomorrow.\n")
    assert terminal.run("lint", str(tmp_path)).exit_code == 1, "a mistake beside a warning"
