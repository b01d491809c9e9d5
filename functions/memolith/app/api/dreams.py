"""Dreams: consolidations of a store, asked for through the API, and done by `DreamRunner` at the store's home.

A call that lands elsewhere lets the caller in and makes the session there; the dream's records are the home's to put. A
dream has a session of its own, made with its caller's rights; it reads and writes as that session and can do no more
than that. Its output is a new store, made with the caller's rights too, or the input itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from memolith.app.api.sessions import Sessions
from memolith.app.api.stores import Stores
from memolith.app.auth.authorizer import Access, Authorizer, Scope
from memolith.app.auth.session_access import is_reached
from memolith.app.auth.session_log import record_of
from memolith.app.auth.session_tokens import READ_ONLY, READ_WRITE
from memolith.app.commit.forwarding import Forwarding
from memolith.app.epochs.fence import Fence, require_writing_home, stored_record
from memolith.app.kernel.batching import batches
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import Page, RequestContext, StoreToAttach
from memolith.app.pipelines.run_log import RunLog
from memolith.core import ids
from memolith.core.epochs import current_epoch, homes_of
from memolith.core.errors import Busy, Conflict, InvalidRequest, NotFound, Unavailable, once_done
from memolith.core.limits import STORE_NAME_MAX_CHARS, TOKEN_LIFETIME_MIN_S
from memolith.core.listing import check_position
from memolith.core.log_position import Epoch
from memolith.core.objects.run_record import CREATE_NEW, SCHEDULED, UPDATE_EXISTING, DreamStatus, RunRecord
from memolith.core.objects.store_record import StoreState
from memolith.core.pipelines.policy import PipelinesPolicy
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.dreams import DreamRow
from memolith.core.rows.identity import SessionRow, StoreRow

PUT_ATTEMPTS = 5
ROWS_PER_QUERY = 100
PAGES_MAX = 10
_POSITION = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}#drm_[a-z0-9]{1,40}_[0-7][0-9a-hjkmnp-tv-z]{25}", re.ASCII)

Change = Callable[[RunRecord, int], RunRecord | None]
"""What becomes of a dream at an instant; None where it is so already."""


@dataclass(frozen=True, slots=True)
class DreamRequest:
    """What a caller asks for; `model` is None for the one that the store's policy names."""

    store_id: str
    session_ids: Sequence[str]
    model: str | None = None
    speed: str | None = None
    instructions: str | None = None
    behavior: str = CREATE_NEW


@dataclass(frozen=True, slots=True)
class DreamFilter:
    """Which dreams a listing shows; bounds are exclusive."""

    include_archived: bool = False
    statuses: frozenset[str] = frozenset()
    created_at_gt: int | None = None
    created_at_lt: int | None = None

    def shows(self, record: RunRecord) -> bool:
        """Tell whether the listing has this dream."""
        return (
            (self.include_archived or record.archived_at is None)
            and (not self.statuses or record.status.value in self.statuses)
            and (self.created_at_gt is None or record.created_at > self.created_at_gt)
            and (self.created_at_lt is None or record.created_at < self.created_at_lt)
        )


