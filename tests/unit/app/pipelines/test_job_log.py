"""Jobs in a deployment: two workers, pauses past the lease, lost replies, a move and a failover."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

import pytest

from memolith.adapters.layered import Call
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.app.pipelines import job_log
from memolith.app.pipelines.job_log import JobLog, LostJobError
from memolith.core.errors import MemolithError
from memolith.core.log_position import Epoch
from memolith.core.object_keys import JobKey, parse_key
from memolith.core.objects.job_record import JobEvent, JobRecord
from memolith.core.pipelines import jobs
from memolith.core.pipelines.jobs import LEASE_US, ClaimAnswer, JobName
from memolith.core.rows.identity import StoreRow
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")


def name_of(scene: Scene) -> JobName:
    return JobName(scene.store, "consolidate", "all")


def row_of(scene: Scene, region: str) -> StoreRow:
    return StoreRow.from_attributes(scene.cloud.rows(region, "stores")[scene.store, "record"])


def log_of(scene: Scene, region: str = HOME) -> JobLog:
    return JobLog(scene.cloud.sites[region].region)


def records(scene: Scene, region: str) -> list[JobRecord]:
    found = [scene.cloud.buckets.current(region, key) for key in keys_of(scene, region)]
    return [JobRecord.from_json(one.body) for one in found if one is not None]


def keys_of(scene: Scene, region: str) -> list[str]:
    return [key for key in scene.cloud.buckets.page(region, "", None, 1_000).keys if isinstance(parse_key(key), JobKey)]


def test_of_two_workers_that_claim_at_once_one_has_the_job() -> None:
    scene = Scene()
    first, second = log_of(scene), log_of(scene)
    answers: list[ClaimAnswer] = []

    def race(call: Call, act: Callable[[], T]) -> T:
        if call.name == "objects.put_if_absent" and not answers:
            answers.append(ClaimAnswer.RUNNING)
            answers[0] = second.claim(row_of(scene, HOME), name_of(scene), "b", 10).answer
        return act()

    with scene.intercepted_by(race):
        mine = first.claim(row_of(scene, HOME), name_of(scene), "a", 10)
    assert (answers, mine.answer) == ([ClaimAnswer.CLAIMED], ClaimAnswer.RUNNING)


def test_a_worker_that_was_away_past_its_lease_has_lost_the_job_and_its_end_does_not_count() -> None:
    scene = Scene()
    log, store, name = log_of(scene), row_of(scene, HOME), name_of(scene)
    held = log.claim(store, name, "a", 10).record
    assert held is not None
    scene.clock.advance(LEASE_US / 1e6)
    other = log.claim(store, name, "b", 10).record
    assert other is not None
    with pytest.raises(LostJobError):
        log.beat(held)
    with pytest.raises(LostJobError):
        log.done(held, run_id="drm_a", outcome="x")
    with pytest.raises(LostJobError):
        log.failed(held, run_id="drm_a", error="x")
    log.done(other, run_id="drm_b", outcome="completed")
    state = log.state(store, name)
    assert state is not None
    assert (state.run_id, state.watermark) == ("drm_b", 10)


def test_a_new_home_goes_on_after_the_last_record_that_it_has() -> None:
    scene = Scene()
    store, name = row_of(scene, HOME), name_of(scene)
    held = log_of(scene).claim(store, name, "a", 10).record
    assert held is not None
    log_of(scene).done(held, run_id="drm_1", outcome="completed")
    running = log_of(scene).claim(store, name, "a", 20).record
    assert running is not None
    scene.deliver()
    moved = replace(store, home=AWAY, epochs=[*store.epochs, str(Epoch(2, AWAY))])
    assert log_of(scene, AWAY).claim(moved, name, "b", 10).answer is ClaimAnswer.UP_TO_DATE
    taken = log_of(scene, AWAY).claim(moved, name, "b", 20).record
    assert taken is not None
    assert taken.sequence == 1
    log_of(scene).done(running, run_id="drm_late", outcome="completed")
    scene.deliver()
    state = log_of(scene, AWAY).state(moved, name)
    assert state == taken


def test_at_a_new_home_one_worker_has_the_job_where_a_record_of_the_last_home_arrives_between_two_claims() -> None:
    scene = Scene()
    store, name = row_of(scene, HOME), name_of(scene)
    held = log_of(scene).claim(store, name, "a", 10).record
    assert held is not None
    scene.deliver()
    log_of(scene).done(held, run_id="drm_1", outcome="completed")
    moved = replace(store, home=AWAY, epochs=[*store.epochs, str(Epoch(2, AWAY))])
    answers: list[ClaimAnswer] = []

    def late(call: Call, act: Callable[[], T]) -> T:
        if call.name == "objects.put_if_absent" and not answers:
            answers.append(ClaimAnswer.RUNNING)
            scene.deliver()
            answers[0] = log_of(scene, AWAY).claim(moved, name, "b", 20).answer
        return act()

    with scene.intercepted_by(late):
        first = log_of(scene, AWAY).claim(moved, name, "a", 20)
    assert (answers, first.answer) == ([ClaimAnswer.CLAIMED], ClaimAnswer.RUNNING)


def test_records_of_jobs_are_projected_and_compared_without_leaving_a_row() -> None:
    scene = Scene()
    log_of(scene).claim(row_of(scene, HOME), name_of(scene), "a", 10)
    before = {region: dict(scene.cloud.rows(region, "stores")) for region in (HOME, AWAY)}
    scene.deliver()
    assert {region: scene.cloud.rows(region, "stores") for region in (HOME, AWAY)} == before
    assert len(records(scene, AWAY)) == 1


# ---- random schedules ------------------------------------------------------------------------------------------------


class Worker:
    """Claims, beats, dies, sleeps past its lease and ends runs, as chance has it. Keeps what it believes it did."""

    def __init__(self, name: str, scene: Scene, chance: random.Random, effects: list[tuple[int, str]]) -> None:
        self.name, self.scene, self.chance, self.effects = name, scene, chance, effects
        self.held: JobRecord | None = None
        self.runs = 0
        self.busy = False

    def step(self, watermark: int) -> None:
        if self.busy:
            return
        self.busy = True
        try:
            self._step(watermark)
        except (LostJobError, MemolithError):
            self.held = None
        finally:
            self.busy = False

    def _step(self, watermark: int) -> None:
        log, store, name = log_of(self.scene), row_of(self.scene, HOME), name_of(self.scene)
        if self.held is None:
            self.held = log.claim(store, name, self.name, watermark).record
            return
        drawn = self.chance.random()
        if drawn < 0.1:
            self.held = None
        elif drawn < 0.2:
            self.scene.clock.advance(LEASE_US / 1e6)
        elif drawn < 0.5:
            self.held = log.beat(self.held)
        elif drawn < 0.6:
            log.failed(self.held, run_id=f"drm_{self.name}", error="x")
            self.held = None
        else:
            self.runs += 1
            run_id = f"drm_{self.name}{self.runs}"
            ended, self.held = self.held, None
            log.done(ended, run_id=run_id, outcome="completed")
            self.effects.append((ended.input_watermark, run_id))


def world(seed: int) -> list[str]:
    """Run one; return what the checker objects to."""
    chance = random.Random(seed)
    scene = Scene(regions=(HOME,), seed=seed)
    effects: list[tuple[int, str]] = []
    workers = [Worker(name, scene, chance, effects) for name in "ab"]

    def interrupt(call: Call, act: Callable[[], T]) -> T:
        if call.name.startswith("objects.") and chance.random() < 0.3:
            chance.choice(workers).step(10)
        return act()

    with scene.intercepted_by(interrupt):
        for turn in range(40):
            scene.clock.advance(chance.choice([1, 100, 3_700]))
            chance.choice(workers).step(10 + turn // 10)
    return objections(records(scene, HOME), effects)


def objections(stored: list[JobRecord], effects: list[tuple[int, str]]) -> list[str]:
    """Return what breaks a promise: two effective runs of one watermark, a watermark that goes back, two holders."""
    said = [
        f"watermark {one}: two effective runs" for one, count in Counter(w for w, _ in effects).items() if count > 1
    ]
    ends = {record.run_id for record in stored if record.event is JobEvent.DONE}
    said += [f"{run_id} was told that it is done, and no record says so" for _, run_id in effects if run_id not in ends]
    for before, after in pairwise(stored):
        if after.watermark < before.watermark:
            said.append(f"the watermark goes back at record {after.sequence}")
        if after.event is JobEvent.CLAIMED and before.is_held and after.at < before.lease_until:
            said.append(f"record {after.sequence} claims a job whose lease runs")
        if after.event is not JobEvent.CLAIMED and after.event is not JobEvent.DONE and not before.is_held:
            said.append(f"record {after.sequence} goes on with a job that no one has")
    return said


@pytest.mark.slow
def test_two_workers_never_have_two_effective_runs_of_one_watermark_under_any_schedule() -> None:
    found = {seed: said for seed in range(120) if (said := world(seed))}
    assert found == {}


def claim_without_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    def put(*given: Any, **options: Any) -> Put:
        put_if_absent(*given, **options)
        return Put.MINE

    monkeypatch.setattr(job_log, "put_if_absent", put)


def lease_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    original = jobs.claim

    def claim(state: JobRecord | None, *given: object, **options: object) -> object:
        freed = state if state is None else replace(state, lease_until=0)
        return original(freed, *given, **options)  # type: ignore[arg-type]  # keywords of more than one type

    monkeypatch.setattr(jobs, "claim", claim)


def watermark_before_work(monkeypatch: pytest.MonkeyPatch) -> None:
    original = jobs._claimed

    def claimed(*given: object) -> JobRecord:
        record = original(*given)  # type: ignore[arg-type]  # keywords of more than one type
        return replace(record, watermark=record.input_watermark)

    original_failed = jobs.failed

    def failed(held: JobRecord, *given: object, **options: object) -> JobRecord:
        record = original_failed(held, *given, **options)  # type: ignore[arg-type]  # keywords of more than one type
        return replace(record, watermark=0)

    monkeypatch.setattr(jobs, "_claimed", claimed)
    monkeypatch.setattr(jobs, "failed", failed)


@pytest.mark.parametrize("plant", [claim_without_condition, lease_ignored, watermark_before_work])
def test_the_checker_objects_to_each_planted_defect(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert any(world(seed) for seed in range(40))
