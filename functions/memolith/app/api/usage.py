"""Uses of memories: citations as sessions report them, counts of what transcripts say was used, and who sees them.

    transcripts of sessions -> parts that are not counted yet -> memories by their paths -> the next record of counts

Off unless the store's policy says ``usage: count``. What is counted puts a memory behind others that are as good, and
never out of the store. See docs/adr/0074-uses-are-counted-from-transcripts.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memolith.app.api.transcripts import EventDraft, TranscriptReceipt, Transcripts
from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.index.path_listing import PathListing
from memolith.app.index.transcript_log import TranscriptLog
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import Page, RequestContext
from memolith.app.pipelines.job_log import epoch_number
from memolith.app.pipelines.usage_log import UsageLog
from memolith.core.errors import Damaged, InvalidRequest
from memolith.core.listing import PATH_POSITION, check_position
from memolith.core.object_keys import TranscriptKey
from memolith.core.objects.transcript import Event
from memolith.core.objects.usage_record import MemoryUse, UsageRecord
from memolith.core.pipelines.policy import PipelinesPolicy
from memolith.core.pipelines.usage import CITED, Use, counted, is_unused, uses
from memolith.core.rows.content import MemoryRow, PathRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.transcripts import TranscriptRow
from memolith.core.times import is_due
from memolith.core.transcripts import counting

EVERY_US = 6 * 3_600_000_000
"""How often uses are counted at most: days are what matters."""

PARTS_PER_COUNT = 200
"""Parts of transcripts that are read for one record of counts; the others for the next."""


@dataclass(frozen=True, slots=True)
class Citation:
    """One memory that helped, by its path in the store; lines and note are kept with the transcript."""

    path: str
    line_start: int | None = None
    line_end: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class UsedMemory:
    """A memory that is there, how often it was used, and whether it counts as unused now.

    `counted_since` is None where no uses of the store are counted, or none was counted yet.
    """

    row: MemoryRow
    use: MemoryUse
    is_unused: bool
    counted_since: int | None


class MemoryUses:
    """The use cases of a caller: to cite, for whoever may record events of the session; to see what was used."""

    def __init__(
        self, region: Region, authorizer: Authorizer, transcripts: Transcripts, listing: PathListing, log: UsageLog
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._transcripts = transcripts
        self._listing = listing
        self._log = log

    def cite(
        self,
        call: RequestContext,
        session_id: str,
        citations: Sequence[Citation],
        *,
        store_id: str | None = None,
        message_id: str = "",
    ) -> TranscriptReceipt:
        """Record in the session's transcript which memories helped. A memory is cited once with a message, or without.

        Costs and raises as `Transcripts.record`; InvalidRequest also for lines that end before they start.
        """
        drafts = []
        for number, one in enumerate(citations):
            if one.line_end is not None and one.line_end < (one.line_start or 1):
                raise InvalidRequest(f"entries.{number}.line_end", "must not be before line_start")
            named = "\n".join([message_id, store_id or "", one.path])
            said = {
                "path": one.path,
                "memory_store_id": store_id,
                "line_start": one.line_start,
                "line_end": one.line_end,
                "note": one.note,
            }
            fields = {name: value for name, value in said.items() if value is not None}
            drafts.append(EventDraft(CITED, fields, f"citation-{hashlib.sha256(named.encode()).hexdigest()}"))
        return self._transcripts.record(call, session_id, drafts, store_id=store_id)

    def page(
        self, call: RequestContext, store_id: str, *, unused: bool, limit: int, after: str | None
    ) -> Page[UsedMemory]:
        """List live memories with their uses, in the order of their paths; `unused`: only those, so pages may be short.

        Two index reads, a query, and, where uses are counted, a LIST and a GET once a minute.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        check_position(after, PATH_POSITION)
        access = self._authorizer.enter_store(call, Scope.read, store_id)
        access.view.require_complete()
        policy = PipelinesPolicy.of(access.store.pipelines)
        usage = self._log.recent(access.store) if policy.counts_uses else None
        listed, more = self._listing.page(access.view, store_id, "/", 0, limit, after)
        now_us = self._region.clock.now_us()
        found = []
        for line in listed:
            if line.row is None:
                continue
            use = MemoryUse() if usage is None else usage.memories.get(line.row.memory_id, MemoryUse())
            old = is_unused(usage, line.row.memory_id, line.row.updated_at, policy.unused_days, now_us)
            if old or not unused:
                found.append(UsedMemory(line.row, use, old, None if usage is None else usage.began_at))
        return Page(tuple(found), listed[-1].after if more and listed else None)


