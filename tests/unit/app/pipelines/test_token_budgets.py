"""What a store allows its pipelines a day: a question that does not fit is not asked, whoever asks, wherever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import pytest

from memolith.adapters.layered import Call, Crash
from memolith.app.api.extraction import Extraction
from memolith.app.erasure.count_removal import SPENDING_KEPT_DAYS
from memolith.app.pipelines.token_budgets import TokenBudgets
from memolith.core.errors import BudgetExhausted
from memolith.core.object_keys import JobKey, parse_key
from memolith.core.objects.spending_record import KIND, SpendingRecord
from memolith.ports import errors as port_errors
from memolith.ports.model import (
    Answer,
    Ask,
    BudgetExceeded,
    BudgetTooSmall,
    ModelUnavailable,
    Purpose,
    Role,
    Turn,
    Usage,
    estimated_tokens,
)
from tests.api.dreams.stage import Asked, Stage, choose, tell
from tests.unit.app.scene import AWAY, HOME

DAY_S = 86_400
FITS = 50_000
"""A day's tokens in which a consolidation with its longest answer, 32,000, fits once."""

QUESTION = Ask((), (Turn(Role.USER, "x" * 320),), Purpose.EXTRACT, "k", max_output_tokens=900)
"""A hundred tokens and an answer of 900."""


class Answering:
    """A model that takes 600 tokens a question."""

    window_tokens = 100_000

    def __init__(self) -> None:
        self.asked: list[Ask] = []
        self.before: Callable[[], object] = lambda: None

    def ask(self, ask: Ask) -> Answer:
        self.asked.append(ask)
        self.before()
        return Answer("", Usage(100, 500), "answering")

    def tokens(self, ask: Ask) -> int:
        return 100


class Large(Answering):
    """A model that takes 14,000 tokens a question."""

    def ask(self, ask: Ask) -> Answer:
        return Answer("", Usage(14_000, 0), "large")


class Counting(Asked):
    """The stand-in, whose questions have as many tokens as is estimated."""

    def tokens(self, ask: Ask) -> int:
        return estimated_tokens(ask)


def budgets(stage: Stage, region: str = HOME) -> TokenBudgets:
    return TokenBudgets(stage.scene.cloud.sites[region].region)


def spent(stage: Stage, region: str = HOME) -> list[int]:
    """What the region put down, record by record."""
    buckets = stage.scene.cloud.buckets
    names = [parse_key(key) for key in buckets.page(region, f"{region}/job/", None, 1_000).keys]
    keys = [str(name) for name in names if isinstance(name, JobKey) and (name.home, name.kind) == (region, KIND)]
    bodies = [buckets.current(region, key) for key in keys]
    return [SpendingRecord.from_json(one.body).tokens for one in bodies if one is not None]


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.fill()
    return stage


# ---- one question ----------------------------------------------------------------------------------------------------


def test_a_question_is_put_down_with_its_longest_answer_and_then_with_what_it_took(stage: Stage) -> None:
    model = Answering()
    budgets(stage).ask(stage.scene.store, 10_000, model, QUESTION)
    assert spent(stage) == [3_000, 600], "with a repair turn it might have taken three times as much"
    assert model.asked[0].left.tokens == 3_000


def test_a_question_that_does_not_fit_any_more_is_not_asked_until_the_next_day(stage: Stage) -> None:
    model = Answering()
    for _ in range(2):
        budgets(stage).ask(stage.scene.store, 2_000, model, QUESTION)
    with pytest.raises(BudgetExceeded, match=r"2,000 tokens a day, of which 800 are left on \d{4}-\d\d-\d\d \(UTC\)"):
        budgets(stage).ask(stage.scene.store, 2_000, model, QUESTION)
    assert (len(model.asked), spent(stage)[-1]) == (2, 1_200)
    stage.scene.clock.advance(DAY_S)
    budgets(stage).ask(stage.scene.store, 2_000, model, QUESTION)
    assert len(model.asked) == 3


def test_a_question_that_fits_no_day_is_refused_as_such_and_says_what_to_do(stage: Stage) -> None:
    model = Answering()
    said = r"999 tokens a day, and the question may take 1,000, more than any day has; raise `max_tokens_per_day`"
    with pytest.raises(BudgetTooSmall, match=said):
        budgets(stage).ask(stage.scene.store, 999, model, QUESTION)
    with pytest.raises(BudgetTooSmall, match=said):
        budgets(stage).check(stage.scene.store, 999, model, QUESTION)
    assert (model.asked, spent(stage)) == ([], [])


