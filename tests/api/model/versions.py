"""The model's versions: read, redacted, imported."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memolith.app.api.history_import import ImportResult
from memolith.app.kernel.results import (
    Memory,
    Page,
    RequestContext,
    Version,
    VersionFilter,
)
from memolith.core.commands import ImportedVersion
from memolith.core.errors import (
    InvalidRequest,
)
from memolith.core.trust import AGENT, least
from tests.api.model.state import State, cap, page, within


@dataclass
class Versions:
    """The use cases of memory_versions that read."""

    state: State

    def page(
        self, call: RequestContext, store_id: str, filter: VersionFilter, *, limit: int, after: str | None, full: bool
    ) -> Page[Version]:
        shelf = self.state.shelf(call, "read", store_id)
        rows = [
            version if full else replace(version, content=None)
            for version in reversed(shelf.versions)
            if filter.memory_id in (None, version.memory_id)
            and filter.operation in (None, version.operation)
            and filter.created_by in (None, version.created_by)
            and within(version.created_at, filter.created_at_gte, filter.created_at_lte)
        ]
        return page(rows, [f"{row.created_at:020d}" for row in rows], cap(limit, full), after, descending=True)

    def retrieve(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Version:
        version = self.state.version(self.state.shelf(call, "read", store_id), version_id)
        return version if full else replace(version, content=None)


@dataclass
class Redactions:
    """The use case of redacting."""

    state: State

    def redact(self, call: RequestContext, store_id: str, version_id: str) -> Version:
        shelf = self.state.shelf(call, "admin", store_id)
        version = self.state.version(shelf, version_id)
        if any(memory.version_id == version_id for memory in shelf.memories.values()):
            raise InvalidRequest("memory_version_id", "is the head of a live memory")
        if version.redacted_at is None:
            by = call.credentials.actor
            gone = replace(version, path=None, content=None, content_sha256=None, content_size_bytes=None)
            redacted = replace(gone, redacted_at=self.state.now(), redacted_by=by)
            shelf.versions[shelf.versions.index(version)] = version = redacted
        return version


@dataclass
class Imports:
    """The use case of importing a history."""

    state: State

    def import_versions(
        self, call: RequestContext, store_id: str, versions: Sequence[ImportedVersion]
    ) -> list[ImportResult]:
        """Whole histories only, and none that was redacted or is in another's way: the model is asked for no others."""
        shelf = self.state.shelf(call, "admin", store_id)
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
                one.memory_id,
                store_id,
                one.version_id,
                path,
                sha256,
                len(raw),
                born,
                one.created_at,
                one.content,
                trust=least([one.trust] if old is None else [one.trust, old.trust], AGENT),
            )
            self.state.record(call, shelf, memory, one.operation)
            shelf.versions[-1] = replace(shelf.versions[-1], created_by=one.actor, imported=True)
            shelf.versions.sort(key=lambda version: version.created_at)
        return done