@dataclass(frozen=True, slots=True)
class Heard:
    """What is recorded of one session: its id, and the rows of its transcript."""

    session_id: str
    parts: Sequence[TranscriptRow]


class UsageCounts:
    """Counts the uses of a store whose home this region is. Each part of a transcript is counted once."""

    def __init__(self, region: Region, transcripts: TranscriptLog, log: UsageLog) -> None:
        self._region = region
        self._transcripts = transcripts
        self._log = log

    def is_due(self, store: StoreRow) -> bool:
        """Tell whether it is long enough since the last record. A LIST and a GET, once a minute."""
        state = self._log.recent(store)
        return state is None or is_due(state.at, self._region.clock.now_us(), EVERY_US)

    def count(self, view: View, store: StoreRow, sessions: Sequence[Heard]) -> int | None:
        """Count what was recorded since the last record; return how many uses. None where nothing was, or another did.

        The first record is put all the same: it says since when uses are counted. A LIST and a GET; for what is new a
        GET for each part, an index read, and a PUT. Sessions that are not given are forgotten, and so is where they
        were counted to.

        Raises:
            Unavailable, Busy, OutcomeUnknown: nothing is counted, or it is; the next look goes on from there.
        """
        now_us = self._region.clock.now_us()
        state, sequence = self._log.state(store)
        before = state or UsageRecord(store.store_id, 1, 0, now_us, now_us)
        cursors: dict[str, Mapping[str, int]] = {}
        fresh: list[tuple[Sequence[TranscriptRow], set[str]]] = []
        left = PARTS_PER_COUNT
        for one in sessions:
            was = before.cursors.get(one.session_id, {})
            parts = list(_after(one.parts, was))[:left]
            left -= len(parts)
            fresh.append((parts, _counted_before(one.parts, was)))
            ends = {**was, **{row.region: row.sequence for row in parts}}
            if ends:
                cursors[one.session_id] = ends
        if state is not None and left == PARTS_PER_COUNT:
            return None
        found = list(self._resolved(view, store, [use for parts, past in fresh for use in self._uses(parts, past)]))
        record = counted(
            before,
            found,
            epoch=epoch_number(store),
            sequence=sequence,
            at=now_us,
            cursors=cursors,
        )
        return len(found) if self._log.put(record) else None

    def _uses(self, parts: Sequence[TranscriptRow], past: Collection[str]) -> Iterator[Use]:
        """Yield what the events of a session's new parts say that was used, each event once.

        An event that has its id's end in `past` was counted before. A listing shows it in the part that was recorded
        first; that part may have arrived last. A part that cannot be read is passed over.
        """
        counts_in = counting(parts)
        for row in parts:
            if row.erased_at is not None or not row.events:
                continue
            key = TranscriptKey(row.region, row.workspace_id, row.session_id, row.sequence)
            events: Sequence[Event] = ()
            with suppress(Damaged):
                events = self._transcripts.read(key).events
            for event in events:
                if event.id_end not in past and counts_in.get(event.id_end) == (row.region, row.sequence):
                    yield from uses(event)

    def _resolved(self, view: View, store: StoreRow, found: Sequence[Use]) -> Iterator[tuple[str, Use]]:
        """Yield each use of a memory that is at its path now, by the memory's id.

        Raises Unavailable where the table of paths was emptied: what finds no memory is not looked at again.
        """
        here = [use for use in found if use.store_id in (None, store.store_id)]
        keys = {place: PathRow.key(store.store_id, place) for use in here for place in use.places}
        rows = self._region.read_whole(view, list(keys.values()), "paths") if keys else {}
        memories = {
            place: memory_id
            for place, key in keys.items()
            if key in rows and (memory_id := PathRow.from_attributes(rows[key]).memory_id) is not None
        }
        for use in here:
            memory_id = next((memories[place] for place in use.places if place in memories), None)
            if memory_id is not None:
                yield memory_id, use


def _counted_before(parts: Sequence[TranscriptRow], cursor: Mapping[str, int]) -> set[str]:
    """Return the ends of the ids of all events in the parts up to a cursor."""
    return {end for row in parts if row.sequence <= cursor.get(row.region, 0) for end in row.ids}


def _after(parts: Sequence[TranscriptRow], cursor: Mapping[str, int]) -> Iterator[TranscriptRow]:
    """Yield the parts after a cursor, each region's without a gap: what has not arrived is counted when it has."""
    ends = dict(cursor)
    for row in sorted(parts, key=lambda row: (row.region, row.sequence)):
        if row.sequence == ends.get(row.region, 0) + 1:
            ends[row.region] = row.sequence
            yield row
