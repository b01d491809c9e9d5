"""A folder that this release filled, served by the release before it, and by this one again: an upgrade taken back.

The earlier release is not imitated: its own code runs, in a process of its own.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anthropic
import pytest

from tests.laptop.processes import Server, serving
from tests.support.earlier import unpack
from tests.support.folders import quick_folder

pytestmark = pytest.mark.slow

RUN = """
import runpy, sys
sys.path.insert(0, sys.argv.pop(1))
import memolith
assert memolith.__file__.startswith(sys.path[0]), memolith.__file__
runpy.run_module("memolith.entry.serve", run_name="__main__")
"""
TEXTS = {"/notes/moved.md": "dolphins\n", "/plan.md": "second plan: lighthouse\n", "/red.md": "harmless\n"}


@dataclass(frozen=True, slots=True)
class Written:
    """A folder, the ids of what this release wrote into it, and this release's compiled rules."""

    root: Path
    release: Path
    compiled: Path
    ids: dict[str, str]

    @contextmanager
    def by_the_earlier_release(self) -> Iterator[Server]:
        """The earlier release's server over the folder, which compiles its rules once for all tests."""
        kept, here = self.release / "scanner.hsdb", self.root / "scanner.hsdb"
        if kept.exists():
            shutil.copy(kept, here)
        with serving(self.root, words=[sys.executable, "-c", RUN, str(self.release)]) as server:
            shutil.copy(here, kept)
            yield server

    @contextmanager
    def by_this_release(self) -> Iterator[Server]:
        """This release's server, which need not compile its rules again after the other."""
        shutil.copy(self.compiled, self.root / "scanner.hsdb")
        with serving(self.root) as server:
            yield server

    def forget_the_tables(self) -> None:
        """Leave the objects, from which a server makes its tables again."""
        tables = list(self.root.glob("index-*.sqlite*"))
        assert tables
        for table in tables:
            table.unlink()


def write(server: Server) -> dict[str, str]:
    """Write what the earlier release knows, and what it does not: a proposal, a transcript, a store that waits."""
    client = server.client()
    stores = client.beta.memory_stores
    store = stores.create(name="Team notes", description="kept", metadata={"team": "a"}).id
    plan = stores.memories.create(store, path="/plan.md", content="first plan\n")
    stores.memories.update(plan.id, memory_store_id=store, content="second plan: lighthouse\n")
    moved = stores.memories.create(store, path="/moved.md", content="dolphins\n")
    stores.memories.update(moved.id, memory_store_id=store, path="/notes/moved.md")
    gone = stores.memories.create(store, path="/gone.md", content="soon gone\n")
    stores.memories.delete(gone.id, memory_store_id=store)
    red = stores.memories.create(store, path="/red.md", content="a private thing\n")
    redacted = red.memory_version_id
    stores.memories.update(red.id, memory_store_id=store, content="harmless\n")
    stores.memory_versions.redact(redacted, memory_store_id=store)
    archived = stores.create(name="Old").id
    stores.archive(archived)
    session = client.beta.sessions.create(
        agent="agent_1", environment_id="env_1", resources=[{"type": "memory_store", "memory_store_id": store}]
    ).id
    said = {"type": "user.message", "client_event_id": "a", "content": [{"type": "text", "text": "on Thursdays"}]}
    client.post(f"/v1/sessions/{session}/transcript", cast_to=object, body={"events": [said]})
    edit = {"op": "create", "path": "/proposed.md", "content": "proposed\n"}
    made: Any = client.post(f"/v1/memory_stores/{store}/proposals", cast_to=object, body={"edits": [edit]})
    named = {"store": store, "plan": plan.id, "gone": gone.id, "redacted": redacted}
    return {**named, "archived": archived, "session": session, "proposal": made["id"]}


@pytest.fixture(scope="module")
def filled(scanner_database: Path) -> Iterator[Written]:
    with quick_folder() as folder:
        root, release = folder / "root", unpack(folder / "release")
        root.mkdir()
        written = Written(root, release, scanner_database, {})
        with written.by_this_release() as server:
            ids = write(server)
            assert server.end() == 0
        yield replace(written, ids=ids)


@pytest.fixture
def written(root: Path, filled: Written) -> Written:
    """A copy of the folder, for one test."""
    shutil.copytree(filled.root, root, dirs_exist_ok=True)
    return replace(filled, root=root)


def texts(client: anthropic.Anthropic, store_id: str) -> dict[str, str | None]:
    """Every memory's path and text."""
    found = client.beta.memory_stores.memories.list(store_id, view="full")
    return {one.path: one.content for one in found if one.type == "memory"}


def reads_all_that_it_knows(server: Server, ids: dict[str, str]) -> None:
    client, store = server.client(), ids["store"]
    stores = client.beta.memory_stores
    assert {one.id for one in stores.list(include_archived=True)} == {store, ids["archived"]}
    assert (stores.retrieve(store).metadata, stores.retrieve(ids["archived"]).archived_at is None) == (
        {"team": "a"},
        False,
    )
    assert texts(client, store) == TEXTS
    operations = [one.operation for one in stores.memory_versions.list(store, memory_id=ids["plan"])]
    assert operations == ["modified", "created"]
    redacted = stores.memory_versions.retrieve(ids["redacted"], memory_store_id=store)
    assert (redacted.content, redacted.redacted_at is None) == (None, False)
    with pytest.raises(anthropic.NotFoundError):
        stores.memories.retrieve(ids["gone"], memory_store_id=store)
    session: Any = client.get(f"/v1/sessions/{ids['session']}", cast_to=object)
    assert [one["memory_store_id"] for one in session["resources"]] == [store]


def test_an_earlier_release_serves_the_tables_that_this_one_made(written: Written) -> None:
    with written.by_the_earlier_release() as server:
        reads_all_that_it_knows(server, written.ids)


def test_an_earlier_release_makes_its_tables_from_objects_of_this_one(written: Written) -> None:
    written.forget_the_tables()
    with written.by_the_earlier_release() as server:
        reads_all_that_it_knows(server, written.ids)


@pytest.mark.parametrize("again", ["with its tables", "from the objects"])
def test_going_forward_again_loses_nothing_of_either_release(written: Written, again: str) -> None:
    store, ids = written.ids["store"], written.ids
    with written.by_the_earlier_release() as server:
        memories = server.client().beta.memory_stores.memories
        memories.update(ids["plan"], memory_store_id=store, content="third plan, of the earlier release\n")
        memories.create(store, path="/between.md", content="of the earlier release\n")
        assert server.end() == 0
    if again == "from the objects":
        written.forget_the_tables()
    with written.by_this_release() as server:
        client = server.client()
        expected = TEXTS | {
            "/plan.md": "third plan, of the earlier release\n",
            "/between.md": "of the earlier release\n",
        }
        assert texts(client, store) == expected
        shown: Any = client.get(f"/v1/memory_stores/{store}/proposals/{ids['proposal']}", cast_to=object)
        assert shown["edits"][0]["content"] == "proposed\n"
        events: Any = client.get(f"/v1/sessions/{ids['session']}/events", cast_to=object)
        assert "on Thursdays" in str(events)
        client.beta.memory_stores.memories.update(ids["plan"], memory_store_id=store, content="fourth plan\n")
        assert texts(client, store) == expected | {"/plan.md": "fourth plan\n"}
