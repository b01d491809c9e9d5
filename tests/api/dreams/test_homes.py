"""Where a dream runs: at the home of its store, wherever it was asked for; and where it is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import anthropic
import httpx2
import pytest

from memolith.adapters.layered import Call
from memolith.adapters.memory import MemoryQueue, RecordingMetrics, SeededRandomness
from memolith.app.api.dream_run import Taken
from memolith.app.replication.due_dreams import DueDreams
from memolith.core.rows.dreams import DreamRow
from memolith.wire.http import HttpApi
from tests.api.dreams.stage import TEXTS, Stage
from tests.api.transport import Gateway
from tests.unit.app.scene import AWAY, HOME

T = TypeVar("T")


def test_every_region_shows_the_dreams_of_a_store_and_a_deleted_store_takes_their_words_along(stage: Stage) -> None:
    dream = stage.done(stage.create(instructions="words of the owner"))
    rows = [stage.scene.cloud.rows(region, "keys")[dream.id, "dream"] for region in (HOME, AWAY)]
    assert rows[0] == rows[1]
    assert "words of the owner" not in json.dumps(rows)
    assert DreamRow.from_attributes(rows[0]).parsed.status == "completed"
    assert any(run.instructions for run in stage.runs(AWAY))
    stage.erase_store()
    assert [run.instructions for run in (*stage.runs(HOME), *stage.runs(AWAY)) if run.instructions] == []


def _abroad(stage: Stage) -> tuple[Any, Any]:
    """The SDK in front of the other region, whose use cases its neighbors reach; and the home's own."""
    scene = stage.scene
    clients = []
    for name in (AWAY, HOME):
        api = HttpApi(scene.at(name), scene.clock, SeededRandomness(9), RecordingMetrics())
        http_client = httpx2.Client(transport=Gateway(api.answer))
        clients.append(
            anthropic.Anthropic(
                api_key=scene.api_key, base_url="https://m.test", http_client=http_client, max_retries=0
            )
        )
    return clients[0], clients[1]


@pytest.mark.parametrize("behavior", ["create_new", "update_existing"])
def test_a_dream_that_is_asked_for_elsewhere_runs_at_the_home_of_its_store(behavior: str) -> None:
    stage = Stage()
    stage.fill()
    away, _ = _abroad(stage)
    store = stage.scene.store
    existing = {"type": "update_existing", "memory_store_id": store}
    dream = away.beta.dreams.create(
        inputs=[{"type": "memory_store", "memory_store_id": store}],
        model="claude-x",
        instructions="be brief",
        output_behavior={"type": "create_new"} if behavior == "create_new" else existing,
    )
    assert away.beta.dreams.retrieve(dream.id).status == "pending", "its caller sees it where it asked"
    assert [run.home for run in stage.runs()] == [HOME]
    assert stage.runner is not None
    assert stage.runner.take_up(dream.id) is Taken.WAITS, "its session has not arrived"
    stage.scene.deliver()
    assert stage.runner.take_up(dream.id) is Taken.ENDED
    stage.scene.deliver()
    over = away.beta.dreams.retrieve(dream.id)
    assert (over.status, over.instructions) == ("completed", "be brief")
    assert set(stage.texts(over.outputs[0].memory_store_id)) == {"/new.md", "/other.md"}
    assert {run.home for run in stage.runs()} == {HOME}


def test_a_dream_that_is_canceled_and_archived_elsewhere_is_so_at_its_home() -> None:
    stage = Stage()
    stage.fill()
    dream = stage.update()
    stage.scene.deliver()
    away, home = _abroad(stage)
    assert away.beta.dreams.cancel(dream.id).status == "canceled"
    assert home.beta.dreams.retrieve(dream.id).status == "canceled"
    assert away.beta.dreams.archive(dream.id).archived_at is not None
    assert stage.done(dream).status == "canceled"
    assert stage.texts() == TEXTS
    with pytest.raises(anthropic.ConflictError):
        for _ in range(2):
            _update(away, stage)


@pytest.mark.parametrize("port", ["peers.call", "index.query", "objects.put_if_absent"])
def test_a_dream_that_the_network_asks_for_twice_at_its_home_is_one_dream(stage: Stage, port: str) -> None:
    """The other copy comes before this one, while this one looks for another dream, or before it puts its own."""
    away, _ = _abroad(stage)
    copies: list[Callable[[], object]] = []

    def repeated(call: Call, act: Callable[[], T]) -> T:
        if call.name == "peers.call":
            copies.append(act)
        if copies and call.name == port and call.target == HOME:
            copies.pop()()
        return act()

    with stage.scene.intercepted_by(repeated):
        dream = _update(away, stage)
    assert copies == [], "the copy came"
    assert (dream.status, dream.instructions) == ("pending", "be brief")
    assert [run.run_id for run in stage.runs()] == [dream.id]


def test_a_copy_of_a_dreams_beginning_that_comes_late_finds_that_dream_beside_the_next_one(stage: Stage) -> None:
    away, home = _abroad(stage)
    others = ["to come"]

    def repeated(call: Call, act: Callable[[], T]) -> T:
        if call.name == "peers.call" and others:
            others.clear()
            act()
            [begun] = stage.runs()
            home.beta.dreams.cancel(begun.run_id)
            others.append(_update(home, stage).id)
        return act()

    with stage.scene.intercepted_by(repeated):
        dream = _update(away, stage)
    assert (dream.status, dream.instructions) == ("canceled", "be brief")
    assert {run.run_id for run in stage.runs()} == {dream.id, *others}


