"""Searching conversations: what was said in sessions, as their transcripts are at that moment.

    sessions that the caller may read -> their newest parts, out of the bucket -> the events with words of the query
       or of a time that it names
    -> a search segment of these alone, which is forgotten with the answer

Nothing is kept for it, so that what was erased, or is not recorded yet, is in no derived object, and an erased event is
found by no search once its part is blank here. See docs/adr/0056-a-search-of-conversations-reads-them.md.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TypeVar

from memolith.app.auth.authorizer import Access, Authorizer, Scope
from memolith.app.auth.session_access import SessionAccess, is_reached
from memolith.app.auth.session_log import SessionLog, record_of
from memolith.app.index.transcript_log import TranscriptLog, is_ordered
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import RequestContext, SessionCredentials
from memolith.app.kernel.transcript_results import TranscriptHit, TranscriptHits
from memolith.app.search.retrieval import DATED_MAX, INTERVALS_MAX, retrieve
from memolith.core.errors import Damaged, InvalidRequest
from memolith.core.limits import SEARCH_QUERY_MAX_CHARS
from memolith.core.object_keys import TranscriptKey
from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.transcript import Event
from memolith.core.rows.identity import SessionRow
from memolith.core.rows.transcripts import TranscriptRow
from memolith.core.search import analysis
from memolith.core.search.excerpts import excerpt
from memolith.core.search.query_dates import named_intervals
from memolith.core.search.words import silenced
from memolith.core.transcripts import counting, text_of
from memolith.ports.packs import Document, Packs

SESSIONS_MAX = 100
"""How many sessions are looked at for one answer, the newest ones."""

LISTED_MAX = 500
"""How many sessions of the workspace are looked through for these."""

PARTS_MAX = 200
PARTS_MAX_BYTES = 24_000_000
"""How much of their transcripts is read, the newest parts first."""

EVENTS_MAX = 1_000
"""How many events with words of the query are put in order, the newest ones; and `DATED_MAX` of the time it names."""

AT_ONCE = 32
BEGINNING_CHARS = 4
"""So many characters of a word, or of its stem, have to stand in an event: most of its forms differ behind that."""

EXCERPT_MAX_CHARS = 400
SAID_MAX_CHARS = 20_000
DONE_MAX_CHARS = 1_000
"""How much of a message is searched, and of what a tool was told or gave."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Spoken:
    """An event, its session and its text; without words of the query, it is of a time that this names."""

    record: SessionRecord
    event: Event
    text: str
    has_words: bool


