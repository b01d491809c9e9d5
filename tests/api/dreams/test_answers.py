"""Anthropic's Dreams API for the unchanged SDK: what it answers, and what it refuses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anthropic
import pytest

from memolith.adapters.layered import Call
from memolith.app.api.dream_run import Taken
from memolith.app.api.transcripts import EventDraft
from tests.api.dreams.stage import TEXTS, Stage
from tests.api.dreams.test_forgotten_steps import at_question


def test_every_method_and_every_parameter_of_the_sdk_is_answered(stage: Stage) -> None:
    dream = stage.create()
    given: dict[str, Any] = {
        "inputs": [{"type": "memory_store", "memory_store_id": stage.scene.store}],
        "model": {"id": "claude-x", "speed": "standard"},
        "instructions": "be brief",
        "output_behavior": {"type": "create_new"},
        "betas": ["dreaming-2026-04-21"],
        "workspace_id": stage.workspace,
        "created_at_gt": "2020-01-01T00:00:00Z",
        "created_at_lt": "2040-01-01T00:00:00Z",
        "include_archived": True,
        "limit": 5,
        "statuses": ["pending", "canceled"],
    }
    dreams = stage.client.beta.dreams
    methods = ["create", "retrieve", "list", "cancel", "archive"]
    public = [name for name in vars(type(dreams)) if not name.startswith("_") and not name.startswith("with_")]
    assert sorted(public) == sorted(methods)
    for name in methods:
        method = getattr(dreams, name)
        parameters = set(inspect.signature(method).parameters) - {
            "extra_headers", "extra_query", "extra_body", "timeout", "dream_id", "page",
        }  # fmt: skip
        arguments = {parameter: given[parameter] for parameter in parameters}
        method(**arguments) if name in ("create", "list") else method(dream.id, **arguments)
    assert {status for *_, status in stage.gateway.log} == {200}


def test_a_dream_begins_pending_and_shows_what_was_asked_for(stage: Stage) -> None:
    dream = stage.create(instructions="be brief")
    assert (dream.status, dream.outputs, dream.session_id, dream.ended_at) == ("pending", [], None, None)
    assert (dream.model.id, dream.model.speed, dream.instructions) == ("claude-x", "standard", "be brief")
    assert dream.output_behavior.type == "create_new"
    assert dream.usage.input_tokens == dream.usage.output_tokens == 0
    assert dream.id.startswith("drm_")


def test_a_key_that_does_not_reach_both_stores_of_a_dream_is_shown_nothing_of_it(stage: Stage) -> None:
    dream = stage.create()
    [record] = [one for one in stage.runs() if one.run_id == dream.id]
    stores = [record.store_id, record.output_store_id]
    both, *each = [
        stage.client_of(stage.scene.cloud.key(stores=only)) for only in (stores, *([store] for store in stores))
    ]
    assert [one.id for one in both.beta.dreams.list()] == [both.beta.dreams.retrieve(dream.id).id] == [dream.id]
    for client in each:
        assert list(client.beta.dreams.list()) == []
        for ask in (client.beta.dreams.retrieve, client.beta.dreams.cancel, client.beta.dreams.archive):
            with pytest.raises(anthropic.NotFoundError):
                ask(dream.id)
    assert both.beta.dreams.cancel(dream.id).status == "canceled"


def test_a_limited_key_is_shown_no_id_of_a_dreams_session_that_it_does_not_reach(stage: Stage) -> None:
    def begun(*stores: str) -> str:
        resources = [{"type": "memory_store", "memory_store_id": one, "access": "read_write"} for one in stores]
        made: Any = stage.client.post("/v1/sessions", body={"resources": resources}, cast_to=object)
        draft = EventDraft("user.message", {"content": f"Please remember that {len(stores)} is a lucky number."}, "a")
        stage.memolith.transcripts.record(stage.scene.call(), made["id"], [draft])
        return str(made["id"])

    store = stage.scene.store
    own, both = begun(store), begun(store, stage.scene.create_store("other").id)
    sessions = {"type": "sessions", "session_ids": [own, both]}
    dream = stage.done(stage.update(more=[sessions]))
    limited = stage.client_of(stage.scene.cloud.key(stores=[store]))
    asked: dict[str, Callable[[Any], Any]] = {
        "retrieve": lambda client: client.beta.dreams.retrieve(dream.id),
        "list": lambda client: next(iter(client.beta.dreams.list())),
        "archive": lambda client: client.beta.dreams.archive(dream.id),
    }
    for ask in asked.values():
        assert [sorted(ask(one).inputs[1].session_ids) for one in (stage.client, limited)] == [
            sorted([own, both]),
            [own],
        ]
    address = f"/v1/dreams/{dream.id}/changes"
    every, shown = (str(one.get(address, cast_to=object)) for one in (stage.client, limited))
    assert own in every and both in every
    assert own in shown and both not in shown

    calls: dict[str, list[str]] = {"all": [], "limited": []}
    for name, client in (("all", stage.client), ("limited", limited)):

        def noted(call: Call, act: Any, into: list[str] = calls[name]) -> Any:
            into.append(call.name)
            return act()

        with stage.scene.intercepted_by(noted):
            client.beta.dreams.retrieve(dream.id)
    assert sorted(calls["limited"]) == sorted([*calls["all"], "index.read"])

    waits = stage.update(more=[sessions])
    cancelled: Any = limited.beta.dreams.cancel(waits.id)
    assert cancelled.inputs[1].session_ids == [own]


def test_the_error_of_a_dream_names_no_session_to_a_key_that_does_not_reach_it(stage: Stage) -> None:
    dream = stage.create()
    [record] = [one for one in stage.runs() if one.run_id == dream.id]
    told = "session sesn_b was not found; sesn_a was"
    failed = replace(record, session_ids=("sesn_a", "sesn_b"), error_message=told)
    assert failed.naming(["sesn_a"]).error_message == "session [not shown] was not found; sesn_a was"
    assert failed.naming(["sesn_a", "sesn_b"]) == failed


def test_a_dream_into_a_new_store_copies_consolidates_and_leaves_its_input_alone(stage: Stage) -> None:
    before = stage.texts()
    dream = stage.done(stage.create(instructions="be brief"))
    assert (dream.status, dream.error) == ("completed", None)
    assert stage.texts() == before == TEXTS
    [output] = dream.outputs
    after = stage.texts(output.memory_store_id)
    assert set(after) == {"/new.md", "/other.md"}
    assert "says Ada" in str(after["/new.md"])
    assert dream.usage.to_dict() == {
        "input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 2,
    }  # fmt: skip
    assert dream.instructions == "be brief"
    assert '"be brief"' in stage.model.asks[0].turns[0].text


def test_a_dream_that_updates_its_input_writes_as_its_own_session(stage: Stage) -> None:
    dream = stage.done(stage.update())
    assert set(stage.texts()) == {"/new.md", "/other.md"}
    versions = stage.client.beta.memory_stores.memory_versions.list(stage.scene.store, session_id=dream.session_id)
    assert sorted(one.operation for one in versions) == ["deleted", "modified"]
    assert dream.outputs[0].memory_store_id == stage.scene.store


def test_a_dream_that_proposes_changes_nothing_until_a_person_approves_and_takes_it_back_whole(stage: Stage) -> None:
    dream = stage.done(stage.create(extra_body={"output_behavior": {"type": "propose"}}))
    assert (dream.status, dream.outputs) == ("completed", [])
    assert stage.texts() == TEXTS
    proposals, call, store = stage.memolith.proposals, stage.scene.call(), stage.scene.store
    proposal_id = dream.model_extra["x_memolith"]["proposal_id"]
    assert proposals.retrieve(call, store, proposal_id).status == "open"
    assert proposals.approve(call, store, proposal_id).status == "approved"
    assert set(stage.texts()) == {"/new.md", "/other.md"}
    proposals.revert(call, store, proposal_id)
    assert stage.texts() == TEXTS


@pytest.mark.parametrize(
    ("policy", "old", "proposed"),
    [
        ({"agents": "propose"}, "/old.md", ["/new.md", "/old.md"]),
        ({"paths": [{"prefix": "/kept/"}]}, "/kept/old.md", ["/kept/old.md"]),
    ],
)
def test_a_dream_into_a_store_that_stages_writes_opens_one_proposal_of_what_is_staged(
    policy: dict[str, Any], old: str, proposed: list[str]
) -> None:
    stage = Stage()
    texts = {old if path == "/old.md" else path: text for path, text in TEXTS.items()}
    stage.fill(texts)
    stage.client.beta.memory_stores.update(stage.scene.store, extra_body={"approval": policy})
    dream = stage.done(stage.update())
    assert (dream.status, dream.outputs[0].memory_store_id) == ("completed", stage.scene.store)
    ours = dream.model_extra["x_memolith"]
    page = stage.memolith.proposals.page(stage.scene.call(), stage.scene.store, status="open", limit=20, after=None)
    assert [one.id for one in page.items] == [ours["proposal_id"]]
    found = stage.memolith.proposals.retrieve(stage.scene.call(), stage.scene.store, ours["proposal_id"])
    assert sorted(str(edit.path) for edit in found.edits or ()) == proposed
    assert ours["dropped"] == []
    assert set(stage.texts()) == set(texts), "what is staged is not written, and here that has the deletion in it"
    assert ours["changed"] == 2 - len(proposed)
    stage.memolith.proposals.approve(stage.scene.call(), stage.scene.store, ours["proposal_id"])
    assert set(stage.texts()) == {"/new.md", "/other.md"}


@pytest.mark.parametrize("pauses", [False, True])
def test_what_the_new_stores_approval_policy_stages_of_a_copy_is_proposed_and_the_dream_completes(pauses: bool) -> None:
    stage = Stage()
    stage.fill({**TEXTS, "/policy/other.md": TEXTS["/other.md"] + " Not on holidays."})
    superseded = stage.scene.create("/third.md", "one")
    stage.scene.update(superseded, "two")
    dream = stage.create()
    output = stage.runs()[0].output_store_id
    stage.client.beta.memory_stores.update(output, extra_body={"approval": {"paths": [{"prefix": "/policy/"}]}})
    stage.scene.deliver()
    assert stage.runner is not None
    if pauses:
        at_question(stage, 1, lambda: stage.scene.redact(superseded.version_id))
        assert stage.runner.take_up(dream.id) is Taken.PAUSED, "it has copied, and keeps no answer"
    ended = stage.done(dream)
    assert (ended.status, ended.model_extra["x_memolith"]["dropped"]) == ("completed", ["proposed"])
    assert "/policy/other.md" not in stage.texts(output)
    [waiting] = stage.memolith.proposals.page(stage.scene.call(), output, status="open", limit=9, after=None).items
    proposal = stage.memolith.proposals.retrieve(stage.scene.call(), output, waiting.id)
    assert [edit.path for edit in proposal.edits or ()] == ["/policy/other.md"]


def test_a_second_dream_over_the_same_store_writes_nothing(stage: Stage) -> None:
    stage.done(stage.update())
    versions = len(list(stage.client.beta.memory_stores.memory_versions.list(stage.scene.store)))
    again = stage.done(stage.update()).model_extra["x_memolith"]
    assert (again["created"], again["changed"], again["deleted"]) == (0, 0, 0)
    assert len(list(stage.client.beta.memory_stores.memory_versions.list(stage.scene.store))) == versions


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"inputs": []}, 400),
        ({"inputs": [{"type": "sessions", "session_ids": ["sesn_x"]}]}, 400),
        ({"inputs": [{"type": "memory_store", "memory_store_id": "memstore_useast1_x"}]}, 404),
        ({"model": ""}, 400),
        ({"model": "x" * 257}, 400),
        ({"model": {"id": "x", "speed": "fast"}}, 400),
        ({"instructions": ""}, 400),
        ({"instructions": "x" * 4_097}, 400),
        ({"output_behavior": {"type": "update_existing", "memory_store_id": "memstore_useast1_y"}}, 400),
        ({"output_behavior": {"type": "other"}}, 400),
        ({"more": [{"type": "sessions", "session_ids": []}]}, 400),
        ({"more": [{"type": "sessions", "session_ids": ["sesn_x", "sesn_x"]}]}, 400),
        ({"more": [{"type": "sessions", "session_ids": [f"sesn_{n}" for n in range(101)]}]}, 400),
        ({"more": [{"type": "sessions", "session_ids": ["sesn_useast1_01m83b139sgy7nmp15vwsq4br0"]}]}, 404),
    ],
)
def test_a_request_that_breaks_a_rule_is_refused(stage: Stage, asked: dict[str, Any], status: int) -> None:
    with pytest.raises(anthropic.APIStatusError) as raised:
        stage.create(**asked)
    assert raised.value.status_code == status
    assert stage.runs() == []


def test_a_key_that_may_not_write_begins_no_dream(stage: Stage) -> None:
    reader = stage.client_of(stage.scene.cloud.key("read"))
    with pytest.raises(anthropic.PermissionDeniedError):
        reader.beta.dreams.create(
            inputs=[{"type": "memory_store", "memory_store_id": stage.scene.store}], model="claude-x"
        )


def test_another_workspace_finds_neither_the_dream_nor_the_store(stage: Stage) -> None:
    dream = stage.create()
    stranger = stage.client_of(stage.scene.cloud.key("admin", "wrkspc_other"))
    with pytest.raises(anthropic.NotFoundError):
        stranger.beta.dreams.retrieve(dream.id)
    with pytest.raises(anthropic.NotFoundError):
        stranger.beta.dreams.cancel(dream.id)
    assert list(stranger.beta.dreams.list()) == []


def test_a_second_dream_that_updates_the_same_store_waits_for_the_first(stage: Stage) -> None:
    first = stage.update()
    with pytest.raises(anthropic.ConflictError, match=first.id):
        stage.update()
    stage.create()
    stage.client.beta.dreams.cancel(first.id)
    assert stage.update().status == "pending"


def test_cancel_and_archive_follow_the_life_of_a_dream(stage: Stage) -> None:
    dreams = stage.client.beta.dreams
    dream = stage.create()
    with pytest.raises(anthropic.BadRequestError):
        dreams.archive(dream.id)
    assert dreams.cancel(dream.id).status == dreams.cancel(dream.id).status == "canceled"
    assert stage.done(dream).status == "canceled"
    archived = dreams.archive(dream.id)
    assert archived.archived_at is not None
    assert dreams.archive(dream.id).archived_at == archived.archived_at
    completed = stage.done(stage.create())
    with pytest.raises(anthropic.BadRequestError):
        dreams.cancel(completed.id)


def test_a_listing_is_newest_first_in_pages_and_filtered(stage: Stage) -> None:
    dreams = stage.client.beta.dreams
    made = [stage.create() for _ in range(5)]
    dreams.cancel(made[0].id)
    dreams.archive(made[0].id)
    dreams.cancel(made[1].id)
    assert [one.id for one in dreams.list(limit=2)] == [one.id for one in reversed(made[1:])]
    assert len(list(dreams.list(include_archived=True, limit=2))) == 5
    assert [one.id for one in dreams.list(statuses=["canceled"])] == [made[1].id]
    assert [one.id for one in dreams.list(created_at_gt=made[3].created_at)] == [made[4].id]
    assert [one.id for one in dreams.list(created_at_lt=made[2].created_at)] == [made[1].id]
    with pytest.raises(anthropic.BadRequestError):
        dreams.list(limit=101)
    with pytest.raises(anthropic.NotFoundError):
        dreams.retrieve("drm_useast1_01m83b139sgy7nmp15vwsq4br0")


def test_a_deployment_without_a_worker_says_that_dreams_are_off() -> None:
    stage = Stage(enabled=False)
    with pytest.raises(anthropic.BadRequestError, match="off"):
        stage.create()