def _update(client: Any, stage: Stage) -> Any:
    store = {"type": "memory_store", "memory_store_id": stage.scene.store}
    output = {**store, "type": "update_existing"}
    return client.beta.dreams.create(inputs=[store], model="x", instructions="be brief", output_behavior=output)


def _end_at_home(stage: Stage, dream: Any) -> None:
    """Do a dream of which another region hears that it is over, but neither what it wrote nor what it proposes."""
    stage.scene.deliver()
    assert stage.runner is not None
    assert stage.runner.take_up(dream.id) is Taken.ENDED
    cloud = stage.scene.cloud
    while heard := [n for n, event in enumerate(cloud.pending) if "/run/" in event.key or "/session/" in event.key]:
        cloud.deliver_one(heard[0])


def test_a_dream_is_taken_back_whole_through_a_region_that_has_not_what_it_wrote(stage: Stage) -> None:
    dream = stage.update()
    _end_at_home(stage, dream)
    assert stage.texts() != TEXTS
    away, _ = _abroad(stage)
    answer: Any = away.post(f"/v1/dreams/{dream.id}/revert", cast_to=object)
    assert [one["outcome"] for one in answer["data"]] == ["reverted", "reverted"]
    assert stage.texts() == TEXTS


@pytest.mark.parametrize("is_approved", [True, False])
@pytest.mark.parametrize(("written", "status"), [({"/b.md": "b"}, 504), ({}, 503)])
def test_a_region_that_does_not_know_what_became_of_a_dreams_proposal_has_it_taken_back_later(
    stage: Stage, written: dict[str, str], status: int, is_approved: bool
) -> None:
    """It shows the proposal as open that is approved at home, or has not heard of it."""
    changed = {"/policy/a.md": "a", **written}
    stage.fill(changed)
    stores = stage.client.beta.memory_stores
    stores.update(stage.scene.store, extra_body={"approval": {"paths": [{"prefix": "/policy/"}]}})
    edit = {"op": "replace", "content": "c", "why": "w", **dict.fromkeys(("old", "new", "to"))}
    listed = [one for one in stores.memories.list(stage.scene.store) if one.type == "memory" and one.path in changed]
    edits = [{**edit, "path": one.path, "sources": [one.memory_version_id]} for one in listed]
    stage.model.said = [{"open": [], "edits": edits, "summary": "", "done": True}]
    dream = stage.update()
    _end_at_home(stage, dream)
    proposal_id = stage.memolith.dreams.retrieve(stage.scene.call(), dream.id).proposal_id
    assert proposal_id is not None
    if is_approved:
        stage.scene.deliver()
        stage.memolith.proposals.approve(stage.scene.call(), stage.scene.store, proposal_id)
    away, _ = _abroad(stage)
    with pytest.raises(anthropic.APIStatusError) as refused:
        away.post(f"/v1/dreams/{dream.id}/revert", cast_to=object)
    assert refused.value.status_code == status, refused.value.message
    assert proposal_id in refused.value.message
    stage.scene.deliver()
    answer: Any = away.post(f"/v1/dreams/{dream.id}/revert", cast_to=object)
    assert answer["proposal"]["status"] == ("reverted" if is_approved else "rejected")
    assert stage.texts() == {**TEXTS, **changed}


def test_a_dream_that_runs_out_of_time_goes_on_where_it_stopped_and_is_taken_up_at_once(stage: Stage) -> None:
    dream = stage.create()
    assert stage.runner is not None
    assert stage.runner.take_up(dream.id, until_us=stage.scene.clock.now_us() - 1) is Taken.PAUSED
    assert stage.client.beta.dreams.retrieve(dream.id).status == "running"
    assert stage.runner.take_up(dream.id) is Taken.ENDED
    assert stage.client.beta.dreams.retrieve(dream.id).status == "completed"


def test_a_tick_names_each_dream_once_in_five_minutes_and_only_at_home_and_no_text(stage: Stage) -> None:
    queue, away = MemoryQueue(), MemoryQueue()
    sites = stage.scene.cloud.sites
    due, elsewhere = DueDreams(sites[HOME].region, queue), DueDreams(sites[AWAY].region, away)

    def tick() -> list[str]:
        before = len(queue.messages)
        for one in (due, elsewhere):
            one.run(stage.scene.clock.now_us() + 1_000_000)
        return [json.loads(body)["dream"] for body in list(queue.messages)[before:]]

    assert tick() == []
    first = stage.create(instructions="words of the owner")
    second = stage.create()
    stage.scene.deliver()
    assert tick() == [first.id, second.id]
    assert tick() == []
    stage.scene.clock.advance(301)
    stage.client.beta.dreams.cancel(second.id)
    assert tick() == [first.id]
    stage.tick()
    stage.scene.clock.advance(301)
    assert tick() == []
    assert list(away.messages) == []
    assert "words of the owner" not in "".join(queue.messages)
