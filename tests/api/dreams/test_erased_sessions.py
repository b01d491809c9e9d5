"""Words of a session that are erased are in no step of a dream that reads it, whatever takes them away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memolith.app.api.transcripts import EventDraft
from tests.api.dreams.stage import TEXTS, Stage
from tests.api.dreams.test_forgotten_steps import SAID, pause_after_asking, steps, sweep
from tests.unit.app.scene import AWAY, HOME

DAY_S = 24 * 3600


def store(stage: Stage, **options: Any) -> str:
    made = stage.memolith.stores.create(stage.scene.call(), name="other", description="", metadata={}, **options)
    stage.scene.deliver()
    return made.id


def told(stage: Stage, *stores: str) -> str:
    """Record what was said in a session that has these stores beside the one that is dreamed of; the session's id."""
    attached = [
        {"type": "memory_store", "memory_store_id": one, "access": "read_write"} for one in (stage.scene.store, *stores)
    ]
    made: Any = stage.client.post("/v1/sessions", body={"resources": attached}, cast_to=object)
    draft = EventDraft("user.message", {"content": [{"type": "text", "text": SAID}]}, "c1")
    stage.memolith.transcripts.record(stage.scene.call(), made["id"], [draft])
    stage.scene.deliver()
    return str(made["id"])


def paused_dream(stage: Stage, session_id: str) -> Any:
    dream = stage.update(more=[{"type": "sessions", "session_ids": [session_id]}])
    pause_after_asking(stage, dream)
    assert words_kept(stage)
    return dream


def words_kept(stage: Stage) -> bool:
    return any("Thursdays" in text for text in steps(stage).values())


def delete_the_other_store(stage: Stage) -> None:
    other = store(stage)
    paused_dream(stage, told(stage, other))
    stage.client.beta.memory_stores.delete(other)
    for _ in range(4):
        stage.scene.clock.advance(3_600)
        stage.scene.deliver()
        for region in (HOME, AWAY):
            stage.scene.cloud.peers.call(region, "eraser", {"call": "sweep"})


def let_the_days_of_the_other_store_go_by(stage: Stage) -> None:
    paused_dream(stage, told(stage, store(stage, retention={"transcript_days": 2})))
    stage.scene.clock.advance(3 * DAY_S)
    sweep(stage)


def delete_the_session_and_lose_the_event(stage: Stage) -> None:
    session_id = told(stage)
    paused_dream(stage, session_id)
    stage.client.beta.sessions.delete(session_id)
    stage.scene.cloud.pending.clear()
    assert words_kept(stage)
    sweep(stage)


@pytest.mark.parametrize(
    "take_away",
    [delete_the_other_store, let_the_days_of_the_other_store_go_by, delete_the_session_and_lose_the_event],
)
def test_words_of_a_session_that_are_erased_are_in_no_step_of_a_dream(
    stage: Stage, take_away: Callable[[Stage], None]
) -> None:
    take_away(stage)
    assert not words_kept(stage)


def test_a_dream_whose_session_went_with_another_store_asks_again_without_it_and_completes(stage: Stage) -> None:
    other = store(stage)
    dream = paused_dream(stage, told(stage, other))
    stage.client.beta.memory_stores.delete(other)
    for _ in range(4):
        stage.scene.clock.advance(3_600)
        stage.scene.deliver()
        sweep(stage)
    asked = len(stage.model.asks)
    assert stage.done(dream).status == "completed"
    assert not any("Thursdays" in ask.turns[0].text for ask in stage.model.asks[asked:])


def test_the_days_of_a_session_that_no_dream_reads_take_no_step_away(stage: Stage) -> None:
    told(stage, store(stage, retention={"transcript_days": 2}))
    pause_after_asking(stage, stage.update())
    kept = steps(stage)
    stage.scene.clock.advance(3 * DAY_S)
    assert stage.scene.cloud.peers.call(HOME, "eraser", {"call": "sweep"})["transcript_parts"] == 1
    assert steps(stage) == kept


def found_in_steps(stage: Stage, store_id: str, **needles: list[str]) -> list[str]:
    """Search for remains of a store to the end; the names of the steps in which anything was found."""
    at, found = None, list[str]()
    while True:
        call = {"call": "erasure.search", "store_id": store_id, "at": at, **needles}
        answer = stage.scene.cloud.peers.call(HOME, "eraser", call)
        found += [one["place"].rpartition("/")[2] for one in answer["found"] if one["place"].startswith("local/dream/")]
        at = answer["next"]
        if at is None:
            return found


def test_a_search_for_remains_of_a_store_looks_at_steps_of_other_stores_dreams_that_read_its_sessions(
    stage: Stage,
) -> None:
    other, stranger = store(stage), store(stage)
    paused_dream(stage, told(stage, other))
    kept = [name for name, text in steps(stage).items() if "Thursdays" in text]
    for store_id in (stage.scene.store, other):
        assert found_in_steps(stage, store_id, texts=["Thursdays"]) == kept
    assert found_in_steps(stage, stranger, texts=["Thursdays"]) == []
    assert sorted(found_in_steps(stage, stage.scene.store)) == sorted(steps(stage))
    assert found_in_steps(stage, other) == [], "without a text, only what the store's own dreams keep remains of it"


def test_a_search_for_remains_of_a_new_store_looks_at_steps_of_the_dream_that_writes_into_it(stage: Stage) -> None:
    dream = stage.create()
    output = stage.runs()[0].output_store_id
    pause_after_asking(stage, dream)
    kept = sorted(name for name, text in steps(stage).items() if TEXTS["/old.md"] in text)
    assert "plan" in kept
    assert sorted(found_in_steps(stage, output, texts=[TEXTS["/old.md"]])) == kept
