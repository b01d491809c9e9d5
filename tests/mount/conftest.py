"""A working copy of a store in this process, somebody who writes behind its back, and a network that can fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memolith.adapters.memory import ManualClock, SeededRandomness
from memolith.clients.working_copy.content_cache import ContentCache
from memolith.clients.working_copy.history_view import HistoryView
from memolith.clients.working_copy.http_store_client import HttpStoreClient
from memolith.clients.working_copy.unsaved_texts import UnsavedTexts
from memolith.clients.working_copy.working_copy import WorkingCopy
from tests.api.harness import BASE_URL, Backend, memolith_backend
from tests.support.folders import quick_folder


class Network(httpx2.BaseTransport):
    """What lies between a working copy and the API.

    Attributes:
        down: nothing gets through.
        lost: how many answers to writes are lost from now on, though what they asked for was done.
        swallowed: how many writes are lost from now on before they arrive, and it cannot be told.
        headers: what every answer says instead of what it says.
    """

    def __init__(self, transport: httpx2.BaseTransport) -> None:
        self._transport = transport
        self.down, self.lost, self.swallowed = False, 0, 0
        self.headers: dict[str, str] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.down:
            raise httpx2.ConnectError("the network is down", request=request)
        if request.method != "GET" and self.swallowed:
            self.swallowed -= 1
            raise httpx2.ReadTimeout("the answer does not come", request=request)
        answer = self._transport.handle_request(request)
        if request.method != "GET" and self.lost:
            self.lost -= 1
            raise httpx2.ReadTimeout("the answer is lost", request=request)
        answer.headers.update(self.headers)
        return answer


@dataclass
class DeskClock:
    """The cloud's clock; a pause makes the time pass."""

    clock: ManualClock

    def now_us(self) -> int:
        return self.clock.now_us()

    def ticks_us(self) -> int:
        return self.clock.ticks_us()

    def pause(self, seconds: float) -> None:
        self.clock.advance(seconds)


@dataclass
class Desk:
    """One machine with a working copy, and the store behind it.

    Attributes:
        key: of the working copy; empty: the backend's own, which others use.
    """

    backend: Backend
    store_id: str
    folder: Path
    key: str = ""
    network: Network = field(init=False)
    copy: WorkingCopy = field(init=False)

    def __post_init__(self) -> None:
        self.network = Network(self.backend.gateway)
        self.start()

    def start(self, *, read_only: bool = False) -> None:
        """A working copy on this machine's folder, as a process that starts makes it."""
        clock = DeskClock(self.backend.clock)
        client = HttpStoreClient(BASE_URL, self.key or self.backend.api_key, self.store_id, clock, self.network)
        unsaved = UnsavedTexts(self.folder / "local", take_over=not read_only)
        self.copy = WorkingCopy(
            client, ContentCache(self.folder / "contents"), unsaved, clock, SeededRandomness(), read_only
        )
        self.copy.start()

    def die(self) -> None:
        """What `kill -9` leaves: the lock is free, and nothing else was done."""
        self.copy.state.texts.close()
        self.copy.unsaved.abandon()

    @property
    def history(self) -> HistoryView:
        return HistoryView(self.copy.state)

    # ---- as programs do -----------------------------------------------------------------------------------------

    def save(self, path: str, text: str | bytes, *, append: bool = False) -> None:
        """Opens (emptied, or to append), writes, closes."""
        content = text.encode() if isinstance(text, str) else text
        if self.copy.state.find(path) is None:
            writing = self.copy.files.create(path, append=append)
        else:
            writing = self.copy.files.open_to_write(path, append=append, emptied=not append)
        try:
            self.copy.files.write(path, writing, 0, content)
            self.copy.files.flush(path, writing)
        finally:
            self.copy.files.release(path, writing)

    def append(self, path: str, text: str) -> None:
        """As ``>>`` does."""
        self.save(path, text, append=True)

    def read(self, path: str) -> str:
        """Opens, reads, closes."""
        self.copy.open_to_read(path)
        return self.copy.read(path, 0, 1_000_000).decode()

    def names(self, folder: str = "/") -> list[str]:
        return [name for name, _ in self.copy.names(folder)]

    def beside(self, path: str, why: str) -> list[str]:
        """Texts kept beside a file."""
        folder, _, name = path.rpartition("/")
        return [f"{folder}/{one}" for one in self.names(folder or "/") if one.startswith(f"{name}.{why}-")]

    # ---- behind its back ----------------------------------------------------------------------------------------

    @property
    def memories(self) -> Any:
        return self.backend.client(max_retries=0).beta.memory_stores.memories

    def stored(self) -> dict[str, str | None]:
        """What is in the store: text by path."""
        listed = self.memories.list(self.store_id, view="full")
        return {row.path: row.content for row in listed if row.type == "memory"}

    def others_write(self, path: str, text: str) -> None:
        """Somebody else creates or changes what is at a path."""
        known = {row.path: row.id for row in self.memories.list(self.store_id)}
        if path in known:
            self.memories.update(known[path], memory_store_id=self.store_id, content=text)
        else:
            self.memories.create(self.store_id, path=path, content=text)

    def others_delete(self, path: str) -> None:
        known = {row.path: row.id for row in self.memories.list(self.store_id)}
        self.memories.delete(known[path], memory_store_id=self.store_id)

    def others_rename(self, old: str, new: str) -> None:
        known = {row.path: row.id for row in self.memories.list(self.store_id)}
        self.memories.update(known[old], memory_store_id=self.store_id, path=new)

    def log(self) -> list[tuple[str, str | None, str | None]]:
        """Every version of the store, oldest first: operation, path, text."""
        versions = self.backend.client().beta.memory_stores.memory_versions
        rows = list(versions.list(self.store_id, view="full"))
        return [(row.operation, row.path, row.content) for row in reversed(rows)]

    def requests(self) -> list[str]:
        """What was asked so far, by method."""
        return [f"{method} {path}" for method, path, _ in self.backend.gateway.log]


@contextmanager
def desk_over(backend: Backend) -> Iterator[Desk]:
    with quick_folder() as folder:
        desk = Desk(backend, backend.client().beta.memory_stores.create(name="Notes").id, folder)
        try:
            yield desk
        finally:
            desk.network.down = False
            desk.copy.close()


@pytest.fixture
def desk() -> Iterator[Desk]:
    with desk_over(memolith_backend()) as desk:
        yield desk
