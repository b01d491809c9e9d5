"""A dream that is killed goes on where it stopped, from what was kept of it while it was under way."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.layered import Call, Crash, Fault, Faulty
from memolith.app.api.dream_run import Taken
from memolith.ports.model import Answer, Ask, Usage
from tests.api.dreams.stage import TEXTS, Asked, Stage, do
from tests.unit.app.scene import HOME


class Killing:
    """Has the caller die before one port call, and counts the calls."""

    def __init__(self, at: int | None) -> None:
        self._at, self.calls = at, 0

    def strike(self, call: Call) -> Fault | None:
        self.calls += 1
        return Fault.CRASH_BEFORE if self.calls == self._at else None


@pytest.mark.slow
@pytest.mark.parametrize("behavior", ["create_new", "update_existing", "propose"])
def test_a_dream_that_is_killed_at_any_step_is_taken_up_again_and_comes_to_the_same_end(behavior: str) -> None:
    def after(kill_at: int | None) -> tuple[dict[str, str | None], int, str]:
        stage = Stage(seed=3)
        stage.fill()
        if behavior == "propose":
            dream = stage.create(extra_body={"output_behavior": {"type": "propose"}})
        else:
            dream = stage.create() if behavior == "create_new" else stage.update()
        killing = Killing(kill_at)
        assert stage.runner is not None
        with stage.scene.intercepted_by(Faulty(killing)), suppress(Crash):
            stage.runner.tick(stage.workspace)
        for _ in range(2):
            stage.scene.clock.advance(61)
            stage.tick()
        ended: Any = stage.client.beta.dreams.retrieve(dream.id)
        if behavior == "propose":
            [proposal] = stage.memolith.proposals.page(
                stage.scene.call(), stage.scene.store, status="open", limit=9, after=None
            ).items
            assert proposal.id == ended.model_extra["x_memolith"]["proposal_id"]
            stage.memolith.proposals.approve(stage.scene.call(), stage.scene.store, proposal.id)
            return stage.texts(), killing.calls, ended.status
        return stage.texts(ended.outputs[0].memory_store_id), killing.calls, ended.status

    whole, calls, status = after(None)
    assert status == "completed"
    assert calls > 20
    ends = {kill_at: after(kill_at) for kill_at in range(1, calls + 1, 3)}
    assert {kill_at: end for kill_at, end in ends.items() if (end[0], end[2]) != (whole, "completed")} == {}


def _steps(stage: Stage) -> list[str]:
    keys = stage.scene.cloud.buckets.page(HOME, "local/dream/", None, 1_000).keys
    return [key for key in keys if key.startswith("local/dream/")]


class Fickle(Asked):
    """A model that answers the same question with other edits each time."""

    source = ""

    def ask(self, ask: Ask) -> Answer:
        number = len(self.asks) + 1
        edits: list[dict[str, Any]] = [
            {"op": "create", "path": f"/made/{one}-{number}.md", "content": f"answer {number}.{one}", "old": None}
            | {"new": None, "to": None, "why": "w", "sources": [self.source]}
            for one in range(4)
        ]
        self.said = [{"open": [], "edits": edits, "summary": "", "done": True}]
        return replace(super().ask(ask), usage=Usage(10, 5, 3, 2))


@pytest.mark.slow
def test_a_dream_whose_model_answers_otherwise_each_time_carries_out_one_plan_wherever_it_is_killed() -> None:
    def after(kill_at: int | None) -> tuple[dict[str, str | None], int, int, str, int]:
        stage = Stage(seed=3)
        stage.model = model = Fickle()
        stage.memolith._models = model  # the runner below asks it
        stage.runner = stage.memolith.dream_runner(60_000_000)
        stage.fill()
        listed = stage.client.beta.memory_stores.memories.list(stage.scene.store)
        model.source = next(one.memory_version_id for one in listed if one.type == "memory")
        dream, killing = stage.update(), Killing(kill_at)
        with stage.scene.intercepted_by(Faulty(killing)), suppress(Crash):
            stage.runner.tick(stage.workspace)
        for _ in range(2):
            stage.scene.clock.advance(61)
            stage.scene.deliver()
            stage.runner.take_up(dream.id)
        over: Any = stage.client.beta.dreams.retrieve(dream.id)
        assert _steps(stage) == [], "what it kept is gone with its end"
        created = over.model_extra["x_memolith"]["created"]
        return stage.texts(), killing.calls, len(model.asks), over.status, created + over.usage.input_tokens

    whole, calls, asked, status, counted = after(None)
    assert (asked, status, counted) == (1, "completed", 14)
    assert sorted(set(whole) - set(TEXTS)) == [f"/made/{one}-1.md" for one in range(4)]
    for kill_at in range(1, calls + 1, 2):
        texts, _, asked, status, counted = after(kill_at)
        made = {path.rpartition("-")[2] for path in texts if path.startswith("/made/")}
        assert (len(texts), len(made), status, counted) == (len(whole), 1, "completed", 14), kill_at
        assert asked <= 2, kill_at


def test_an_answer_that_was_kept_is_not_paid_for_twice(
    stage: Stage,
) -> None:
    dream = stage.update()
    stage.model.before = lambda: do(lambda: stage.scene.clock.advance(1_000))
    assert stage.runner is not None
    late = stage.scene.clock.now_us() + 500_000_000
    assert stage.runner.take_up(dream.id, until_us=late) is Taken.PAUSED, "there was time for the question alone"
    assert len(stage.model.asks) == 1
    assert len(_steps(stage)) == 4, "the marks of who began and who asked, the answer and the plan"
    assert stage.runner.take_up(dream.id) is Taken.ENDED
    assert len(stage.model.asks) == 1
    assert set(stage.texts()) == {"/new.md", "/other.md"}


def test_an_erased_text_is_in_no_step_of_a_dream_and_the_dream_asks_again() -> None:
    stage = Stage()
    stage.fill()
    secret = stage.scene.create("/secret.md", "the words that are to be erased")
    dream = stage.update()
    stage.model.before = lambda: do(lambda: stage.scene.clock.advance(1_000))
    assert stage.runner is not None
    stage.runner.take_up(dream.id, until_us=stage.scene.clock.now_us() + 500_000_000)
    assert _steps(stage)
    stage.scene.update(secret.id, "nothing")
    stage.client.beta.memory_stores.memory_versions.redact(secret.version_id, memory_store_id=stage.scene.store)
    stage.scene.deliver()
    assert _steps(stage) == []
    assert stage.runner.take_up(dream.id) is Taken.ENDED
    assert len(stage.model.asks) == 2
    assert "to be erased" not in stage.model.asks[1].turns[0].text
    assert stage.client.beta.dreams.retrieve(dream.id).status == "completed"