class TranscriptSearch:
    """The use case of searching conversations."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        sessions: SessionAccess,
        records: SessionLog,
        log: TranscriptLog,
        packs: Packs,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._sessions = sessions
        self._records = records
        self._log = log
        self._packs = packs

    def search(
        self,
        call: RequestContext,
        *,
        query: str,
        limit: int,
        session_id: str | None = None,
        store_id: str | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> TranscriptHits:
        """Return the events that answer best, the best first, of the sessions that the caller may read.

        An admin's key finds all sessions whose stores it reaches; any key the one session that it names. A session's
        token finds its own, and those that the same API key began and of which it has every store.

        Two index reads, a query for each region and hundred sessions, one for each session's parts, and a GET for each
        part that is read.

        Args:
            session_id: only this session.
            store_id: only sessions to which this store is attached.
            since, until: only events of this time, inclusive.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        if not query.strip():
            raise InvalidRequest("query", "must not be empty")
        if len(query) > SEARCH_QUERY_MAX_CHARS:
            raise InvalidRequest("query", f"must be at most {SEARCH_QUERY_MAX_CHARS} characters")
        access, found, more = self._searched(call, session_id, store_id)
        has_words = _looking_for(query, self._packs.stem)
        times = named_intervals(query, self._region.clock.now_us())[:INTERVALS_MAX]

        def wanted(event: Event, text: str) -> bool | None:
            if (since is not None and event.at < since) or (until is not None and event.at > until):
                return None
            return has_words(text) or (False if any(first <= event.at < end for first, end in times) else None)

        spoken, cut = self._spoken(access, found, wanted)
        self._region.require_whole(access.view, "keys")
        with_words = [one for one in spoken if one.has_words]
        dated = [one for one in spoken if not one.has_words]
        cut = cut or len(with_words) > EVENTS_MAX or len(dated) > DATED_MAX
        hits = self._ranked(query, [*with_words[:EVENTS_MAX], *dated[:DATED_MAX]], limit)
        return TranscriptHits(tuple(hits), len(found), more or cut)

    # ---- which sessions -----------------------------------------------------------------------------------------

    def _searched(
        self, call: RequestContext, session_id: str | None, store_id: str | None
    ) -> tuple[Access, list[SessionRecord], bool]:
        """Return the sessions to look at, that of the caller's token and then the newest first, and whether there are
        more.
        """
        credentials, own = call.credentials, None
        is_another = isinstance(credentials, SessionCredentials) and credentials.session_id != session_id
        if session_id is not None and not is_another:
            access, record, _ = self._sessions.enter(call, session_id)
            return access, [record] if store_id is None or record.has_store(store_id) else [], False
        if isinstance(credentials, SessionCredentials):
            access = self._authorizer.enter_any(call, Scope.read)
            own = _own(access, credentials)
            is_the_callers = partial(_is_a_sessions, credentials, None if own is None else own.key_id)
        else:
            access = self._authorizer.enter(call, Scope.admin)
            is_the_callers = partial(is_reached, access)

        def may_be_read(record: SessionRecord) -> bool:
            if session_id not in (None, record.session_id):
                return False
            return (store_id is None or record.has_store(store_id)) and is_the_callers(record)

        rows = self._records.newest(access.view, access.workspace_id, None, LISTED_MAX + 1)
        first = [] if own is None else [own]
        others = (record_of(row) for row in rows[:LISTED_MAX] if own is None or row.session_id != own.session_id)
        found = list(islice(filter(may_be_read, chain(first, others)), SESSIONS_MAX + 1))
        return access, found[:SESSIONS_MAX], len(found) > SESSIONS_MAX or len(rows) > LISTED_MAX

    # ---- what was said ------------------------------------------------------------------------------------------

    def _spoken(
        self, access: Access, records: Sequence[SessionRecord], wanted: Callable[[Event, str], bool | None]
    ) -> tuple[list[_Spoken], bool]:
        """Return the events that are wanted, the newest first, and whether not all parts were read. `wanted` says of
        each whether it has words of the query; None where it is left out.
        """
        by_session = self._in_parallel(
            partial(self._log.rows, access.view, record.workspace_id, record.session_id) for record in records
        )
        counts: dict[str, Mapping[str, tuple[str, int]]] = {}
        live: list[tuple[TranscriptRow, SessionRecord]] = []
        for record, rows in zip(records, by_session, strict=True):
            if not is_ordered(rows):
                counts[record.session_id] = counting(rows)
                live += [(row, record) for row in rows if row.erased_at is None and row.events]
        live.sort(key=lambda one: -(one[0].last_at or 0))
        read = _within(live)
        parts = self._in_parallel(partial(self._events, row) for row, _ in read)
        spoken = [
            _Spoken(record, event, text, has_words)
            for (row, record), events in zip(read, parts, strict=True)
            for event in events or ()
            if counts[record.session_id].get(event.id_end) == (row.region, row.sequence)
            if (text := _said(event)) and (has_words := wanted(event, text)) is not None
        ]
        spoken.sort(key=lambda one: (-one.event.at, one.event.id))
        return spoken, len(read) < len(live) or None in parts

    def _events(self, row: TranscriptRow) -> Sequence[Event] | None:
        """Return the events of a part; None where it cannot be read."""
        try:
            return self._log.read(_key(row)).events
        except Damaged:
            return None

    def _in_parallel(self, tasks: Iterable[Callable[[], T]]) -> list[T]:
        left = list(tasks)
        found: list[T] = []
        for start in range(0, len(left), AT_ONCE):
            found += self._region.parallel.run(left[start : start + AT_ONCE])
        return found

    # ---- in which order -----------------------------------------------------------------------------------------

    def _ranked(self, query: str, spoken: Sequence[_Spoken], limit: int) -> Iterator[TranscriptHit]:
        if not spoken:
            return
        pack = self._packs.new()
        try:
            pack.change([self._document(str(number), one) for number, one in enumerate(spoken)], [])
            found = retrieve(self._packs, pack, query, self._region.clock.now_us())
        finally:
            pack.close()
        for ranked in found.ranked[:limit]:
            one, document = spoken[int(ranked.memory_id)], found.documents[ranked.memory_id]
            wanted, at = found.question.stems, max(ranked.passage - 1, 0)
            shown = excerpt(one.text, document.starts, at, wanted, self._packs.stem, EXCERPT_MAX_CHARS)
            yield TranscriptHit(one.record, one.event, round(ranked.score, 3), shown)

    def _document(self, name: str, one: _Spoken) -> Document:
        found = analysis.analysed(one.text, self._packs.stem)
        passages = ("", *found.passages)
        at, size = one.event.at, len(one.text.encode())
        return Document(
            name, name, "", "", size, at, at, passages, found.starts, analysis.length(passages), found.names
        )


