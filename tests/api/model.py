"""A reference model of the API: one region, one process, plain dictionaries, no concurrency, nothing clever.

It implements the same use cases as the real thing and so runs under the same wire. What the API promises is written
here a second time, as naively as possible; comparison tests make the same calls on both.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from memolith.app.api.history_import import ImportResult
from memolith.app.kernel.results import (
    UNSET,
    Credentials,
    DivergentVersion,
    Hit,
    Memory,
    MemoryPrefix,
    Page,
    QuarantinedText,
    RequestContext,
    ScanPolicy,
    Store,
    Version,
    VersionFilter,
)
from memolith.core import limits
from memolith.core.commands import ImportedVersion
from memolith.core.errors import (
    InvalidRequest,
    NotFound,
    PathConflict,
    PermissionDenied,
    PreconditionFailed,
    SnapshotIncomplete,
    Unauthenticated,
)
from memolith.core.ids import region_code, ulid
from memolith.core.paths import check_path, check_path_prefix
from memolith.core.retention import Retention
from memolith.ports.clock import Clock

T = TypeVar("T")
SCOPES = ("read", "write", "admin")
SETTLE_US = 60_000_000


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


class Model:
    """See the module. `cap` is how many memories a store may hold."""

    region = "us-east-1"

    def __init__(self, clock: Clock, cap: int = limits.MEMORIES_PER_STORE_DEFAULT) -> None:
        self._clock = clock
        self._cap = cap
        self._made = 0
        self._last_us = 0
        self._keys: dict[str, Key] = {}
        self._shelves: dict[str, Shelf] = {}

    def issue_key(self, workspace: str = "main", scope: str = "admin") -> Key:
        """A key of ``wrkspc_{workspace}``."""
        body = f"{region_code(self.region)}_{self._ulid()}"
        text = f"sk-memolith-{workspace}-{body}-{'s' * 32}"
        key = Key(text, f"wrkspc_{workspace}", f"apikey_{body}", scope)
        self._keys[hashlib.sha256(text.encode()).hexdigest()] = key
        return key

    def check_health(self) -> None:
        """One process with nothing to lose is always well."""

    # stores

    def create_store(
        self,
        call: RequestContext,
        *,
        name: str,
        description: str,
        metadata: Mapping[str, str],
        scan_policy: Mapping[str, Any] | None = None,
        retention: Mapping[str, int | None] | None = None,
        durability: str | None = None,
        second_region: str | None = None,
    ) -> Store:
        _refuse_second(durability, second_region)
        key = self._enter(call, "admin")
        now_us = self._now()
        id = f"memstore_{region_code(self.region)}_{self._ulid()}"
        store = Store(
            id, name, description, dict(metadata), now_us, now_us, None, _scanning(scan_policy), _retention(retention)
        )
        self._shelves[id] = Shelf(store, key.workspace_id)
        call.home = self.region
        return store

    def retrieve_store(self, call: RequestContext, store_id: str) -> Store:
        return self._shelf(call, "read", store_id).store

    def update_store(
        self,
        call: RequestContext,
        store_id: str,
        *,
        name: object,
        description: object,
        metadata: object,
        scan_policy: object = UNSET,
        retention: object = UNSET,
        durability: object = UNSET,
        second_region: object = UNSET,
    ) -> Store:
        shelf = self._shelf(call, "admin", store_id)
        old = shelf.store
        if old.archived_at is not None:
            raise InvalidRequest("memory_store_id", "archived")
        _refuse_second(durability, second_region)
        merged = {**old.metadata, **(metadata if isinstance(metadata, Mapping) else {})}
        kept = {name: value for name, value in merged.items() if value is not None}
        if len(kept) > limits.METADATA_MAX_PAIRS:
            raise InvalidRequest("metadata", "too many")
        new = replace(
            old,
            name=old.name if name is UNSET else str(name),
            description=old.description if description is UNSET else str(description),
            metadata=kept,
            scan_policy=_scanning(scan_policy, old.scan_policy),
            retention=_retention(retention, old.retention),
        )
        if new != old:
            shelf.store = replace(new, updated_at=self._now())
        return shelf.store

    def list_stores(
        self,
        call: RequestContext,
        *,
        created_at_gte: int | None,
        created_at_lte: int | None,
        include_archived: bool,
        limit: int,
        after: str | None,
    ) -> Page[Store]:
        key = self._enter(call, "read")
        rows = [
            shelf.store
            for shelf in reversed(self._shelves.values())
            if shelf.workspace_id == key.workspace_id
            and (include_archived or shelf.store.archived_at is None)
            and _within(shelf.store.created_at, created_at_gte, created_at_lte)
        ]
        return _page(rows, [f"{row.created_at:020d}" for row in rows], limit, after, descending=True)

    def archive_store(self, call: RequestContext, store_id: str) -> Store:
        shelf = self._shelf(call, "admin", store_id)
        if shelf.store.archived_at is None:
            now_us = self._now()
            shelf.store = replace(shelf.store, archived_at=now_us, updated_at=now_us)
        return shelf.store

    def delete_store(self, call: RequestContext, store_id: str) -> str:
        self._shelf(call, "admin", store_id)
        del self._shelves[store_id]
        return store_id

    # memories

    def create_memory(self, call: RequestContext, store_id: str, *, path: str, content: str, full: bool) -> Memory:
        check_path(path)
        _check_content(content)
        shelf = self._shelf(call, "write", store_id)
        self._check_open(shelf)
        if len(shelf.memories) >= self._cap and path not in {memory.path for memory in shelf.memories.values()}:
            raise InvalidRequest("path", "the store is full")
        self._check_free(shelf, path)
        now_us = self._now()
        size, sha256 = len(content.encode()), hashlib.sha256(content.encode()).hexdigest()
        id = f"mem_{self._ulid()}"
        memory = Memory(id, store_id, self._version_id(), path, sha256, size, now_us, now_us, content)
        self._record(call, shelf, memory, "created")
        return _shown(memory, full)

    def retrieve_memory(
        self, call: RequestContext, store_id: str, memory_id: str, *, full: bool, as_of: int | None = None
    ) -> Memory:
        shelf = self._shelf(call, "read", store_id)
        if as_of is None:
            return _shown(self._memory(shelf, memory_id), full)
        past = self._past(shelf, as_of)
        if memory_id not in past:
            raise NotFound("memory", memory_id)
        return _shown(past[memory_id], full)

    def update_memory(
        self,
        call: RequestContext,
        store_id: str,
        memory_id: str,
        *,
        content: str | None,
        path: str | None,
        expected_content_sha256: str | None,
        full: bool,
    ) -> Memory:
        if path is not None:
            check_path(path)
        if content is not None:
            _check_content(content)
        shelf = self._shelf(call, "write", store_id)
        self._check_open(shelf)
        old = self._memory(shelf, memory_id)
        new_path, new_content = path or old.path, old.content if content is None else content
        if (new_path, new_content) == (old.path, old.content):
            return _shown(old, full)
        if expected_content_sha256 not in (None, old.content_sha256):
            raise PreconditionFailed
        if new_path != old.path:
            self._check_free(shelf, new_path, except_id=old.id)
        raw = (new_content or "").encode()
        new = replace(
            old,
            version_id=self._version_id(),
            path=new_path,
            content=new_content,
            content_sha256=hashlib.sha256(raw).hexdigest(),
            content_size_bytes=len(raw),
            updated_at=self._now(),
        )
        self._record(call, shelf, new, "modified")
        return _shown(new, full)

    def delete_memory(
        self, call: RequestContext, store_id: str, memory_id: str, *, expected_content_sha256: str | None
    ) -> str:
        shelf = self._shelf(call, "write", store_id)
        old = self._memory(shelf, memory_id)
        if expected_content_sha256 not in (None, old.content_sha256):
            raise PreconditionFailed
        self._record(call, shelf, replace(old, version_id=self._version_id(), updated_at=self._now()), "deleted")
        return memory_id

    def list_memories(
        self,
        call: RequestContext,
        store_id: str,
        *,
        path_prefix: str | None,
        depth: int,
        limit: int,
        after: str | None,
        full: bool,
        as_of: int | None = None,
    ) -> Page[Memory | MemoryPrefix]:
        prefix = check_path_prefix("/" if path_prefix is None else path_prefix)
        shelf = self._shelf(call, "read", store_id)
        if as_of is not None:
            past = self._past(shelf, as_of)
            ids = sorted(id for id, one in past.items() if one.path.startswith(prefix) or (one.blank and prefix == "/"))
            return _page([_shown(past[id], full) for id in ids], ids, _cap(limit, full), after)
        rows: dict[str, Memory | MemoryPrefix] = {}
        for memory in shelf.memories.values():
            head, slash, _ = memory.path.removeprefix(prefix).partition("/")
            if memory.path.startswith(prefix) and depth == 1 and slash:
                rows[prefix + head + "/"] = MemoryPrefix(prefix + head + "/")
            elif memory.path.startswith(prefix):
                rows[memory.path] = _shown(memory, full)
        order = sorted(rows)
        return _page([rows[path] for path in order], order, _cap(limit, full), after)

    # versions

    def list_versions(
        self, call: RequestContext, store_id: str, filter: VersionFilter, *, limit: int, after: str | None, full: bool
    ) -> Page[Version]:
        shelf = self._shelf(call, "read", store_id)
        rows = [
            version if full else replace(version, content=None)
            for version in reversed(shelf.versions)
            if filter.memory_id in (None, version.memory_id)
            and filter.operation in (None, version.operation)
            and filter.created_by in (None, version.created_by)
            and _within(version.created_at, filter.created_at_gte, filter.created_at_lte)
        ]
        return _page(rows, [f"{row.created_at:020d}" for row in rows], _cap(limit, full), after, descending=True)

    def retrieve_version(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Version:
        version = self._version(self._shelf(call, "read", store_id), version_id)
        return version if full else replace(version, content=None)

    def redact_version(self, call: RequestContext, store_id: str, version_id: str) -> Version:
        shelf = self._shelf(call, "admin", store_id)
        version = self._version(shelf, version_id)
        if any(memory.version_id == version_id for memory in shelf.memories.values()):
            raise InvalidRequest("memory_version_id", "is the head of a live memory")
        if version.redacted_at is None:
            by = call.credentials.actor
            gone = replace(version, path=None, content=None, content_sha256=None, content_size_bytes=None)
            redacted = replace(gone, redacted_at=self._now(), redacted_by=by)
            shelf.versions[shelf.versions.index(version)] = version = redacted
        return version

    # search

    def search_memories(
        self, call: RequestContext, store_id: str, *, query: str, limit: int, path_prefix: str | None = None
    ) -> Page[Hit]:
        """By how many of the query's words, as they are, stand in the path or the content."""
        if not query.strip():
            raise InvalidRequest("query", "must not be empty")
        if len(query) > limits.SEARCH_QUERY_MAX_CHARS:
            raise InvalidRequest("query", "is too long")
        prefix = None if path_prefix is None else check_path_prefix(path_prefix)
        shelf = self._shelf(call, "read", store_id)
        found = []
        for memory in shelf.memories.values():
            words = re.findall(r"\w+", f"{memory.path} {memory.content}".lower())
            score = sum(word in words for word in query.lower().split())
            if score and (prefix is None or memory.path.startswith(prefix)):
                found.append(Hit(_shown(memory, full=False), score, (memory.content or "")[:400]))
        return Page(tuple(sorted(found, key=lambda one: -one.score)[:limit]), None)

    def load_memories(self, call: RequestContext, store_id: str, *, after: str | None) -> Page[Memory]:
        """All of it on one page."""
        shelf = self._shelf(call, "read", store_id)
        return Page(tuple(shelf.memories[id] for id in sorted(shelf.memories)), None)

    def import_versions(
        self, call: RequestContext, store_id: str, versions: Sequence[ImportedVersion]
    ) -> list[ImportResult]:
        """Whole histories only, and none that was redacted or is in another's way: the model is asked for no others."""
        shelf = self._shelf(call, "admin", store_id)
        done = []
        for one in versions:
            known = any(version.id == one.version_id for version in shelf.versions)
            done.append(ImportResult(one.version_id, one.memory_id, "known" if known else "imported"))
            if known:
                continue
            raw, old = (one.content or "").encode(), shelf.memories.get(one.memory_id)
            sha256, born = hashlib.sha256(raw).hexdigest(), one.created_at if old is None else old.created_at
            path = one.path or ""
            memory = Memory(
                one.memory_id, store_id, one.version_id, path, sha256, len(raw), born, one.created_at, one.content
            )
            self._record(call, shelf, memory, one.operation)
            shelf.versions[-1] = replace(shelf.versions[-1], created_by=one.actor, imported=True)
            shelf.versions.sort(key=lambda version: version.created_at)
        return done

    @property
    def quarantine(self) -> Unwithheld:
        return Unwithheld(self)

    @property
    def divergent(self) -> Undiverged:
        return Undiverged(self)

    # rules

    def _enter(self, call: RequestContext, scope: str) -> Key:
        assert isinstance(call.credentials, Credentials)
        key = self._keys.get(call.credentials.secret_sha256)
        if key is None or key.key_id != call.credentials.key_id:
            raise Unauthenticated("unknown key")
        call.complete_until = self._clock.now_us()
        if SCOPES.index(key.scope) < SCOPES.index(scope):
            raise PermissionDenied(f"needs {scope}")
        return key

    def _shelf(self, call: RequestContext, scope: str, store_id: str) -> Shelf:
        key = self._enter(call, scope)
        shelf = self._shelves.get(store_id)
        if shelf is None or shelf.workspace_id != key.workspace_id:
            raise NotFound("memory_store", store_id)
        least = call.demand.min_version if scope == "read" else None
        if least is not None and least not in {version.id for version in shelf.versions}:
            raise InvalidRequest("x-memolith-min-version", f"{least} is not known in this store")
        call.home = self.region
        return shelf

    def _memory(self, shelf: Shelf, memory_id: str) -> Memory:
        if memory_id not in shelf.memories:
            raise NotFound("memory", memory_id)
        return shelf.memories[memory_id]

    def _version(self, shelf: Shelf, version_id: str) -> Version:
        for version in shelf.versions:
            if version.id == version_id:
                return version
        raise NotFound("memory_version", version_id)

    def _past(self, shelf: Shelf, as_of: int) -> dict[str, Memory]:
        """Every memory there was: its history up to then, played again."""
        if as_of > self._clock.now_us():
            raise InvalidRequest("as_of", "must not be in the future")
        if as_of > self._clock.now_us() - SETTLE_US:
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
                blank=version.redacted_at is not None,
            )
            if version.operation == "deleted":
                del past[version.memory_id]
        return past

    def _check_open(self, shelf: Shelf) -> None:
        if shelf.store.archived_at is not None:
            raise InvalidRequest("memory_store_id", "archived")

    def _check_free(self, shelf: Shelf, path: str, except_id: str = "") -> None:
        for memory in sorted(shelf.memories.values(), key=lambda memory: memory.path):
            related = path == memory.path or path.startswith(memory.path + "/") or memory.path.startswith(path + "/")
            if related and memory.id != except_id:
                raise PathConflict(memory.path, memory.id)

    def _record(self, call: RequestContext, shelf: Shelf, memory: Memory, operation: str) -> None:
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
            )
        )
        if deleted:
            del shelf.memories[memory.id]
        else:
            shelf.memories[memory.id] = memory

    def _version_id(self) -> str:
        return f"memver_{self._ulid()}"

    def _ulid(self) -> str:
        self._made += 1
        return ulid(self._clock.now_us() // 1000, self._made.to_bytes(10, "big"))

    def _now(self) -> int:
        self._last_us = max(self._clock.now_us(), self._last_us + 1)
        return self._last_us


@dataclass
class Unwithheld:
    """Quarantine where nothing was ever withheld: the model knows no verdicts."""

    model: Model

    def page(
        self, call: RequestContext, store_id: str, *, include_released: bool, limit: int, after: str | None
    ) -> Page[QuarantinedText]:
        self.model._shelf(call, "admin", store_id)
        return Page((), None)

    def retrieve(self, call: RequestContext, store_id: str, version_id: str) -> QuarantinedText:
        self.model._shelf(call, "admin", store_id)
        raise NotFound("quarantined_text", version_id)

    def release(self, call: RequestContext, store_id: str, version_id: str, *, reason: str) -> QuarantinedText:
        return self.retrieve(call, store_id, version_id)

    def restore(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Memory:
        shelf = self.model._shelf(call, "admin", store_id)
        return _shown(self.model._memory(shelf, self.model._version(shelf, version_id).memory_id), full)


@dataclass
class Undiverged:
    """Divergent versions where no home was ever lost."""

    model: Model

    def page(self, call: RequestContext, store_id: str, *, limit: int, after: str | None) -> Page[DivergentVersion]:
        self.model._shelf(call, "admin", store_id)
        return Page((), None)

    def retrieve(self, call: RequestContext, store_id: str, version_id: str) -> DivergentVersion:
        self.model._shelf(call, "admin", store_id)
        raise NotFound("divergent_version", version_id)

    def restore(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Memory | None:
        self.retrieve(call, store_id, version_id)
        return None

    def dismiss(self, call: RequestContext, store_id: str, version_id: str) -> str:
        return self.retrieve(call, store_id, version_id).version_id


def _scanning(change: object, before: ScanPolicy = ScanPolicy()) -> ScanPolicy:  # noqa: B008 - frozen
    given = change if isinstance(change, Mapping) else {}
    return ScanPolicy(given.get("policy", before.policy), tuple(sorted(set(given.get("allow", before.allow)))))


def _shown(memory: Memory, full: bool) -> Memory:
    return memory if full else replace(memory, content=None)


def _check_content(content: str) -> None:
    if len(content.encode()) > limits.CONTENT_MAX_BYTES:
        raise InvalidRequest("content", "too large", too_large=True)


def _refuse_second(durability: object, second_region: object) -> None:
    """One process is one region."""
    if second_region not in (None, UNSET):
        raise InvalidRequest("second_region", "there is none")
    if durability == "two_regions":
        raise InvalidRequest("durability", "there is one region")


def _retention(given: object, before: Retention | None = None) -> Retention:
    """Each of the two numbers as it was last given."""
    changes = {name: value for name, value in given.items() if value is not None} if isinstance(given, Mapping) else {}
    return replace(before or Retention(30, 10), **changes)


def _within(instant: int, gte: int | None, lte: int | None) -> bool:
    return (gte is None or instant >= gte) and (lte is None or instant <= lte)


def _cap(limit: int, full: bool) -> int:
    """A full page may hold 20 and may hold fewer; with eight, the largest always fit into one answer."""
    return min(limit, 8) if full else limit


def _page(
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