def test_of_two_questions_at_once_for_which_there_is_room_for_one_one_is_asked(stage: Stage) -> None:
    model = Answering()
    refused: list[bool] = []

    def meanwhile() -> None:
        with pytest.raises(BudgetExceeded):
            budgets(stage).ask(stage.scene.store, 1_900, model, QUESTION)
        refused.append(True)

    model.before = meanwhile
    budgets(stage).ask(stage.scene.store, 1_900, model, QUESTION)
    assert (len(model.asked), refused, spent(stage)) == (1, [True], [1_900, 600])


def test_two_that_put_down_their_questions_at_the_same_moment_are_both_counted(stage: Stage) -> None:
    model, met = Answering(), list[str]()

    def meanwhile(call: Call, act: Callable[[], Any]) -> Any:
        if call.name == "objects.put_if_absent" and f"/{KIND}/" in call.subjects[0] and not met:
            met.append(call.subjects[0])
            budgets(stage).ask(stage.scene.store, 10_000, model, QUESTION)
        return act()

    with stage.scene.intercepted_by(meanwhile):
        budgets(stage).ask(stage.scene.store, 10_000, model, QUESTION)
    assert met
    assert (len(model.asked), spent(stage)[-1]) == (2, 1_200)


def test_a_model_that_fails_has_taken_what_it_billed_and_a_process_that_dies_all_that_it_might_have(
    stage: Stage,
) -> None:
    model, failure = Answering(), ModelUnavailable("gone")
    failure.usage = Usage(70, 7)

    def fail() -> None:
        raise failure

    model.before = fail
    with pytest.raises(ModelUnavailable):
        budgets(stage).ask(stage.scene.store, 10_000, model, QUESTION)
    assert spent(stage)[-1] == 77

    def die(call: Call, act: Callable[[], Any]) -> Any:
        if model.asked[1:] and call.name == "objects.put_if_absent":
            raise Crash
        return act()

    model.before = lambda: None
    with stage.scene.intercepted_by(die), pytest.raises(Crash):
        budgets(stage).ask(stage.scene.store, 10_000, model, QUESTION)
    assert spent(stage)[-1] == 3_077


def test_an_answer_is_not_lost_where_what_it_took_cannot_be_put_down(stage: Stage) -> None:
    model = Answering()

    def fail(call: Call, act: Callable[[], Any]) -> Any:
        if model.asked and call.name.startswith("objects."):
            raise port_errors.Unavailable("gone")
        return act()

    with stage.scene.intercepted_by(fail):
        assert budgets(stage).ask(stage.scene.store, 10_000, model, QUESTION).model == "answering"
    assert spent(stage) == [3_000]


def test_what_another_region_took_counts_once_it_has_arrived(stage: Stage) -> None:
    model = Answering()
    budgets(stage, AWAY).ask(stage.scene.store, 1_500, model, QUESTION)
    stage.scene.deliver()
    with pytest.raises(BudgetExceeded, match="900 are left"):
        budgets(stage).ask(stage.scene.store, 1_500, model, QUESTION)


def test_a_store_that_bounds_nothing_costs_no_call(stage: Stage) -> None:
    calls: list[str] = []

    def count(call: Call, act: Callable[[], Any]) -> Any:
        calls.append(call.name)
        return act()

    with stage.scene.intercepted_by(count):
        budgets(stage).ask(stage.scene.store, 0, Answering(), QUESTION)
        budgets(stage).check(stage.scene.store, 0, Answering(), QUESTION)
    assert calls == []


# ---- pipelines -------------------------------------------------------------------------------------------------------


def test_a_dream_for_which_the_day_has_no_room_fails_with_a_code_of_its_own_and_asks_nothing(stage: Stage) -> None:
    choose(stage, max_tokens_per_day=FITS)
    assert stage.done(stage.update()).status == "completed"
    assert spent(stage)[-1] == 20
    choose(stage, max_tokens_per_day=20_000)
    dream = stage.done(stage.update())
    assert (dream.status, dream.error.type) == ("failed", "budget_exceeded")
    assert "20,000 tokens a day" in dream.error.message
    assert len(stage.model.asks) == 1


def extract(stage: Stage, session_id: str) -> Extraction:
    return stage.memolith.extractions.extract(stage.scene.call(), session_id)


