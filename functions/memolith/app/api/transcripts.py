"""Transcripts: what was said and done in a session, event by event, as whatever runs the agent reports it.

    events -> those that are new -> without their secrets -> one part, put in the region where the call landed

A part replicates like any other object, so that every region comes to have all of them, in one order. Nothing here has
a home: two regions write under keys of their own. An event that both were sent counts once.
See docs/adr/0045-a-transcript-is-parts-that-are-put-once.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from memolith.app.api.event_tail import SENT_MAX_BYTES, EventTail
from memolith.app.auth.authorizer import Access, Scope
from memolith.app.auth.session_access import SessionAccess
from memolith.app.index.transcript_log import TranscriptLog, has_order, is_ordered
from memolith.app.kernel.port_calls import require
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import Page, RequestContext
from memolith.app.log.conditional_put import Put
from memolith.app.safety.transcript_gate import TranscriptGate
from memolith.core.errors import Busy, Damaged, InvalidRequest, once_done
from memolith.core.limits import WRITE_ATTEMPTS
from memolith.core.object_keys import TRANSCRIPT_ERASURE, TranscriptKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.transcript import Event, TranscriptPart, event_id
from memolith.core.rows.identity import SessionRow
from memolith.core.rows.transcripts import TranscriptRow
from memolith.core.transcripts import after, before, counting, place, unrecorded

PARTS_PER_PAGE = 40
"""Read for one page of a listing: a filter that few events pass must not have all of them read."""


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event as its sender gives it; `at` in microseconds since 1970, None for now."""

    type: str
    fields: Mapping[str, Any]
    client_event_id: str | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class TranscriptReceipt:
    """What became of the events of one call: those that were recorded, in their order, and how many were already."""

    events: tuple[Event, ...]
    duplicates: int

    @property
    def redactions(self) -> int:
        """How many secrets were taken out of what was recorded."""
        return sum(event.redactions for event in self.events)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events a listing is to show; none of `types` shows all. Instants are inclusive."""

    types: tuple[str, ...] = ()
    at_gte: int | None = None
    at_lte: int | None = None
    descending: bool = False


class Transcripts:
    """The use cases of transcripts: for API keys that reach the session, and for the session's own token."""

    def __init__(self, region: Region, sessions: SessionAccess, log: TranscriptLog, gate: TranscriptGate) -> None:
        self._region = region
        self._sessions = sessions
        self._log = log
        self._gate = gate

    # ---- recording ----------------------------------------------------------------------------------------------

    def record(
        self,
        call: RequestContext,
        session_id: str,
        drafts: Sequence[EventDraft],
        *,
        live: bool = False,
        store_id: str | None = None,
    ) -> TranscriptReceipt:
        """Record those of the events that are not recorded yet; what their senders name the same is one event.

        Repeatable where every event has a `client_event_id`. `live`: refused once the session has ended; otherwise
        what happened before may still be reported. `store_id`: the store that the events name. All are recorded, or
        none.

        An index read, a query for a hundred parts; for what is new a PUT, an index read and write. A HEAD for each
        region where the index is incomplete, or lacks the session.

        Raises:
            InvalidRequest: the session has been ended, its transcript erased, or it has no such store. NotFound,
            PermissionDenied, Unauthenticated, Unavailable, Busy, OutcomeUnknown.
        """
        access, record, _ = self._sessions.enter(call, session_id, Scope.write)
        if live and record.archived_at is not None:
            raise InvalidRequest("session_id", "names a session that has been ended")
        if store_id is not None and not record.has_store(store_id):
            raise InvalidRequest("memory_store_id", "names no store of the session")
        rows = self._log.rows(access.view, record.workspace_id, session_id)
        if is_ordered(rows) or self._is_ordered_elsewhere(access.view, record):
            raise InvalidRequest("session_id", "names a session whose transcript was erased")
        events = self._events(session_id, drafts)
        known = [end for row in rows for end in row.ids]
        new = self._cleaned(unrecorded(events, known), access.trust)
        if new:
            last = max((row.sequence for row in rows if row.region == self._region.name), default=0)
            new = self._put(access, record, new, last)
        return TranscriptReceipt(tuple(new), len(events) - len(new))

    def _is_ordered_elsewhere(self, view: View, record: SessionRecord) -> bool:
        """Tell whether the bucket has an order to erase the transcript, where the rows may lack it.

        No call where the index is complete and has the session; as for its end (`SessionLog.ended_at`).
        """
        is_known = SessionRow.key(record.workspace_id, record.session_id) in view.rows
        return not (is_known and view.complete) and has_order(self._region, record.workspace_id, record.session_id)

    def _events(self, session_id: str, drafts: Sequence[EventDraft]) -> list[Event]:
        now_us = self._region.clock.now_us()
        return [
            Event(
                id=self._region.new_id("sevt")
                if draft.client_event_id is None
                else event_id(session_id, draft.client_event_id),
                type=draft.type,
                at=now_us if draft.at is None else min(draft.at, now_us),
                trust=None,
                fields=draft.fields,
                client_event_id=draft.client_event_id,
            )
            for draft in drafts
        ]

    def _cleaned(self, events: Sequence[Event], writer: str | None) -> list[Event]:
        if not events:
            return []
        named = [(event.type, {**event.fields, _NAME: event.client_event_id or ""}) for event in events]
        cleaned = self._gate.clean(named, writer)
        return [
            replace(
                event,
                trust=one.trust,
                fields={name: value for name, value in one.fields.items() if name != _NAME},
                client_event_id=one.fields.get(_NAME) or None,
                redactions=one.redactions,
            )
            for event, one in zip(events, cleaned, strict=True)
        ]

    def _put(self, access: Access, record: SessionRecord, events: list[Event], last: int) -> list[Event]:
        """Put the events as the part after the `last`; where another call was faster, those that it did not record."""
        for _ in range(WRITE_ATTEMPTS):
            last += 1
            key = TranscriptKey(self._region.name, record.workspace_id, record.session_id, last)
            part = TranscriptPart(
                workspace_id=record.workspace_id,
                session_id=record.session_id,
                recorded_at=self._region.clock.now_us(),
                recorded_by=access.actor,
                events=tuple(events),
            )
            if self._log.put(key, part) is Put.MINE:
                with once_done("the events were recorded, but are not indexed yet", "list them before trying again"):
                    self._log.fold(access.view, key, part.to_lines(), Named(str(key)), own=True)
                return events
            try:
                body = require(self._region.objects, str(key)).body
                self._log.fold(access.view, key, body, Named(str(key)))
                events = unrecorded(events, TranscriptPart.from_lines(body).id_ends)
            except (ValueError, Damaged):  # it cannot be read, and was passed over as the index was rebuilt
                continue
            if not events:
                return []
        raise Busy(f"others kept recording events of session {record.session_id}; try again")

    # ---- reading ------------------------------------------------------------------------------------------------

    def page(
        self, call: RequestContext, session_id: str, *, filter: EventFilter, limit: int, after: str | None
    ) -> Page[Event]:
        """List the events of a session that this region has, in their order; none of an erased transcript.

        An index read, a query for a hundred parts, an index read, and a GET for each part that the page needs, at most
        `PARTS_PER_PAGE` and those that reach over the place where the page begins. A page may be short, or empty, and
        be continued all the same. It ends before its events take more than `SENT_MAX_BYTES`, with one at least.

        Raises:
            Damaged: a part that the page needs cannot be read. NotFound, PermissionDenied, Unauthenticated,
            Unavailable.
        """
        access, record, _ = self._sessions.enter(call, session_id)
        rows = self._log.rows(access.view, record.workspace_id, session_id)
        self._region.require_whole(access.view, "keys")
        if is_ordered(rows):
            return Page((), None)
        parts = _Parts(rows, filter, after, self._log.read)
        found: list[tuple[str, Event]] = []
        size = 0
        for one in parts.events():
            size += one[1].size_bytes
            if found and (len(found) == limit or size > SENT_MAX_BYTES):
                return Page(tuple(event for _, event in found), found[-1][0])
            found.append(one)
        return Page(tuple(event for _, event in found), parts.stopped_at)

    def newest(self, access: Access, record: SessionRecord, most: int) -> list[Event]:
        """Return the newest events of a session, in their order, for a caller who was let in.

        A query for a hundred parts, an index read, and a GET for each part, at most `PARTS_PER_PAGE`. Raises
        Unavailable.
        """
        rows = self._log.rows(access.view, record.workspace_id, record.session_id)
        self._region.require_whole(access.view, "keys")
        if is_ordered(rows):
            return []
        parts = _Parts(rows, EventFilter(descending=True), None, self._log.read)
        return [event for _, event in islice(parts.events(), most)][::-1]

    def tail(self, call: RequestContext, session_id: str) -> EventTail:
        """Begin to wait for a session's events. An index read, a query for a hundred parts, an index read.

        Raises:
            NotFound, PermissionDenied, Unauthenticated, Unavailable.
        """
        access, record, _ = self._sessions.enter(call, session_id)
        rows = self._log.rows(access.view, record.workspace_id, session_id)
        self._region.require_whole(access.view, "keys")
        return EventTail(self._region.origins, self._sessions, self._log, call, record, rows)

    # ---- erasing ------------------------------------------------------------------------------------------------

    def erase(self, access: Access, record: SessionRecord) -> None:
        """Order that the session's transcript is erased, in every region, and what of it is still to come. Repeatable.

        A PUT, an index read and write, here; each region's indexer has its eraser carry it out.

        Raises:
            Unavailable, OutcomeUnknown.
        """
        key = TranscriptKey(self._region.name, record.workspace_id, record.session_id, TRANSCRIPT_ERASURE)
        now_us = self._region.clock.now_us()
        order = TranscriptPart(
            workspace_id=record.workspace_id,
            session_id=record.session_id,
            recorded_at=now_us,
            recorded_by=access.actor,
            erased_at=now_us,
        )
        is_mine = self._log.put(key, order) is Put.MINE
        body = order.to_lines() if is_mine else require(self._region.objects, str(key)).body
        with once_done("the transcript's erasure was ordered, but is not indexed yet", "repeat the call"):
            self._log.fold(access.view, key, body, Named(str(key)), own=True)


