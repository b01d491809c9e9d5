"""Resolving a conflict: a person says which of two statements holds, or that both do. No machine does.

The decision changes no memory and hides nothing: it takes the conflict off the list of what is open, for as long as
both statements say what they said. It is put once, at the store's home.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memolith.app.api.proposals import require_person
from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.commit.forwarding import Forwarding
from memolith.app.epochs.fence import Fence, require_writing_home, stored_record
from memolith.app.kernel.conflict_results import Resolution, to_resolution
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import RequestContext
from memolith.app.proposals.resolution_log import ResolutionLog
from memolith.app.safety.text_access import TextReader
from memolith.app.search.packs import Heads
from memolith.core import ids
from memolith.core.errors import InvalidRequest, NotFound, Unavailable, in_doubt
from memolith.core.graph.disputes import Version, conflicts_between
from memolith.core.graph.note import is_note, parse
from memolith.core.integrity import Acknowledged
from memolith.core.log_position import Epoch
from memolith.core.objects.resolution_record import ResolutionRecord
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.resolutions import ResolutionRow

BOTH = "both"
_LIST_AGAIN = "list the conflicts again"


class ConflictResolutions:
    """The use case of resolving, and what of it is done at a store's home."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        forwarding: Forwarding,
        fence: Fence,
        log: ResolutionLog,
        heads: Heads,
        texts: TextReader,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._forwarding = forwarding
        self._fence = fence
        self._log = log
        self._heads = heads
        self._texts = texts

    def resolve(
        self, call: RequestContext, store_id: str, conflict_id: str, *, version_ids: Sequence[str], keep: str
    ) -> Resolution:
        """Decide about a conflict, as it was listed: for one of its statements, or that ``both`` stand. Repeatable.

        `version_ids` are those of both sides: of a memory that was changed since, nothing is decided. At home two index
        reads, a GET for each side and each home that the store had before, a PUT and a transaction; elsewhere one
        invocation.

        Raises:
            PermissionDenied: neither an admin's key nor a person's.
            InvalidRequest: it is resolved otherwise, or is none between these versions. NotFound: there is no such id.
            Busy, Unavailable, OutcomeUnknown; Unauthenticated.
        """
        is_id = ids.CONFLICT.fullmatch(conflict_id) is not None
        place = ResolutionRow.key(store_id, conflict_id if is_id else "-")
        access = self._authorizer.enter_store(call, Scope.write, store_id, [place])
        require_person(call, access, "resolve a conflict")
        if not is_id:
            raise NotFound("conflict", conflict_id)
        if keep != BOTH and ids.STATEMENT.fullmatch(keep) is None:
            raise InvalidRequest("keep", f"must be the statement_id of one side, or {BOTH!r}")
        if len(version_ids) != 2 or any(ids.VERSION.fullmatch(id) is None for id in version_ids):
            raise InvalidRequest("memory_version_ids", "must be the memory_version_id of both sides")
        request: dict[str, Any] = {"store_id": store_id, "conflict_id": conflict_id, "actor": access.actor}
        request |= {"version_ids": list(version_ids), "keep": keep}
        known = access.view.rows.get(place)
        seen = [] if known is None else [Epoch.parse(ResolutionRow.from_attributes(known).record.epoch)]
        payload = {"call": "resolve_conflict", **request}
        store, answer = self._forwarding.reach(access.view, access.store, payload, seen)
        if answer is None:
            return to_resolution(self.resolve_at_home(store, request))
        record = ResolutionRecord.from_json(answer["record"].encode())
        try:
            self._log.fold(access.view, record)
        except Unavailable as error:
            message = f"{conflict_id} was resolved at its home, but not every index says so yet"
            raise in_doubt(message, error) from error
        return to_resolution(record)

    def resolve_at_home(self, store: StoreRow, request: Mapping[str, Any]) -> ResolutionRecord:
        """Put the decision, if there is none yet; return the one that holds. Repeatable.

        Raises:
            InvalidRequest, NotFound; Busy, Unavailable: nothing was done. OutcomeUnknown: repeat the call.
        """
        store_id, conflict_id = store.store_id, request["conflict_id"]
        place = ResolutionRow.key(store_id, conflict_id)
        versions = [VersionRow.key(store_id, id) for id in request["version_ids"]]
        view = self._region.view([StoreRow.key(store_id), place, *dict.fromkeys(versions)])
        store = self._own(view, store)
        if place in view.rows:
            return _agreed(ResolutionRow.from_attributes(view.rows[place]).record, request["keep"])
        earlier = self._log.of_earlier_homes(store, conflict_id)
        if earlier is not None:
            self._log.fold(view, earlier)
            return _agreed(earlier, request["keep"])
        rows = [VersionRow.from_attributes(view.rows[key]) for key in versions if key in view.rows]
        first, second = self._sides(view, store, rows)
        known = dict(conflicts_between(bytes.fromhex(store.salt), first, second))
        if conflict_id not in known:
            raise InvalidRequest("conflict_id", f"is no conflict between these versions; {_LIST_AGAIN}")
        statements = known[conflict_id]
        if request["keep"] not in (BOTH, *statements):
            raise InvalidRequest("keep", f"must be the statement_id of one side, or {BOTH!r}")
        draft = ResolutionRecord(
            store_id=store_id,
            conflict_id=conflict_id,
            epoch=store.epochs[-1],
            statement_ids=statements,
            memory_ids=(first.memory_id, second.memory_id),
            kept=None if request["keep"] == BOTH else request["keep"],
            at=self._region.clock.now_us(),
            by=request["actor"],
        )
        return _agreed(self._put(view, store, draft), request["keep"])

    def _own(self, view: View, store: StoreRow) -> StoreRow:
        row = stored_record(view, store)
        if row.is_deleted:
            raise NotFound("memory_store", row.store_id)
        require_writing_home(self._region.name, row)
        if row.archived_at is not None:
            raise InvalidRequest("memory_store_id", "the memory store is archived and takes no decisions")
        return row

    def _sides(self, view: View, store: StoreRow, versions: Sequence[VersionRow]) -> tuple[Version, Version]:
        """Read both texts. Raises InvalidRequest unless both are what their memories say now, and may be shown."""
        memory_ids = [row.memory_id or "" for row in versions]
        heads = self._heads.of(view, store, list(dict.fromkeys(memory_ids))) if len(versions) == 2 else {}
        current = [head for row in versions if (head := heads.get(row.memory_id or "")) is not None]
        if len(current) != 2 or any(
            head.version_id != row.version_id for head, row in zip(current, versions, strict=True)
        ):
            raise InvalidRequest("memory_version_ids", f"name a version that is no memory's present one; {_LIST_AGAIN}")
        first, second = map(self._side, current)
        return first, second

    def _side(self, head: MemoryRow) -> Version:
        version_id, path = head.version_id or "", head.path or ""
        text = self._texts.read(head.store_id, head.ref, Acknowledged(head.content_sha256 or "", version_id))
        if text is None or not is_note(path):
            raise InvalidRequest("memory_version_ids", f"name a text that was erased; {_LIST_AGAIN}")
        return Version(head.memory_id, version_id, path, parse(path, text))

    def _put(self, view: View, store: StoreRow, draft: ResolutionRecord) -> ResolutionRecord:
        """Put a record and project it; return the one that holds. Fenced, as any write of the home."""
        with self._fence.term(view, store, f"{draft.conflict_id} may be resolved", "repeat the call"):
            stored = self._log.put(draft)
            self._log.fold_own(view, stored)
        return stored


def _agreed(record: ResolutionRecord, keep: str) -> ResolutionRecord:
    """Return the decision that holds. Raises InvalidRequest where it is another than the caller's."""
    held = record.kept or BOTH
    if held != keep:
        raise InvalidRequest("conflict_id", f"the conflict is resolved already: {held}, by {record.by}")
    return record
