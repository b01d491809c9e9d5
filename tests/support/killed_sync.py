"""A process of ``memolith sync`` that dies: a folder, a store, and a pass that touches the disk and the network so
often.

A process that is killed does nothing more, not even what a `finally` would: from its end on, every call fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memolith.adapters.memory import SeededRandomness
from memolith.clients.sync.folder import SyncFolder
from memolith.clients.sync.syncing import Syncing
from memolith.clients.transfer.report import Row
from memolith.clients.working_copy.http_store_client import HttpStoreClient
from tests.api.harness import BASE_URL, Backend, memolith_backend
from tests.mount.conftest import DeskClock

TOUCHES_THE_DISK = ("rename", "replace", "unlink", "rmdir", "mkdir", "utime")


class Killed(BaseException):
    """Nobody catches this: the process is gone."""


@dataclass
class Fate:
    """When a process dies: at its so-and-so-many-th touch of the disk or the network; 0: never."""

    at: int = 0
    touches: int = 0

    def touch(self) -> None:
        self.touches += 1
        if self.at and self.touches >= self.at:
            raise Killed


class Mortal(httpx2.BaseTransport):
    """A network that a process may die before it has asked, and before it has heard."""

    def __init__(self, transport: httpx2.BaseTransport, fate: Fate) -> None:
        self._transport, self._fate = transport, fate

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self._fate.touch()
        answer = self._transport.handle_request(request)
        self._fate.touch()
        return answer


@contextmanager
def mortal_disk(fate: Fate) -> Iterator[None]:
    """In this block a touch of the disk may be the last: before it is done, or with half of a text written."""
    write_bytes = Path.write_bytes

    def touching(function: Callable[..., Any]) -> Callable[..., Any]:
        def touched(*arguments: Any, **options: Any) -> Any:
            fate.touch()
            return function(*arguments, **options)

        return touched

    def write(path: Path, content: bytes) -> int:
        fate.touch()
        write_bytes(path, content[: len(content) // 2])
        fate.touch()
        return write_bytes(path, content)

    with pytest.MonkeyPatch.context() as patch:
        for name in TOUCHES_THE_DISK:
            patch.setattr(os, name, touching(getattr(os, name)))
        patch.setattr(Path, "write_bytes", write)
        patch.setattr(Path, "write_text", lambda path, text: write(path, text.encode()))
        yield


@dataclass
class Scene:
    """A folder and a store that were in step, and have both changed since."""

    root: Path
    backend: Backend = field(default_factory=memolith_backend)
    store_id: str = field(init=False)
    memories: Any = field(init=False)
    versions: Any = field(init=False)

    def __post_init__(self) -> None:
        sdk = self.backend.client(max_retries=0)
        self.memories, self.versions = sdk.beta.memory_stores.memories, sdk.beta.memory_stores.memory_versions
        self.store_id = sdk.beta.memory_stores.create(name="Notes").id
        self.here({name: f"{name} at first" for name in ("sent", "both", "gone-here", "gone-there", "old", "n/theirs")})
        self.sync()
        self.here({"sent": "sent, mine", "new/mine": "new, mine", "both": "both, mine"})
        (self.root / "gone-here").unlink()
        (self.root / "old").rename(self.root / "moved")
        self.there("both", "both, theirs")
        self.there("n/theirs", "theirs")
        self.there("new/theirs", "new, theirs")
        self.there("gone-there", None)

    def here(self, texts: dict[str, str]) -> None:
        """Somebody writes files of the folder."""
        for name, text in texts.items():
            place = self.root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)

    def there(self, name: str, text: str | None) -> None:
        """Somebody else writes, or deletes, a memory."""
        known = {row.path[1:]: row.id for row in self.memories.list(self.store_id)}
        if text is None:
            self.memories.delete(known[name], memory_store_id=self.store_id)
        elif name in known:
            self.memories.update(known[name], memory_store_id=self.store_id, content=text)
        else:
            self.memories.create(self.store_id, path=f"/{name}", content=text)

    def sync(self, fate: Fate | None = None) -> list[Row]:
        """One process of one pass, to its end or to its death."""
        rows: list[Row] = []
        fate = fate or Fate()
        clock = DeskClock(self.backend.clock)
        with mortal_disk(fate), suppress(Killed):
            client = HttpStoreClient(
                BASE_URL, self.backend.api_key, self.store_id, clock, Mortal(self.backend.gateway, fate)
            )
            Syncing(client, SyncFolder(self.root, self.store_id), clock, SeededRandomness()).run(rows.append)
        return rows

    def files(self) -> dict[str, str]:
        """The folder, but for Memolith's own."""
        found = (place for place in self.root.rglob("*") if place.is_file())
        told = {str(place.relative_to(self.root)): place.read_text() for place in found}
        return {name: text for name, text in told.items() if not name.startswith(".memolith/")}

    def stored(self) -> dict[str, str | None]:
        listed = self.memories.list(self.store_id, view="full")
        return {row.path[1:]: row.content for row in listed if row.type == "memory"}

    def logged(self) -> set[str]:
        """Every text that the store ever acknowledged."""
        return {row.content or "" for row in self.versions.list(self.store_id, view="full")}


IN_THE_END = {
    "sent": "sent, mine",
    "new/mine": "new, mine",
    "both": "both, theirs",
    "moved": "old at first",
    "n/theirs": "theirs",
    "new/theirs": "new, theirs",
}


def split(files: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Files by name, and the texts of those that were kept beside others."""
    plain = {name: text for name, text in files.items() if ".conflict-" not in name}
    return plain, [text for name, text in files.items() if name not in plain]


def touches(folder: Path) -> int:
    """How often a pass that lives touches the disk and the network."""
    whole = Fate()
    Scene(folder).sync(whole)
    return whole.touches


def finished_by_the_next(folder: Path, at: int) -> None:
    """Dies at one point; afterwards no text is gone, and the next pass ends as if nobody had died."""
    scene = Scene(folder)
    before = set(scene.files().values())
    scene.sync(Fate(at))
    assert before <= {*scene.files().values(), *scene.logged()}, f"killed at {at}, and a text is gone"
    scene.sync()
    plain, kept = split(scene.files())
    assert plain == scene.stored() == IN_THE_END, f"killed at {at}"
    assert kept == ["both, mine"], f"killed at {at}"
    assert {one.name for one in (scene.root / ".memolith").iterdir()} == {"lock", "sync.json"}, f"killed at {at}"
    assert scene.sync() == []


def written_on_afterwards(folder: Path, at: int) -> None:
    """Dies at one point; then both sides are written, and no text of either is lost."""
    scene = Scene(folder)
    scene.sync(Fate(at))
    scene.here({name: f"{name}, later" for name in ("sent", "both", "gone-here", "gone-there", "moved", "n/theirs")})
    scene.there("n/theirs", "theirs, later")
    scene.there("sent", "sent, theirs, later")
    before = {*scene.files().values(), *scene.logged()}
    scene.sync()
    scene.sync()
    plain, kept = split(scene.files())
    assert before <= {*plain.values(), *kept, *scene.logged()}, f"killed at {at}, and a text is gone"
    assert plain == scene.stored(), f"killed at {at}"
