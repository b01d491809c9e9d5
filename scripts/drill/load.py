"""Clients that write all along, through the real SDK over every region, and keep count of what they were told."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anthropic
from anthropic import Anthropic

from memolith.clients.sdk.routing import http_client

TIMEOUT_S = 40.0
REST_S = 0.5
REFUSED_REST_S = 0.5


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """One write that was answered with success.

    Attributes:
        at_s: when, by this machine's clock that only runs forwards.
        took_s: how long the caller waited for this answer.
        waited_s: how long it has tried in vain, this answer included, since it last had an acknowledgement.
    """

    store_id: str
    memory_id: str
    version_id: str
    content_sha256: str
    at_s: float
    took_s: float
    waited_s: float = 0.0


@dataclass(slots=True)
class Told:
    """What one client was told."""

    acknowledged: list[Acknowledged] = field(default_factory=list)
    refused: int = 0
    conflicts: int = 0
    unknown: int = 0
    refusals: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one client does: which regions it prefers, in order, and which store it writes to.

    Attributes:
        memories: how many it goes round.
        every_s: it begins a write so often, by the clock, the first `first_s` after its start; without it, whenever it
            has rested after the last. A time that has passed while a write was under way is passed over.
    """

    name: str
    base_urls: tuple[str, ...]
    api_key: str
    store_id: str
    memories: int = 6
    every_s: float | None = None
    first_s: float = 0.0


class Client(threading.Thread):
    """Creates its memories, then updates them one after the other with new texts, on condition of what it saw last.

    A write that is refused is tried again with another text; one whose outcome is unknown is looked at by reading.
    """

    def __init__(self, assignment: Assignment) -> None:
        super().__init__(name=assignment.name, daemon=True)
        self.told = Told()
        self._assignment = assignment
        self._ended = threading.Event()
        urls = assignment.base_urls
        self._sdk = Anthropic(
            base_url=urls[0],
            api_key=assignment.api_key,
            http_client=http_client(urls),
            timeout=TIMEOUT_S,
            max_retries=0,
        )
        self._known: dict[str, tuple[str, str]] = {}
        self._count = 0
        self._tries_since: float | None = None

    def end(self) -> None:
        """Stop writing after the present write."""
        self._ended.set()

    def run(self) -> None:
        """Write until ended."""
        due = time.monotonic() + self._assignment.first_s
        while not self._ended.wait(max(due - time.monotonic(), 0.0)):
            path = f"/{self.name}/{self._count % self._assignment.memories}.md"
            self._count += 1
            due = self.next_due(due, time.monotonic(), acknowledged=self._write(path))

    def next_due(self, due: float, now: float, *, acknowledged: bool) -> float:
        """Return when the next write begins. A refused write is tried again soon, whatever the clock says."""
        every_s = self._assignment.every_s
        if not acknowledged:
            return now + REFUSED_REST_S
        if every_s is None:
            return now + REST_S
        return due + every_s * max(math.ceil((now - due) / every_s), 1)

    def _write(self, path: str) -> bool:
        """Write; return whether it was acknowledged."""
        content = f"{self.name} wrote this as number {self._count}.\n"
        began = time.monotonic()
        self._tries_since = began if self._tries_since is None else self._tries_since
        try:
            memory = self._send(path, content)
        except anthropic.ConflictError:
            self.told.conflicts += 1
            self._known.pop(path, None)
            return False
        except (anthropic.APIStatusError, anthropic.APIConnectionError) as error:
            self._note(error)
            self._known.pop(path, None)
            return False
        now = time.monotonic()
        self._known[path] = (memory.id, memory.content_sha256)
        self.told.acknowledged.append(
            Acknowledged(
                self._assignment.store_id,
                memory.id,
                memory.memory_version_id,
                memory.content_sha256,
                now,
                now - began,
                now - self._tries_since,
            )
        )
        self._tries_since = None
        return True

    def _send(self, path: str, content: str) -> Any:
        memories, store_id = self._sdk.beta.memory_stores.memories, self._assignment.store_id
        known = self._known.get(path) or self._find(path)
        if known is None:
            return memories.create(store_id, path=path, content=content)
        precondition: Any = {"type": "content_sha256", "content_sha256": known[1]}
        return memories.update(known[0], memory_store_id=store_id, content=content, precondition=precondition)

    def _find(self, path: str) -> tuple[str, str] | None:
        """Find what is at the path, where the client no longer knows: id and hash."""
        folder = path.rpartition("/")[0] + "/"
        listed = self._sdk.beta.memory_stores.memories.list(self._assignment.store_id, path_prefix=folder, limit=100)
        for item in listed:
            if item.type == "memory" and item.path == path:
                return item.id, item.content_sha256
        return None

    def _note(self, error: anthropic.APIError) -> None:
        status = error.status_code if isinstance(error, anthropic.APIStatusError) else 0
        said = _said(error) if status else type(error.__cause__ or error).__name__
        reason = f"{status or 'no answer'}: {said}"[:120]
        self.told.refusals[reason] = self.told.refusals.get(reason, 0) + 1
        if isinstance(error, anthropic.APIStatusError) and _unknown(error):
            self.told.unknown += 1
        else:
            self.told.refused += 1


def _unknown(error: anthropic.APIStatusError) -> bool:
    """Tell whether a write may have been done: Memolith says so itself, or its gateway answered for it."""
    return error.status_code == 504 or (error.status_code >= 500 and "x-memolith-region" not in error.response.headers)


def _said(error: anthropic.APIError) -> str:
    body = getattr(error, "body", None)
    told = body.get("error", {}) if isinstance(body, dict) else {}
    return str(told.get("message", "")) if isinstance(told, dict) else ""


class Load:
    """All clients together."""

    def __init__(self, assignments: Sequence[Assignment]) -> None:
        self.clients = [Client(one) for one in assignments]

    def start(self) -> None:
        """Begin to write."""
        for client in self.clients:
            client.start()

    def end(self) -> None:
        """End, once the writes under way are through."""
        for client in self.clients:
            client.end()
        for client in self.clients:
            client.join(timeout=3 * TIMEOUT_S)

    def acknowledged(self) -> list[Acknowledged]:
        """List everything acknowledged so far, by all clients, in order of time."""
        return sorted((one for client in self.clients for one in list(client.told.acknowledged)), key=lambda a: a.at_s)

    def since(self, moment_s: float, store_id: str | None = None) -> int:
        """Count the writes that were acknowledged after a moment, in one store or in all."""
        return sum(1 for one in self.acknowledged() if one.at_s > moment_s and store_id in (None, one.store_id))

    def longest_pause_s(self) -> dict[str, float]:
        """Return for each store the longest time between two acknowledged writes of any client."""
        pauses: dict[str, float] = {}
        last: dict[str, float] = {}
        for one in self.acknowledged():
            if one.store_id in last:
                pauses[one.store_id] = max(pauses.get(one.store_id, 0.0), one.at_s - last[one.store_id])
            last[one.store_id] = one.at_s
        return pauses
