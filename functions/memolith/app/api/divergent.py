"""Divergent versions: stragglers that could not be replayed. They are kept and listed, and an admin decides.

A fail-over leaves behind what the old home had acknowledged and not replicated. Where another writer has written since,
such a version is no part of the memory's history; it stands apart, in every region, until it is restored, by an
ordinary write of its text, or dismissed, which erases it everywhere as a redaction does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from memolith.app.api.memories import Memories
from memolith.app.api.redaction import Redactions
from memolith.app.api.sources import Origin
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.commit.forwarding import Forwarding
from memolith.app.epochs.fence import stored_record
from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import DivergentVersion, Memory, Page, ReadConsistency, RequestContext
from memolith.app.safety.text_access import TextReader, TextRequest, TextView
from memolith.core import ids
from memolith.core.errors import Busy, InvalidRequest, NotFound, Unavailable, in_doubt
from memolith.core.fold import is_live
from memolith.core.integrity import Acknowledged
from memolith.core.listing import check_position
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.redaction_order import Redaction
from memolith.core.rows.content import LATE_PREFIX, MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Query

ROWS_PER_QUERY = 500


class Divergent:
    """The use cases of divergent versions. All of them are an admin's."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        memories: Memories,
        redactions: Redactions,
        forwarding: Forwarding,
        texts: TextReader,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._memories = memories
        self._redactions = redactions
        self._forwarding = forwarding
        self._texts = texts

    # ---- looking ------------------------------------------------------------------------------------------------

    def page(self, call: RequestContext, store_id: str, *, limit: int, after: str | None) -> Page[DivergentVersion]:
        """List the store's divergent versions as this region knows them, oldest id first, without texts. One query or
        more.

        One that has just come may be listed for the moment until it is replayed.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        check_position(after, ids.VERSION)
        access = self._authorizer.enter_store(call, Scope.admin, store_id)
        listed = list(islice(self._rows(access.view, store_id, after), limit + 1))
        self._region.require_whole(access.view, "versions")
        found = tuple(_answer(row) for row in listed[:limit])
        return Page(found, listed[limit - 1].version_id if len(listed) > limit else None)

    def retrieve(self, call: RequestContext, store_id: str, version_id: str) -> DivergentVersion:
        """Return a divergent version and its memory as it is now, with both texts. Two index reads and two GETs.

        Raises:
            NotFound: there is none of this id. Unavailable; Unauthenticated, PermissionDenied.
        """
        access, row = self._find(call, store_id, version_id)
        text = TextView()
        if row.content_sha256 is not None:
            [text] = self._texts.show(access, [TextRequest(row.ref, row.content_sha256, row.version_id)])
        try:
            current = self._memories.retrieve(
                replace(call, demand=ReadConsistency()), store_id, row.memory_id or "", full=True
            )
        except NotFound:
            current = None
        return _answer(row, text, current)

    # ---- deciding -----------------------------------------------------------------------------------------------

    def restore(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Memory | None:
        """Make the memory what this version made of it, if it is still what was seen here; then dismiss the version.

        An ordinary write: an update, with the path too where the version renamed; a creation where the memory is
        deleted; a deletion, which returns None. Costs that write, and what `dismiss` costs. A version that has become
        its memory's newest meanwhile is not dismissed.

        Raises:
            NotFound: there is none of this id. As `Memories.update`: it stays as it is. OutcomeUnknown: it may be
            written, and still be listed; look, and dismiss it.
        """
        access, row = self._find(call, store_id, version_id)
        restored = self._write(call, access, row, full)
        if restored is not None and restored.version_id == version_id:
            return restored
        try:
            self._dismiss(access, row)
        except (Busy, NotFound, Unavailable) as error:
            raise in_doubt("the version is restored, but may still be listed", error, "dismiss it") from error
        return restored

    def dismiss(self, call: RequestContext, store_id: str, version_id: str) -> str:
        """Erase it in every region, by an order as for a redaction. An index read and the order, or an invocation.

        Raises:
            NotFound: there is none of this id, or no more. Unavailable, OutcomeUnknown: repeat it.
            Unauthenticated, PermissionDenied.
        """
        access, row = self._find(call, store_id, version_id)
        self._dismiss(access, row)
        return version_id

    def dismiss_at_home(self, store: StoreRow, request: Mapping[str, Any]) -> Redaction:
        """Put the order; return the one that holds, which may have been there first.

        The home decides whether the version is still divergent: the region where the call landed may not know that it
        was replayed, or made to count by a later epoch, or be the home only since it looked. One index read.

        Raises:
            NotFound: it is in its memory's history by now. Otherwise as `Redactions.give`.
        """
        key = VersionRow.key(store.store_id, request["version_id"])
        memory_key = MemoryRow.key(store.store_id, request.get("memory_id") or "-")
        late_key = VersionRow.late_key(store.store_id, request["version_id"])
        view = self._region.view([StoreRow.key(store.store_id), key, memory_key, late_key])
        store = stored_record(view, store)
        adopted = VersionRow.from_attributes(view.rows[key]) if key in view.rows else None
        head = MemoryRow.from_attributes(view.rows[memory_key]) if memory_key in view.rows else None
        is_head = head is not None and head.version_id == request["version_id"]
        counts = None if adopted is None else adopted.position
        if is_head or (counts is not None and (counts != request["position"] or late_key not in view.rows)):
            raise NotFound("divergent_version", request["version_id"])
        order = Redaction(
            store.store_id,
            request["version_id"],
            request["position"],
            self._region.clock.now_us(),
            request["actor"],
        )
        return self._redactions.give(view, store, order)

    def _dismiss(self, access: StoreAccess, row: VersionRow) -> None:
        request = {
            "store_id": row.store_id,
            "version_id": row.version_id,
            "memory_id": row.memory_id or "",
            "position": row.position or "",
            "actor": access.actor,
        }
        head = self._head(access.view, row)
        seen = [] if head is None else [head.ref.slot.epoch]
        store, answer = self._forwarding.reach(access.view, access.store, {"call": "dismiss", **request}, seen)
        if answer is None:
            self.dismiss_at_home(store, request)
        else:
            self._redactions.fold_given(access.view, Redaction.from_json(answer["order"].encode()))

    def _write(self, call: RequestContext, access: StoreAccess, row: VersionRow, full: bool) -> Memory | None:
        store_id, head = row.store_id, self._head(access.view, row)
        if row.operation == Operation.DELETED:
            if head is not None:
                self._memories.delete(
                    call,
                    store_id,
                    head.memory_id,
                    expected_content_sha256=head.content_sha256,
                    expected_version_id=head.version_id,
                )
            return None
        entry, content = self._text(row)
        origin = Origin(at_most=entry.trust, restored=True)
        if head is None:
            if row.path is None:
                raise InvalidRequest("version_id", "has no path any more")
            return self._memories.create(call, store_id, path=row.path, content=content, full=full, origin=origin)
        return self._memories.update(
            call,
            store_id,
            head.memory_id,
            content=content,
            path=row.path if entry.operation is Operation.MOVED_IN else None,
            expected_content_sha256=head.content_sha256,
            full=full,
            origin=origin,
            expected_version_id=head.version_id,
        )

    # ---- rows and texts -----------------------------------------------------------------------------------------

    def _find(self, call: RequestContext, store_id: str, version_id: str) -> tuple[StoreAccess, VersionRow]:
        if ids.VERSION.fullmatch(version_id) is None:
            self._authorizer.enter_store(call, Scope.admin, store_id)
            raise NotFound("divergent_version", version_id)
        key = VersionRow.late_key(store_id, version_id)
        access = self._authorizer.enter_store(call, Scope.admin, store_id, [key])
        attributes = access.view.rows.get(key)
        row = None if attributes is None else VersionRow.from_attributes(attributes)
        if row is None or row.blank:
            self._region.require_whole(access.view, "versions")
            raise NotFound("divergent_version", version_id)
        return access, row

    def _rows(self, view: View, store_id: str, after: str | None) -> Iterator[VersionRow]:
        """Yield those that are not dismissed: a dismissed one leaves a blank row."""
        mark = None if after is None else f"{LATE_PREFIX}{after}"
        query = Query("versions", store_id, prefix=LATE_PREFIX, after=mark, limit=ROWS_PER_QUERY)
        return (row for row in rows_of(view.index, query, VersionRow) if not row.blank)

    def _head(self, view: View, row: VersionRow) -> MemoryRow | None:
        key = MemoryRow.key(row.store_id, row.memory_id or "-")
        attributes = self._region.read(view.index, [key]).get(key)
        head = None if attributes is None else MemoryRow.from_attributes(attributes)
        return head if is_live(head) else None

    def _text(self, row: VersionRow) -> tuple[Entry, str]:
        found = self._texts.entry(row.store_id, row.ref, Acknowledged(row.content_sha256 or "", row.version_id))
        if found is None:
            raise NotFound("divergent_version", row.version_id)
        return found


def _answer(row: VersionRow, text: TextView | None = None, current: Memory | None = None) -> DivergentVersion:
    """Make what the API calls a divergent_version."""
    return DivergentVersion(
        row.store_id,
        row.version_id,
        row.memory_id or "",
        row.operation or "",
        row.path,
        row.content_sha256,
        row.content_size_bytes,
        row.created_at or 0,
        row.created_by or "",
        content=None if text is None else text.content,
        withheld=None if text is None else text.withheld,
        current=current,
    )
