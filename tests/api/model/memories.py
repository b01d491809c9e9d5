"""The model's memories: as they are, as they were, searched, and loaded all at once."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Any

from memolith.app.api.sources import OWN, Origin
from memolith.app.kernel.results import (
    Hit,
    Memory,
    MemoryPrefix,
    Page,
    RequestContext,
)
from memolith.app.kernel.search_filter import NO_FILTER, SearchFilter
from memolith.core import limits
from memolith.core.errors import (
    InvalidRequest,
    NotFound,
    PreconditionFailed,
)
from memolith.core.paths import check_path, check_path_prefix
from memolith.core.trust import AGENT, least, rank
from tests.api.model.state import Shelf, State, cap, page, shown


@dataclass
class Memories:
    """The use cases of memories."""

    state: State

    def create(
        self, call: RequestContext, store_id: str, *, path: str, content: str, full: bool, origin: Origin = OWN
    ) -> Memory:
        check_path(path)
        check_content(content)
        shelf = self.state.shelf(call, "write", store_id)
        self.state.check_open(shelf)
        if len(shelf.memories) >= self.state.cap and path not in {memory.path for memory in shelf.memories.values()}:
            raise InvalidRequest("path", "the store is full")
        self.state.check_free(shelf, path)
        now_us = self.state.now()
        size, sha256 = len(content.encode()), hashlib.sha256(content.encode()).hexdigest()
        id = f"mem_{self.state.ulid()}"
        memory = Memory(
            id,
            store_id,
            self.state.version_id(),
            path,
            sha256,
            size,
            now_us,
            now_us,
            content,
            trust=self._trust(shelf, origin),
        )
        self.state.record(call, shelf, memory, "created")
        return shown(memory, full)

    def retrieve(self, call: RequestContext, store_id: str, memory_id: str, *, full: bool) -> Memory:
        shelf = self.state.shelf(call, "read", store_id)
        return shown(self.state.memory(shelf, memory_id), full)

    def update(
        self,
        call: RequestContext,
        store_id: str,
        memory_id: str,
        *,
        content: str | None,
        path: str | None,
        expected_content_sha256: str | None,
        full: bool,
        origin: Origin = OWN,
    ) -> Memory:
        if path is not None:
            check_path(path)
        if content is not None:
            check_content(content)
        shelf = self.state.shelf(call, "write", store_id)
        self.state.check_open(shelf)
        old = self.state.memory(shelf, memory_id)
        new_path, new_content = path or old.path, old.content if content is None else content
        if (new_path, new_content) == (old.path, old.content):
            return shown(old, full)
        if expected_content_sha256 not in (None, old.content_sha256):
            raise PreconditionFailed
        if new_path != old.path:
            self.state.check_free(shelf, new_path, except_id=old.id)
        raw = (new_content or "").encode()
        new = replace(
            old,
            version_id=self.state.version_id(),
            path=new_path,
            content=new_content,
            content_sha256=hashlib.sha256(raw).hexdigest(),
            content_size_bytes=len(raw),
            updated_at=self.state.now(),
            trust=old.trust if content is None else least([old.trust], self._trust(shelf, origin)),
        )
        self.state.record(call, shelf, new, "modified")
        return shown(new, full)

    def _trust(self, shelf: Shelf, origin: Origin) -> str | None:
        """No key of the model says who holds it."""
        sources = [self.state.version(shelf, one).trust for one in origin.sources]
        return least([origin.at_most, *sources], AGENT)

    def delete(
        self, call: RequestContext, store_id: str, memory_id: str, *, expected_content_sha256: str | None
    ) -> str:
        shelf = self.state.shelf(call, "write", store_id)
        old = self.state.memory(shelf, memory_id)
        if expected_content_sha256 not in (None, old.content_sha256):
            raise PreconditionFailed
        gone = replace(old, trust=AGENT, version_id=self.state.version_id(), updated_at=self.state.now())
        self.state.record(call, shelf, gone, "deleted")
        return memory_id

    def page(
        self,
        call: RequestContext,
        store_id: str,
        *,
        path_prefix: str | None,
        depth: int,
        limit: int,
        after: str | None,
        full: bool,
    ) -> Page[Memory | MemoryPrefix]:
        prefix = check_path_prefix("/" if path_prefix is None else path_prefix)
        shelf = self.state.shelf(call, "read", store_id)
        rows: dict[str, Memory | MemoryPrefix] = {}
        for memory in shelf.memories.values():
            head, slash, _ = memory.path.removeprefix(prefix).partition("/")
            if memory.path.startswith(prefix) and depth == 1 and slash:
                rows[prefix + head + "/"] = MemoryPrefix(prefix + head + "/")
            elif memory.path.startswith(prefix):
                rows[memory.path] = shown(memory, full)
        order = sorted(rows)
        return page([rows[path] for path in order], order, cap(limit, full), after)


@dataclass
class Snapshots:
    """The use cases of memories that read what was."""

    state: State

    def retrieve(self, call: RequestContext, store_id: str, memory_id: str, *, full: bool, as_of: int) -> Memory:
        past = self.state.past(self.state.shelf(call, "read", store_id), as_of)
        if memory_id not in past:
            raise NotFound("memory", memory_id)
        return shown(past[memory_id], full)

    def page(
        self,
        call: RequestContext,
        store_id: str,
        *,
        path_prefix: str | None,
        limit: int,
        after: str | None,
        full: bool,
        as_of: int,
    ) -> Page[Memory | MemoryPrefix]:
        prefix = check_path_prefix("/" if path_prefix is None else path_prefix)
        past = self.state.past(self.state.shelf(call, "read", store_id), as_of)
        ids = sorted(id for id, one in past.items() if one.path.startswith(prefix) or (one.blank and prefix == "/"))
        return page([shown(past[id], full) for id in ids], ids, cap(limit, full), after)


@dataclass
class Search:
    """The use case of searching."""

    state: State

    def search(
        self,
        call: RequestContext,
        store_id: str,
        *,
        query: str,
        limit: int,
        path_prefix: str | None = None,
        min_trust: str | None = None,
        filter: SearchFilter = NO_FILTER,
        as_of: int | None = None,
    ) -> Page[Hit]:
        """By how many of the query's words, as they are, stand in the path or the content."""
        if not query.strip():
            raise InvalidRequest("query", "must not be empty")
        if len(query) > limits.SEARCH_QUERY_MAX_CHARS:
            raise InvalidRequest("query", "is too long")
        prefix = None if path_prefix is None else check_path_prefix(path_prefix)
        if any(not 0 < len(tag.strip()) <= 100 for tag in filter.tags) or len(filter.tags) > 8:
            raise InvalidRequest("tags", "must be at most eight of a hundred characters")
        shelf = self.state.shelf(call, "read", store_id)
        found = []
        if as_of is not None and filter.author is not None:
            raise InvalidRequest("as_of", "cannot be combined with an author")
        for memory in (shelf.memories if as_of is None else self.state.past(shelf, as_of)).values():
            words = re.findall(r"\w+", f"{memory.path} {memory.content}".lower())
            score = sum(word in words for word in query.replace('"', " ").lower().split())
            trusted = rank(memory.trust) >= rank(min_trust)
            text = f"{memory.path} {memory.content}".lower()
            if not all(phrase.lower() in text for phrase in re.findall(r'"([^"]+)"', query)):
                continue
            if filter.author not in (None, *(one.created_by for one in shelf.versions if one.id == memory.version_id)):
                continue
            below = prefix is None or memory.path.startswith(prefix)
            if score and trusted and below and _passes(memory, filter):
                found.append(Hit(shown(memory, full=False), score, (memory.content or "")[:400]))
        return Page(tuple(sorted(found, key=lambda one: -one.score)[:limit]), None)

    def search_several(self, call: RequestContext, store_ids: list[str] | None, **asked: Any) -> Page[Hit]:
        """Each store by itself. There are no sessions in the model."""
        self.state.enter(call, "read")
        distinct = list(dict.fromkeys(store_ids or ()))
        if not 0 < len(distinct) <= limits.SESSION_STORES_MAX:
            raise InvalidRequest("memory_store_ids", "must be given, eight at most")
        if "" in distinct:
            raise InvalidRequest("memory_store_ids", "one is empty")
        found = [hit for store_id in distinct for hit in self.search(call, store_id, **asked).items]
        return Page(tuple(sorted(found, key=lambda one: -one.score)[: asked["limit"]]), None)


def _passes(memory: Memory, filter: SearchFilter) -> bool:
    """By lines of the frontmatter that say just that."""
    lines = (memory.content or "").lower().split("\n")
    tags = [tag.strip() for line in lines if line.startswith("tags: ") for tag in line[6:].strip("[]").split(",")]
    return (
        (filter.type is None or f"type: {filter.type.lower()}" in lines)
        and all(tag.strip().lower() in tags for tag in filter.tags)
        and (filter.created_at_gte or 0) <= memory.created_at <= (filter.created_at_lte or 2**62)
        and (filter.updated_at_gte or 0) <= memory.updated_at <= (filter.updated_at_lte or 2**62)
    )


@dataclass
class BulkRead:
    """The use case of loading a store."""

    state: State

    def page(self, call: RequestContext, store_id: str, *, after: str | None) -> Page[Memory]:
        """All of it on one page."""
        shelf = self.state.shelf(call, "read", store_id)
        return Page(tuple(shelf.memories[id] for id in sorted(shelf.memories)), None)


def check_content(content: str) -> None:
    if len(content.encode()) > limits.CONTENT_MAX_BYTES:
        raise InvalidRequest("content", "too large", too_large=True)
