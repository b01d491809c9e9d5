"""How far one look at a store comes: which of its sessions count against it, and what the others cost it."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.app.api.transcripts import EventDraft
from memolith.core.pipelines.usage import CITED
from memolith.ports.model import ModelUnavailable
from tests.api.dreams.stage import Stage, choose
from tests.unit.app.api.test_automatic import RULE, another_process, begin, look, told, wait


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_of_more_sessions_than_one_look_asks_about_the_oldest_come_first_and_the_others_next(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.app.api.automatic.AUTO_SESSIONS_PER_RUN", 2)
    choose(stage, auto_extract="propose")
    sessions = [told(stage, text) for text in (RULE, "What is the capital of France?", "I prefer short answers.")]
    wait(stage, 7)
    assert look(stage).extracted == {"proposed": 1, "no_output": 1}
    assert [sessions[2] in ask.turns[0].text for ask in stage.model.asks] == [False, False]
    assert look(stage, another_process(stage)).extracted == {"up_to_date": 2, "proposed": 1}


@pytest.mark.parametrize("kind", ["done", "failed", "silent"])
def test_sessions_of_which_nothing_is_to_be_asked_hold_up_no_other_where_processes_are_new(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("memolith.app.api.automatic.AUTO_SESSIONS_PER_RUN", 2)
    choose(stage, auto_extract="propose", idle_hours=1)
    for number in range(3):
        if kind == "silent":
            note = EventDraft(CITED, {"path": "/a.md"})
            stage.memolith.transcripts.record(stage.scene.call(), begin(stage), [note])
        else:
            told(stage, f"From now on deploy service number {number} on Thursdays, never on Fridays.")
    wait(stage, 2)

    def fail() -> None:
        raise ModelUnavailable("away")

    stage.model.before = fail if kind == "failed" else lambda: None
    for _ in range(3):
        look(stage, another_process(stage))
    stage.model.before = lambda: None
    stage.memolith.sessions.archive(stage.scene.call(), told(stage))
    stage.scene.deliver()
    outcome = {"done": "up_to_date", "failed": "retry_backoff", "silent": "nothing_said"}[kind]
    assert look(stage, another_process(stage)).extracted == {outcome: 3, "proposed": 1}


def test_of_a_session_that_is_tried_again_later_nothing_is_read_before(stage: Stage) -> None:
    choose(stage, auto_extract="propose")
    told(stage)
    wait(stage, 7)

    def fail() -> None:
        raise ModelUnavailable("away")

    stage.model.before = fail
    look(stage)
    read: list[str] = []

    def note(call: Any, act: Any) -> Any:
        read.extend(call.subjects)
        return act()

    with stage.scene.intercepted_by(note):
        assert look(stage, another_process(stage)).extracted == {"retry_backoff": 1}
    assert not [one for one in read if "/transcript/" in one]
