"""What arrives of a session's events while a caller waits for it.

A stream has what is recorded here, or arrives here, from the moment on at which it was opened, and nothing of before:
that is listed. It goes by parts that have come, and not by the times that events have, as an event may be reported, or
be replicated, long after it happened.
See docs/adr/0083-a-stream-has-what-arrives-while-it-is-open.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from memolith.app.auth.session_access import SessionAccess
from memolith.app.index.transcript_log import TranscriptLog, is_ordered
from memolith.app.kernel.results import RequestContext
from memolith.core.object_keys import TranscriptKey
from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.transcript import Event, event_id
from memolith.core.rows.transcripts import TranscriptRow
from memolith.core.transcripts import counting, place

PARTS_MAX = 20
SENT_MAX_BYTES = 1_500_000
"""Parts that one look reads, and what they may take; the rest follows at the next. A page of a listing has as much.
A function answers 6 MB at most, in which a character beyond ASCII takes three and a half times as much as here.
"""

ENDED = "session.status_terminated"
DELETED = "session.deleted"


class EventTail:
    """What comes of one session's events, for one caller, from all of the `regions`.

    Attributes:
        end: the event that says that the session has ended, once that is known; nothing comes after it.
    """

    def __init__(
        self,
        regions: Sequence[str],
        sessions: SessionAccess,
        log: TranscriptLog,
        call: RequestContext,
        record: SessionRecord,
        rows: Sequence[TranscriptRow],
    ) -> None:
        self._sessions = sessions
        self._log = log
        self._call = call
        self._session_id = record.session_id
        self._known = {(row.region, row.sequence) for row in rows}
        self._ids = {end for row in rows for end in row.ids}
        self._behind = dict.fromkeys(regions, 0)
        self._advance()
        self.end = self._end(record, rows)

    def news(self) -> list[Event]:
        """Return the events that have come since this was asked last, or since the stream was opened, in their order.

        The caller is let in anew each time, so that a stream ends with the right to it. An index read, a query for each
        region, and a GET for each new part, at most `PARTS_MAX`.

        Raises:
            NotFound, PermissionDenied, Unauthenticated, Unavailable: the stream is over.
        """
        access, record, _ = self._sessions.enter(self._call, self._session_id)
        rows = self._log.rows_after(access.view, record.workspace_id, self._session_id, self._behind)
        new = [] if is_ordered(rows) else [row for row in rows if (row.region, row.sequence) not in self._known]
        taken = _bounded(new)
        self.end = self._end(record, rows) if len(taken) == len(new) else None
        return self._events(taken)

    def _events(self, rows: Sequence[TranscriptRow]) -> list[Event]:
        counts_in, found = counting(rows), list[tuple[str, Event]]()
        for row in rows:
            if row.erased_at is None:
                found += self._events_of(row, counts_in)
        self._known.update((row.region, row.sequence) for row in rows)
        self._ids.update(counts_in)
        self._advance()
        return [event for _, event in sorted(found, key=lambda one: one[0])]

    def _events_of(self, row: TranscriptRow, counts_in: dict[str, tuple[str, int]]) -> list[tuple[str, Event]]:
        """Read a part: those of its events that were in no part before."""
        part = self._log.read(TranscriptKey(row.region, row.workspace_id, row.session_id, row.sequence))
        return [
            (place(event.at, row.region, row.sequence, number), event)
            for number, event in enumerate(part.events)
            if event.id_end not in self._ids and counts_in.get(event.id_end) == (row.region, row.sequence)
        ]

    def _advance(self) -> None:
        """Leave behind, for each region, the parts that have come without a gap: replication keeps no order."""
        for region, sequence in self._behind.items():
            while (region, sequence + 1) in self._known:
                sequence += 1
            self._behind[region] = sequence

    def _end(self, record: SessionRecord, rows: Sequence[TranscriptRow]) -> Event | None:
        if is_ordered(rows):
            type = DELETED
        elif record.archived_at is not None:
            type = ENDED
        else:
            return None
        return Event(event_id(self._session_id, type), type, record.changed_at, trust=None, fields={})


def _bounded(rows: Sequence[TranscriptRow]) -> list[TranscriptRow]:
    """Return the parts that were recorded first, as many as are sent at once; one at least, if there is one."""
    taken, size = list[TranscriptRow](), 0
    for row in sorted(rows, key=lambda row: (row.recorded_at, row.region, row.sequence))[:PARTS_MAX]:
        size += row.size_bytes
        if taken and size > SENT_MAX_BYTES:
            break
        taken.append(row)
    return taken
