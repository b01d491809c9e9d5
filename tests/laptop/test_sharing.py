"""Several servers over one folder, and servers that are killed at work: nothing acknowledged is lost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import anthropic
import pytest

from tests.laptop.processes import Server, serving


@dataclass(slots=True)
class Acknowledged:
    """What callers were told that it was done."""

    created: dict[str, str] = field(default_factory=dict)
    edits: set[str] = field(default_factory=set)
    enough: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, wanted: int, *, path: str = "", content: str = "", edit: str = "") -> None:
        with self.lock:
            if path:
                self.created[path] = content
            if edit:
                self.edits.add(edit)
            if len(self.created) + len(self.edits) >= wanted:
                self.enough.set()


def edit_once(client: anthropic.Anthropic, store_id: str, memory_id: str, line: str) -> bool:
    """Adds a line to what is there now; False where somebody else was faster."""
    memories = client.beta.memory_stores.memories
    seen = memories.retrieve(memory_id, memory_store_id=store_id)
    try:
        memories.update(
            memory_id,
            memory_store_id=store_id,
            content=f"{seen.content}{line}\n",
            precondition={"type": "content_sha256", "content_sha256": seen.content_sha256},
        )
    except anthropic.ConflictError:
        return False
    return True


def load(server: Server, store_id: str, memory_id: str, name: str, told: Acknowledged, wanted: int) -> None:
    """Creates and edits until the server is gone."""
    client = server.client()
    try:
        for number in range(10_000):
            path, content = f"/{name}/{number}", f"text {name} {number}"
            client.beta.memory_stores.memories.create(store_id, path=path, content=content)
            told.note(wanted, path=path, content=content)
            line = f"{name}.{number}"
            if edit_once(client, store_id, memory_id, line):
                told.note(wanted, edit=line)
    except (anthropic.APIConnectionError, anthropic.InternalServerError):
        return  # killed under this call, which may have been done or not
    finally:
        client.close()


def everything(client: anthropic.Anthropic, store_id: str) -> dict[str, str]:
    """All that the store lists, with its content."""
    listed = client.beta.memory_stores.memories.list(store_id, view="full")
    return {one.path: one.content or "" for one in listed if one.type == "memory"}


@pytest.mark.slow
def test_kill_9_under_load_loses_nothing_that_was_acknowledged(root: Path) -> None:
    told = Acknowledged()
    with serving(root) as server:
        stores = server.client().beta.memory_stores
        store_id = stores.create(name="s").id
        memory_id = stores.memories.create(store_id, path="/shared", content="").id
        server.end()
    for wanted, life in ((40, "one"), (80, "two")):
        told.enough.clear()
        with serving(root) as server, ThreadPoolExecutor(6) as pool:
            for number in range(6):
                pool.submit(load, server, store_id, memory_id, f"{life}-{number}", told, wanted)
            assert told.enough.wait(60)
            server.kill()
    with serving(root) as server:
        client = server.client()
        found = everything(client, store_id)
        assert told.created.items() <= found.items()
        # A write that nobody was answered may be indexed only now: the newest version has what the versions add up to.
        version_calls = client.beta.memory_stores.memory_versions
        versions = list(version_calls.list(store_id, memory_id=memory_id, limit=100))
        lines = (version_calls.retrieve(versions[0].id, memory_store_id=store_id).content or "").splitlines()
        assert told.edits <= set(lines)
        assert len(lines) == len(set(lines))
        assert len(versions) == len(lines) + 1
        client.close()


@pytest.mark.slow
def test_two_servers_share_a_folder_and_no_edit_is_lost(root: Path) -> None:
    """Eight callers, four at each server, editing one memory with preconditions."""
    with serving(root) as one, serving(root) as other:
        assert one.api_key == other.api_key
        clients = [one.client(), other.client()]
        stores = clients[0].beta.memory_stores
        store_id = stores.create(name="s").id
        memory_id = stores.memories.create(store_id, path="/shared", content="").id

        def edit(caller: int) -> list[str]:
            lines = [f"{caller}.{turn}" for turn in range(3)]
            for line in lines:
                while not edit_once(clients[caller % 2], store_id, memory_id, line):
                    pass
            return lines

        with ThreadPoolExecutor(8) as pool:
            acknowledged = [line for lines in pool.map(edit, range(8)) for line in lines]
        for client in clients:
            assert sorted(everything(client, store_id)["/shared"].splitlines()) == sorted(acknowledged)
            versions = client.beta.memory_stores.memory_versions.list(store_id, memory_id=memory_id, limit=100)
            assert len(list(versions)) == len(acknowledged) + 1
            client.close()
        assert (one.end(), other.end()) == (0, 0)


@pytest.mark.slow
def test_of_callers_at_two_servers_that_create_one_path_exactly_one_does(root: Path) -> None:
    with serving(root) as one, serving(root) as other:
        clients = [one.client(), other.client()]
        store_id = clients[0].beta.memory_stores.create(name="s").id

        def create(caller: int) -> bool:
            try:
                clients[caller % 2].beta.memory_stores.memories.create(store_id, path="/a", content=str(caller))
            except anthropic.ConflictError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(create, range(8)))
        assert won.count(True) == 1
        assert everything(clients[1], store_id) == {"/a": str(won.index(True))}
        for client in clients:
            client.close()
