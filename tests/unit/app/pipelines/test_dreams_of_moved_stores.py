"""A dream whose store gets another home while it is under way: the new home ends it, and it alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.layered import Call
from memolith.app.api.dream_run import Taken, job_of
from memolith.app.api.dreams import DreamRequest
from memolith.app.api.memories import Memories
from memolith.app.kernel.results import Memory, RequestContext
from memolith.app.pipelines.job_log import JobLog
from memolith.app.pipelines.run_log import RunLog
from memolith.core.commands import Command, CreateMemory
from memolith.core.errors import OutcomeUnknown, Unavailable
from memolith.core.objects.job_record import JobRecord
from memolith.core.objects.run_record import UPDATE_EXISTING, DreamStatus
from memolith.core.rows.dreams import DreamRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change
from tests.api.dreams.stage import Stage, do
from tests.unit.app.homes.test_transfer import at_the_cut, move
from tests.unit.app.scene import AWAY, HOME

TEXTS = {"/a.md": "# One\n\nsome text\n"}


def records(stage: Stage, kind: str, region: str) -> list[str]:
    """Return what the records of a region say that it put itself, in their order."""
    buckets = stage.scene.cloud.buckets
    keys = buckets.page(region, f"{region}/{kind}/{stage.scene.store}/", None, 1_000).keys
    bodies = [json.loads(one.body) for key in keys if (one := buckets.current(region, key)) is not None]
    return [body.get("event") or body["status"] for body in bodies]


def test_a_worker_that_waited_for_its_model_while_the_store_moved_does_not_end_the_dream() -> None:
    stage = Stage()
    stage.fill(TEXTS)
    dream = stage.update()

    def move_away() -> None:
        stage.model.before = lambda: None
        move(stage.scene)

    stage.model.before = move_away
    stage.tick()
    assert len(stage.model.asks) == 1
    assert records(stage, "job", HOME) == ["claimed"]
    assert records(stage, "run", HOME) == ["pending", "running"]
    away = stage.scene.at(AWAY)
    away._models = stage.model
    stage.scene.clock.advance(120)
    away.dream_runner(60_000_000).tick(stage.workspace)
    stage.scene.deliver()
    assert records(stage, "job", AWAY) == ["claimed", "done"]
    assert records(stage, "run", AWAY) == ["completed"]
    assert stage.client.beta.dreams.retrieve(dream.id).status == "completed"


def creating(stage: Stage, *paths: str) -> dict[str, Any]:
    """Return the answer of a model that has these memories created."""
    nothing, sources = dict.fromkeys(("old", "new", "to")), [one.id for one in stage.scene.versions().items]
    edits = [
        {"op": "create", "path": path, "content": path, "why": "w", "sources": sources, **nothing} for path in paths
    ]
    return {"open": [], "edits": edits, "summary": "", "done": True}


@pytest.mark.parametrize(("held_at", "written"), [("model", []), ("second edit", ["/here-1.md"])])
def test_a_worker_whose_store_moved_writes_nothing_beside_the_worker_of_the_new_home(
    monkeypatch: pytest.MonkeyPatch, held_at: str, written: list[str]
) -> None:
    """Its lease of an hour is not over, and what it kept for the dream is not swept yet."""
    stage = Stage()
    stage.fill(TEXTS)
    stage.update()
    stage.scene.deliver()
    answers = [creating(stage, "/here-1.md", "/here-2.md"), creating(stage, "/away.md")]
    stage.model.said += answers[::-1] if held_at == "model" else answers
    real = Memories.write

    def move_and_dream() -> None:
        stage.model.before = lambda: None
        move(stage.scene)
        stage.scene.at(AWAY)._models = stage.model
        stage.scene.at(AWAY).dream_runner(60_000_000).tick(stage.workspace)

    def write(self: Memories, call: RequestContext, command: Command, **options: Any) -> Memory:
        made = real(self, call, command, **options)
        if isinstance(command, CreateMemory) and command.path == "/here-1.md":
            move_and_dream()
        return made

    if held_at == "model":
        stage.model.before = move_and_dream
    else:
        monkeypatch.setattr(Memories, "write", write)
    stage.tick()
    assert sorted(stage.texts()) == sorted([*TEXTS, *written, "/away.md"])
    assert (records(stage, "run", HOME), records(stage, "run", AWAY)) == (["pending", "running"], ["completed"])


def test_a_worker_that_hears_of_the_end_at_the_new_home_before_it_hears_of_that_home_writes_nothing() -> None:
    """The end has no greater number than the worker's own record."""
    stage = Stage()
    stage.fill(TEXTS)
    dream = stage.update()
    stage.model.said = [creating(stage, "/here.md")]
    site = stage.scene.cloud.sites[HOME]
    runs = RunLog(site.region)

    def hear_of_the_end() -> None:
        record = runs.read(site.region.view([]), dream.id)
        assert record is not None
        assert record.sequence == 2
        runs.fold(site.region.view([]), replace(record, status=DreamStatus.COMPLETED, home=AWAY), AWAY)

    stage.model.before = hear_of_the_end
    stage.tick()
    assert sorted(stage.texts()) == sorted(TEXTS)
    assert records(stage, "run", HOME) == ["pending", "running"]
    assert stage.client.beta.dreams.retrieve(dream.id).status == "completed"


