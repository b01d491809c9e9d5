"""What the resources of the model share: keys, stores with all that is in them, and the rules of every call."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from memolith.app.kernel.results import (
    Credentials,
    Memory,
    Page,
    RequestContext,
    Store,
    Version,
)
from memolith.core.errors import (
    InvalidRequest,
    NotFound,
    PathConflict,
    PermissionDenied,
    SnapshotIncomplete,
    Unauthenticated,
)
from memolith.core.ids import region_code, ulid
from memolith.ports.clock import Clock

T = TypeVar("T")
SCOPES = ("read", "write", "admin")
ACKNOWLEDGED_WITHIN_US = 60_000_000


@dataclass
class Key:
    """An API key as the model knows it."""

    text: str
    workspace_id: str
    key_id: str
    scope: str


@dataclass
class Shelf:
    """A store with everything in it; `versions` oldest first."""

    store: Store
    workspace_id: str
    memories: dict[str, Memory] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)


class State:
    """Everything that the model knows."""

    region = "us-east-1"

    def __init__(self, clock: Clock, cap: int) -> None:
        self.clock = clock
        self.cap = cap
        self._made = 0
        self._last_us = 0
        self.keys: dict[str, Key] = {}
        self.shelves: dict[str, Shelf] = {}

    def issue_key(self, workspace: str = "main", scope: str = "admin") -> Key:
        """A key of ``wrkspc_{workspace}``."""
        body = f"{region_code(self.region)}_{self.ulid()}"
        text = f"sk-memolith-{workspace}-{body}-{'s' * 32}"
        key = Key(text, f"wrkspc_{workspace}", f"apikey_{body}", scope)
        self.keys[hashlib.sha256(text.encode()).hexdigest()] = key
        return key

    def enter(self, call: RequestContext, scope: str) -> Key:
        assert isinstance(call.credentials, Credentials)
        key = self.keys.get(call.credentials.secret_sha256)
        if key is None or key.key_id != call.credentials.key_id:
            raise Unauthenticated("unknown key")
        call.complete_until, call.admitted = self.clock.now_us(), True
        if SCOPES.index(key.scope) < SCOPES.index(scope):
            raise PermissionDenied(f"needs {scope}")
        return key

    def shelf(self, call: RequestContext, scope: str, store_id: str, deleted: bool = False) -> Shelf:
        key = self.enter(call, scope)
        shelf = self.shelves.get(store_id)
        if shelf is None or shelf.workspace_id != key.workspace_id:
            raise NotFound("memory_store", store_id)
        if shelf.store.erase_after is not None and not deleted:
            raise NotFound("memory_store", store_id)
        least = call.demand.min_version if scope == "read" else None
        if least is not None and least not in {version.id for version in shelf.versions}:
            raise InvalidRequest("x-memolith-min-version", f"{least} is not known in this store")
        call.home = self.region
        return shelf

    def memory(self, shelf: Shelf, memory_id: str) -> Memory:
        if memory_id not in shelf.memories:
            raise NotFound("memory", memory_id)
        return shelf.memories[memory_id]

    def version(self, shelf: Shelf, version_id: str) -> Version:
        for version in shelf.versions:
            if version.id == version_id:
                return version
        raise NotFound("memory_version", version_id)

    def past(self, shelf: Shelf, as_of: int) -> dict[str, Memory]:
        """Every memory there was: its history up to then, played again."""
        if as_of > self.clock.now_us():
            raise InvalidRequest("as_of", "must not be in the future")
        if as_of > self.clock.now_us() - ACKNOWLEDGED_WITHIN_US:
            raise SnapshotIncomplete(as_of, None)
        past: dict[str, Memory] = {}
        born: dict[str, int] = {}
        for version in shelf.versions:
            if version.created_at > as_of:
                continue
            born.setdefault(version.memory_id, version.created_at)
            past[version.memory_id] = Memory(
                version.memory_id,
                version.store_id,
                version.id,
                version.path or "",
                version.content_sha256 or "",
                version.content_size_bytes or 0,
                born[version.memory_id],
                version.created_at,
                version.content,
                trust=version.trust,
                blank=version.redacted_at is not None,
            )
            if version.operation == "deleted":
                del past[version.memory_id]
        return past

    def check_open(self, shelf: Shelf) -> None:
        if shelf.store.archived_at is not None:
            raise InvalidRequest("memory_store_id", "archived")

    def check_free(self, shelf: Shelf, path: str, except_id: str = "") -> None:
        for memory in sorted(shelf.memories.values(), key=lambda memory: memory.path):
            related = path == memory.path or path.startswith(memory.path + "/") or memory.path.startswith(path + "/")
            if related and memory.id != except_id:
                raise PathConflict(memory.path, memory.id)

    def record(self, call: RequestContext, shelf: Shelf, memory: Memory, operation: str) -> None:
        deleted = operation == "deleted"
        shelf.versions.append(
            Version(
                id=memory.version_id,
                memory_id=memory.id,
                store_id=memory.store_id,
                operation=operation,
                created_at=memory.updated_at,
                created_by=call.credentials.actor,
                path=memory.path,
                content_sha256=None if deleted else memory.content_sha256,
                content_size_bytes=None if deleted else memory.content_size_bytes,
                redacted_at=None,
                redacted_by=None,
                content=None if deleted else memory.content,
                trust=memory.trust,
            )
        )
        if deleted:
            del shelf.memories[memory.id]
        else:
            shelf.memories[memory.id] = memory

    def version_id(self) -> str:
        return f"memver_{self.ulid()}"

    def ulid(self) -> str:
        self._made += 1
        return ulid(self.clock.now_us() // 1000, self._made.to_bytes(10, "big"))

    def now(self) -> int:
        self._last_us = max(self.clock.now_us(), self._last_us + 1)
        return self._last_us


def shown(memory: Memory, full: bool) -> Memory:
    return memory if full else replace(memory, content=None)


def within(instant: int, gte: int | None, lte: int | None) -> bool:
    return (gte is None or instant >= gte) and (lte is None or instant <= lte)


def cap(limit: int, full: bool) -> int:
    """A full page may hold 20 and may hold fewer; with eight, the largest always fit into one answer."""
    return min(limit, 8) if full else limit


def page(
    rows: Sequence[T], positions: Sequence[str], limit: int, after: str | None, *, descending: bool = False
) -> Page[T]:
    """The rows after the place `after`, which need not be there any more."""
    start = 0
    while after is not None and start < len(rows) and not _beyond(positions[start], after, descending):
        start += 1
    end = start + limit
    return Page(tuple(rows[start:end]), positions[end - 1] if end < len(rows) else None)


def _beyond(position: str, after: str, descending: bool) -> bool:
    return position < after if descending else position > after
