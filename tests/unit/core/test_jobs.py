"""Claims of jobs: who gets one, who is told what instead, and what each record says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.core.objects.job_record import JobEvent, JobRecord
from memolith.core.pipelines.jobs import (
    COOLDOWN_US,
    LEASE_US,
    RETRIES,
    RETRY_US,
    ClaimAnswer,
    Claimant,
    JobName,
    beat,
    claim,
    done,
    failed,
)

NAME = JobName("memstore_useast1_x", "consolidate", "all")
NOW = 1_000_000_000_000


def who(now_us: int = NOW, worker_mark: str = "t1", epoch: int = 1) -> Claimant:
    return Claimant("worker", worker_mark, epoch, now_us)


def claimed(state: JobRecord | None = None, watermark: int = 10, now_us: int = NOW) -> JobRecord:
    record = claim(state, NAME, who(now_us), watermark).record
    assert record is not None
    return record


def test_a_job_that_was_never_run_is_claimed_with_a_lease_and_all_retries() -> None:
    record = claimed()
    assert (record.sequence, record.event, record.watermark) == (1, JobEvent.CLAIMED, 0)
    assert (record.lease_until, record.retries_left) == (NOW + LEASE_US, RETRIES)


def test_a_claim_holds_until_its_lease_ends_and_a_beat_renews_it() -> None:
    held = claimed()
    assert claim(held, NAME, who(NOW + LEASE_US - 1), 10).answer is ClaimAnswer.RUNNING
    assert claim(held, NAME, who(NOW + LEASE_US), 10).answer is ClaimAnswer.CLAIMED
    renewed = beat(held, NOW + LEASE_US - 1)
    assert claim(renewed, NAME, who(NOW + LEASE_US), 10).answer is ClaimAnswer.RUNNING
    assert (renewed.sequence, renewed.token) == (2, held.token)


def test_a_run_that_was_done_moves_the_watermark_and_the_same_input_is_up_to_date() -> None:
    ended = done(claimed(), NOW + 5, run_id="drm_1", outcome="completed")
    assert (ended.watermark, ended.done_at, ended.token) == (10, NOW + 5, "")
    assert claim(ended, NAME, who(NOW + 6), 10).answer is ClaimAnswer.UP_TO_DATE
    assert claim(ended, NAME, who(NOW + 6), 11).answer is ClaimAnswer.CLAIMED


def test_a_cooldown_delays_what_was_not_requested() -> None:
    ended = done(claimed(), NOW, run_id="drm_1", outcome="completed")
    soon, later = who(NOW + COOLDOWN_US - 1), who(NOW + COOLDOWN_US)
    assert claim(ended, NAME, soon, 11, cooldown_us=COOLDOWN_US).answer is ClaimAnswer.COOLDOWN
    assert claim(ended, NAME, soon, 11, cooldown_us=COOLDOWN_US, requested=True).answer is ClaimAnswer.CLAIMED
    assert claim(ended, NAME, later, 11, cooldown_us=COOLDOWN_US).answer is ClaimAnswer.CLAIMED


def test_a_failure_is_retried_later_and_only_a_few_times_until_there_is_new_input() -> None:
    state, now_us = claimed(), NOW
    for left in (2, 1, 0):
        state = failed(state, now_us, run_id="drm_1", error="ModelUnavailable")
        assert (state.watermark, state.retries_left, state.error) == (0, left, "ModelUnavailable")
        again = claim(state, NAME, who(now_us + RETRY_US - 1), 10).answer
        now_us += RETRY_US
        if left:
            assert again is ClaimAnswer.RETRY_BACKOFF
            state = claimed(state, now_us=now_us)
    assert claim(state, NAME, who(now_us), 10).answer is ClaimAnswer.RETRY_EXHAUSTED
    assert claim(state, NAME, who(now_us), 10, requested=True).answer is ClaimAnswer.CLAIMED
    fresh = claim(state, NAME, who(now_us), 11)
    assert fresh.answer is ClaimAnswer.CLAIMED
    assert fresh.record is not None
    assert fresh.record.retries_left == RETRIES


def test_workers_that_die_use_up_the_retries_too() -> None:
    state, now_us, claims = claimed(), NOW, 1
    while True:
        now_us += LEASE_US
        answer = claim(state, NAME, who(now_us), 10)
        if answer.record is None:
            break
        state, claims = answer.record, claims + 1
    assert answer.answer is ClaimAnswer.RETRY_EXHAUSTED
    assert claims == 1 + RETRIES


def test_a_claim_of_an_earlier_epoch_holds_nobody_up_and_costs_no_retry() -> None:
    held = claimed()
    taken = claim(held, NAME, who(NOW + 1, "t2", epoch=2), 10)
    assert taken.record is not None
    assert (taken.record.epoch, taken.record.sequence, taken.record.retries_left) == (2, 2, RETRIES)
    assert taken.record.rank > replace(held, sequence=99).rank


@pytest.mark.parametrize("is_done", [False, True])
def test_a_worker_that_has_not_heard_of_the_epoch_of_the_last_record_claims_nothing(is_done: bool) -> None:
    last = claim(None, NAME, who(epoch=2), 10).record
    assert last is not None
    last = done(last, NOW + 1, run_id="run_1", outcome="completed") if is_done else last
    late = claim(last, NAME, who(last.lease_until + 1, "t2", epoch=1), 20, requested=True)
    assert (late.answer, late.record) == (ClaimAnswer.RUNNING, None)


def test_what_a_clock_that_was_ahead_put_holds_up_no_claim_once_it_was_set_right() -> None:
    ahead = NOW + 30 * 24 * LEASE_US
    held = claimed(watermark=ahead, now_us=ahead)
    assert claim(held, NAME, who(ahead - LEASE_US + 1), 10).answer is ClaimAnswer.RUNNING, "clocks disagree a little"
    assert claim(held, NAME, who(), NOW).answer is ClaimAnswer.CLAIMED
    lost = failed(held, ahead, run_id="drm_1", error="ModelUnavailable")
    assert claim(lost, NAME, who(), NOW).answer is ClaimAnswer.CLAIMED
    ended = done(held, ahead, run_id="drm_1", outcome="completed")
    assert claim(ended, NAME, who(ahead + 1), ahead, cooldown_us=COOLDOWN_US).answer is ClaimAnswer.UP_TO_DATE
    again = claim(ended, NAME, who(), NOW, cooldown_us=COOLDOWN_US).record
    assert again is not None
    assert done(again, NOW + 1, run_id="drm_2", outcome="completed").watermark == NOW


def test_a_record_is_read_back_and_fields_of_a_newer_release_are_ignored() -> None:
    record = done(claimed(), NOW, run_id="drm_1", outcome="completed")
    assert JobRecord.from_json(record.to_json()) == record
    assert JobRecord.from_json(record.to_json().replace(b'"schema"', b'"later": 1, "schema"')) == record


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"schema": "1"}', b'{"schema": "2", "event": "done"}'])
def test_a_body_that_is_no_record_of_a_job_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        JobRecord.from_json(body)


def test_a_job_that_was_done_with_the_same_input_is_up_to_date_however_it_is_asked_for() -> None:
    ended = done(replace(claimed(), input_sha256="a"), NOW + 5, run_id="prop_1", outcome="proposed")
    same = claim(ended, NAME, who(NOW + 6), 11, requested=True, input_sha256="a")
    assert (same.answer, same.record, same.done) == (ClaimAnswer.UP_TO_DATE, None, ended)
    assert claim(ended, NAME, who(NOW + 6), 11, requested=True, input_sha256="b").answer is ClaimAnswer.CLAIMED
    assert claim(ended, NAME, who(NOW + 6), 11, requested=True).answer is ClaimAnswer.CLAIMED
    broken = failed(replace(claimed(), input_sha256="a"), NOW + 5, run_id="", error="Busy")
    assert claim(broken, NAME, who(NOW + 6), 11, requested=True, input_sha256="a").answer is ClaimAnswer.CLAIMED
