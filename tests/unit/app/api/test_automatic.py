"""Pipelines that run by themselves: what is due of a store, what is not, and that nothing is done or asked twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memolith.adapters.memory import MemoryQueue
from memolith.app.api.automatic import AutomaticRun
from memolith.app.api.service import Memolith
from memolith.app.api.transcripts import EventDraft
from memolith.app.kernel.results import StoreToAttach
from memolith.app.replication.due_stores import EVERY_US, DueStores, automatic_stores
from memolith.core.object_keys import SessionKey, TranscriptKey
from memolith.core.rows.identity import AUTOMATIC_STORES, StoreRow
from memolith.ports.index import Change, Query
from memolith.ports.model import ModelUnavailable
from tests.api.dreams.stage import Stage, choose
from tests.support.rebuilds import Operator
from tests.unit.app.replication.test_watermark import empty, settle, tick
from tests.unit.app.scene import AWAY, HOME

HOUR_S = 3_600
RULE = "From now on deploy the engine on Thursdays, never on Fridays."


@pytest.fixture
def stage() -> Stage:
    return Stage()


def begin(stage: Stage, access: str = "read_write", key: str | None = None) -> str:
    attached = [StoreToAttach(stage.scene.store, access, "")]
    made = stage.memolith.sessions.create(
        stage.scene.call(key), attached, title=None, metadata={}, token_lifetime_s=3_600
    )
    return made.record.session_id


def say(stage: Stage, session_id: str, text: str) -> None:
    stage.scene.clock.advance(1)
    draft = EventDraft("user.message", {"content": [{"type": "text", "text": text}]})
    stage.memolith.transcripts.record(stage.scene.call(), session_id, [draft])
    stage.scene.deliver()


def told(stage: Stage, text: str = RULE, **options: Any) -> str:
    session_id = begin(stage, **options)
    say(stage, session_id, text)
    return session_id


def look(stage: Stage, memolith: Memolith | None = None) -> Any:
    done = (memolith or stage.memolith).automatic.run(stage.scene.store)
    stage.scene.deliver()
    return done


def wait(stage: Stage, hours: float) -> None:
    stage.scene.clock.advance(hours * HOUR_S)


def open_proposals(stage: Stage) -> list[Any]:
    page = stage.memolith.proposals.page(stage.scene.call(), stage.scene.store, status="open", limit=20, after=None)
    return list(page.items)


def another_process(stage: Stage) -> Memolith:
    """Another process of the region, which remembers nothing of the first."""
    memolith = stage.memolith
    return Memolith(memolith._region, memolith._scanner, stage.scene.cloud.signing, models=stage.model)


# ---- which stores ----------------------------------------------------------------------------------------------------


def test_a_store_is_named_every_ten_minutes_while_its_policy_has_anything_done_by_itself(stage: Stage) -> None:
    region, queue = stage.scene.cloud.sites[HOME].region, MemoryQueue()
    due = DueStores(region, queue)
    late = stage.scene.clock.now_us() * 2
    assert due.run(late) == 0
    choose(stage, max_deletes=0)
    assert due.run(late) == 0, "a policy that starts nothing"
    choose(stage, auto_dream="propose")
    assert [due.run(late), due.run(late)] == [1, 0]
    assert list(queue.messages) == [json.dumps({"store": stage.scene.store})]
    stage.scene.clock.advance(EVERY_US / 1e6 + 1)
    assert due.run(late) == 1
    choose(stage, dreams="off")
    assert automatic_stores(region) == []
    choose(stage, auto_extract="propose")
    assert automatic_stores(region) == [stage.scene.store]
    stage.scene.deliver()
    assert automatic_stores(stage.scene.cloud.sites[AWAY].region) == [], "its home alone"
    stage.memolith.stores.delete(stage.scene.call(), stage.scene.store)
    assert automatic_stores(region) == []
    assert not region.index.query(Query("stores", AUTOMATIC_STORES))


def test_a_store_without_a_policy_costs_one_read_and_nothing_happens(stage: Stage) -> None:
    told(stage)
    wait(stage, 100)
    calls: list[str] = []

    def count(call: Any, act: Any) -> Any:
        calls.append(call.name)
        return act()

    with stage.scene.intercepted_by(count):
        done = look(stage)
    assert (done.extracted, done.dream_id, stage.model.asks) == ({}, None, [])
    assert calls == ["index.read"]


# ---- extraction ------------------------------------------------------------------------------------------------------


def test_a_session_is_extracted_once_after_it_fell_silent(stage: Stage) -> None:
    choose(stage, auto_extract="propose", idle_hours=6)
    session_id = told(stage)
    wait(stage, 5.9)
    assert look(stage).extracted == {}
    wait(stage, 0.2)
    assert look(stage).extracted == {"proposed": 1}
    [proposal] = open_proposals(stage)
    assert (proposal.proposed_by, len(stage.model.asks)) == (f"session:{session_id}", 1)
    objects = len(stage.scene.objects())
    assert look(stage).extracted == {}, "this process knows"
    read: list[str] = []

    def note(call: Any, act: Any) -> Any:
        read.extend(call.subjects)
        return act()

    with stage.scene.intercepted_by(note):
        assert look(stage, another_process(stage)).extracted == {"up_to_date": 1}, "and so do the records"
    assert not [one for one in read if "/transcript/" in one], "for which nothing of the session is read"
    assert (len(stage.model.asks), len(stage.scene.objects())) == (1, objects)
    say(stage, session_id, "I prefer short answers.")
    wait(stage, 7)
    assert look(stage).extracted == {"proposed": 1}
    assert len(stage.model.asks) == 2


def test_a_session_that_ended_is_extracted_at_once_and_may_be_approved_by_its_owner(stage: Stage) -> None:
    choose(stage, auto_extract="propose")
    session_id = told(stage)
    stage.memolith.sessions.archive(stage.scene.call(), session_id)
    stage.scene.deliver()
    assert look(stage).extracted == {"proposed": 1}
    [proposal] = open_proposals(stage)
    stage.memolith.proposals.approve(stage.scene.call(), stage.scene.store, proposal.id)
    assert any("Thursdays" in str(text) for text in stage.texts().values())


def test_a_session_that_taught_nothing_is_asked_about_once(stage: Stage) -> None:
    choose(stage, auto_extract="propose")
    told(stage, "What is the capital of France?")
    wait(stage, 7)
    assert look(stage).extracted == {"no_output": 1}
    assert look(stage, another_process(stage)).extracted == {"up_to_date": 1}
    assert (len(stage.model.asks), open_proposals(stage)) == (1, [])


def test_what_a_caller_extracted_is_not_asked_about_again(stage: Stage) -> None:
    choose(stage, auto_extract="propose")
    session_id = told(stage)
    stage.memolith.extractions.extract(stage.scene.call(), session_id)
    wait(stage, 7)
    assert look(stage).extracted == {"up_to_date": 1}
    assert (len(stage.model.asks), len(open_proposals(stage))) == (1, 1)


@pytest.mark.parametrize("kind", ["read only", "erased", "old", "revoked", "another store's"])
def test_a_session_that_may_not_teach_the_store_is_left_alone(stage: Stage, kind: str) -> None:
    choose(stage, auto_extract="propose")
    call, workspace = stage.scene.call(), stage.workspace
    if kind == "read only":
        told(stage, access="read_only")
    elif kind == "erased":
        stage.memolith.sessions.delete(call, told(stage))
    elif kind == "revoked":
        issued = stage.memolith.api_keys.create(workspace, "agent", "write")
        stage.scene.deliver()
        told(stage, key=issued.api_key)
        stage.memolith.api_keys.revoke(workspace, issued.key_id)
    elif kind == "another store's":
        other = stage.scene.create_store("other").id
        made = stage.memolith.sessions.create(
            call, [StoreToAttach(other, "read_write", "")], title=None, metadata={}, token_lifetime_s=3_600
        )
        say(stage, made.record.session_id, RULE)
    else:
        told(stage)
        wait(stage, 10 * 24)
    stage.scene.deliver()
    wait(stage, 7)
    assert look(stage).extracted == {}
    assert stage.model.asks == []


def test_an_extraction_tells_its_model_until_when_it_may_be_asked(stage: Stage) -> None:
    choose(stage, auto_extract="propose", idle_hours=1)
    told(stage)
    wait(stage, 2)
    until_us = stage.scene.clock.now_us() + 1_000_000
    assert stage.memolith.automatic.run(stage.scene.store, until_us).extracted == {"proposed": 1}
    assert [ask.until_us for ask in stage.model.asks] == [until_us]


def test_an_extraction_whose_model_fails_is_tried_each_hour_three_times_and_again_after_news(stage: Stage) -> None:
    choose(stage, auto_extract="propose")
    session_id = told(stage)
    wait(stage, 7)

    def fail() -> None:
        raise ModelUnavailable("away")

    stage.model.before = fail
    for came_of_it in ("retry_backoff", "retry_backoff", "retry_exhausted"):
        assert type(look(stage).failure).__name__ == "Unavailable"
        assert look(stage).extracted == {came_of_it: 1}
        wait(stage, 1.1)
    assert len(stage.model.asks) == 3
    stage.model.before = lambda: None
    say(stage, session_id, "I prefer short answers.")
    wait(stage, 7)
    assert look(stage).extracted == {"proposed": 1}


@pytest.mark.parametrize("noticed", [False, True])
def test_a_session_is_not_extracted_by_the_row_of_its_begin_where_its_table_was_emptied(
    stage: Stage, noticed: bool
) -> None:
    choose(stage, auto_extract="propose")
    session_id = told(stage)
    stage.memolith.session_trust.lower(stage.workspace, session_id, "d")
    stage.memolith.sessions.archive(stage.scene.call(), session_id)
    settle(stage.scene)
    empty(stage.scene, "keys")
    for name in (SessionKey(HOME, stage.workspace, session_id, 1), TranscriptKey(HOME, stage.workspace, session_id, 1)):
        stage.scene.cloud.sites[HOME].indexing.object_arrived(str(name))
    if noticed:
        tick(stage.scene, HOME)
    wait(stage, 7)
    assert (look(stage), stage.model.asks) == (AutomaticRun(), [])
    Operator(stage.scene.cloud, MemoryQueue()).run()
    assert look(stage).extracted == {"proposed": 1}
    [proposal] = open_proposals(stage)
    found = stage.memolith.proposals.retrieve(stage.scene.call(), stage.scene.store, proposal.id)
    assert [edit.trust for edit in found.edits or ()] == ["d"]


def test_a_store_whose_policy_was_taken_back_is_not_extracted_by_an_old_row_in_an_emptied_table(stage: Stage) -> None:
    choose(stage, auto_extract="propose")
    told(stage)
    allowed = dict(stage.scene.cloud.rows(HOME, "stores")[stage.scene.store, "record"])
    choose(stage, auto_extract="off")
    settle(stage.scene)
    empty(stage.scene, "stores")
    index = stage.scene.cloud.sites[HOME].region.index
    index.commit([Change(StoreRow.key(stage.scene.store), None, allowed, unconditional=True)])
    wait(stage, 7)
    assert (look(stage), stage.model.asks) == (AutomaticRun(), [])


# ---- dreams ----------------------------------------------------------------------------------------------------------


def dream(stage: Stage) -> Any:
    done = look(stage)
    assert done.dream_id is not None
    stage.tick()
    return stage.client.beta.dreams.retrieve(done.dream_id)


def test_no_session_is_left_out_of_all_dreams_because_its_table_was_emptied_when_one_was_due(stage: Stage) -> None:
    choose(stage, auto_dream="propose", dream_min_sessions=1)
    before = told(stage)
    settle(stage.scene)
    empty(stage.scene, "keys")
    after = told(stage, "Deploys of the website go out daily.")
    assert look(stage) == AutomaticRun()
    Operator(stage.scene.cloud, MemoryQueue()).run()
    assert stage.runs() == []
    look(stage)
    assert [run.session_ids for run in stage.runs()] == [(before, after)]


def test_a_store_dreams_once_enough_sessions_said_something_new_and_proposes(stage: Stage) -> None:
    stage.fill()
    choose(stage, auto_dream="propose", dream_min_sessions=2, model="claude-x")
    sessions = [told(stage)]
    assert look(stage).dream_id is None
    sessions.append(told(stage, "Please remember that the release branch is cut on Mondays."))
    before = stage.texts()
    over = dream(stage)
    assert (over.status, over.model.id, stage.texts()) == ("completed", "claude-x", before)
    assert over.to_dict()["inputs"][1]["session_ids"] == sorted(sessions)
    assert len(open_proposals(stage)) == 1
    later = [told(stage), told(stage)]
    assert look(stage).dream_id is None, "a day has not passed"
    wait(stage, 25)
    assert dream(stage).to_dict()["inputs"][1]["session_ids"] == sorted(later), "none is handed over twice"


def test_a_day_without_a_new_word_asks_no_model_and_puts_nothing(stage: Stage) -> None:
    choose(stage, auto_dream="write", dream_min_sessions=1)
    told(stage)
    assert dream(stage).status == "completed"
    asked, objects = len(stage.model.asks), len(stage.scene.objects())
    for _ in range(3):
        wait(stage, 25)
        assert look(stage).dream_id is None
        assert look(stage, another_process(stage)).dream_id is None
        stage.tick()
    assert (len(stage.model.asks), len(stage.scene.objects())) == (asked, objects)


def test_a_dream_writes_by_itself_only_where_the_policy_says_so(stage: Stage) -> None:
    choose(stage, auto_dream="write", dream_min_sessions=1)
    told(stage)
    assert dream(stage).status == "completed"
    assert any("Thursdays" in str(text) for text in stage.texts().values())
    assert open_proposals(stage) == []
    choose(stage, dreams="propose")
    wait(stage, 25)
    told(stage, "Please remember that the release branch is cut on Mondays.")
    before = stage.texts()
    dream(stage)
    assert (stage.texts(), len(open_proposals(stage))) == (before, 1)


def test_the_sessions_of_a_dream_that_failed_are_handed_to_the_next_one(stage: Stage) -> None:
    choose(stage, auto_dream="propose", dream_min_sessions=1)
    session_id = told(stage)

    def fail() -> None:
        raise ModelUnavailable("away")

    stage.model.before = fail
    assert dream(stage).status == "failed"
    stage.model.before = lambda: None
    assert look(stage).dream_id is None, "not before its time"
    wait(stage, 25)
    over = dream(stage)
    assert (over.status, over.to_dict()["inputs"][1]["session_ids"]) == ("completed", [session_id])


def test_where_sessions_are_extracted_too_the_dream_is_about_the_store_alone(stage: Stage) -> None:
    stage.fill()
    choose(stage, auto_extract="propose", auto_dream="propose", dream_min_sessions=1)
    told(stage)
    wait(stage, 7)
    done = look(stage)
    assert done.extracted == {"proposed": 1}
    stage.tick()
    over: Any = stage.client.beta.dreams.retrieve(done.dream_id)
    assert (over.status, over.to_dict()["inputs"][1]["session_ids"]) == ("completed", [])
    proposals = [
        stage.memolith.proposals.retrieve(stage.scene.call(), stage.scene.store, one.id)
        for one in open_proposals(stage)
    ]
    assert ["Thursdays" in str(one.edits) for one in proposals].count(True) == 1, (
        "no one is asked twice about one thing"
    )


def test_of_two_processes_that_look_at_once_one_begins_the_dream(stage: Stage) -> None:
    choose(stage, auto_dream="propose", dream_min_sessions=1)
    told(stage)
    begun: list[Any] = []

    def meanwhile(call: Any, act: Any) -> Any:
        if call.name == "objects.put_if_absent" and "/job/" in call.subjects[0] and not begun:
            begun.append(None)
            begun.append(another_process(stage).automatic.run(stage.scene.store).dream_id)
        return act()

    with stage.scene.intercepted_by(meanwhile):
        first = look(stage).dream_id
    assert [first is not None, begun[1] is not None] == [False, True]
