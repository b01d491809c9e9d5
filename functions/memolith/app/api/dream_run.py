"""One run of a dream under way: what is known of it, how it may end early, and what it has used."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum

from memolith.app.api.dream_plan import COUNTED
from memolith.app.kernel.region import View
from memolith.app.kernel.results import Memory, RequestContext, SessionCredentials
from memolith.app.pipelines.job_log import JobLog, LostJobError, epoch_number
from memolith.app.pipelines.prompts import Prompt
from memolith.app.pipelines.questions import Question
from memolith.app.pipelines.run_log import RunLog
from memolith.core.objects.job_record import JobRecord
from memolith.core.objects.run_record import DreamStatus, RunRecord
from memolith.core.pipelines import dreams
from memolith.core.pipelines.dreams import DreamedMemory
from memolith.core.pipelines.framing import framed
from memolith.core.pipelines.jobs import JobName
from memolith.core.pipelines.policy import PipelinesPolicy
from memolith.core.rows.identity import StoreRow
from memolith.core.times import rfc3339
from memolith.core.trust import AGENT
from memolith.ports.model import (
    Ask,
    Block,
    BudgetExceeded,
    Left,
    Model,
    ModelFailure,
    Purpose,
    Role,
    Turn,
    Usage,
    estimated_tokens,
)


class DreamFailedError(Exception):
    """The dream cannot be done; `type` is one of the API's codes."""

    def __init__(self, type: str, message: str) -> None:
        super().__init__(message)
        self.type = type


class DreamStoppedError(Exception):
    """The dream is over, as it was canceled, or another worker has it: nothing more is to be done here."""


class DreamPausedError(Exception):
    """This process has no more time for the dream, or a text was erased that it may have read: it goes on later."""


class Taken(StrEnum):
    """What came of taking a dream up."""

    ENDED = "ended"
    """It is over, or someone else has it now: nothing is left to do here."""
    PAUSED = "paused"
    """It is to be taken up again, as soon as possible."""
    WAITS = "waits"
    """What it reads has not arrived here yet; take it up again in a while."""
    NOT_HAD = "not_had"
    """It was not to be had: another worker has it, or another region is the store's home."""


@dataclass(slots=True)
class Run:
    """One run under way: what is known of it, until when it may go on here, and what it has come to so far.

    `last` is the record as it was read or put last.
    """

    view: View
    record: RunRecord
    held: JobRecord
    call: RequestContext
    until_us: int | None = None
    policy: PipelinesPolicy = field(default_factory=PipelinesPolicy)
    dropped: list[str] = field(init=False)
    least: str | None = AGENT
    last: RunRecord = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.record
        self.dropped = list(self.record.dropped)

    @property
    def so_far(self) -> RunRecord:
        """The record, with no fewer edits than the last one counts: a plan that is taken up again is counted again."""
        return replace(self.record, **{one: max(getattr(self.record, one), getattr(self.last, one)) for one in COUNTED})


def run_of(view: View, store: StoreRow, record: RunRecord, held: JobRecord, until_us: int | None) -> Run:
    """Return the run of a dream that a worker has claimed, with the rights of the dream's own session."""
    access = {record.output_store_id: "read_write"} | (
        {record.store_id: "read_only"} if record.output_store_id != record.store_id else {}
    )
    credentials = SessionCredentials(record.workspace_id, record.session_id, access, record.key_ids)
    policy = PipelinesPolicy.of(store.pipelines)
    return Run(view, record, held, RequestContext(credentials), until_us, policy)


def opened_at_first(model: Model, memories: Mapping[str, DreamedMemory]) -> set[str] | None:
    """Return None where all texts fit into the model's window, and else no path yet: the model asks for them."""
    whole = framed(dreams.document(list(memories.values()), None, (), None, ""))
    tokens = estimated_tokens(Ask((), (Turn(Role.USER, whole),), Purpose.CONSOLIDATE, ""))
    return None if tokens <= model.window_tokens * dreams.INPUT_SHARE else set()


def as_dreamed(one: Memory, updated_at: int) -> DreamedMemory:
    """Return a memory, read whole, as a dream hands it to its model."""
    return DreamedMemory(
        one.id, one.path, one.version_id, one.content_sha256, rfc3339(updated_at), one.content or "", one.trust
    )


def asked_of(run: Run, question: Question, prompt: Prompt, key: str, document: Mapping[str, object]) -> Ask:
    """Return what the model is asked: a prompt about a document, within the tokens that the dream has left."""
    return Ask(
        system=(Block(prompt.text, cache=True),),
        turns=(Turn(Role.USER, framed(document)),),
        purpose=question.purpose,
        key=key,
        form=question.form,
        max_output_tokens=question.max_output_tokens,
        left=Left(tokens=run.policy.max_tokens - tokens_of(run.record)),
        until_us=run.until_us,
    )


def tokens_of(record: RunRecord) -> int:
    """Return all tokens that a dream has used."""
    return (
        record.input_tokens + record.output_tokens + record.cache_creation_input_tokens + record.cache_read_input_tokens
    )


def used(record: RunRecord, usage: Usage, cost_micro_usd: int | None) -> RunRecord:
    """Return the record with what one more question took. An unknown cost makes the whole unknown."""
    first = not tokens_of(record) and record.cost_micro_usd is None
    known = cost_micro_usd is not None and (first or record.cost_micro_usd is not None)
    return replace(
        record,
        input_tokens=record.input_tokens + usage.input_tokens,
        output_tokens=record.output_tokens + usage.output_tokens,
        cache_creation_input_tokens=record.cache_creation_input_tokens + usage.cache_creation_input_tokens,
        cache_read_input_tokens=record.cache_read_input_tokens + usage.cache_read_input_tokens,
        cost_micro_usd=(record.cost_micro_usd or 0) + (cost_micro_usd or 0) if known else None,
        asks=record.asks + 1,
    )


def failure_type(failure: ModelFailure) -> str:
    """Return the code of a dream that failed because a model did not answer, or was not asked."""
    return "budget_exceeded" if isinstance(failure, BudgetExceeded) else "internal_error"


def failed(run: Run, type: str, message: str) -> RunRecord:
    """Return the record of a dream that failed."""
    return replace(run.so_far, status=DreamStatus.FAILED, error_type=type, error_message=message[:1_000])


def job_of(store_id: str) -> JobName:
    """Return the name of the one job that all dreams of a store are."""
    return JobName(store_id, "consolidate", "all")


def end_job(jobs: JobLog, held: JobRecord, record: RunRecord) -> None:
    """End the job of a dream that its worker has ended; nothing where another worker has done so.

    A PUT. Raises Unavailable, Busy, OutcomeUnknown: `end_left` ends it later.
    """
    with suppress(LostJobError):
        if record.status is DreamStatus.COMPLETED:
            jobs.done(held, run_id=record.run_id, outcome=record.status.value)
        else:
            jobs.failed(held, run_id=record.run_id, error=record.error_type or "")


def end_left(jobs: JobLog, runs: RunLog, view: View, store: StoreRow) -> None:
    """End the job that a worker left, at the store's home, once it had ended its dream: that dream counts as done.

    The job is left to its lease where the dream was ended by another than its worker: by a caller, at a former home, or
    under an earlier claim, and then it counts already. A LIST and a GET; an index read where a worker has the job.
    Raises as `end_job`.
    """
    held = jobs.state(store, job_of(store.store_id))
    if held is None or not held.is_held or held.epoch != epoch_number(store):
        return
    record = runs.read(view, held.worker)
    if record is not None and not record.status.is_open and record.claim == held.token:
        end_job(jobs, held, record)
