"""Remarks beside other writers, and what a dream makes of them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from memolith.adapters.layered import Call, Crash
from memolith.adapters.models.forms import EDITS_MAX
from memolith.app.api.dream_run import Taken
from memolith.app.api.remarks import ATTEMPTS
from memolith.app.kernel.proposal_results import Staged
from memolith.core.errors import Busy, InvalidRequest, PathConflict, Unavailable
from memolith.core.limits import CONTENT_MAX_BYTES, REMARK_PARTS_MAX
from memolith.core.pipelines.cues import slug
from memolith.core.remarks import is_log, log_path, remarks_of
from tests.api.dreams.stage import Stage, choose, proposed
from tests.unit.app.scene import AWAY, HOME

RULE = "Deploy the engine on Thursdays, never on Fridays, as the on-call engineer is in then."


@pytest.fixture
def stage() -> Stage:
    return Stage()


def remark(stage: Stage, text: str, at: str = HOME) -> Any:
    return stage.scene.at(at).remarks.append(stage.scene.call(), stage.scene.store, text)


def said(stage: Stage) -> list[str]:
    stage.scene.deliver()
    return [one.text for path, text in sorted(stage.texts().items()) for one in remarks_of(path, text or "")]


def test_a_remark_that_another_overtakes_is_written_after_it(stage: Stage) -> None:
    remark(stage, "one")
    overtaken: list[str] = []

    def overtake(call: Call, act: Any) -> Any:
        if call.name == "objects.put_if_absent" and "/log/" in call.subjects[0] and len(overtaken) < 3:
            overtaken.append("")
            remark(stage, f"faster {len(overtaken)}")
        return act()

    with stage.scene.intercepted_by(overtake):
        remark(stage, "two")
    assert sorted(said(stage)) == ["faster 1", "faster 2", "faster 3", "one", "two"]


def test_a_remark_that_is_always_overtaken_is_refused_and_may_be_repeated(stage: Stage) -> None:
    remark(stage, "one")
    depth = 0

    def overtake(call: Call, act: Any) -> Any:
        nonlocal depth
        if call.name == "objects.put_if_absent" and "/log/" in call.subjects[0] and depth == 0:
            depth = 1
            stage.scene.clock.advance(1)
            remark(stage, f"faster {stage.scene.clock.now_us()}")
            depth = 0
        return act()

    with stage.scene.intercepted_by(overtake), pytest.raises(Busy):
        remark(stage, "two")
    assert len(said(stage)) == 1 + ATTEMPTS
    remark(stage, "two")
    assert said(stage)[-1] == "two"


def test_remarks_of_two_regions_stand_in_one_log(stage: Stage) -> None:
    stage.scene.deliver()
    for number in range(6):
        remark(stage, f"remark {number}", at=(HOME, AWAY)[number % 2])
    assert said(stage) == [f"remark {number}" for number in range(6)]


def test_a_log_that_is_full_is_followed_by_another_and_a_day_has_an_end(stage: Stage) -> None:
    path = log_path(stage.scene.clock.now_us())
    stage.scene.create(path, "- 00:00 " + "x" * (CONTENT_MAX_BYTES - 9) + "\n")
    assert remark(stage, "one").log.path == log_path(stage.scene.clock.now_us(), 2)
    assert remark(stage, "two").number == 2
    stage.scene.create(log_path(stage.scene.clock.now_us(), REMARK_PARTS_MAX), "x" * CONTENT_MAX_BYTES)
    with pytest.raises(InvalidRequest, match="full"):
        remark(stage, "three")


def test_a_memory_in_the_way_of_the_logs_is_named(stage: Stage) -> None:
    stage.scene.create("/logs", "a file")
    with pytest.raises(PathConflict) as refusal:
        remark(stage, "one")
    assert refusal.value.conflicting_path == "/logs"


def test_a_person_who_adds_to_a_log_does_not_vouch_for_what_others_said_in_it(stage: Stage) -> None:
    agent = stage.memolith.api_keys.create(stage.workspace, "agent", "write").api_key
    person = stage.memolith.api_keys.create(stage.workspace, "ada", "write", holder="person").api_key
    stage.scene.deliver()
    remarks, store = stage.memolith.remarks, stage.scene.store
    assert remarks.append(stage.scene.call(agent), store, "one").log.trust == "g"
    assert remarks.append(stage.scene.call(person), store, "two").log.trust == "g"


# ---- dreams ----------------------------------------------------------------------------------------------------------


def test_a_dream_distills_remarks_once_and_leaves_the_log_as_it_is(stage: Stage) -> None:
    remark(stage, RULE)
    stage.scene.deliver()
    [log] = stage.texts().items()
    stage.scene.clock.advance(120)
    assert stage.done(stage.update()).status == "completed"
    texts = stage.texts()
    made = [path for path, text in texts.items() if RULE in str(text) and path != log[0]]
    assert len(made) == 1
    assert (log[0], texts[log[0]]) == log, "what was said stays as it was said"
    assert not any(f'"path": "{log[0]}"' in ask.turns[0].text for ask in stage.model.asks), "no dream may edit it"
    stage.scene.clock.advance(120)
    stage.done(stage.update())
    assert stage.texts() == texts
    assert RULE not in stage.model.asks[-1].turns[0].text.partition('"notes"')[2].partition('"removed"')[0]


def test_a_store_with_a_new_remark_dreams_by_itself_however_few_sessions_spoke(stage: Stage) -> None:
    choose(stage, auto_dream="propose")
    automatic, store = stage.memolith.automatic, stage.scene.store
    assert automatic.run(store).dream_id is None
    remark(stage, RULE)
    stage.scene.deliver()
    assert automatic.run(store).dream_id is not None
    stage.tick()
    for _ in range(2):
        stage.scene.clock.advance(25 * 3_600)
        assert automatic.run(store).dream_id is None, "nothing was said since"
    remark(stage, "And never on Mondays.")
    stage.scene.deliver()
    assert automatic.run(store).dream_id is not None


def test_a_remark_in_a_later_log_of_its_day_is_enough_for_a_dream(stage: Stage) -> None:
    """The first one is full; other memories are beside the logs."""
    choose(stage, auto_dream="propose")
    automatic, store = stage.memolith.automatic, stage.scene.store
    stage.scene.create(log_path(stage.scene.clock.now_us()), "x" * CONTENT_MAX_BYTES)
    for number in range(3):
        stage.scene.create(f"/logs/0/{number}.md", "no log")
        stage.scene.create(f"/logs/web/{number}.md", "no log")
    stage.scene.deliver()
    assert automatic.run(store).dream_id is not None
    stage.tick()
    stage.scene.clock.advance(60)
    assert remark(stage, RULE).log.path.endswith(".2.md")
    stage.scene.deliver()
    stage.scene.clock.advance(25 * 3_600)
    assert automatic.run(store).dream_id is not None
    stage.tick()
    stage.scene.create("/logs/web/late.md", "no log")
    stage.scene.deliver()
    stage.scene.clock.advance(25 * 3_600)
    assert automatic.run(store).dream_id is None


@pytest.mark.parametrize("begun", [False, True], ids=["a new log", "a log that has others"])
def test_a_remark_that_is_approved_after_a_dream_is_handed_to_the_next_one_alone(stage: Stage, begun: bool) -> None:
    scene, store = stage.scene, stage.scene.store
    if begun:
        remark(stage, "The port of the gateway is 8443.")
    agent = stage.memolith.api_keys.create(stage.workspace, "agent", "write").api_key
    stage.client.beta.memory_stores.update(store, extra_body={"approval": {"agents": "propose"}})
    scene.deliver()
    scene.clock.advance(60)
    with pytest.raises(Staged) as staged:
        stage.memolith.remarks.append(scene.call(agent), store, RULE)
    for is_approved in (False, True, False):
        scene.clock.advance(3_600)
        if is_approved:
            stage.memolith.proposals.approve(scene.call(), store, staged.value.proposal.id)
            scene.deliver()
            scene.clock.advance(3_600)
        stage.model.asks.clear()
        assert stage.done(stage.update()).status == "completed"
        assert (RULE in handed(stage)) is is_approved


@pytest.mark.parametrize("new_store", [False, True])
def test_a_line_that_a_person_adds_with_an_earlier_minute_is_handed_to_the_next_dream(
    stage: Stage, new_store: bool
) -> None:
    made = stage.scene.create(log_path(stage.scene.clock.now_us()), "- 00:01 The port of the gateway is 8443.\n")
    stage.scene.deliver()
    stage.scene.clock.advance(3_600)
    assert stage.done(stage.update()).status == "completed"
    stage.scene.clock.advance(3_600)
    stage.scene.update(made, f"- 00:00 {RULE}\n- 00:01 The port of the gateway is 8443.\n")
    stage.scene.deliver()
    stage.scene.clock.advance(3_600)
    stage.model.asks.clear()
    assert stage.done(stage.create() if new_store else stage.update()).status == "completed"
    assert (RULE in handed(stage), "8443" in handed(stage)) == (True, False)


def handed(stage: Stage) -> str:
    """Return the notes of the questions that were asked."""
    return " ".join(ask.turns[0].text.partition('"notes"')[2].partition('"removed"')[0] for ask in stage.model.asks)


def spread(stage: Stage, count: int) -> list[str]:
    """Remark so much, a minute apart; return what."""
    texts = [f"Fact {number}: {number * 7} is the port of service {number}." for number in range(count)]
    for text in texts:
        stage.scene.clock.advance(60)
        remark(stage, text)
    stage.scene.deliver()
    stage.scene.clock.advance(120)
    return texts


def kept(stage: Stage, texts: list[str]) -> list[str]:
    """Return which of the texts the memories have by now that are no logs."""
    memories = [str(text) for path, text in stage.texts().items() if not is_log(path)]
    return [text for text in texts if any(text in memory for memory in memories)]


def test_remarks_for_which_a_dreams_answer_has_no_room_are_the_next_dreams(stage: Stage) -> None:
    texts = spread(stage, EDITS_MAX + 3)
    assert stage.done(stage.update()).status == "completed"
    assert kept(stage, texts) == texts[: EDITS_MAX - 1]
    stage.scene.clock.advance(120)
    assert stage.done(stage.update()).status == "completed"
    assert kept(stage, texts) == texts


def test_remarks_for_which_a_proposal_has_no_room_are_in_the_next_dreams(stage: Stage) -> None:
    choose(stage, dreams="propose")
    texts = spread(stage, EDITS_MAX + 3)
    found = []
    for _ in range(2):
        dream = stage.done(stage.update())
        found.append([path for path in proposed(stage, dream) if path != "/MEMORY.md"])
        stage.scene.clock.advance(120)
    assert len(found[0]) == EDITS_MAX - 1
    assert set(found[1]) - set(found[0]) == {f"/project/{slug(text)}.md" for text in texts[EDITS_MAX - 1 :]}


def test_a_dream_that_was_killed_as_it_wrote_still_leaves_to_the_next_one_what_had_no_room(stage: Stage) -> None:
    texts = spread(stage, EDITS_MAX + 3)
    dream = stage.update()
    assert stage.runner is not None

    def kill(call: Call, act: Any) -> Any:
        if call.name == "objects.put_if_absent" and "/log/" in call.subjects[0]:
            raise Crash("killed")
        return act()

    with stage.scene.intercepted_by(kill), suppress(Crash):
        stage.runner.tick(stage.workspace)
    assert kept(stage, texts) == []
    stage.scene.clock.advance(120)
    assert stage.done(dream).status == "completed"
    assert kept(stage, texts) == texts[: EDITS_MAX - 1]
    assert len(stage.model.asks) == 1, "by the plan that was kept"
    stage.scene.clock.advance(120)
    assert stage.done(stage.update()).status == "completed"
    assert kept(stage, texts) == texts


def test_an_answer_that_takes_some_notes_and_no_remark_and_is_not_done_passes_no_remark(stage: Stage) -> None:
    texts = spread(stage, 2)
    made = {"op": "create", "path": "/a.md", "content": "a", "old": None, "new": None, "to": None, "why": "so"}
    stage.model.said = [{"open": [], "edits": [{**made, "sources": []}], "summary": "", "done": False}]
    assert stage.done(stage.update()).status == "completed"
    assert kept(stage, texts) == []
    stage.scene.clock.advance(1_000)
    assert stage.done(stage.update()).status == "completed"
    assert kept(stage, texts) == texts


def test_of_more_remarks_than_a_dream_is_handed_none_is_passed_over(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.core.remarks.REMARKS_PER_DREAM", 2)
    texts = spread(stage, 5)
    for handed in (2, 4, 5):
        assert stage.done(stage.update()).status == "completed"
        assert kept(stage, texts) == texts[:handed]
        stage.scene.clock.advance(120)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "again"), [(1, 1), (EDITS_MAX + 3, EDITS_MAX - 2)], ids=["all", "what has room"])
@pytest.mark.parametrize("failure", [Crash("killed"), Unavailable("refused")], ids=["killed", "refused"])
@pytest.mark.parametrize("is_taken_up", [True, False])
def test_remarks_are_handed_out_once_where_a_worker_ended_a_dream_and_not_its_job(
    stage: Stage, count: int, again: int, failure: BaseException, is_taken_up: bool
) -> None:
    """The next dream is handed what it is handed without that: what had no room, from the last minute that had."""
    texts = spread(stage, count)
    first = stage.update()
    assert stage.runner is not None

    def end_no_job(call: Call, act: Any) -> Any:
        ends = call.name == "objects.put_if_absent" and "/job/" in call.subjects[0]
        if ends and stage.client.beta.dreams.retrieve(first.id).status == "completed":
            raise failure
        return act()

    with stage.scene.intercepted_by(end_no_job), pytest.raises(type(failure)):
        stage.runner.tick(stage.workspace)
    stage.model.asks.clear()
    if is_taken_up:
        assert stage.runner.take_up(first.id) is Taken.ENDED
        assert stage.model.asks == []
    assert stage.done(stage.update()).status == "completed", "it does not wait for the lease"
    assert [text for text in texts if text in handed(stage)] == texts[again:]
    assert kept(stage, texts) == texts