def test_an_extraction_for_which_the_day_has_no_room_is_refused_until_tomorrow(stage: Stage) -> None:
    choose(stage, max_tokens_per_day=100)
    session_id = tell(stage, ("user.message", "Please remember that the release branch is cut on Thursdays."))
    with pytest.raises(BudgetExhausted, match="100 tokens a day") as refused:
        extract(stage, session_id)
    assert 0 < refused.value.retry_after_s <= DAY_S
    with pytest.raises(anthropic.RateLimitError) as answered:
        stage.client.post(f"/v1/sessions/{session_id}/extract", body={}, cast_to=object)
    assert answered.value.body["error"]["type"] == "memory_budget_error"  # type: ignore[index]  # JSON has no type
    assert answered.value.response.headers["x-should-retry"] == "false"
    choose(stage, max_tokens_per_day=FITS)
    assert extract(stage, session_id).outcome == "proposed"


def test_a_session_that_waits_for_the_next_day_loses_no_try_and_is_looked_at_once(stage: Stage) -> None:
    choose(stage, max_tokens_per_day=15_000, auto_extract="propose", idle_hours=1)
    budgets(stage).ask(stage.scene.store, 15_000, Large(), QUESTION)
    tell(stage, ("user.message", "Please remember that the release branch is cut on Thursdays."))
    stage.scene.clock.advance(2 * 3_600)
    stage.scene.deliver()
    read: list[str] = []

    def listen(call: Call, act: Callable[[], Any]) -> Any:
        read.extend(one for one in call.subjects if f"/{KIND}/" in one)
        return act()

    for _ in range(5):
        with stage.scene.intercepted_by(listen):
            done = stage.memolith.automatic.run(stage.scene.store)
        assert (done.extracted, done.failure) == ({}, None)
    assert len(read) == 3, "one look at each region's log, and at the record of the one that has any"
    assert stage.model.asks == []
    choose(stage, max_tokens_per_day=FITS)
    assert stage.memolith.automatic.run(stage.scene.store).extracted == {"proposed": 1}, "the budget is greater now"


def test_a_session_that_waited_for_the_next_day_is_extracted_then(stage: Stage) -> None:
    choose(stage, max_tokens_per_day=15_000, auto_extract="propose", idle_hours=1)
    budgets(stage).ask(stage.scene.store, 15_000, Large(), QUESTION)
    tell(stage, ("user.message", "Please remember that the release branch is cut on Thursdays."))
    stage.scene.clock.advance(2 * 3_600)
    assert stage.memolith.automatic.run(stage.scene.store).extracted == {}
    stage.scene.clock.advance(DAY_S)
    assert stage.memolith.automatic.run(stage.scene.store).extracted == {"proposed": 1}


def test_a_session_that_takes_more_than_a_day_has_holds_up_no_other_and_waits_for_a_greater_budget() -> None:
    model = Counting()
    stage = Stage(models=model)
    choose(stage, max_tokens_per_day=20_000, auto_extract="propose", idle_hours=1)
    said = ("user.message", "Please remember that the release branch is cut on Thursdays.")
    long = tell(stage, said, *[("user.message", f"Line {number} of a log. " * 250) for number in range(10)])
    other = tell(stage, said)
    stage.scene.clock.advance(2 * 3_600)
    stage.scene.deliver()
    read: list[str] = []

    def listen(call: Call, act: Callable[[], Any]) -> Any:
        read.extend(one for one in call.subjects if "/transcript/" in one)
        return act()

    with stage.scene.intercepted_by(listen):
        first = stage.memolith.automatic.run(stage.scene.store)
        assert [any(session in one for one in read) for session in (long, other)] == [True, True]
        read.clear()
        second = stage.memolith.automatic.run(stage.scene.store)
    assert (first.extracted, first.failure) == ({"over_budget": 1, "proposed": 1}, None)
    assert (second.extracted, read) == ({}, []), "it is not read again by a process that knows"
    assert len(model.asks) == 1
    choose(stage, max_tokens_per_day=100_000)
    assert stage.memolith.automatic.run(stage.scene.store).extracted == {"proposed": 1}, "the budget is greater now"


def test_what_was_taken_on_days_long_over_is_removed_in_every_region(stage: Stage) -> None:
    choose(stage, max_tokens_per_day=10_000)
    model = Answering()
    for _ in range(SPENDING_KEPT_DAYS + 3):
        budgets(stage).ask(stage.scene.store, 10_000, model, QUESTION)
        stage.scene.clock.advance(DAY_S)
    stage.scene.deliver()
    for region in (HOME, AWAY):
        stage.scene.cloud.peers.call(region, "eraser", {"call": "sweep"})
    assert spent(stage) == [3_000, 600] * SPENDING_KEPT_DAYS