_NAME = "client_event_id"
"""The sender's name of an event is read for secrets beside its fields."""


class _Parts:
    """The parts of one session, read only as far as their events are needed."""

    def __init__(
        self,
        rows: Sequence[TranscriptRow],
        filter: EventFilter,
        position: str | None,
        read: Callable[[TranscriptKey], TranscriptPart],
    ) -> None:
        self._filter = filter
        self._position = position
        self._read = read
        self._counts_in = counting(rows)
        live = [row for row in rows if row.erased_at is None and row.first_at is not None and self._may_show(row)]
        self._rows = sorted(live, key=self._first_place, reverse=filter.descending)
        self.stopped_at: str | None = None

    def events(self) -> Iterator[tuple[str, Event]]:
        """Yield events and their places, in order. Stops after `PARTS_PER_PAGE` parts; `stopped_at` says where.

        Parts that begin before the place where the listing goes on do not count: the next page begins behind them only
        once all of them were read beside others.
        """
        waiting: list[tuple[str, Event]] = []
        most = PARTS_PER_PAGE + self._begun
        for number, row in enumerate(self._rows):
            bound = self._first_place(row)
            while waiting and self._comes_first(waiting[-1][0], bound):
                yield waiting.pop()
            if number == most:
                self.stopped_at = bound
                return
            waiting += self._events_of(row)
            waiting.sort(key=lambda one: one[0], reverse=not self._filter.descending)
        while waiting:
            yield waiting.pop()

    def _events_of(self, row: TranscriptRow) -> Iterator[tuple[str, Event]]:
        key = TranscriptKey(row.region, row.workspace_id, row.session_id, row.sequence)
        for number, event in enumerate(self._read(key).events):
            at = place(event.at, row.region, row.sequence, number)
            counts_here = self._counts_in.get(event.id_end) == (row.region, row.sequence)
            if counts_here and self._shows(event) and self._is_ahead(at):
                yield at, event

    def _first_place(self, row: TranscriptRow) -> str:
        """Return a place that none of the part's events comes before, in the direction of the listing."""
        if self._filter.descending:
            return after(row.last_at or 0, row.region, row.sequence)
        return before(row.first_at or 0, row.region, row.sequence)

    @property
    def _begun(self) -> int:
        """How many of the parts begin before the place where the listing goes on."""
        position = self._position
        return 0 if position is None else sum(self._comes_first(self._first_place(row), position) for row in self._rows)

    def _comes_first(self, place: str, bound: str) -> bool:
        return place > bound if self._filter.descending else place < bound

    def _is_ahead(self, place: str) -> bool:
        return self._position is None or self._comes_first(self._position, place)

    def _may_show(self, row: TranscriptRow) -> bool:
        first, last = row.first_at or 0, row.last_at or 0
        if self._position is not None:
            begins, ends = before(first, row.region, row.sequence), after(last, row.region, row.sequence)
            if (begins >= self._position) if self._filter.descending else (ends <= self._position):
                return False
        gte, lte = self._filter.at_gte, self._filter.at_lte
        return (gte is None or last >= gte) and (lte is None or first <= lte)

    def _shows(self, event: Event) -> bool:
        gte, lte = self._filter.at_gte, self._filter.at_lte
        return (
            (not self._filter.types or event.type in self._filter.types)
            and (gte is None or event.at >= gte)
            and (lte is None or event.at <= lte)
        )
