"""Extraction: what a session taught, as a proposal that waits for a person.

    the session's newest events -> one question to a model -> notes that rest on events -> one proposal

Nothing is written to the store here. Asked again about the same events, it answers with the proposal that is there.
See docs/extraction.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from memolith.app.api.proposals import Proposals
from memolith.app.api.transcripts import Transcripts
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.auth.session_access import SessionAccess
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import RequestContext
from memolith.app.safety.write_gate import TextScanner, read
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.objects.session_record import SessionRecord
from memolith.core.pipelines.extraction import PROMPT, PROMPT_SHA256, Gleaned, Note, document, glean
from memolith.core.pipelines.framing import framed
from memolith.core.proposed_edits import EditRequest
from memolith.core.rows.content import PathRow
from memolith.ports.model import (
    AnswerForm,
    Ask,
    Block,
    Effort,
    ModelFailure,
    Models,
    Purpose,
    Rejected,
    Role,
    Turn,
    Usage,
)
from memolith.scanner import Verdict

EVENTS_MAX = 2_000
"""Of a session that are read: its newest."""

MODEL = "small"
"""The name of the model that is asked, which a deployment maps to one of a service."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found: the notes that are proposed, what was dropped and why, and which model was asked what.

    `proposal_id` is None where nothing is proposed.
    """

    session_id: str
    store_id: str
    notes: tuple[Note, ...]
    dropped: Mapping[str, int]
    proposal_id: str | None
    model: str | None
    usage: Usage
    prompt_sha256: str = PROMPT_SHA256


class Extractions:
    """The use case of extraction, for whoever may record events of the session and write to its store."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        sessions: SessionAccess,
        transcripts: Transcripts,
        proposals: Proposals,
        scanner: TextScanner,
        models: Models,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._sessions = sessions
        self._transcripts = transcripts
        self._proposals = proposals
        self._scanner = scanner
        self._models = models

    def extract(self, call: RequestContext, session_id: str, store_id: str | None = None) -> Extraction:
        """Propose what a session taught, at most `core.pipelines.extraction.WRITES_MAX` memories.

        Repeatable. What reading `EVENTS_MAX` events costs, an index read, one question to a model, and for what is
        proposed an index read and what opening a proposal costs.

        Raises:
            InvalidRequest: the session has no such store, or no model is set up. NotFound, PermissionDenied,
            Unavailable: the model did not answer, or a port; Busy, OutcomeUnknown, Unauthenticated.
        """
        access, record, _ = self._sessions.enter(call, session_id, Scope.write)
        store_id = _store_of(record, store_id)
        events = self._transcripts.newest(access, record, EVENTS_MAX)
        input_document = document(session_id, events)
        if not input_document["events"]:
            return Extraction(session_id, store_id, (), {}, None, None, Usage())
        answered = self._ask(session_id, input_document)
        found = glean(answered.data, input_document, events)
        store = self._authorizer.enter_store(call, Scope.write, store_id)
        found = self._admitted(store, found)
        proposal_id = self._propose(store, session_id, found.notes) if found.notes else None
        return Extraction(session_id, store_id, found.notes, found.dropped, proposal_id, answered.model, answered.usage)

    def _ask(self, session_id: str, input_document: Mapping[str, Any]) -> Any:
        question = framed(input_document)
        ask = Ask(
            system=(Block(PROMPT, cache=True),),
            turns=(Turn(Role.USER, question),),
            purpose=Purpose.EXTRACT,
            key=hashlib.sha256(f"{session_id}\n{PROMPT_SHA256}\n{question}".encode()).hexdigest(),
            form=AnswerForm.EXTRACTION,
            effort=Effort.LOW,
        )
        try:
            return self._models.named(MODEL).ask(ask)
        except Rejected as error:
            raise InvalidRequest("model", f"cannot be asked: {error}") from error
        except ModelFailure as error:
            raise Unavailable(
                "the model gave no answer", region=self._region.name, cause=str(error), hint="try again"
            ) from error

    def _admitted(self, access: StoreAccess, found: Gleaned) -> Gleaned:
        """Drop notes that the store has, and those that the scanner refuses."""
        keys = {note.path: PathRow.key(access.store.store_id, note.path) for note in found.notes}
        rows = self._region.read(access.view.index, list(keys.values())) if keys else {}
        dropped = dict(found.dropped)
        kept = []
        for note in found.notes:
            row = rows.get(keys[note.path])
            reason = None
            if row is not None and PathRow.from_attributes(row).memory_id is not None:
                reason = "known"
            elif read(self._scanner, access.store, note.content, note.path)[0].verdict is Verdict.REJECT:
                reason = "scanner"
            if reason is None:
                kept.append(note)
            else:
                dropped[reason] = dropped.get(reason, 0) + 1
        return replace(found, notes=tuple(kept), dropped=dropped)

    def _propose(self, access: StoreAccess, session_id: str, notes: tuple[Note, ...]) -> str:
        edits = [
            EditRequest(
                op="create",
                path=note.path,
                content=note.content,
                why=f"rests on {', '.join(note.evidence)} of {session_id}"[:1_000],
                at_most=note.trust,
            )
            for note in notes
        ]
        key = hashlib.sha256("\n".join([session_id, *(note.content for note in notes)]).encode()).hexdigest()
        why = f"what session {session_id} taught"
        return self._proposals.open_for(access, why=why, edits=edits, key=key).id


def _store_of(record: SessionRecord, store_id: str | None) -> str:
    stores = [one.memory_store_id for one in record.attachments]
    if store_id is None and len(stores) > 1:
        raise InvalidRequest("memory_store_id", "must name one of the session's stores, as it has several")
    if store_id is not None and store_id not in stores:
        raise InvalidRequest("memory_store_id", "names no store of the session")
    return store_id or stores[0]
