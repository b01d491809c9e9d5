"""Versions: history as this region knows it.

The two orders of the `versions` table are global indexes, which may lag behind one's own write. A listing of one
memory is therefore checked for gaps against the head's generation, and a listing of the store takes its newest rows
from the table itself, whose sort key, a ULID, is nearly in order of time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cairn.app.access import Door, Scope
from cairn.app.answers import Call, Page, Version, VersionFilter
from cairn.app.contents import Contents, within_budget
from cairn.app.region import Region, View
from cairn.core import ids
from cairn.core.errors import NotFound, Unavailable
from cairn.core.limits import LIST_MAX_FULL, LIST_MAX_FULL_BYTES
from cairn.core.listing import check_position
from cairn.core.rows import MemoryRow, VersionRow
from cairn.core.slots import LogRef
from cairn.core.tables import BY_MEMORY, BY_TIME
from cairn.ports import errors as port_errors
from cairn.ports.index import Found, Query

INDEX_LAG_US = 60_000_000
"""How old a version is before the global indexes are trusted to have it."""

RECENT_PER_QUERY = 1_000
ROWS_PER_PAGE = 2_000
_PAST_ALL = "~"
_MEMORY_POSITION = re.compile(rf"\d{{10}}#({ids.VERSION.pattern})?", re.ASCII)
_STORE_POSITION = re.compile(rf"\d{{20}}#{ids.VERSION.pattern}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Step:
    """One row on the way down a history, and the position to continue from after it."""

    row: VersionRow
    after: str


class Versions:
    """The use cases of memory_versions that read."""

    def __init__(self, region: Region, door: Door) -> None:
        self._region = region
        self._door = door
        self._contents = Contents(region)

    def retrieve(self, call: Call, store_id: str, version_id: str, *, full: bool) -> Version:
        """One version, of a live or a deleted memory. One index read, and one GET for the content.

        Raises:
            NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        if ids.VERSION.fullmatch(version_id) is None:
            raise NotFound("memory_version", version_id)
        key = VersionRow.key(store_id, version_id)
        access = self._door.enter_store(call, Scope.read, store_id, [key])
        row = None if key not in access.view.rows else VersionRow.from_attributes(access.view.rows[key])
        if row is None or row.memory_id is None:
            access.view.require_complete()
            raise NotFound("memory_version", version_id)
        content = self._contents.read(store_id, _position(row)) if full and _has_content(row) else None
        return to_version(row, content)

    def page(
        self, call: Call, store_id: str, filter: VersionFilter, *, limit: int, after: str | None, full: bool
    ) -> Page[Version]:
        """Versions newest first. Three index reads and a query or two; a GET for each content asked for.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        check_position(after, _STORE_POSITION if filter.memory_id is None else _MEMORY_POSITION)
        if filter.memory_id is not None and ids.MEMORY.fullmatch(filter.memory_id) is None:
            self._door.enter_store(call, Scope.read, store_id)
            return Page((), None)
        keys = [MemoryRow.key(store_id, filter.memory_id)] if filter.memory_id else []
        access = self._door.enter_store(call, Scope.read, store_id, keys)
        access.view.require_complete()
        limit = min(limit, LIST_MAX_FULL) if full else limit
        if filter.memory_id is not None:
            steps = self._of_memory(access.view, store_id, filter.memory_id, after)
        else:
            steps = self._of_store(access.view, store_id, filter, after)
        listed, next_after = _take(steps, filter, limit)
        listed = self._as_they_stand(access.view, store_id, listed)
        if full:
            fit = within_budget([step.row.content_size_bytes or 0 for step in listed], LIST_MAX_FULL_BYTES)
            next_after = next_after if fit == len(listed) else listed[fit - 1].after
            listed = listed[:fit]
        texts = self._texts(store_id, listed) if full else [None] * len(listed)
        versions = tuple(to_version(step.row, text) for step, text in zip(listed, texts, strict=True))
        return Page(versions, next_after)

    def _as_they_stand(self, view: View, store_id: str, listed: list[_Step]) -> list[_Step]:
        """The same rows from the table itself: a global index may show for a while what was redacted."""
        keys = [VersionRow.key(store_id, step.row.version_id) for step in listed]
        rows = self._region.read(view.index, keys) if keys else {}
        known = {key: VersionRow.from_attributes(row) for key, row in rows.items()}
        return [replace(step, row=known.get(key, step.row)) for step, key in zip(listed, keys, strict=True)]

    def _texts(self, store_id: str, listed: list[_Step]) -> list[str | None]:
        wanted = [_position(step.row) for step in listed if _has_content(step.row)]
        texts = iter(self._contents.read_many(store_id, wanted))
        return [next(texts) if _has_content(step.row) else None for step in listed]

    # ---- one memory ---------------------------------------------------------------------------------------------

    def _of_memory(self, view: View, store_id: str, memory_id: str, after: str | None) -> Iterator[_Step]:
        """A memory's versions from its head down.

        What the global index lacks is found by each version's parent; beyond a version that has not arrived here, among
        the newest rows of the table.
        """
        if after is not None:
            generation_key, _, parent_id = after.partition("#")
            expected, version_id = int(generation_key) - 1, parent_id or None
        else:
            attributes = view.rows.get(MemoryRow.key(store_id, memory_id))
            if attributes is None:
                return
            head = MemoryRow.from_attributes(attributes)
            expected, version_id = head.generation, head.version_id
        indexed = self._indexed(view, store_id, memory_id, expected)
        found = next(indexed, None)
        recent: dict[int, VersionRow] | None = None
        while expected > 0:
            while found is not None and (found.generation or 0) > expected:
                found = next(indexed, None)
            row = found if found is not None and found.generation == expected else None
            if row is None and version_id is not None:
                row = self._by_id(view, store_id, version_id)
            if row is None:
                recent = self._recent_of(view, store_id, memory_id) if recent is None else recent
                known = [generation for generation in recent if generation <= expected]
                expected = max([*known, 0 if found is None else found.generation or 0])
                row = recent.get(expected, found)
            if row is not None:
                version_id = row.parent_version_id
                yield _Step(row, f"{expected:010d}#{version_id or ''}")
            expected -= 1

    def _recent_of(self, view: View, store_id: str, memory_id: str) -> dict[int, VersionRow]:
        rows = self._recent(view, store_id, _PAST_ALL)
        return {row.generation: row for row in rows if row.memory_id == memory_id and row.generation is not None}

    def _indexed(self, view: View, store_id: str, memory_id: str, newest: int) -> Iterator[VersionRow]:
        after = f"{newest + 1:010d}"
        while True:
            query = Query(
                "versions", f"{store_id}#{memory_id}", after=after, descending=True, index=BY_MEMORY.name, limit=101
            )
            found = self._query(view, query)
            yield from (VersionRow.from_attributes(one.attributes) for one in found)
            if len(found) < 101:
                return
            after = found[-1].sort_key

    def _by_id(self, view: View, store_id: str, version_id: str) -> VersionRow | None:
        key = VersionRow.key(store_id, version_id)
        attributes = self._region.read(view.index, [key]).get(key)
        row = None if attributes is None else VersionRow.from_attributes(attributes)
        return None if row is None or row.memory_id is None else row

    # ---- the whole store ----------------------------------------------------------------------------------------

    def _of_store(self, view: View, store_id: str, filter: VersionFilter, after: str | None) -> Iterator[_Step]:
        """Every version by (created_at, id), newest first: the index's rows, merged with the table's newest."""
        start = after or (_PAST_ALL if filter.created_at_lte is None else f"{max(filter.created_at_lte, 0) + 1:020d}")
        recent = self._recent(view, store_id, start)
        last = start
        for row in self._indexed_by_time(view, store_id, start):
            while recent and (recent[0].time_key or "") >= (row.time_key or ""):
                newer = recent.pop(0)
                if (newer.time_key or "") < last:
                    last = newer.time_key or ""
                    yield _Step(newer, last)
            if (row.time_key or "") < last:
                last = row.time_key or ""
                yield _Step(row, last)
        for row in recent:
            yield _Step(row, row.time_key or "")

    def _recent(self, view: View, store_id: str, start: str) -> list[VersionRow]:
        """The newest versions from the table itself, newest first, those before `start`."""
        since_ms = (self._region.clock.now_us() - INDEX_LAG_US) // 1000
        if start != _PAST_ALL and int(start[:20]) // 1000 < since_ms - INDEX_LAG_US // 1000:
            return []
        oldest = f"memver_{ids.ulid(max(since_ms, 0), bytes(10))}"
        rows: list[VersionRow] = []
        while True:
            found = self._query(view, Query("versions", store_id, after=oldest, limit=RECENT_PER_QUERY))
            rows += [VersionRow.from_attributes(one.attributes) for one in found]
            if len(found) < RECENT_PER_QUERY:
                break
            oldest = found[-1].sort_key
        known = [row for row in rows if row.memory_id is not None and (row.time_key or "") < start]
        return sorted(known, key=lambda row: row.time_key or "", reverse=True)

    def _indexed_by_time(self, view: View, store_id: str, start: str) -> Iterator[VersionRow]:
        after = start
        while True:
            query = Query("versions", store_id, after=after, descending=True, index=BY_TIME.name, limit=101)
            found = self._query(view, query)
            yield from (VersionRow.from_attributes(one.attributes) for one in found)
            if len(found) < 101:
                return
            after = found[-1].sort_key

    def _query(self, view: View, query: Query) -> list[Found]:
        try:
            return list(view.index.query(query))
        except port_errors.Unavailable as error:
            raise Unavailable("the index does not answer; try again") from error


def _take(steps: Iterator[_Step], filter: VersionFilter, limit: int) -> tuple[list[_Step], str | None]:
    """At most `limit` steps that pass the filter, and the position to continue from; None at the end.

    A page that has looked at very many rows ends early, even empty, so that a rare filter cannot stall a call.
    """
    listed: list[_Step] = []
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


def to_version(row: VersionRow, content: str | None) -> Version:
    """What the API calls a memory_version."""
    return Version(
        id=row.version_id,
        memory_id=row.memory_id or "",
        store_id=row.store_id,
        operation=row.operation or "",
        created_at=row.created_at or 0,
        created_by=row.created_by,
        path=row.path,
        content_sha256=row.content_sha256,
        content_size_bytes=row.content_size_bytes,
        redacted_at=row.redacted_at,
        redacted_by=row.redacted_by,
        content=content,
        flags=tuple(row.flags or ()),
    )


def _has_content(row: VersionRow) -> bool:
    return row.content_sha256 is not None


def _position(row: VersionRow) -> LogRef:
    return LogRef.parse(row.position or "")
