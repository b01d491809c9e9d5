"""Versions: history as this region knows it, or, where that is asked for, as its home does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.linearizable_reads import LinearizableReads
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.index.version_history import Step, VersionHistory
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import Page, RequestContext, Version, VersionFilter
from memolith.app.safety.text_access import TextReader, TextRequest, TextView, within_budget
from memolith.core import ids
from memolith.core.errors import NotFound
from memolith.core.limits import LIST_MAX_FULL, LIST_MAX_FULL_BYTES
from memolith.core.listing import check_position
from memolith.core.rows.content import MemoryRow, VersionRow

ROWS_PER_PAGE = 2_000
_MEMORY_POSITION = re.compile(rf"\d{{10}}#({ids.VERSION.pattern})?", re.ASCII)
_STORE_POSITION = re.compile(rf"\d{{20}}#{ids.VERSION.pattern}", re.ASCII)


class Versions:
    """The use cases of memory_versions that read."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        reads: ForwardedReads,
        history: VersionHistory,
        texts: TextReader,
        linearizable_reads: LinearizableReads,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._forwarded = reads
        self._history = history
        self._texts = texts
        self._linearizable_reads = linearizable_reads

    @forwarded("retrieve_version")
    def retrieve(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Version:
        """Return one version, of a live or a deleted memory. One index read; for content a GET, and one more beside it.

        Raises:
            NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        if ids.VERSION.fullmatch(version_id) is None:
            raise NotFound("memory_version", version_id)
        key = VersionRow.key(store_id, version_id)
        access = self._authorizer.enter_store(call, Scope.read, store_id, [key])
        row = None if key not in access.view.rows else VersionRow.from_attributes(access.view.rows[key])
        if row is None or row.memory_id is None:
            access.view.require_complete()
            raise NotFound("memory_version", version_id)
        [text] = self._views(access, [row], self._texts.show) if full else [TextView()]
        return to_version(row, text)

    @forwarded("list_versions")
    def page(
        self, call: RequestContext, store_id: str, filter: VersionFilter, *, limit: int, after: str | None, full: bool
    ) -> Page[Version]:
        """List versions, newest first. Three index reads and a query or two; a GET for each content asked for.

        Where the caller demands the home's answer, a memory's history begins with the head that its log has.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        check_position(after, _STORE_POSITION if filter.memory_id is None else _MEMORY_POSITION)
        if filter.memory_id is not None and ids.MEMORY.fullmatch(filter.memory_id) is None:
            self._authorizer.enter_store(call, Scope.read, store_id)
            return Page((), None)
        keys = [MemoryRow.key(store_id, filter.memory_id)] if filter.memory_id else []
        access = self._authorizer.enter_store(call, Scope.read, store_id, keys)
        access.view.require_complete()
        limit = min(limit, LIST_MAX_FULL) if full else limit
        if filter.memory_id is not None:
            head = self._head(call, access, filter.memory_id) if after is None else None
            steps = self._history.of_memory(access.view, store_id, filter.memory_id, after, head)
        else:
            steps = self._history.of_store(access.view, store_id, filter, after)
        listed, next_after = _take(steps, filter, limit)
        listed = self._as_they_stand(access.view, store_id, listed)
        if full:
            fit = within_budget([step.row.content_size_bytes or 0 for step in listed], LIST_MAX_FULL_BYTES)
            next_after = next_after if fit == len(listed) else listed[fit - 1].after
            listed = listed[:fit]
        rows = [step.row for step in listed]
        text = self._views(access, rows, self._texts.show_each) if full else [TextView()] * len(rows)
        versions = tuple(map(to_version, rows, text))
        return Page(versions, next_after)

    def _head(self, call: RequestContext, access: StoreAccess, memory_id: str) -> MemoryRow | None:
        attributes = access.view.rows.get(MemoryRow.key(access.store.store_id, memory_id))
        row = None if attributes is None else MemoryRow.from_attributes(attributes)
        if not call.demand.home:
            return row
        row = self._linearizable_reads.memory(access.store, row, memory_id, call.known)
        self._linearizable_reads.require_home(access.view, access.store)
        return row

    def _as_they_stand(self, view: View, store_id: str, listed: list[Step]) -> list[Step]:
        """Read the same rows from the table itself: a global index may show for a while what was redacted or moved.

        A version that a failover found late meanwhile is in no order of the history, and leaves the page. Reads the
        marks of both tables with them, after the queries, so that no page comes from a table that was emptied. Raises
        Unavailable.
        """
        keys = [VersionRow.key(store_id, step.row.version_id) for step in listed]
        rows = self._region.read_whole(view, keys, "memories", "versions")
        known = {key: VersionRow.from_attributes(row) for key, row in rows.items()}
        current = [replace(step, row=known.get(key, step.row)) for step, key in zip(listed, keys, strict=True)]
        return [step for step in current if step.row.time_key is not None]

    def _views(
        self,
        access: StoreAccess,
        rows: list[VersionRow],
        show: Callable[[StoreAccess, list[TextRequest]], list[TextView]],
    ) -> list[TextView]:
        texts = [row for row in rows if row.content_sha256 is not None]
        wanted = [TextRequest(row.ref, row.content_sha256 or "", row.version_id) for row in texts]
        text = iter(show(access, wanted))
        return [TextView() if row.content_sha256 is None else next(text) for row in rows]


def _take(steps: Iterator[Step], filter: VersionFilter, limit: int) -> tuple[list[Step], str | None]:
    """Take at most `limit` steps that pass the filter, and the position to continue from; None at the end.

    A page that has looked at very many rows ends early, even empty, so that a rare filter cannot stall a call.
    """
    listed: list[Step] = []
    position: str | None = None
    for seen, step in enumerate(steps):
        if filter.created_at_gte is not None and (step.row.created_at or 0) < filter.created_at_gte:
            return listed, None
        if len(listed) == limit or seen >= ROWS_PER_PAGE:
            return listed, position
        if _passes(step.row, filter):
            listed.append(step)
        position = step.after
    return listed, None


def _passes(row: VersionRow, filter: VersionFilter) -> bool:
    if filter.operation is not None and row.operation != filter.operation:
        return False
    if filter.created_by is not None and row.created_by != filter.created_by:
        return False
    return filter.created_at_lte is None or (row.created_at or 0) <= filter.created_at_lte


def to_version(row: VersionRow, text: TextView | None = None) -> Version:
    """Make what the API calls a memory_version."""
    text = text or TextView()
    return replace(Version.of(row, text.content, text.flags, text.withheld), damaged=text.damaged is not None)
