"""Extraction: what a session taught, as a proposal that waits for a person.

    the session's newest events -> one question to a model -> notes that rest on events -> one proposal

Nothing is written to the store here. One call at a time works on a session in a region; what it did is a record, so
that the same events are not asked about twice. See docs/extraction.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memolith.app.api.proposals import Proposals
from memolith.app.api.transcripts import Transcripts
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.auth.session_access import SessionAccess
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import RequestContext
from memolith.app.pipelines.job_log import JobLog, LostJobError
from memolith.app.pipelines.token_budgets import TokenBudgets
from memolith.app.safety.write_gate import TextScanner, read
from memolith.core import ids
from memolith.core.errors import BudgetExhausted, Busy, Damaged, InvalidRequest, MemolithError, Unavailable, once_done
from memolith.core.objects.job_record import JobRecord
from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.transcript import Event
from memolith.core.pipelines.extraction import PROMPT, PROMPT_SHA256, Gleaned, Note, document, glean
from memolith.core.pipelines.framing import framed
from memolith.core.pipelines.jobs import Claim, ClaimAnswer, JobName
from memolith.core.pipelines.policy import PipelinesPolicy
from memolith.core.proposed_edits import EditRequest
from memolith.core.retention import DAY_US
from memolith.core.rows.content import PathRow
from memolith.ports.model import (
    CALL_TIMEOUT_S,
    Answer,
    AnswerForm,
    Ask,
    Block,
    BudgetExceeded,
    BudgetTooSmall,
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

JOB = "extract"
LEASE_US = 900_000_000
"""For how long a call that died has its session: a function's own life."""

ANSWER_US = round(CALL_TIMEOUT_S * 1_000_000)
"""How long before the lease ends the model is asked for the last time: an answer may take so long."""

OVER_BUDGET = "over_budget"
"""What comes of a session whose question takes more than the store allows a day: nothing, whatever day it is."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found: the notes that are proposed, what was dropped and why, and which model was asked what.

    `proposal_id` is None where nothing is proposed. `unchanged`: nothing was said since it was proposed, or nothing was
    found, so that no model was asked.
    """

    session_id: str
    store_id: str
    notes: tuple[Note, ...]
    dropped: Mapping[str, int]
    proposal_id: str | None
    model: str | None
    usage: Usage
    prompt_sha256: str = PROMPT_SHA256
    unchanged: bool = False

    @property
    def outcome(self) -> str:
        """In one word, what came of it."""
        if self.unchanged:
            return "unchanged"
        return "no_output" if self.proposal_id is None else "proposed"