class Dreams:
    """The use cases of dreams. API keys alone make and see them; a key of scope write makes, cancels and archives."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        stores: Stores,
        sessions: Sessions,
        runs: RunLog,
        forwarding: Forwarding,
        fence: Fence,
        enabled: bool,
    ) -> None:
        """Put it together. `enabled`: there is something in this deployment that does dreams."""
        self._region = region
        self._authorizer = authorizer
        self._stores = stores
        self._sessions = sessions
        self._runs = runs
        self._forwarding = forwarding
        self._fence = fence
        self._enabled = enabled

    def create(self, call: RequestContext, request: DreamRequest) -> RunRecord:
        """Begin a dream, and a store for its output unless that is the input. It runs later.

        Two index reads, what a session costs, for a new store what that costs, and a PUT and a transaction; where the
        store's home is elsewhere, an invocation.

        Raises:
            InvalidRequest: dreams are off here, or the store is archived. Conflict: another dream that updates the
                store is not over. NotFound: no such store or session. PermissionDenied, Unauthenticated, Unavailable,
                OutcomeUnknown.
        """
        if not self._enabled:
            raise InvalidRequest("", "dreams are off in this deployment: it has no worker that runs them")
        access, store = self._enter_inputs(call, request)
        if store.state == StoreState.MOVING:  # before anything is made that each new try would make once more
            require_writing_home(store.home, store)
        output = store.store_id
        if request.behavior == UPDATE_EXISTING:
            self._require_alone(access.view, access.workspace_id, output)
        if request.behavior == CREATE_NEW:
            name = f"{store.name} (dream)"[:STORE_NAME_MAX_CHARS]
            output = self._stores.create(call, name=name, description=store.description, metadata={}).id
        attached = [StoreToAttach(store.store_id, READ_WRITE if output == store.store_id else READ_ONLY, "")]
        if output != store.store_id:
            attached.append(StoreToAttach(output, READ_WRITE, ""))
        with nullcontext() if output == store.store_id else _left(output):
            session = self._sessions.create(
                call, attached, title=f"dream of {store.store_id}", metadata={}, token_lifetime_s=TOKEN_LIFETIME_MIN_S
            )
        record = RunRecord(
            workspace_id=access.workspace_id,
            store_id=store.store_id,
            run_id=self._region.new_regional_id("drm"),
            sequence=1,
            status=DreamStatus.PENDING,
            created_at=self._region.clock.now_us(),
            created_by=access.actor,
            model=request.model or PipelinesPolicy.of(store.pipelines).model,
            speed=request.speed,
            behavior=request.behavior,
            output_store_id=output,
            session_id=session.record.session_id,
            session_ids=tuple(sorted(request.session_ids)),
            key_ids=() if session.record.key_id is None else (session.record.key_id,),
            instructions=request.instructions,
        )
        with _left(record.session_id if output == store.store_id else output):
            return self._at_home(access.view, store, "begin", record)

    def begin_unasked(
        self, view: View, store: StoreRow, *, session_ids: Sequence[str], model: str, behavior: str
    ) -> RunRecord:
        """Begin a dream that the store's own policy asks for, here at its home; `behavior` makes no new store.

        What a session costs, a PUT and a transaction. Raises Unavailable, OutcomeUnknown.
        """
        session = self._sessions.create_unasked(view, store, title=f"dream of {store.store_id}", created_by=SCHEDULED)
        record = RunRecord(
            workspace_id=store.workspace_id,
            store_id=store.store_id,
            run_id=self._region.new_regional_id("drm"),
            sequence=1,
            status=DreamStatus.PENDING,
            created_at=self._region.clock.now_us(),
            created_by=SCHEDULED,
            model=model,
            behavior=behavior,
            output_store_id=store.store_id,
            session_id=session.session_id,
            session_ids=tuple(sorted(session_ids)),
        )
        return self._begun(view, store, record)

    def _require_alone(self, view: View, workspace_id: str, store_id: str, own: str | None = None) -> None:
        """Raise Conflict where a dream updates the store, other than `own`, which a copy of the call may have begun."""
        for run in self._runs.open_runs(view, workspace_id):
            if run.store_id == store_id and run.behavior == UPDATE_EXISTING and run.run_id != own:
                raise Conflict(f"dream {run.run_id} updates this memory store and is not over; wait, or cancel it")

    def _at_home(self, view: View, store: StoreRow, change: str, record: RunRecord) -> RunRecord:
        """Have the store's home put the next record of a dream, and project it here."""
        payload = {
            "call": "dream",
            "change": change,
            "store_id": record.store_id,
            "run_id": record.run_id,
            "record": record.to_json().decode() if change == "begin" else None,
        }
        # A record does not say in which epoch it was put. A home that the store's record does not name is a later one.
        is_unheard_of = record.home in self._region.regions and record.home not in homes_of(store)
        later = [Epoch(current_epoch(store).number + 1, record.home)] if is_unheard_of else []
        store, answer = self._forwarding.reach(view, store, payload, later)
        if answer is None:
            if change == "begin":
                return self._begun(view, store, record)
            return self._changed(view, store, record, _CHANGES[change])
        changed = RunRecord.from_json(answer["record"].encode())
        with once_done(f"what was asked of {changed.run_id} was done at its home, but is not indexed here"):
            self._runs.fold(view, changed, store.home)
        return changed

    def change_at_home(self, store: StoreRow, asked: Mapping[str, Any]) -> RunRecord:
        """Do what another region's writer, which let the caller in, asks for. An index read, a PUT and a transaction.

        For a dream that is there already, also a LIST for each home that the store had before; of a beginning that
        the network repeats, the index read and a GET alone.

        Raises:
            Conflict, InvalidRequest, NotFound, Busy, Unavailable, OutcomeUnknown.
        """
        key = DreamRow.key(asked["run_id"])
        view = self._region.view([StoreRow.key(store.store_id), key])
        store = stored_record(view, store)
        known = DreamRow.from_attributes(view.rows[key]).parsed if key in view.rows else None
        if asked["change"] == "begin":
            if known is not None:  # the network repeats the call
                return self._whole(known)
            record = RunRecord.from_json(asked["record"].encode())
            if record.behavior == UPDATE_EXISTING:
                self._require_alone(view, store.workspace_id, store.store_id, record.run_id)
            return self._begun(view, store, replace(record, workspace_id=store.workspace_id, store_id=store.store_id))
        if known is None or known.store_id != store.store_id:
            raise NotFound("dream", asked["run_id"])
        return self._changed(view, store, known, _CHANGES[asked["change"]])

    def _begun(self, view: View, store: StoreRow, record: RunRecord) -> RunRecord:
        if not self._put(view, store, record):
            raise Unavailable("a dream of this id is there already; try again")
        return record

    def _put(self, view: View, store: StoreRow, record: RunRecord) -> bool:
        """Put a record as the store's home, in its present term; a deleted store gets no other home. As `RunLog.put`.

        Raises as `RunLog.put` and `Fence.term`.
        """
        doubt = f"what was asked of {record.run_id} may be done"
        with nullcontext() if store.state == StoreState.DELETED else self._fence.term(view, store, doubt):
            return self._runs.put(view, store, record)

    def _enter_inputs(self, call: RequestContext, request: DreamRequest) -> tuple[Access, StoreRow]:
        """Let the caller in to what the dream is to read."""
        keys = [StoreRow.key(request.store_id)] if ids.STORE.fullmatch(request.store_id) else []
        access = self._authorizer.enter(call, Scope.write, keys)
        store = self._authorizer.store(access.view, request.store_id, access.workspace_id)
        if not access.reaches(store.store_id):
            raise NotFound("memory_store", request.store_id)
        if store.archived_at is not None:
            raise InvalidRequest("inputs", "names an archived memory store")
        if not PipelinesPolicy.of(store.pipelines).may_dream:
            raise InvalidRequest("inputs", "names a memory store whose `pipelines` policy allows no dreams")
        rows = [SessionRow.key(access.workspace_id, one) for one in request.session_ids]
        found = self._region.read(access.view.index, rows) if rows else {}
        for key, session_id in zip(rows, request.session_ids, strict=True):
            record = record_of(SessionRow.from_attributes(found[key])) if key in found else None
            if record is None or not is_reached(access, record):
                raise NotFound("session", session_id)
        return access, store

    def retrieve(self, call: RequestContext, run_id: str) -> RunRecord:
        """Return a dream. One index read, and a GET for what its caller wrote; for a limited key what `_visible` costs.

        Raises NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        access, record = self._find(call, Scope.read, run_id)
        return self._visible(access, [self._whole(record)])[0]

    def page(self, call: RequestContext, *, filter: DreamFilter, limit: int, after: str | None) -> Page[RunRecord]:
        """List the workspace's dreams that the caller's key reaches, the newest first.

        An index read, a query for a hundred, and a GET for each that is shown; for a limited key what `_visible` costs.
        A page may be short where many are filtered out, and be continued all the same.

        Raises:
            InvalidRequest, Unavailable; Unauthenticated, PermissionDenied.
        """
        check_position(after, _POSITION)
        access = self._authorizer.enter(call, Scope.read, marked=["keys"])
        found: list[RunRecord] = []
        position = after
        for _ in range(PAGES_MAX):
            records = self._runs.newest(access.view, access.workspace_id, position, ROWS_PER_QUERY)
            for record in records:
                if filter.shows(record) and _is_reached(access, record):
                    if len(found) == limit:
                        return Page(self._visible(access, map(self._whole, found)), DreamRow.position(found[-1].run_id))
                    found.append(record)
                position = DreamRow.position(record.run_id)
            if len(records) < ROWS_PER_QUERY:
                self._region.require_whole(access.view, "keys")
                return Page(self._visible(access, map(self._whole, found)), None)
        return Page(self._visible(access, map(self._whole, found)), position)

    def cancel(self, call: RequestContext, run_id: str) -> RunRecord:
        """Cancel a dream that is not over; one that was canceled stays as it is. What it has written stays, too.

        Two index reads, a PUT and a transaction, and a LIST for each home that the store had before; where the store's
        home is elsewhere, an invocation; for a limited key what `_visible` costs.

        Raises:
            InvalidRequest: it is completed or failed. NotFound, Busy, Unavailable, OutcomeUnknown.
        """
        return self._change(call, run_id, "cancel")

    def archive(self, call: RequestContext, run_id: str) -> RunRecord:
        """Archive a dream that is over. Repeatable. Costs and raises as `cancel`."""
        return self._change(call, run_id, "archive")

    def _change(self, call: RequestContext, run_id: str, change: str) -> RunRecord:
        access, record = self._find(call, Scope.write, run_id)
        key = StoreRow.key(record.store_id)
        rows = self._region.read(access.view.index, [key])
        store = self._authorizer.store(
            replace(access.view, rows=rows), record.store_id, access.workspace_id, deleted=True
        )
        return self._visible(access, [self._at_home(access.view, store, change, record)])[0]

    def _changed(self, view: View, store: StoreRow, record: RunRecord, change: Change) -> RunRecord:
        """Put what becomes of a dream, after all that is in this bucket of it, also of the store's former homes."""
        record = self._runs.caught_up(view, store, record)
        taken = 0
        for _ in range(PUT_ATTEMPTS):
            record = self._whole(record)
            changed = change(record, self._region.clock.now_us())
            if changed is None:
                return record
            changed = replace(changed, sequence=max(record.sequence, taken) + 1)
            if self._put(view, store, changed):
                return changed
            record, taken = self._runs.overtaken(view, changed)
        raise Busy("the dream kept changing; try again")

    def _find(self, call: RequestContext, scope: Scope, run_id: str) -> tuple[Access, RunRecord]:
        is_id = ids.DREAM.fullmatch(run_id) is not None
        key = DreamRow.key(run_id)
        access = self._authorizer.enter(call, scope, [key] if is_id else [], marked=["keys"])
        attributes = access.view.rows.get(key)
        if attributes is None:
            if is_id:
                self._region.require_whole(access.view, "keys")
            raise NotFound("dream", run_id)
        record = DreamRow.from_attributes(attributes).parsed
        if record.workspace_id != access.workspace_id or not _is_reached(access, record):
            raise NotFound("dream", run_id)
        return access, record

    def _visible(self, access: Access, records: Iterable[RunRecord]) -> tuple[RunRecord, ...]:
        """Return dreams without the ids of sessions that the caller's key does not reach: to it there are none.

        No call for a key without a limit; otherwise an index read for each hundred sessions.
        """
        found = tuple(records)
        if access.sees_all_stores:
            return found
        named = dict.fromkeys(SessionRow.key(access.workspace_id, id) for one in found for id in one.session_ids)
        rows: dict[RowKey, Attributes] = {}
        for some in batches(named, ROWS_PER_QUERY):
            rows |= self._region.read(access.view.index, some)
        reached = {
            key.sk for key, row in rows.items() if is_reached(access, record_of(SessionRow.from_attributes(row)))
        }
        return tuple(one.naming(reached) for one in found)

    def _whole(self, record: RunRecord) -> RunRecord:
        """Return a record with what its caller wrote, and what its edits rest on, which no row has."""
        return self._runs.whole(record)


def _is_reached(access: Access, record: RunRecord) -> bool:
    """Tell whether the caller's key reaches the store that a dream reads and the one that it writes."""
    return access.reaches(record.store_id, record.output_store_id)


def _left(made: str) -> AbstractContextManager[None]:
    """Translate errors once something was made for a dream: the SDK would send the call again, and make another."""
    return once_done(f"no dream began, but {made} was made for it", "delete that before trying again")


def _canceled(record: RunRecord, now_us: int) -> RunRecord | None:
    if record.status is DreamStatus.CANCELED:
        return None
    if not record.status.is_open:
        raise InvalidRequest("dream_id", f"names a dream that is {record.status} already")
    return replace(record, status=DreamStatus.CANCELED, ended_at=now_us, claim="")


def _archived(record: RunRecord, now_us: int) -> RunRecord | None:
    if record.archived_at is not None:
        return None
    if record.status.is_open:
        raise InvalidRequest("dream_id", f"names a dream that is {record.status}; cancel it, or wait")
    return replace(record, archived_at=now_us)


_CHANGES: Mapping[str, Change] = {"cancel": _canceled, "archive": _archived}
