"""Who may work on a job, and what its next record is. Pure: a job's state is its newest record, or None.

Each function returns the record that is to be put at the next sequence, where nothing is. Of two workers who decide at
once, one finds that place taken: it has lost, whatever it had decided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from memolith.core.objects.job_record import JobEvent, JobRecord
from memolith.core.times import is_due, not_ahead

LEASE_US = 3_600_000_000
"""For how long a claim holds if its worker is not heard of."""

BEAT_US = 90_000_000
"""How often a worker says that it is there."""

RETRY_US = 3_600_000_000
"""After how long a run that failed may be tried again."""

RETRIES = 3
"""How often; until there is new input."""

COOLDOWN_US = 6 * 3_600_000_000
"""How long after a run the next one begins by itself, whatever there is to do."""


class ClaimAnswer(StrEnum):
    """What came of a claim."""

    CLAIMED = "claimed"
    UP_TO_DATE = "up_to_date"
    RUNNING = "running"
    RETRY_BACKOFF = "retry_backoff"
    RETRY_EXHAUSTED = "retry_exhausted"
    COOLDOWN = "cooldown"


@dataclass(frozen=True, slots=True)
class JobName:
    """Which job: one of a store."""

    store_id: str
    kind: str
    job_key: str


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims, where and when.

    Attributes:
        worker: a name for people.
        token: unpredictable, and of this claim alone.
        epoch: the number of the store's epoch, whose home this worker is in.
        now_us: the time.
    """

    worker: str
    token: str
    epoch: int
    now_us: int


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer, and the record that takes the job, where it can be taken; `done`: the run that did it already."""

    answer: ClaimAnswer
    record: JobRecord | None = None
    done: JobRecord | None = None


def claim(
    state: JobRecord | None,
    name: JobName,
    who: Claimant,
    input_watermark: int,
    *,
    cooldown_us: int = 0,
    lease_us: int = LEASE_US,
    requested: bool = False,
    input_sha256: str | None = None,
) -> Claim:
    """Decide a claim on input up to `input_watermark`.

    With an `input_sha256`, a job whose last run was done with input of the same hash is up to date.

    A worker whose lease ran out has failed: another may claim, with one retry less. One of an earlier epoch has the job
    no more, whatever its lease: the store's home has changed since. A claim that is `requested` by a caller is refused
    only while another worker has the job: neither what was done nor what failed holds it up.
    """
    if state is None:
        return Claim(ClaimAnswer.CLAIMED, _claimed(None, name, who, input_watermark, RETRIES, lease_us))
    if _is_running(state, who):
        return Claim(ClaimAnswer.RUNNING)
    if has_done(state, input_sha256):
        return Claim(ClaimAnswer.UP_TO_DATE, done=state)
    if not requested and input_watermark <= not_ahead(state.watermark, who.now_us):
        return Claim(ClaimAnswer.UP_TO_DATE)
    left = RETRIES
    same_input = input_watermark <= state.input_watermark
    if same_input and not requested and state.retries_left is not None:
        left = state.retries_left - (1 if state.is_held and who.epoch == state.epoch else 0)
        if left < 0 or (state.event is JobEvent.FAILED and left == 0):
            return Claim(ClaimAnswer.RETRY_EXHAUSTED)
        if state.event is JobEvent.FAILED and not is_due(state.at, who.now_us, (state.retry_at or state.at) - state.at):
            return Claim(ClaimAnswer.RETRY_BACKOFF)
    if not requested and not is_due(state.done_at, who.now_us, cooldown_us):
        return Claim(ClaimAnswer.COOLDOWN)
    return Claim(ClaimAnswer.CLAIMED, _claimed(state, name, who, input_watermark, left, lease_us))


def _is_running(state: JobRecord, who: Claimant) -> bool:
    """Tell whether a worker has the job: as the claimant sees it, or in a later epoch, of which it has not heard.

    A claim from `LEASE_US` ahead holds nothing: its clock has been set right.
    """
    if who.epoch < state.epoch:
        return True
    is_held = state.is_held and who.epoch == state.epoch
    return is_held and who.now_us < state.lease_until and state.at < who.now_us + LEASE_US


def has_done(state: JobRecord | None, input_sha256: str | None) -> bool:
    """Tell whether the last run of a job was done with input of this hash."""
    if state is None or input_sha256 is None:
        return False
    return state.event is JobEvent.DONE and state.input_sha256 == input_sha256


def _claimed(
    state: JobRecord | None, name: JobName, who: Claimant, input_watermark: int, retries_left: int, lease_us: int
) -> JobRecord:
    return JobRecord(
        store_id=name.store_id,
        kind=name.kind,
        job_key=name.job_key,
        epoch=who.epoch,
        sequence=1 if state is None else state.sequence + 1,
        event=JobEvent.CLAIMED,
        at=who.now_us,
        worker=who.worker,
        token=who.token,
        lease_until=who.now_us + lease_us,
        input_watermark=input_watermark,
        watermark=0 if state is None else state.watermark,
        done_at=None if state is None else state.done_at,
        run_id=None if state is None else state.run_id,
        outcome=None if state is None else state.outcome,
        retries_left=retries_left,
    )


def beat(held: JobRecord, now_us: int, lease_us: int = LEASE_US) -> JobRecord:
    """Return the record by which the worker that put `held` renews its claim."""
    return replace(held, sequence=held.sequence + 1, event=JobEvent.BEAT, at=now_us, lease_until=now_us + lease_us)


def done(held: JobRecord, now_us: int, *, run_id: str, outcome: str) -> JobRecord:
    """Return the record that ends a run: everything up to its input is done."""
    return replace(
        held,
        sequence=held.sequence + 1,
        event=JobEvent.DONE,
        at=now_us,
        token="",
        lease_until=now_us,
        watermark=max(not_ahead(held.watermark, now_us), held.input_watermark),
        done_at=now_us,
        run_id=run_id,
        outcome=outcome,
        error=None,
        retry_at=None,
        retries_left=None,
    )


def failed(held: JobRecord, now_us: int, *, run_id: str, error: str, retry_us: int = RETRY_US) -> JobRecord:
    """Return the record that ends a run without success. The watermark stays."""
    return replace(
        held,
        sequence=held.sequence + 1,
        event=JobEvent.FAILED,
        at=now_us,
        token="",
        lease_until=now_us,
        run_id=run_id,
        outcome="failed",
        error=error,
        retry_at=now_us + retry_us,
        retries_left=max(0, (RETRIES if held.retries_left is None else held.retries_left) - 1),
    )