def test_a_job_that_was_claimed_again_for_a_dream_that_is_done_does_not_count_as_done_once_more() -> None:
    """Its worker had read the dream's row before the end was indexed."""
    stage = Stage()
    stage.fill(TEXTS)
    dream = stage.done(stage.update())
    other = claim(stage, HOME, "drm_other")
    JobLog(stage.scene.cloud.sites[HOME].region).failed(other, run_id="drm_other", error="stopped")
    claim(stage, HOME, dream.id)
    assert stage.runner is not None
    assert stage.runner.take_up(dream.id) is Taken.ENDED
    assert records(stage, "job", HOME) == ["claimed", "done", "claimed", "failed", "claimed"]


def test_a_job_that_the_new_home_claimed_does_not_count_as_done_by_the_late_end_of_the_former_home() -> None:
    stage = Stage()
    stage.fill(TEXTS)
    dream = stage.update()
    home, key = stage.scene.cloud.sites[HOME].region, StoreRow.key(stage.scene.store)
    before = StoreRow.from_attributes(home.view([key]).rows[key])
    stage.scene.deliver()
    move(stage.scene)
    claim(stage, AWAY, dream.id)
    runs = RunLog(home)
    record = runs.read(home.view([]), dream.id)
    assert record is not None
    ended = replace(record, sequence=record.sequence + 1, status=DreamStatus.COMPLETED, ended_at=record.created_at)
    assert runs.put(home.view([]), before, ended)
    stage.scene.deliver()
    away = stage.scene.at(AWAY)
    away._models = stage.model
    assert away.dream_runner(60_000_000).take_up(dream.id) is Taken.ENDED
    assert records(stage, "job", AWAY) == ["claimed"]


def claim(stage: Stage, region: str, run_id: str) -> JobRecord:
    """A worker claims the store's job in a region for a dream, and gets no further."""
    at, key = stage.scene.cloud.sites[region].region, StoreRow.key(stage.scene.store)
    store = StoreRow.from_attributes(at.view([key]).rows[key])
    found = JobLog(at).claim(store, job_of(store.store_id), run_id, at.clock.now_us(), requested=True).record
    assert found is not None
    return found


def test_a_dream_that_stopped_for_a_move_that_was_given_up_carries_out_the_plan_that_it_had() -> None:
    stage = Stage()
    stage.fill(TEXTS)
    dream = stage.update()
    stage.model.said = [creating(stage, "/here.md")]
    begin = {"call": "homes.begin", "store_id": stage.scene.store, "to": AWAY}
    stage.model.before = lambda: do(lambda: stage.scene.cloud.peers.call(HOME, "reconciler", begin))
    assert stage.runner is not None
    assert stage.runner.take_up(dream.id) is Taken.ENDED
    assert sorted(stage.texts()) == sorted(TEXTS)
    move(stage.scene, HOME)
    stage.scene.clock.advance(61)
    stage.tick()
    assert sorted(stage.texts()) == sorted([*TEXTS, "/here.md"])
    assert len(stage.model.asks) == 1
    assert stage.client.beta.dreams.retrieve(dream.id).status == "completed"


@pytest.mark.parametrize(("before", "put"), [("/job/", ["pending"]), ("/log/", ["pending", "running"])])
def test_a_worker_whose_store_moved_before_it_wrote_or_as_it_copied_puts_nothing_over_the_cancel_at_the_new_home(
    before: str, put: list[str]
) -> None:
    """Of two records of one number that of the greater region's name stands in every region."""
    stage = Stage()
    stage.fill(TEXTS)
    dream = stage.create()
    stage.scene.deliver()
    canceled: list[str] = []

    def moving(call: Call, act: Any) -> Any:
        if call.name == "objects.put_if_absent" and before in call.subjects[0] and not canceled:
            canceled.append("")
            move(stage.scene)
            canceled[0] = stage.scene.at(AWAY).dreams.cancel(stage.scene.call(), dream.id).status
        return act()

    assert stage.runner is not None
    with stage.scene.intercepted_by(moving):
        stage.runner.tick(stage.workspace)
    assert canceled == ["canceled"]
    assert (records(stage, "run", HOME), records(stage, "run", AWAY)) == (put, ["canceled"])
    stage.scene.deliver()
    for region in (HOME, AWAY):
        assert stage.scene.at(region).dreams.retrieve(stage.scene.call(), dream.id).status == "canceled"


