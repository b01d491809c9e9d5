"""What a dream keeps while it is under way is gone when it is over, however it ends, and with any erasure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memolith.adapters.layered import Call
from memolith.app.api.dream_run import Taken
from memolith.app.pipelines.dream_steps import DreamSteps
from tests.api.dreams.stage import Stage, do, tell
from tests.unit.app.homes.test_transfer import move
from tests.unit.app.scene import AWAY, HOME

SAID = "Please remember that the release branch is cut on Thursdays."
SECRET = "the words to be erased"
NO_PARTS = {"old": None, "new": None, "to": None}


def steps(stage: Stage) -> dict[str, str]:
    """Return the text of each step that the store's home keeps, by its name."""
    keys = stage.scene.cloud.buckets.page(HOME, "local/dream/", None, 1_000).keys
    found = {key: stage.scene.cloud.buckets.current(HOME, key) for key in keys if key.startswith("local/dream/")}
    return {key.rpartition("/")[2]: one.body.decode() for key, one in found.items() if one is not None}


def sweep(stage: Stage) -> None:
    stage.scene.cloud.peers.call(HOME, "eraser", {"call": "sweep"})


def at_question(stage: Stage, number: int, act: Callable[[], object]) -> None:
    """Have the model act before it answers the question of that number."""
    stage.model.before = lambda: do(act) if len(stage.model.asks) == number else None


def pause_after_asking(stage: Stage, dream: Any) -> None:
    """Ask the model the first question about the dream, and leave the dream as a function that has no more time."""
    at_question(stage, 1, lambda: stage.scene.clock.advance(1_000))
    assert stage.runner is not None
    assert stage.runner.take_up(dream.id, stage.scene.clock.now_us() + 500_000_000) is Taken.PAUSED
    assert steps(stage)


def secret_edit(stage: Stage) -> tuple[str, str]:
    """Have a memory with a text that is to be erased, and a model that answers with that text; its ids."""
    secret = stage.scene.create("/secret.md", SECRET)
    stage.scene.deliver()
    edit = {"op": "create", "path": "/merged.md", "content": SECRET, "why": "w", "sources": [secret.version_id]}
    stage.model.said = [{"open": [], "edits": [{**edit, **NO_PARTS}], "summary": "", "done": True}]
    return secret.id, secret.version_id


def redact(stage: Stage, memory_id: str, version_id: str) -> None:
    stage.scene.update(memory_id, "nothing")
    stage.client.beta.memory_stores.memory_versions.redact(version_id, memory_store_id=stage.scene.store)


@pytest.mark.parametrize("question", [1, 2])
def test_a_dream_that_is_canceled_while_its_model_thinks_keeps_nothing_and_gives_its_job_back(
    stage: Stage, question: int
) -> None:
    session_id = tell(stage, ("user.message", SAID))
    dream = stage.update(more=[{"type": "sessions", "session_ids": [session_id]}])
    at_question(stage, question, lambda: stage.client.beta.dreams.cancel(dream.id))
    assert stage.done(dream).status == "canceled"
    assert len(stage.model.asks) == question
    assert steps(stage) == {}
    assert stage.done(stage.update()).status == "completed", "no lease of the first dream is waited for"


def test_a_dream_whose_store_moves_while_its_model_thinks_keeps_nothing_at_the_old_home(stage: Stage) -> None:
    stage.update()
    at_question(stage, 1, lambda: move(stage.scene))
    stage.tick()
    assert len(stage.model.asks) == 1
    assert steps(stage) == {}


def test_a_text_that_is_redacted_while_the_model_thinks_is_in_no_step_and_in_no_memory(stage: Stage) -> None:
    ids = secret_edit(stage)
    dream = stage.update()
    at_question(stage, 1, lambda: redact(stage, *ids))
    assert stage.runner is not None
    assert stage.runner.take_up(dream.id) is Taken.PAUSED
    assert steps(stage) == {}
    assert "/merged.md" not in stage.texts()
    assert stage.done(dream).status == "completed"
    assert len(stage.model.asks) == 2
    assert SECRET not in stage.model.asks[1].turns[0].text
    assert SECRET not in stage.texts().values()


def test_a_step_that_is_kept_between_the_erasers_look_and_its_removal_is_removed_too(stage: Stage) -> None:
    ids = secret_edit(stage)
    dream = stage.update()
    looked: list[str] = []

    def look_at_once(call: Call, act: Any) -> Any:
        """Have the eraser of the redaction wait, after it looked for steps, until the worker has kept its answer."""
        if call.name == "erasable.remove" and not looked:
            looked.append(call.subjects[0])
            record = stage.memolith.dream_runner(1)._runs.read(stage.scene.cloud.sites[HOME].region.view(), dream.id)
            assert record is not None
            token = looked[0].rpartition(".")[2]
            region = stage.scene.cloud.sites[HOME].region
            assert DreamSteps(region).keep(record, token, "answer", {"data": SECRET}), "its mark is still there"
        return act()

    def redact_meanwhile() -> None:
        with stage.scene.intercepted_by(look_at_once):
            redact(stage, *ids)
        assert steps(stage) == {}

    at_question(stage, 1, redact_meanwhile)
    assert stage.runner is not None
    stage.runner.take_up(dream.id)
    assert len(looked) == 1


def test_a_session_that_is_deleted_is_in_no_step_of_a_dream_under_way(stage: Stage) -> None:
    session_id = tell(stage, ("user.message", SAID))
    dream = stage.update(more=[{"type": "sessions", "session_ids": [session_id]}])
    pause_after_asking(stage, dream)
    assert any("Thursdays" in text for text in steps(stage).values())
    stage.client.beta.sessions.delete(session_id)
    stage.scene.deliver()
    assert steps(stage) == {}
    assert stage.done(dream).status == "completed"
    assert not any("Thursdays" in ask.turns[0].text for ask in stage.model.asks[1:])


def test_a_session_that_no_dream_reads_takes_no_steps_with_it(stage: Stage) -> None:
    session_id = tell(stage, ("user.message", SAID))
    pause_after_asking(stage, stage.update())
    kept = steps(stage)
    stage.client.beta.sessions.delete(session_id)
    stage.scene.deliver()
    assert steps(stage) == kept


def test_a_sweep_removes_what_a_paused_dream_kept_that_is_canceled_and_not_of_one_that_is_open(stage: Stage) -> None:
    dream = stage.update()
    pause_after_asking(stage, dream)
    kept = steps(stage)
    sweep(stage)
    assert steps(stage) == kept
    stage.client.beta.dreams.cancel(dream.id)
    assert steps(stage) == kept
    sweep(stage)
    assert steps(stage) == {}


def test_a_sweep_removes_what_a_dream_kept_whose_store_has_another_home_now(stage: Stage) -> None:
    pause_after_asking(stage, stage.update())
    move(stage.scene)
    stage.scene.deliver()
    assert stage.scene.cloud.rows(HOME, "stores")[stage.scene.store, "record"]["home"] == AWAY
    sweep(stage)
    assert steps(stage) == {}


def test_a_sweep_passes_over_what_is_no_step_of_a_dream(stage: Stage) -> None:
    stage.scene.cloud.sites[HOME].region.objects.put_if_absent("local/dream/", b"", {})
    sweep(stage)
    assert list(steps(stage)) == [""]
