"""The indexer: an event says that an object is here, the object itself says what is so, and it is projected."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from memolith.app.auth.api_keys import ApiKeys
from memolith.app.auth.session_log import SessionLog
from memolith.app.auth.session_trust import SessionTrust
from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.epochs.ownership import Ownership
from memolith.app.epochs.store_repair import StoreRepair
from memolith.app.index.projector import Projector
from memolith.app.index.redaction_places import places_of
from memolith.app.index.transcript_log import TranscriptLog
from memolith.app.indexer.log_entries import LogEntries
from memolith.app.indexer.segment_requests import SegmentRequests
from memolith.app.indexer.text_erasures import TextErasures
from memolith.app.indexer.writer_client import WriterClient
from memolith.app.kernel.eraser_client import ask_eraser
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region, View
from memolith.app.pipelines.run_log import RunLog
from memolith.app.proposals.proposal_log import ProposalLog
from memolith.app.proposals.resolution_log import ResolutionLog
from memolith.app.safety.verdicts import Verdicts
from memolith.core.epochs import begins_an_epoch
from memolith.core.errors import Damaged
from memolith.core.log_position import LogKey, LogRef
from memolith.core.object_keys import (
    LOCAL_PREFIX,
    WITHOUT_ROWS,
    ApiKeyKey,
    JobKey,
    ProposalKey,
    RedactionKey,
    ResolutionKey,
    RunKey,
    SessionKey,
    StoreKey,
    TranscriptKey,
    VerdictKey,
    own_log_key,
    parse_key,
    parsed_key,
)
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.proposal_record import ProposalRecord
from memolith.core.objects.redaction_order import Redaction
from memolith.core.objects.resolution_record import ResolutionRecord
from memolith.core.objects.run_record import RunRecord
from memolith.core.objects.schema import LaterSchema
from memolith.core.objects.search_pack import PREFIX as PACKS_PREFIX
from memolith.core.objects.search_pack import PackKey
from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.store_record import StoreRecord, StoreState
from memolith.core.objects.usage_record import KIND, UsageRecord
from memolith.core.objects.verdict_record import VerdictRecord
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import PlacedRecord

_log = logging.getLogger(__name__)
EPOCH_REPAIR_US = 10_000_000
"""How long the event that brings an epoch repairs its store's rows at most; `memolith.app.homes.epoch_sweep` goes on.
"""


class Malformed(Exception):
    """An object that this release cannot read: for the dead-letter queue, with the reason, never retried.

    Attributes:
        key: the object's. It holds no path and no content.
        reason: what of it cannot be read.
        is_later: whether a later release reads it.
    """

    def __init__(self, key: str, reason: str, *, is_later: bool = False) -> None:
        super().__init__(f"{key}: {reason}")
        self.key = key
        self.reason = reason
        self.is_later = is_later


class Indexer:
    """Projects any object that arrives in this region's bucket."""

    def __init__(
        self,
        region: Region,
        entries: LogEntries,
        records: Ownership,
        repair: EpochRepair,
        store_repair: StoreRepair,
        projector: Projector,
        keys: ApiKeys,
        sessions: SessionLog,
        session_trust: SessionTrust,
        verdicts: Verdicts,
        proposals: ProposalLog,
        resolutions: ResolutionLog,
        runs: RunLog,
        writer: WriterClient,
        erasures: TextErasures,
        segments: SegmentRequests,
        transcripts: TranscriptLog,
    ) -> None:
        self._region = region
        self._entries = entries
        self._records = records
        self._repair = repair
        self._store_repair = store_repair
        self._projector = projector
        self._keys = keys
        self._sessions = sessions
        self._session_trust = session_trust
        self._verdicts = verdicts
        self._proposals = proposals
        self._resolutions = resolutions
        self._runs = runs
        self._writer = writer
        self._erasures = erasures
        self._segments = segments
        self._transcripts = transcripts

    def object_arrived(self, key: str, paths_too: bool = False, object_version: str | None = None) -> None:
        """Project one object. Repeatable, in any order. One HEAD or GET, an index read, at most one transaction.

        `paths_too`: with what it says of its path, though the memory's row knew it; where rows were found to disagree.
        `object_version`: the id of the version that the event tells of. If a writer here has acknowledged just that,
        two rows are read and nothing else.

        Raises:
            Malformed: this release cannot read it. Unavailable, OutcomeUnknown: try again later.
        """
        if key.startswith(LOCAL_PREFIX):
            self._local_arrived(key)
            return
        own = own_log_key(key, self._region.name) if object_version is not None and not paths_too else None
        view = self._region.view(store_of(key) if own is None else [])
        reactions = None if own is None else self._entries.known(view, own, object_version or "")
        if reactions is None:
            reactions = self.fold_object(view, key, paths_too=paths_too)
        for react in reactions:
            react()

    def _local_arrived(self, key: str) -> None:
        """Remove a search segment that was put after its store's end."""
        if not key.startswith(PACKS_PREFIX):
            return
        store_id = PackKey.parse(key).store_id
        if self._erasures.is_deleted(self._region.view(), store_id):
            ask_eraser(self._region, {"call": "erase_packs", "store_id": store_id})

    def fold_object(
        self, view: View, key: str, journal: bool = True, paths_too: bool = False
    ) -> list[Callable[[], object]]:
        """Project one object into the tables that `view` writes; return what is left to do beyond the index."""
        try:
            name = parse_key(key)
            if isinstance(name, LogKey):
                return self._entries.project(view, name, journal, paths_too)
            if isinstance(name, JobKey):
                return self._late_counts(view, name)
            if isinstance(name, WITHOUT_ROWS):
                return []
            body = self._body(key)
            if body is None:
                return []
            if isinstance(name, StoreKey):
                return self._fold_record(view, PlacedRecord(name.slot, StoreRecord.from_json(body)), journal)
            if isinstance(name, VerdictKey):
                self._fold_verdict(view, name, VerdictRecord.from_json(body), journal)
                return [lambda: self._segments.send(name.store_id)]
            if isinstance(name, ProposalKey):
                return self._fold_proposal(view, name, ProposalRecord.from_json(body), journal)
            own = Named(key) if journal and key.startswith(f"{self._region.name}/") else None
            if isinstance(name, ApiKeyKey):
                self._keys.fold(view, ApiKeyRecord.stored_as(name, body), own)
            elif isinstance(name, SessionKey):
                self._sessions.fold(view, SessionRecord.from_json(body), name, own)
            elif isinstance(name, TranscriptKey):
                return self._fold_transcript(view, name, body, own)
            elif isinstance(name, ResolutionKey):
                self._fold_resolution(view, name, ResolutionRecord.from_json(body), own)
            elif isinstance(name, RunKey):
                return self._fold_run(view, name, RunRecord.from_json(body), own)
            elif isinstance(name, RedactionKey):
                return self._fold_redaction(view, Redaction.from_json(body), own)
        except ValueError as error:
            raise Malformed(key, str(error), is_later=isinstance(error, LaterSchema)) from error
        except Damaged as error:
            raise Malformed(key, error.message) from error
        return []

    def _late_counts(self, view: View, name: JobKey) -> list[Callable[[], object]]:
        """Have counts of uses erased that come after their store's end. A read; a GET where that is so."""
        if name.kind != KIND or not self._erasures.is_deleted(view, name.store_id):
            return []
        body = self._body(str(name))
        if body is None or not UsageRecord.from_json(body).has_counts:
            return []
        return [lambda: ask_eraser(self._region, {"call": "erase_store", "store_id": name.store_id})]

    def _fold_record(self, view: View, placed: PlacedRecord, journal: bool) -> list[Callable[[], object]]:
        """Project a store's record; erase the store here after its deletion, or an older record that comes after that.

        Of a deletion that can be undone, the eraser notes when it may be final. Tables that are being rebuilt may not
        know of the deletion: then the eraser looks for it. A record that begins an epoch has every row of the store
        repaired; one of a closed epoch may be a straggler. So may another that came while the store was about to move,
        which any later record of the home has looked for.
        """
        standing = self._records.fold(view, placed, journal)
        store_id, slot, final = standing.store_id, placed.slot, standing.state == StoreState.DELETED
        text_late = placed.record.has_text and (final or not view.complete)
        reactions: list[Callable[[], object]] = []
        if text_late or (standing.is_deleted and str(slot) == standing.slot):
            reactions.append(lambda: ask_eraser(self._region, {"call": "erase_store", "store_id": store_id}))
        if view.complete and not final and begins_an_epoch(slot):
            reactions.append(lambda: self.repair(store_id))
        elif view.complete and self._is_home(standing) and len(standing.epochs) > 1:
            reactions.append(lambda: self._writer.replay_records(store_id))
        return reactions

    def repair(self, store_id: str, memory_id: str | None = None, view: View | None = None) -> None:
        """Repair the rows of a store, or of one memory, by the snapshot of its present epoch. Repeatable.

        Of a store as many as there is time for; all of them for tables that do not serve yet, whose `view` is given.

        Raises:
            Unavailable, OutcomeUnknown: try again later.
        """
        if memory_id is None:
            deadline_us = self._region.clock.now_us() + EPOCH_REPAIR_US if view is None else None
            self.repair_rows(store_id, None, deadline_us, view)
            self._segments.send(store_id)  # an older version may be head again, of which readers hear nothing
            return
        view = view or self._region.view()
        keys = [StoreRow.key(store_id), MemoryRow.key(store_id, memory_id)]
        rows = self._region.read(view.index, keys)
        if all(key in rows for key in keys):
            store = StoreRow.from_attributes(rows[keys[0]])
            self._repair.memory(view, store, MemoryRow.from_attributes(rows[keys[1]]))

    def repair_rows(
        self, store_id: str, after: str | None, deadline_us: int | None = None, view: View | None = None
    ) -> str | None:
        """Repair a store's rows, as many as there is time for; return the place to go on `after`, None at the end.

        `view`: of tables that do not serve yet; what came late is replayed once they do.

        Raises:
            Unavailable, OutcomeUnknown: try again later.
        """
        is_serving, view = view is None, view or self._region.view()
        attributes = self._region.read(view.index, [StoreRow.key(store_id)]).get(StoreRow.key(store_id))
        if attributes is None:
            return None
        store = StoreRow.from_attributes(attributes)
        if is_serving and after is None and len(store.epochs) > 1 and self._is_home(store):
            self._writer.replay_records(store_id)
        project_again = partial(self._project_again, view, store)
        for place in self._store_repair.repair_all(view, store, project_again, after):
            if deadline_us is not None and self._region.clock.now_us() > deadline_us:
                return place
        return None

    def _project_again(self, view: View, store: StoreRow, key: str) -> None:
        """Project an entry by a later record. What is of this home, and counts now, may never have been logged: its
        event came when it did not count, and its writer had died.
        """
        own = view.complete and key.startswith(f"{self._region.name}/")
        known = replace(
            view,
            rows={**view.rows, StoreRow.key(store.store_id): store.to_attributes()},
            asked=view.asked | {StoreRow.key(store.store_id)},
        )
        try:
            reactions = self.fold_object(known, key, journal=own)
        except Malformed as error:
            _log.error("an object cannot be projected again", extra={"key": error.key, "reason": error.reason})
            return
        for react in reactions:
            react()

    def lower_session_trust(self, workspace_id: str, session_id: str, trust: str | None) -> None:
        """Record that a session was shown a text of a lower class than its own: see `SessionTrust.lower`."""
        self._session_trust.lower(workspace_id, session_id, trust)

    def fold_key(self, key: str) -> str:
        """Project an API key's record before its event comes, as `ApiKeys.confirm`; return this region's name."""
        self._keys.confirm(self._region.view(), key)
        return self._region.name

    def _is_home(self, store: StoreRow) -> bool:
        return store.home == self._region.name and store.state == StoreState.ACTIVE

    def _fold_redaction(self, view: View, order: Redaction, own: Named | None) -> list[Callable[[], object]]:
        """Erase the text where the order says that it is, and wherever the rows have it once the order is projected.

        Only what is read after the projection shows a replay that ran beside it; see `places_of`. The same goes for the
        decision of a proposal that planned the version: its copy of the text is to be erased, too.
        """
        key = VersionRow.key(order.store_id, order.version_id)
        attributes = self._region.read(view.index, [key]).get(key)
        before = None if attributes is None else VersionRow.from_attributes(attributes)
        if before is not None and before.memory_id is not None:
            ordered = order.ref.key_in(order.store_id)
            self._erasures.project_followers(view, ordered, before.memory_id, before.generation or 0)
        self._projector.fold_redaction(view, order, own)
        version, keys = places_of(self._region, view, order)
        if version is not None and version.memory_id is not None and version.position is not None:
            place = LogRef.parse(version.position).key_in(order.store_id)
            if before is None or before.position != version.position:
                self._erasures.project_followers(view, place, version.memory_id, version.generation or 0)
        reactions: list[Callable[[], object]] = [partial(self._erasures.erase, key) for key in keys]
        reactions.append(partial(self._erasures.erase_replays, view, order.version_id, keys))
        proposal_id = self._proposals.note_redaction(view, order.store_id, order.version_id)
        if proposal_id is not None:
            reactions.append(partial(self._writer.erase_due_proposal, order.store_id, proposal_id))
        return [*reactions, lambda: self._projector.order_carried_out(view, order)]

    def _fold_verdict(self, view: View, key: VerdictKey, verdict: VerdictRecord, journal: bool) -> None:
        if verdict.key != key:
            raise ValueError(f"{key}: the verdict says that it is elsewhere")
        self._verdicts.fold(view, verdict, journal)

    def _fold_transcript(
        self, view: View, key: TranscriptKey, body: bytes, own: Named | None
    ) -> list[Callable[[], object]]:
        """Project a part of a transcript, or the order to erase it; erase what comes after that order."""
        row = self._transcripts.fold(view, key, body, own)
        if row.erased_at is not None and not key.is_erasure:
            return [lambda: ask_eraser(self._region, {"call": "clear_transcript_part", "key": str(key)})]
        if row.erased_at is None and not self._transcripts.is_to_be_erased(view, key.workspace_id, key.session_id):
            return []
        payload = {"call": "erase_transcript", "workspace_id": key.workspace_id, "session_id": key.session_id}
        return [lambda: ask_eraser(self._region, payload)]

    def _fold_proposal(
        self, view: View, key: ProposalKey, record: ProposalRecord, journal: bool
    ) -> list[Callable[[], object]]:
        """Project a record of a proposal; have its texts erased, if that was ordered or its store is being erased."""
        if record.key(key.home) != key:
            raise ValueError(f"{key}: the record says that it is elsewhere")
        own = Named(str(key)) if journal and key.home == self._region.name else None
        self._proposals.fold(view, record, own, arrived=True)
        row = self._proposals.row(view.index, key.store_id, key.proposal_id)
        ordered = row is not None and row.erased is not None
        if ordered or (record.has_text and self._erasures.is_deleted(view, key.store_id)):
            return [lambda: self._erase_proposal(view, key)]
        if row is not None and row.redacted:
            return [lambda: self._writer.erase_due_proposal(key.store_id, key.proposal_id)]
        return []

    def _erase_proposal(self, view: View, key: ProposalKey) -> None:
        """Have the texts of a proposal erased, and note it; the order itself may be still to come."""
        if ask_eraser(self._region, {"call": "erase_proposal", "key": str(key)})["erased"]:
            self._proposals.note_erasure(view, key.store_id, key.proposal_id)

    def _fold_resolution(self, view: View, key: ResolutionKey, record: ResolutionRecord, own: Named | None) -> None:
        if record.key != key:
            raise ValueError(f"{key}: the resolution says that it is elsewhere")
        self._resolutions.fold(view, record, own)

    def _fold_run(self, view: View, key: RunKey, record: RunRecord, own: Named | None) -> list[Callable[[], object]]:
        """Project a dream's record; have it erased where it came after the end of its store."""
        if record.key(key.home) != key:
            raise ValueError(f"{key}: the dream's record says that it is elsewhere")
        self._runs.fold(view, record, key.home, own)
        if not (record.has_text and self._erasures.is_deleted(view, key.store_id)):
            return []
        return [lambda: ask_eraser(self._region, {"call": "erase_store", "store_id": key.store_id})]

    def _body(self, key: str) -> bytes | None:
        found = find(self._region.objects, key)
        return None if found is None else found.body


def store_of(key: str) -> list[RowKey]:
    """Return the record of the store that a log entry, or an order, belongs to: it decides what is a straggler."""
    name = parsed_key(key)
    return [StoreRow.key(name.store_id)] if isinstance(name, (LogKey, RedactionKey)) else []
