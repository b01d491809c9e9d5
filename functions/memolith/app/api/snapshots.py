"""A store as it was at one instant T: for each memory the version of its highest generation with created_at <= T.

Within one memory created_at never runs backwards, so that each memory is shown as it was, and as it never was otherwise
after or before. Between memories the order is that of the clocks that wrote them, all of them the home's: a write
that was acknowledged before another began can bear the later time by as much as two of those clocks disagree.

A snapshot does not change: it is given only once nothing more can bear a time before T. What is acknowledged up to the
region's `complete_until` is here; a version is acknowledged at most `ACKNOWLEDGED_WITHIN_US` after the time it bears.
So T may be as late as that much before `complete_until`, and two snapshots of one T are equal, in every region, but for
what was erased in between: of that the metadata is shown, and that it is blank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.memories import to_memory
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.index.version_history import VersionHistory
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import Memory, MemoryPrefix, Page, RequestContext
from memolith.app.safety.text_access import TextReader, TextRequest, TextView, within_budget
from memolith.core import ids
from memolith.core.errors import InvalidRequest, NotFound, SnapshotIncomplete, Unavailable
from memolith.core.limits import ACKNOWLEDGED_WITHIN_US, LIST_MAX_FULL, LIST_MAX_FULL_BYTES
from memolith.core.listing import check_position
from memolith.core.log_position import LogRef
from memolith.core.objects.entry import Operation
from memolith.core.paths import check_path_prefix
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.ports.index import Query

MEMORIES_PER_QUERY = 100


MEMORIES_LOOKED_AT = 1_000
ROWS_MAX = 20_000
"""How many memories, gone ones too, are looked at for what has changed since an instant."""

LISTED_INSTEAD = "list the memories as they were (as_of of the listing) and read them"

MEMORIES_PER_PAGE = 500
"""A page that has looked at so many memories ends early, even empty, so that a rare prefix cannot stall a call."""


@dataclass(frozen=True, slots=True)
class _MemoryAt:
    """A memory at the instant, without its content, and where that stands; nowhere, once blank."""

    memory: Memory
    position: LogRef | None

    @property
    def wanted(self) -> list[TextRequest]:
        return (
            []
            if self.position is None
            else [TextRequest(self.position, self.memory.content_sha256, self.memory.version_id)]
        )


class Snapshots:
    """The use cases of memories that read what was."""

    def __init__(
        self, region: Region, authorizer: Authorizer, reads: ForwardedReads, history: VersionHistory, texts: TextReader
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._forwarded = reads
        self._history = history
        self._texts = texts

    @forwarded("retrieve_memory")
    def retrieve(self, call: RequestContext, store_id: str, memory_id: str, *, full: bool, as_of: int) -> Memory:
        """Return a memory as it was. One index read, a GET for the content; a query or more where it has changed since.

        Raises:
            NotFound: there was none; InvalidRequest: `as_of` is in the future; SnapshotIncomplete, Unavailable;
            Unauthenticated, PermissionDenied.
        """
        if ids.MEMORY.fullmatch(memory_id) is None:
            raise NotFound("memory", memory_id)
        key = MemoryRow.key(store_id, memory_id)
        access = self._authorizer.enter_store(call, Scope.read, store_id, [key], marked=["versions"])
        self.require(access, as_of)
        if key not in access.view.rows:
            raise NotFound("memory", memory_id)
        stood = self._at(access.view, [MemoryRow.from_attributes(access.view.rows[key])], as_of)
        if not stood:
            raise NotFound("memory", memory_id)
        if not full:
            return stood[0].memory
        return self._with_content(access, stood, self._texts.show)[0].memory

    @forwarded("list_memories", depth=0)
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
        """List memories as they were, in order of their ids; every page shows the same instant.

        A memory whose path was erased is in no folder with a known name, and listed only without a prefix. One index
        read, a query for every hundred memories that the store ever had, a read and queries for those that have changed
        since; with `full` at most 20 items or 850,000 bytes, and a GET for each.

        Raises:
            as `retrieve`.
        """
        prefix = check_path_prefix(path_prefix or "/")
        check_position(after, ids.MEMORY)
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=["memories", "versions"])
        self.require(access, as_of)
        limit = min(limit, LIST_MAX_FULL) if full else limit
        listed, after = self._collect(access.view, store_id, prefix, limit, after, as_of)
        if full:
            fit = within_budget([one.memory.content_size_bytes for one in listed], LIST_MAX_FULL_BYTES)
            after = after if fit == len(listed) else listed[fit - 1].memory.id
            listed = self._with_content(access, listed[:fit], self._texts.show_each)
        return Page(tuple(one.memory for one in listed), after)

    def changed_since(self, access: StoreAccess, as_of: int, most: int) -> list[Memory]:
        """Return the memories that were otherwise at the instant than they are, as they were, with their contents: None
        for what may not be shown.

        A query for a thousand memories that the store ever had, `ROWS_MAX` at most; for each that has changed a query
        and a GET.

        Raises:
            InvalidRequest: more than `most` have changed, or the store has had more than `ROWS_MAX`. Unavailable.
        """
        changed: list[MemoryRow] = []
        after: str | None = None
        for left in range(ROWS_MAX, 0, -MEMORIES_LOOKED_AT):
            # The last query asks for one more, which tells a store that has just so many memories from a larger one.
            limit = MEMORIES_LOOKED_AT + (left <= MEMORIES_LOOKED_AT)
            found = access.view.index.query(Query("memories", access.store.store_id, after=after, limit=limit))
            rows = [MemoryRow.from_attributes(one.attributes) for one in found]
            changed += [row for row in rows if row.created_at <= as_of < row.updated_at]
            if len(changed) > most:
                message = (
                    f"is too long ago for this: more than {most} memories have changed since. Name a later instant, or"
                )
                raise InvalidRequest("as_of", f"{message} {LISTED_INSTEAD}")
            if len(rows) < limit:
                stood = self._at(access.view, changed, as_of)
                return [one.memory for one in self._with_content(access, stood, self._texts.show_each)]
            after = rows[-1].memory_id
        message = f"cannot be given for this: the store has had more than {ROWS_MAX:,} memories"
        raise InvalidRequest("as_of", f"{message}; {LISTED_INSTEAD}")

    def require(self, access: StoreAccess, as_of: int) -> None:
        """Raise unless everything that can have a time up to `as_of` is here.

        Raises:
            InvalidRequest: it is in the future. SnapshotIncomplete, Unavailable.
        """
        if as_of > self._region.clock.now_us():
            raise InvalidRequest("as_of", "must not be in the future")
        access.view.require_complete()
        until = None if access.complete_until is None else max(0, access.complete_until - ACKNOWLEDGED_WITHIN_US)
        if until is None or as_of > until:
            raise SnapshotIncomplete(as_of, until)

    def _collect(
        self, view: View, store_id: str, prefix: str, limit: int, after: str | None, as_of: int
    ) -> tuple[list[_MemoryAt], str | None]:
        """Return at most `limit` memories, and the id to continue after; None at the end."""
        listed: list[_MemoryAt] = []
        for _ in range(MEMORIES_PER_PAGE // MEMORIES_PER_QUERY):
            rows = self._rows(view, store_id, after)
            for stood in self._at(view, rows, as_of):
                if not _below(stood.memory, prefix):
                    continue
                listed.append(stood)
                if len(listed) == limit:
                    return listed, stood.memory.id
            if len(rows) < MEMORIES_PER_QUERY:
                return listed, None
            after = rows[-1].memory_id
        return listed, after

    def _rows(self, view: View, store_id: str, after: str | None) -> list[MemoryRow]:
        found = view.index.query(Query("memories", store_id, after=after, limit=MEMORIES_PER_QUERY))
        return [MemoryRow.from_attributes(one.attributes) for one in found]

    # ---- one memory at the instant ------------------------------------------------------------------------------

    def _at(self, view: View, heads: Sequence[MemoryRow], as_of: int) -> list[_MemoryAt]:
        """Return those that existed, in order. A head that is old enough is the answer; else its history decides."""
        then = [head for head in heads if head.created_at <= as_of]
        changed = [head for head in then if head.updated_at > as_of]
        versions = self._region.parallel.run([partial(self._version, view, head, as_of) for head in changed])
        found = self._as_they_stand(view, versions)
        at = {head.memory_id: _of_version(head, row) for head, row in zip(changed, found, strict=True)}
        stood = [at[head.memory_id] if head.memory_id in at else _of_head(head) for head in then]
        return [one for one in stood if one is not None]

    def _version(self, view: View, head: MemoryRow, as_of: int) -> VersionRow:
        """Find the version that was the head. A version that the index may have skipped does not pass for it."""
        above = head.generation + 1
        for step in self._history.of_memory(view, head.store_id, head.memory_id, None, head):
            generation = step.row.generation or 0
            if (step.row.created_at or 0) <= as_of:
                if generation + 1 == above:
                    return step.row
                break
            above = generation
        raise Unavailable("a memory's history is being indexed here; try again")

    def _as_they_stand(self, view: View, versions: Sequence[VersionRow]) -> list[VersionRow]:
        """Read the same rows from the table itself: a global index may show for a while what was redacted."""
        keys = [VersionRow.key(row.store_id, row.version_id) for row in versions]
        rows = self._region.read(view.index, keys) if keys else {}
        known = {key: VersionRow.from_attributes(row) for key, row in rows.items()}
        return [known.get(key, row) for key, row in zip(keys, versions, strict=True)]

    def _with_content(
        self,
        access: StoreAccess,
        listed: Sequence[_MemoryAt],
        show: Callable[[StoreAccess, list[TextRequest]], list[TextView]],
    ) -> list[_MemoryAt]:
        """Show what was blanked since its row was read as blank too; what is withheld now, not at all."""
        text = iter(show(access, [wanted for one in listed for wanted in one.wanted]))
        return [one if one.position is None else _with(one, next(text)) for one in listed]


def _with(one: _MemoryAt, text: TextView) -> _MemoryAt:
    if text.blank:
        return _blank(one.memory)
    flags = tuple(dict.fromkeys((*one.memory.flags, *text.flags)))
    shown = replace(one.memory, content=text.content, withheld=text.withheld, flags=flags)
    return replace(one, memory=replace(shown, damaged=text.damaged is not None))


def _blank(memory: Memory) -> _MemoryAt:
    return _MemoryAt(replace(memory, path="", content_sha256="", content_size_bytes=0, flags=(), blank=True), None)


def _below(memory: Memory, prefix: str) -> bool:
    return prefix == "/" if memory.blank else memory.path.startswith(prefix)


def _of_head(head: MemoryRow) -> _MemoryAt | None:
    if head.gone:
        return None
    stood = to_memory(head)
    return _blank(stood) if head.path is None else _MemoryAt(stood, head.ref)


def _of_version(head: MemoryRow, row: VersionRow) -> _MemoryAt | None:
    if row.operation == Operation.DELETED:
        return None
    stood = replace(
        to_memory(head),
        version_id=row.version_id,
        path=row.path or "",
        content_sha256=row.content_sha256 or "",
        content_size_bytes=row.content_size_bytes or 0,
        updated_at=row.created_at or 0,
        flags=tuple(row.flags or ()),
        trust=row.trust,
    )
    return _blank(stood) if row.path is None else _MemoryAt(stood, row.ref)