def test_a_new_home_that_has_not_heard_of_the_end_of_a_dream_does_not_do_it_again() -> None:
    """The record has arrived in its bucket, and its event has not: its rows say that the dream is to be done."""
    stage = Stage()
    stage.fill(TEXTS)
    dream = stage.update()
    stage.scene.deliver()
    keys = [
        DreamRow.key(dream.id),
        DreamRow.listing_key(stage.workspace, dream.id),
        DreamRow.listing_key(stage.workspace, dream.id, is_open=True),
        DreamRow.open_everywhere(dream.id),
    ]
    index = stage.scene.cloud.sites[AWAY].region.index
    pending = index.read(keys)
    assert len(pending) == len(keys)
    stage.tick()
    stage.scene.deliver()
    move(stage.scene)
    ended = index.read(keys)
    index.commit([Change(key, ended.get(key), pending[key]) for key in keys])
    away, asked = stage.scene.at(AWAY), len(stage.model.asks)
    away._models = stage.model
    away.dream_runner(60_000_000).tick(stage.workspace)
    assert records(stage, "job", AWAY) == []
    assert len(stage.model.asks) == asked
    assert index.read(keys) == ended


@pytest.mark.parametrize("landed", [HOME, AWAY])
def test_a_dream_is_not_canceled_once_a_planned_move_has_copied_its_records(landed: str) -> None:
    """The new home would not know of the cancel, and end the dream with a record of its own."""
    stage = Stage()
    stage.fill(TEXTS)
    dream = stage.update()
    stage.scene.deliver()

    def cancel() -> None:
        with pytest.raises(Unavailable, match="being moved"):
            stage.scene.at(landed).dreams.cancel(stage.scene.call(), dream.id)

    at_the_cut(stage.scene, cancel)
    assert records(stage, "run", HOME) == ["pending"]
    away = stage.scene.at(AWAY)
    assert away.dreams.cancel(stage.scene.call(), dream.id).status == "canceled"
    away._models = stage.model
    away.dream_runner(60_000_000).tick(stage.workspace)
    stage.scene.deliver()
    assert records(stage, "run", AWAY) == ["canceled"]
    assert stage.client.beta.dreams.retrieve(dream.id).status == "canceled"


@pytest.mark.parametrize(
    ("before", "error", "put"),
    [("objects.get", Unavailable, ["pending"]), ("objects.put_if_absent", OutcomeUnknown, ["pending", "canceled"])],
)
def test_a_cancel_that_stalls_while_the_store_moves_is_not_acknowledged(
    before: str, error: type[Exception], put: list[str]
) -> None:
    stage = Stage()
    stage.fill(TEXTS)
    dream = stage.update()
    stage.scene.deliver()
    moved: list[str] = []

    def moving(call: Call, act: Any) -> Any:
        if call.name == before and "/run/" in call.subjects[0] and not moved:
            moved.append("")
            move(stage.scene)
        return act()

    with stage.scene.intercepted_by(moving), pytest.raises(error):
        stage.scene.at(HOME).dreams.cancel(stage.scene.call(), dream.id)
    assert moved
    assert records(stage, "run", HOME) == put


@pytest.mark.parametrize("landed", [HOME, AWAY])
def test_no_dream_begins_once_a_planned_move_has_copied_the_others(landed: str) -> None:
    stage = Stage()
    stage.fill(TEXTS)
    stage.scene.deliver()
    request = DreamRequest(stage.scene.store, (), "claude-x", behavior=UPDATE_EXISTING)

    def begin() -> None:
        with pytest.raises((Unavailable, OutcomeUnknown)):
            stage.scene.at(landed).dreams.create(stage.scene.call(), request)

    stage.scene.at(landed)._dreams = True
    at_the_cut(stage.scene, begin)
    stage.scene.deliver()
    assert records(stage, "run", HOME) == records(stage, "run", AWAY) == []


def test_a_dream_of_an_erased_store_is_canceled_where_its_home_was() -> None:
    stage = Stage()
    dream = stage.update()
    stage.erase_store()
    assert stage.client.beta.dreams.cancel(dream.id).status == "canceled"
