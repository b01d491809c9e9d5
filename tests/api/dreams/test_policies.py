"""What a store lets pipelines do, and how each dream keeps to it."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from anthropic.types.beta import BetaDream

from tests.api.dreams.stage import TEXTS, Stage, choose, proposed
from tests.unit.app.scene import AWAY, HOME


def test_a_store_says_what_pipelines_may_do_and_what_is_not_named_stays(stage: Stage) -> None:
    default = {
        "dreams": "allow", "extraction": "allow", "may_edit": "all",
        "max_deletes": 5, "max_delete_percent": 10, "max_tokens": 2_000_000, "max_tokens_per_day": 0,
        "auto_extract": "off", "idle_hours": 6, "auto_dream": "off", "dream_every_hours": 24, "dream_min_sessions": 5,
        "model": "small", "usage": "off", "unused_days": 30,
    }  # fmt: skip
    assert choose(stage) == default
    assert choose(stage, dreams="propose", max_deletes=0) == {**default, "dreams": "propose", "max_deletes": 0}
    assert choose(stage, may_edit="not_people") == {
        **default, "dreams": "propose", "max_deletes": 0, "may_edit": "not_people",
    }  # fmt: skip
    away = stage.scene.at(AWAY).stores.retrieve(stage.scene.call(), stage.scene.store)
    assert json.loads(away.pipelines or "")["dreams"] == "propose"
    assert choose(stage, dreams="allow", max_deletes=5, may_edit="all") == default
    assert stage.scene.at(HOME).stores.retrieve(stage.scene.call(), stage.scene.store).pipelines is None


@pytest.mark.parametrize(
    "policy",
    [
        {"dreams": "maybe"}, {"extraction": "propose"}, {"may_edit": ""}, {"max_deletes": 61}, {"max_deletes": -1},
        {"max_delete_percent": 101}, {"max_tokens": 9_999}, {"max_tokens": 2_000_001}, {"max_tokens": True},
        {"max_tokens_per_day": -1}, {"max_tokens_per_day": 1_000_000_001}, {"max_tokens_per_day": "1"},
        {"budget": 1}, "off", {"auto_extract": "write"}, {"auto_dream": "allow"}, {"idle_hours": 0},
        {"idle_hours": 241}, {"dream_every_hours": 721}, {"dream_min_sessions": 101},
        {"model": ""}, {"model": "m" * 257}, {"model": 1},
    ],
)  # fmt: skip
def test_a_pipelines_policy_that_breaks_a_rule_is_refused_by_name(stage: Stage, policy: Any) -> None:
    with pytest.raises(anthropic.BadRequestError, match="pipelines"):
        stage.client.beta.memory_stores.update(stage.scene.store, extra_body={"pipelines": policy})


def test_a_store_that_allows_no_dreams_is_read_by_none_also_by_one_that_was_asked_for_before(stage: Stage) -> None:
    dream = stage.update()
    choose(stage, dreams="off")
    with pytest.raises(anthropic.BadRequestError, match="allows no dreams"):
        stage.create()
    ended = stage.done(dream)
    assert (ended.status, ended.error.type) == ("failed", "input_memory_store_unavailable")
    assert stage.model.asks == []
    assert stage.texts() == TEXTS
    choose(stage, dreams="allow")
    assert stage.done(stage.update()).status == "completed"


def test_a_dream_into_a_store_that_has_dreams_propose_writes_nothing_and_proposes_all(stage: Stage) -> None:
    choose(stage, dreams="propose")
    dream = stage.done(stage.update())
    assert dream.status == "completed"
    assert stage.texts() == TEXTS
    assert proposed(stage, dream) == ["/new.md", "/old.md"]


def test_what_a_person_wrote_is_only_proposed_to_be_changed_where_the_store_says_so() -> None:
    stage = Stage()
    by_person = stage.client_of(stage.scene.cloud.key("write", holder="person")).beta.memory_stores.memories
    by_agent = stage.client_of(stage.scene.cloud.key("write", holder="agent")).beta.memory_stores.memories
    by_person.create(stage.scene.store, path="/person.md", content="typed")
    by_agent.create(stage.scene.store, path="/agent.md", content="noted")
    stage.scene.deliver()
    choose(stage, may_edit="not_people")
    versions = {
        one.path: one.memory_version_id for one in by_agent.list(stage.scene.store, limit=20) if one.type == "memory"
    }
    edit = {"content": None, "old": None, "new": None, "to": None, "why": "w"}
    stage.model.said = [
        {
            "open": [],
            "summary": "",
            "done": True,
            "edits": [
                {**edit, "op": "replace", "path": "/person.md", "content": "x", "sources": [versions["/person.md"]]},
                {**edit, "op": "replace", "path": "/agent.md", "content": "y", "sources": [versions["/agent.md"]]},
                {**edit, "op": "create", "path": "/z.md", "content": "z", "sources": [versions["/agent.md"]]},
            ],
        }
    ]
    dream = stage.done(stage.update())
    assert stage.texts() == {"/person.md": "typed", "/agent.md": "y", "/z.md": "z"}
    assert proposed(stage, dream) == ["/person.md"]


def test_a_store_says_how_many_memories_a_dream_may_delete(stage: Stage) -> None:
    choose(stage, max_deletes=0, max_delete_percent=33)
    dream = stage.done(stage.update())
    assert "too_many_deletions" in dream.model_extra["x_memolith"]["dropped"]
    assert "/old.md" in stage.texts()
    choose(stage, max_delete_percent=34)
    stage.done(stage.update())
    assert "/old.md" not in stage.texts()


def test_a_store_says_how_many_tokens_a_dream_may_use(stage: Stage) -> None:
    choose(stage, max_tokens=10_000)
    stage.done(stage.update())
    assert [ask.left.tokens for ask in stage.model.asks if ask.left is not None] == [10_000]


def test_a_dream_with_nothing_to_propose_opens_no_proposal() -> None:
    stage = Stage()
    stage.fill({"/a.md": "short"})
    dream = stage.done(stage.create(extra_body={"output_behavior": {"type": "propose"}}))
    assert dream.model_extra["x_memolith"]["proposal_id"] is None


@pytest.mark.parametrize("model", [{}, {"model": None}])
def test_a_dream_that_names_no_model_asks_the_one_of_the_store(stage: Stage, model: dict[str, None]) -> None:
    choose(stage, model="claude-haiku-4-5")
    inputs = [{"type": "memory_store", "memory_store_id": stage.scene.store}]
    body = {"inputs": inputs, "output_behavior": {"type": "propose"}, **model}
    dream = stage.done(stage.client.post("/v1/dreams", body=body, cast_to=BetaDream))
    assert (dream.status, dream.model.id) == ("completed", "claude-haiku-4-5")
    assert stage.create().model.id == "claude-x", "what is named is taken"