def _own(access: Access, credentials: SessionCredentials) -> SessionRecord | None:
    """Return the session of the caller's token; None where its row has not arrived. Its key is the one that began it.

    Not the keys that its token names: another key that renewed the token is among them, so that the token ends with it.
    """
    row = access.view.rows.get(SessionRow.key(credentials.workspace_id, credentials.session_id))
    return None if row is None else record_of(SessionRow.from_attributes(row))


def _is_a_sessions(credentials: SessionCredentials, key_id: str | None, record: SessionRecord) -> bool:
    """Tell whether a session that `key_id` began may read another one, or this is itself."""
    if record.session_id == credentials.session_id:
        return True
    stores = {one.memory_store_id for one in record.attachments}
    return key_id is not None and record.key_id == key_id and stores <= set(credentials.access)


def _within(live: Sequence[tuple[TranscriptRow, SessionRecord]]) -> list[tuple[TranscriptRow, SessionRecord]]:
    """Return as many as one search reads."""
    read, left = [], PARTS_MAX_BYTES
    for row, record in live[:PARTS_MAX]:
        left -= row.size_bytes
        if left < 0:
            break
        read.append((row, record))
    return read


def _key(row: TranscriptRow) -> TranscriptKey:
    return TranscriptKey(row.region, row.workspace_id, row.session_id, row.sequence)


def _looking_for(query: str, stem: Callable[[str], str]) -> Callable[[str], bool]:
    """Return what tells whether a text may be found by words: it has the beginning of one that looks for something, as
    it is written, or of a form of it.
    """
    written = analysis.query_words(query, str).telling
    forms = (one for word in written for one in analysis.beginnings(stem(word)))
    wanted = {_plain(word)[:BEGINNING_CHARS] for word in (*written, *forms)}

    def has_words(text: str) -> bool:
        plain = _plain(text)
        return any(beginning in plain for beginning in wanted)

    return has_words


def _plain(text: str) -> str:
    """Fold a text so that a word of the query stands in it as it begins, whatever its case, accents and hyphens."""
    return silenced(unicodedata.normalize("NFKD", text.casefold())).replace("-", "").replace("_", "")


def _said(event: Event) -> str:
    return text_of(event)[: SAID_MAX_CHARS if event.type.endswith(".message") else DONE_MAX_CHARS]
