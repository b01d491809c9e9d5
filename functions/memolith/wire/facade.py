"""The use cases as the wire drives them: what `memolith.app.api.service.Memolith` offers, and what a model of it must.

Every method raises `memolith.core.errors` and nothing else. After a call, ``call.home`` is the store's home region, or
None where it is not known or does not apply; ``call.complete_until`` is up to when the region that was asked is
complete, or None. A read is as fresh as ``call.demand`` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from memolith.app.api.history_import import ImportResult
from memolith.app.kernel.results import (
    UNSET,
    DivergentVersion,
    Hit,
    Memory,
    MemoryPrefix,
    Page,
    QuarantinedText,
    RequestContext,
    Session,
    SessionContext,
    SessionCredentials,
    Store,
    StoreToAttach,
    Version,
    VersionFilter,
)
from memolith.core.commands import ImportedVersion


class SessionUseCases(Protocol):
    """The operations on sessions, and the check of their tokens."""

    def verify(self, token: str) -> SessionCredentials:
        """What a token grants. Raises Unauthenticated, Unavailable."""

    def create(
        self,
        call: RequestContext,
        stores: Sequence[StoreToAttach],
        *,
        title: str | None,
        metadata: Mapping[str, str],
        token_lifetime_s: int,
    ) -> Session:
        """A new session and its token."""

    def retrieve(self, call: RequestContext, session_id: str) -> Session:
        """A session, ended or not."""

    def renew(self, call: RequestContext, session_id: str, token_lifetime_s: int) -> Session:
        """Another token of a session."""

    def archive(self, call: RequestContext, session_id: str) -> Session:
        """Ends a session; repeatable."""

    def context(self, call: RequestContext, session_id: str, *, refresh: bool) -> SessionContext:
        """What the session's agent is to be told of its memory."""


class QuarantineCases(Protocol):
    """What an admin may do with withheld texts; Memolith's own. A text is named by any version that has it."""

    def page(
        self, call: RequestContext, store_id: str, *, include_released: bool, limit: int, after: str | None
    ) -> Page[QuarantinedText]:
        """The store's withheld texts, and on demand those that were released."""

    def retrieve(self, call: RequestContext, store_id: str, version_id: str) -> QuarantinedText:
        """One text with its verdicts and the versions that have it."""

    def release(self, call: RequestContext, store_id: str, version_id: str, *, reason: str) -> QuarantinedText:
        """Lets the text be shown again; repeatable."""

    def restore(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Memory:
        """The version's memory, brought back to its newest text that is not withheld."""


class DivergentCases(Protocol):
    """What an admin may do with versions that came late and were not adopted; Memolith's own."""

    def page(self, call: RequestContext, store_id: str, *, limit: int, after: str | None) -> Page[DivergentVersion]:
        """The store's divergent versions."""

    def retrieve(self, call: RequestContext, store_id: str, version_id: str) -> DivergentVersion:
        """One of them with its text, and with its memory as it is now."""

    def restore(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Memory | None:
        """Makes the memory what the version made of it; None where that was to delete it."""

    def dismiss(self, call: RequestContext, store_id: str, version_id: str) -> str:
        """Erases it everywhere."""


class UseCases(Protocol):
    """The fourteen operations of the API, and two of Memolith's own.

    Whoever implements them checks key, scope, tenancy, ids, paths and sizes.
    """

    @property
    def quarantine(self) -> QuarantineCases:
        """The operations on withheld texts."""

    @property
    def divergent(self) -> DivergentCases:
        """The operations on divergent versions."""

    @property
    def region(self) -> str:
        """The region that answers."""

    def check_health(self) -> None:
        """Returns if callers should come here. Raises Unavailable."""

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
        """A new, empty store; `scan_policy` has ``policy`` and ``allow``, `retention` ``days`` and ``versions``.

        `durability` is ``one_region`` or ``two_regions``, `second_region` a name.
        """

    def retrieve_store(self, call: RequestContext, store_id: str) -> Store:
        """A store, archived or not."""

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
        """Changes what is not `UNSET`; metadata is a merge patch in which None removes a pair."""

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
        """The workspace's stores, newest first."""

    def archive_store(self, call: RequestContext, store_id: str) -> Store:
        """Ends creating and changing in a store, for good; repeatable."""

    def delete_store(self, call: RequestContext, store_id: str) -> str:
        """Removes a store with everything in it; its id."""

    def create_memory(self, call: RequestContext, store_id: str, *, path: str, content: str, full: bool) -> Memory:
        """A new memory at a free path."""

    def retrieve_memory(
        self, call: RequestContext, store_id: str, memory_id: str, *, full: bool, as_of: int | None = None
    ) -> Memory:
        """A memory at its head, or as it was at an instant."""

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
        """New content, a new path, or both; None leaves that side alone."""

    def delete_memory(
        self, call: RequestContext, store_id: str, memory_id: str, *, expected_content_sha256: str | None
    ) -> str:
        """The end of a memory; its id."""

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
        """Live memories in path order; or those of an instant, in order of their ids and whatever the depth."""

    def search_memories(
        self, call: RequestContext, store_id: str, *, query: str, limit: int, path_prefix: str | None = None
    ) -> Page[Hit]:
        """Live memories that answer a query, the best first. Memolith's own."""

    def load_memories(self, call: RequestContext, store_id: str, *, after: str | None) -> Page[Memory]:
        """Every live memory with its content, in order of their ids. Memolith's own."""

    def list_versions(
        self, call: RequestContext, store_id: str, filter: VersionFilter, *, limit: int, after: str | None, full: bool
    ) -> Page[Version]:
        """History, newest first."""

    def retrieve_version(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Version:
        """One version, redacted or not."""

    def import_versions(
        self, call: RequestContext, store_id: str, versions: Sequence[ImportedVersion]
    ) -> list[ImportResult]:
        """Versions from elsewhere, oldest first; repeatable."""

    def redact_version(self, call: RequestContext, store_id: str, version_id: str) -> Version:
        """Erases one version's content, path and hash."""
