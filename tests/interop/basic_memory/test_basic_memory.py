"""A project of the real Basic Memory: brought in, brought out again, and read by the real program.

It runs on packages and a Python of its own (3.12 at least), and is asked over MCP on standard input and output, as its
users' programs ask it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from tests.laptop.processes import environment, serving
from tests.support.mcp_clients import Connected, connected

BASIC_MEMORY = Path(__file__).parent / ".venv" / "bin" / "basic-memory"

NOTES: tuple[dict[str, Any], ...] = (
    {
        "title": "Coffee Brewing",
        "directory": "drinks",
        "tags": ["coffee", "slow mornings"],
        "content": "# Coffee Brewing\n\n- [method] Pour over gives clarity #brewing (since 2021)\n"
        "- relates_to [[Tea]]\n- part_of [[Café Zürich]] (on Sundays)\n",
    },
    {
        "title": "Café Zürich",
        "directory": "places/schweiz/zürich",
        "content": "Visited in *May*.\n- [opinion] best flat white #coffee\n- inspired_by [[Coffee Brewing]]\n",
    },
    {
        "title": "記憶について",
        "directory": "日本語/メモ",
        "content": "観察\n- [事実] 漢字は難しい #言語\n- 関連 [[Café Zürich]]\n",
    },
    {"title": 'Tea: green/black & "more"?', "directory": "drinks", "content": "- [kind] sencha\n"},
    {"title": "Emoji 🎉 party", "directory": "misc 😀", "content": "party\n"},
    {
        "title": "Person",
        "directory": "schema",
        "note_type": "schema",
        "content": "---\ntitle: Person\ntype: schema\nentity: Person\nversion: 1\nschema:\n  name: string, full name\n"
        "  role?: string, job\nsettings:\n  validation: warn\n---\n\n# Person\n",
    },
    {
        "title": "Ada",
        "directory": "people",
        "note_type": "person",
        "content": '---\ntitle: Ada\ntype: person\naliases: [Countess, "A. L."]\nborn: 1815-12-10\n'
        "nested:\n  a: 1\n---\n\n# Ada\n- [name] Ada Lovelace\n- works_at [[Analytical Society]]\n",
    },
)
BY_HAND = {
    "by hand.md": b"no frontmatter\r\nand CRLF\r\n",
    "bom.md": b"\xef\xbb\xbf# BOM\n\ntext without an end",
    "map.canvas": b'{"nodes":[],"edges":[]}',
    "picture.png": b"\x89PNG\x00",
}
"""What people put beside the notes; the last is no text."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody's home, with Basic Memory in it, and one project of the name ``research``.

    Attributes:
        read: each note by its title, as the real program gives it.
    """

    home: Path
    read: dict[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.home / "research"

    def run(self, *words: str) -> str:
        """A command of the real program; what it prints."""
        command = [str(BASIC_MEMORY), *words]
        return subprocess.run(command, env=self.variables(), check=True, capture_output=True, text=True).stdout

    def variables(self) -> dict[str, str]:
        """Search by words alone: the model for the other search would be downloaded."""
        quiet = {"BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false", "BASIC_MEMORY_AUTO_UPDATE": "false"}
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), **quiet}

    def connected(self) -> Any:
        return connected(StdioServerParameters(command=str(BASIC_MEMORY), args=["mcp"], env=self.variables()))

    def statistics(self) -> dict[str, Any]:
        """What the real program has found in the project, but for the files that are no notes."""
        told: dict[str, Any] = json.loads(self.run("project", "info", "research", "--json"))["statistics"]
        kept = ("total_observations", "total_relations", "total_unresolved_relations")
        kinds = {kind: number for kind, number in told["note_types"].items() if kind != "file"}
        of_each = ("observation_categories", "relation_types")
        return {name: told[name] for name in (*kept, *of_each)} | {"note_types": kinds}


@pytest.fixture
def author(tmp_path: Path) -> Person:
    """A project that the real program has written, and its owner."""
    person = Person(tmp_path / "author")
    person.home.mkdir()
    person.run("project", "add", "research", str(person.project), "--default")
    with person.connected() as client:
        for note in NOTES:
            said(client, "write_note", {**note, "project": "research"})
        person.read.update(all_notes(client))
    for name, content in BY_HAND.items():
        (person.project / name).write_bytes(content)
    (person.project / "empty").mkdir()
    (person.project / "link").symlink_to("drinks")
    person.run("reindex", "--search")
    return person


@pytest.fixture
def memolith(tmp_path: Path, author: Person) -> Iterator[Any]:
    """The command line of the author, with a server of its own: exit code, and the answer as JSON."""
    with serving(tmp_path / "memolith") as server:
        told = {"HOME": str(author.home), "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": server.api_key}
        told["XDG_CONFIG_HOME"] = ""  # the author's Basic Memory has its configuration at home

        def run(*words: str) -> tuple[int, Any]:
            command = [sys.executable, "-m", "memolith.clients.cli", *words, "--json"]
            done = subprocess.run(command, env={**environment(), **told}, capture_output=True, text=True, check=False)
            return done.returncode, json.loads(done.stdout)

        yield run


def said(client: Connected, tool: str, arguments: dict[str, Any]) -> str:
    answer = client.call_tool(tool, arguments)
    text = "\n".join(getattr(part, "text", "") for part in answer.content)
    assert not answer.is_error, text
    return text


def all_notes(client: Connected) -> dict[str, str]:
    titles = [note["title"] for note in NOTES]
    return {title: said(client, "read_note", {"identifier": title, "project": "research"}) for title in titles}


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_a_project_comes_back_and_the_real_program_finds_everything_in_it_that_it_had_found(
    author: Person, memolith: Any, tmp_path: Path
) -> None:
    code, report = memolith("import", "--from", "basic-memory", "research")
    named = {row["path"]: row["result"] for row in report["rows"] if row["reason"]}
    assert named == {"/picture.png": "left out", "/link": "left out", "/empty/": "noted"}
    assert (code, report["results"]["created"]) == (3, len(NOTES) + len(BY_HAND) - 1)

    reader = Person(tmp_path / "reader")
    reader.home.mkdir()
    assert memolith("export", report["store"], str(reader.project))[0] == 0
    came = files(reader.project)
    assert came == {name: content for name, content in files(author.project).items() if name != "picture.png"}

    reader.run("project", "add", "research", str(reader.project), "--default")
    reader.run("reindex", "--search")
    assert reader.statistics() == author.statistics()
    with reader.connected() as client:
        assert all_notes(client) == author.read
    assert files(reader.project) == came