@dataclass(frozen=True, slots=True)
class _Question:
    """What a model is asked about a session, and the events that it is about."""

    session_id: str
    events: Sequence[Event]
    document: Mapping[str, Any]
    text: str
    sha256: str
    until_us: int | None = None


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
        jobs: JobLog,
        budgets: TokenBudgets,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._sessions = sessions
        self._transcripts = transcripts
        self._proposals = proposals
        self._scanner = scanner
        self._models = models
        self._jobs = jobs
        self._budgets = budgets

    def extract(
        self, call: RequestContext, session_id: str, store_id: str | None = None, *, again: bool = False
    ) -> Extraction:
        """Propose what a session taught, at most `core.pipelines.extraction.WRITES_MAX` memories.

        The store's policy says which model is asked, as for `extract_unasked`.
        Repeatable: about events that were extracted before no model is asked, unless `again`. What reading `EVENTS_MAX`
        events costs, an index read, a LIST and a GET of the session's job, and two PUTs; one question to a
        model, and for what is proposed an index read and what opening a proposal costs.

        Raises:
            InvalidRequest: the session has no such store, the store allows no extraction, or no model is set up.
            BudgetExhausted: the store's tokens of the day do not suffice for the question; no model was asked.
            Unavailable: the model did not answer, or a port. Busy: another call extracts the session. NotFound,
            PermissionDenied, OutcomeUnknown, Unauthenticated.
        """
        access, record, _ = self._sessions.enter(call, session_id, Scope.write)
        store_id = _store_of(record, store_id)
        events = self._transcripts.newest(access, record, EVENTS_MAX)
        input_document = document(session_id, events)
        if not input_document["events"]:
            return Extraction(session_id, store_id, (), {}, None, None, Usage())
        store = self._authorizer.enter_store(call, Scope.write, store_id)
        policy = PipelinesPolicy.of(store.store.pipelines)
        if not policy.may_extract:
            raise InvalidRequest(
                "memory_store_id", "names a memory store whose `pipelines` policy allows no extraction"
            )
        question = framed(input_document)
        digest = _digest(session_id, question)
        name = JobName(store_id, JOB, session_id)
        claim = self._claim(store, name, max(event.at for event in events), None if again else digest)
        if claim.done is not None:
            return Extraction(session_id, store_id, (), {}, claim.done.run_id or None, None, Usage(), unchanged=True)
        asked = _Question(session_id, events, input_document, question, digest)
        return self._carry_out(store, claim, asked, policy.model)

    def extract_unasked(
        self, store: StoreAccess, record: SessionRecord, watermark: int, model: str, until_us: int | None = None
    ) -> str:
        """Extract a session without a caller, as the session itself; `store` says for whom. Return what came of it.

        `watermark` is up to when what was said is here; what was done up to it is not done again, and no model is
        asked. What failed is tried again after an hour, three times. Costs as `extract`; where it was done, a LIST and
        a GET of the job. No model is asked, or asked again, after `until_us`.

        Raises:
            InvalidRequest: the model cannot be asked. BudgetExhausted: nothing was claimed, and no try is lost.
            Damaged: a part of the session's transcript cannot be read. Unavailable, Busy, OutcomeUnknown.
        """
        name = JobName(store.store.store_id, JOB, record.session_id)
        answer = self._jobs.would_claim(store.store, name, self._region.name, watermark)
        if answer is not ClaimAnswer.CLAIMED:
            return answer
        try:
            events = self._transcripts.newest(store, record, EVENTS_MAX)
        except Damaged as error:  # a try all the same, or it would be read again at every look
            claim = self._jobs.claim(store.store, name, self._region.name, watermark)
            self._end(claim, partial(self._jobs.failed, run_id="", error=type(error).__name__))
            raise
        input_document = document(record.session_id, events)
        if not input_document["events"]:
            return "nothing_said"
        question = framed(input_document)
        digest = _digest(record.session_id, question)
        if not self._may_afford(store, question, digest, model):
            return OVER_BUDGET
        claim = self._jobs.claim(store.store, name, self._region.name, watermark, input_sha256=digest)
        if claim.record is None:
            return claim.answer
        asked = _Question(record.session_id, events, input_document, question, digest, until_us)
        return self._carry_out(store, claim, asked, model).outcome

    def _carry_out(self, store: StoreAccess, claim: Claim, asked: _Question, model: str) -> Extraction:
        """Ask, propose, and record that it was done, whose job it is."""
        asked = replace(asked, until_us=_until(claim.record, asked.until_us))
        try:
            answered = self._ask(store, asked, model)
            found = self._admitted(store, glean(answered.data, asked.document, asked.events))
            proposal_id = self._propose(store, asked.session_id, found.notes) if found.notes else None
        except MemolithError as error:
            self._end(claim, partial(self._jobs.failed, run_id="", error=type(error).__name__))
            raise
        extraction = Extraction(
            asked.session_id,
            store.store.store_id,
            found.notes,
            found.dropped,
            proposal_id,
            answered.model,
            answered.usage,
        )
        end = partial(self._jobs.done, run_id=proposal_id or "", outcome=extraction.outcome)
        with nullcontext() if proposal_id is None else once_done(f"{proposal_id} was opened, but is not noted as done"):
            self._end(claim, end, asked.sha256)
        return extraction

    def _claim(self, store: StoreAccess, name: JobName, watermark: int, digest: str | None) -> Claim:
        """Take the session's job in this region, unless it was done about the same events."""
        claim = self._jobs.claim(store.store, name, self._region.name, watermark, requested=True, input_sha256=digest)
        if claim.record is None and claim.done is None:
            raise Busy(f"another call extracts session {name.job_key}; try again when that is done")
        return claim

    def _end(self, claim: Claim, end: Callable[[JobRecord], JobRecord], digest: str | None = None) -> None:
        """Record the end. A call that lost the job meanwhile leaves that to the other: the proposal is the same."""
        if claim.record is not None:
            with suppress(LostJobError):
                end(claim.record if digest is None else replace(claim.record, input_sha256=digest))

    def _ask(self, store: StoreAccess, asked: _Question, model: str) -> Answer:
        """Ask within the store's budget of the day. Raises as `extract`."""
        store_id, per_day = store.store.store_id, PipelinesPolicy.of(store.store.pipelines).max_tokens_per_day
        with self._translated():
            ask = replace(_asked(asked.text, asked.sha256), until_us=asked.until_us)
            return self._budgets.ask(store_id, per_day, self._models.named(model), ask)

    def _may_afford(self, store: StoreAccess, question: str, key: str, model: str) -> bool:
        """Tell whether a day's tokens suffice for the question. Raises BudgetExhausted where what is left does not."""
        store_id, per_day = store.store.store_id, PipelinesPolicy.of(store.store.pipelines).max_tokens_per_day
        with self._translated(), suppress(BudgetTooSmall):
            self._budgets.check(store_id, per_day, self._models.named(model), _asked(question, key))
            return True
        return False

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn a model's failures into errors of the API."""
        try:
            yield
        except BudgetExceeded as error:
            until_us = DAY_US - self._region.clock.now_us() % DAY_US
            raise BudgetExhausted(str(error), until_us // 1_000_000 + 1) from error
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
        """Open a proposal of the notes, and return its id; or that of the one that has the same notes."""
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
        try:
            return self._proposals.open_for(access, why=why, edits=edits, key=key).id
        except InvalidRequest as error:
            if error.field != "key":
                raise
            # The same notes were proposed already, and rest on other events.
            return ids.keyed_id("prop", access.store.store_id, access.actor, key)


def _asked(question: str, key: str) -> Ask:
    return Ask(
        system=(Block(PROMPT, cache=True),),
        turns=(Turn(Role.USER, question),),
        purpose=Purpose.EXTRACT,
        key=key,
        form=AnswerForm.EXTRACTION,
        effort=Effort.LOW,
    )


def _until(held: JobRecord | None, until_us: int | None) -> int | None:
    """Return the last instant at which a model may be asked: so that its answer comes while the session is held."""
    ends = [held.lease_until - ANSWER_US] if held is not None else []
    return min([*ends, *([] if until_us is None else [until_us])], default=None)


def _digest(session_id: str, question: str) -> str:
    return hashlib.sha256(f"{session_id}\n{PROMPT_SHA256}\n{question}".encode()).hexdigest()


def _store_of(record: SessionRecord, store_id: str | None) -> str:
    stores = [one.memory_store_id for one in record.attachments]
    if store_id is None and len(stores) > 1:
        raise InvalidRequest("memory_store_id", "must name one of the session's stores, as it has several")
    if store_id is not None and not record.has_store(store_id):
        raise InvalidRequest("memory_store_id", "names no store of the session")
    return store_id or stores[0]
