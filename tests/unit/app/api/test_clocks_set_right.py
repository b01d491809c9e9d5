"""Pipelines of a store whose home had a clock that was ahead, once that was set right."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.ports.model import ModelUnavailable
from tests.api.dreams.stage import Stage, choose
from tests.unit.app.api.test_automatic import RULE, another_process, dream, look, say, told, wait
from tests.unit.app.api.test_remarks import kept, remark

MONTH_H = 30 * 24
OTHER = "Please remember that the release branch is cut on Mondays."


@pytest.fixture
def stage() -> Stage:
    return Stage()


def asked(stage: Stage, since: int = 0) -> str:
    return " ".join(ask.turns[0].text for ask in stage.model.asks[since:])


def handed(over: Any) -> list[str]:
    return list(over.to_dict()["inputs"][1]["session_ids"])


def test_a_store_dreams_by_itself_again_of_what_is_said_after_a_clock_was_set_right(stage: Stage) -> None:
    choose(stage, auto_dream="propose", dream_min_sessions=1)
    wait(stage, MONTH_H)
    ahead = told(stage)
    assert handed(dream(stage)) == [ahead]
    wait(stage, -MONTH_H)
    later = told(stage, OTHER)
    assert set(handed(dream(stage))) == {later, ahead}, "up to when words were handed over is not known any more"
    wait(stage, 25)
    last = told(stage, "From now on write release notes in English.")
    over = dream(stage)
    assert last in handed(over) and later not in handed(over)


def test_a_part_of_a_transcript_from_a_clock_that_was_ahead_keeps_no_other_session_from_a_dream(stage: Stage) -> None:
    choose(stage, auto_dream="propose", dream_min_sessions=1)
    wait(stage, MONTH_H)
    ahead = told(stage)
    wait(stage, -MONTH_H)
    assert handed(dream(stage)) == [ahead]
    wait(stage, 25)
    later = told(stage, OTHER)
    assert later in handed(dream(stage))


def test_a_remark_is_enough_for_a_dream_after_a_clock_was_set_right_and_is_handed_to_it(stage: Stage) -> None:
    choose(stage, auto_dream="write")
    wait(stage, MONTH_H)
    remark(stage, RULE)
    stage.scene.deliver()
    dream(stage)
    wait(stage, -MONTH_H)
    texts = ["The port of the gateway is 8443.", "The port of the indexer is 9443."]
    for text in texts:
        remark(stage, text)
        stage.scene.deliver()
        wait(stage, 1)
        dream(stage)
        wait(stage, 25)
    assert kept(stage, texts) == texts


def test_a_dream_whose_worker_died_with_a_clock_ahead_is_taken_up_once_it_is_set_right(stage: Stage) -> None:
    stage.fill()
    made = stage.update()
    wait(stage, MONTH_H)

    def die() -> None:
        raise KeyboardInterrupt

    stage.model.before = die
    with pytest.raises(KeyboardInterrupt):
        stage.tick()
    stage.model.before = lambda: None
    stage.tick()
    assert stage.client.beta.dreams.retrieve(made.id).status == "running", "its lease holds"
    wait(stage, -MONTH_H)
    assert stage.done(made).status == "completed"


def test_a_worker_keeps_the_dream_that_it_works_on_while_its_clock_is_set_right(stage: Stage) -> None:
    wait(stage, MONTH_H)
    sessions = [told(stage), told(stage, OTHER)]
    made = stage.update(more=[{"type": "sessions", "session_ids": sessions}])
    others = another_process(stage).dream_runner(60_000_000)
    taken: list[int] = []

    def set_right() -> None:
        if len(stage.model.asks) == 1:
            wait(stage, -MONTH_H)
        else:
            taken.append(others.tick(stage.workspace))

    stage.model.before = set_right
    stage.tick()
    assert stage.client.beta.dreams.retrieve(made.id).status == "completed"
    assert taken == [0, 0]


@pytest.mark.parametrize("failed", [False, True])
def test_a_session_is_extracted_though_its_last_words_are_from_a_clock_that_was_ahead(
    stage: Stage, failed: bool
) -> None:
    choose(stage, auto_extract="propose", idle_hours=6)

    def fail() -> None:
        raise ModelUnavailable("away")

    wait(stage, MONTH_H)
    session_id = told(stage)
    if failed:
        wait(stage, 7)
        stage.model.before = fail
        assert look(stage).failure is not None
        stage.model.before = lambda: None
        wait(stage, -7)
    wait(stage, -MONTH_H)
    assert look(stage, another_process(stage)).extracted == {"proposed": 1}
    say(stage, session_id, OTHER)
    wait(stage, 7)
    assert look(stage, another_process(stage)).extracted == {"proposed": 1}
    assert "Mondays" in asked(stage, -1)
