"""A dream whose model does not answer in time comes to an end, after a bounded number of questions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from memolith.adapters.layered import Crash
from memolith.adapters.memory import SeededRandomness
from memolith.adapters.models.retried import Retried
from memolith.adapters.models.validated import Validated
from memolith.app.api.dream_run import Taken
from memolith.entry.compose_dreamer import LEASE_US, RESERVED_MS
from memolith.ports.model import CALL_TIMEOUT_S, Answer, AnswerForm, Ask, Model, ModelUnavailable, Purpose, Throttled
from tests.api.dreams.stage import Asked, Saying, Stage
from tests.unit.app.scene import HOME, Scene

FUNCTION_US = 900_000_000
"""How long an invocation lives."""

QUESTION = Ask((), (), Purpose.CONSOLIDATE, "k", AnswerForm.CONSOLIDATION)


class Invoked:
    """A function that does dreams and lives for 15 minutes, with the scene's clock, which a model moves on."""

    def __init__(self, stage: Stage, act: Callable[[Invoked], Answer | None]) -> None:
        self.stage, self._act, self.asked, self._ends = stage, act, 0, 0
        self.window_tokens = 1_000_000
        stage.memolith._models = self  # what is made below asks it
        self._runner = stage.memolith.dream_runner(LEASE_US)

    def named(self, model_id: str) -> Model:
        return Retried(self, self, SeededRandomness(3))  # type: ignore[arg-type]  # it stands in for both

    def tokens(self, ask: Ask) -> int:
        return 1

    def ask(self, ask: Ask) -> Answer:
        self.asked += 1
        return self._act(self) or Asked().ask(ask)

    def now_us(self) -> int:
        return self.stage.scene.clock.now_us()

    def pause(self, seconds: float) -> None:
        self.stage.scene.clock.advance(seconds)
        if self.now_us() > self._ends:
            raise Crash("the function's time is over")

    def invoke(self, run_id: str) -> Taken | None:
        """Name the dream to the function; None where it is killed. Another invocation finds no claim of this one."""
        self._ends = self.now_us() + FUNCTION_US
        taken = None
        with suppress(Crash):
            taken = self._runner.take_up(run_id, self._ends - RESERVED_MS * 1_000)
        self.stage.scene.clock.advance(LEASE_US / 1_000_000)
        self.stage.scene.deliver()
        return taken


def times_out(invoked: Invoked) -> Answer:
    invoked.pause(CALL_TIMEOUT_S)
    raise ModelUnavailable("timed out")


def never_answers(invoked: Invoked) -> Answer:
    invoked.pause(2 * FUNCTION_US / 1_000_000)
    raise AssertionError("the function is killed before")


def began(act: Callable[[Invoked], Answer | None]) -> tuple[Invoked, Any]:
    stage = Stage()
    stage.fill()
    return Invoked(stage, act), stage.update()


def kept(scene: Scene) -> list[str]:
    return [one for one in scene.cloud.buckets.page(HOME, "local/", None, 1_000).keys if one.startswith("local/dream/")]


def test_a_dream_whose_model_times_out_asks_for_as_long_as_there_is_time_and_fails_after_three_invocations() -> None:
    invoked, dream = began(times_out)
    assert [invoked.invoke(dream.id) for _ in range(3)] == [Taken.PAUSED] * 3, "no function is killed while it asks"
    assert invoked.asked == 9
    assert [invoked.invoke(dream.id) for _ in range(2)] == [Taken.ENDED] * 2
    over: Any = invoked.stage.client.beta.dreams.retrieve(dream.id)
    assert (over.status, over.error.type, invoked.asked) == ("failed", "internal_error", 9)
    assert over.error.message.startswith("the model gave no answer in time, in 3 tries; ")
    assert kept(invoked.stage.scene) == []


def test_a_dream_whose_every_function_is_killed_while_the_model_thinks_fails_after_three() -> None:
    invoked, dream = began(never_answers)
    assert [invoked.invoke(dream.id) for _ in range(4)] == [None, None, None, Taken.ENDED]
    assert invoked.asked == 3
    assert invoked.stage.client.beta.dreams.retrieve(dream.id).status == "failed"


def test_a_dream_that_is_throttled_when_no_time_is_left_goes_on_in_another_invocation() -> None:
    said: list[str] = []

    def throttled_once(invoked: Invoked) -> Answer | None:
        if said:
            return None
        said.append("throttled")
        invoked.pause(CALL_TIMEOUT_S * 2.7)
        raise Throttled("too often")

    invoked, dream = began(throttled_once)
    assert [invoked.invoke(dream.id) for _ in range(2)] == [Taken.PAUSED, Taken.ENDED]
    assert invoked.stage.client.beta.dreams.retrieve(dream.id).status == "completed"


def test_questions_that_are_answered_do_not_count_as_tries() -> None:
    """Four are, each by the function after one that was killed."""
    said: list[str] = []
    opened = ["/old.md", "/new.md", "/other.md"]

    def killed_at_every_other(invoked: Invoked) -> Answer:
        said.append("")
        if len(said) % 2:
            return never_answers(invoked)
        edits = {"edits": [], "summary": "", "done": not opened}
        return Validated(Saying({"open": [opened.pop(0)] if opened else [], **edits})).ask(QUESTION)

    invoked, dream = began(killed_at_every_other)
    invoked.window_tokens = 10
    assert [invoked.invoke(dream.id) for _ in range(5)] == [None, None, None, None, Taken.ENDED]
    assert invoked.stage.client.beta.dreams.retrieve(dream.id).status == "completed"
    assert invoked.asked == 8
