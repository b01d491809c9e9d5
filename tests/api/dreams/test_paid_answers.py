"""What a dream has paid for counts, in its record and against its limit, whatever becomes of the answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memolith.app.api.dream_run import Taken
from memolith.ports.model import Answer, Ask, BudgetExceeded, Usage
from tests.api.dreams.stage import Asked, Stage, choose, do, tell
from tests.api.dreams.test_forgotten_steps import SAID, at_question, pause_after_asking, redact, steps

TAKEN = Usage(20_000, 100)


class Dear(Asked):
    """A model of which each answer takes many tokens, and which is not asked where fewer are left."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[int | None] = []

    def ask(self, ask: Ask) -> Answer:
        self.left.append(ask.left.tokens)
        if ask.left.tokens is not None and ask.left.tokens < TAKEN.total:
            raise BudgetExceeded("too few are left")
        return replace(super().ask(ask), usage=TAKEN)


def dear() -> tuple[Stage, Dear]:
    stage, model = Stage(), Dear()
    stage.model = stage.memolith._models = model  # the runner below asks it
    stage.runner = stage.memolith.dream_runner(60_000_000)
    stage.fill()
    return stage, model


def taken_up(stage: Stage, dream: Any) -> Taken:
    assert stage.runner is not None
    return stage.runner.take_up(dream.id)


def counted(stage: Stage, dream: Any) -> tuple[int, int]:
    """How often a dream has asked, and how many tokens it has put in."""
    record = stage.memolith.dreams.retrieve(stage.scene.call(), dream.id)
    assert stage.client.beta.dreams.retrieve(dream.id).usage.input_tokens == record.input_tokens
    return record.asks, record.input_tokens


def test_a_dream_of_which_every_answer_comes_with_an_erasure_stops_at_its_limit_of_tokens() -> None:
    stage, model = dear()
    choose(stage, max_tokens=45_000)
    secrets = [stage.scene.create(f"/{number}.md", f"the words {number} to be erased") for number in range(6)]
    stage.scene.deliver()
    dream = stage.update()

    def erase_one() -> None:
        secret = secrets.pop()
        redact(stage, secret.id, secret.version_id)

    model.before = lambda: do(erase_one)
    assert [taken_up(stage, dream) for _ in range(3)] == [Taken.PAUSED, Taken.PAUSED, Taken.ENDED]
    assert model.left == [45_000, 45_000 - TAKEN.total, 45_000 - 2 * TAKEN.total]
    over: Any = stage.client.beta.dreams.retrieve(dream.id)
    assert (over.status, over.error.type) == ("failed", "budget_exceeded")
    assert over.usage.input_tokens == 2 * TAKEN.input_tokens


def test_an_answer_that_is_erased_while_a_dream_waits_stays_counted() -> None:
    stage, model = dear()
    secret = stage.scene.create("/secret.md", "the words to be erased")
    stage.scene.deliver()
    dream = stage.update()
    pause_after_asking(stage, dream)
    assert counted(stage, dream) == (1, TAKEN.input_tokens)
    redact(stage, secret.id, secret.version_id)
    stage.scene.deliver()
    assert steps(stage) == {}
    assert taken_up(stage, dream) is Taken.ENDED
    assert model.left == [2_000_000, 2_000_000 - TAKEN.total]
    assert counted(stage, dream) == (2, 2 * TAKEN.input_tokens)


def test_answers_that_are_kept_over_a_pause_are_counted_once() -> None:
    """One is had by the first invocation and the other by the second; the third carries out the plan."""
    stage, model = dear()
    session_id = tell(stage, ("user.message", SAID))
    dream = stage.update(more=[{"type": "sessions", "session_ids": [session_id]}])
    pause_after_asking(stage, dream)
    assert counted(stage, dream) == (1, TAKEN.input_tokens)
    at_question(stage, 2, lambda: stage.scene.clock.advance(1_000))
    assert stage.runner is not None
    assert stage.runner.take_up(dream.id, stage.scene.clock.now_us() + 500_000_000) is Taken.PAUSED
    assert counted(stage, dream) == (2, 2 * TAKEN.input_tokens)
    assert taken_up(stage, dream) is Taken.ENDED
    assert len(model.asks) == 2
    assert counted(stage, dream) == (2, 2 * TAKEN.input_tokens)
    assert stage.client.beta.dreams.retrieve(dream.id).status == "completed"
