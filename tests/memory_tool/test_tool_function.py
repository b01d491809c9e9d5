"""The tool function: who may what, what is wrong with a set-up, and what each platform's limits make of an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memolith.adapters.system import SystemClock, SystemRandomness
from memolith.entry.compose_tool import forms_on
from memolith.ports.errors import OutcomeUnknown, Unavailable
from tests.memory_tool.conftest import Fresh
from tests.memory_tool.ways import (
    REGION,
    ToolFunction,
    bedrock_api,
    bedrock_event,
    bedrock_function,
    bedrock_parameters,
    gateway_context,
)

VIEW = {"command": "view", "path": "/memories"}
OTHERS_STORE = "memstore_useast1_01kb0000000000000000000000"


@pytest.fixture
def function(fresh: Fresh) -> ToolFunction:
    return ToolFunction(fresh)


@pytest.mark.parametrize("left_out", ["memory_store_id", "token"])
def test_a_call_without_store_or_token_says_which_is_missing(function: ToolFunction, left_out: str) -> None:
    event = {**VIEW, "memory_store_id": function.store_id, "token": function.token}
    del event[left_out]
    answer = function.invoke(event)
    assert answer["is_error"]
    assert answer["content"].startswith(f"The {left_out} is missing")


@pytest.mark.parametrize("event", ["view", None, [], 7])
def test_what_is_no_object_is_refused(function: ToolFunction, event: object) -> None:
    assert function.invoke(event)["is_error"]


@pytest.mark.parametrize(
    "fields",
    [
        {"parameters": "path=/memories"},
        {"parameters": ["path", {"value": "x"}, 7]},
        {"parameters": [], "requestBody": "x"},
        {"parameters": [], "requestBody": {"content": {"application/json": ["x"]}}},
        {"parameters": [], "sessionAttributes": "x"},
    ],
)
def test_an_event_of_bedrocks_in_another_form_is_answered_and_not_raised(
    function: ToolFunction, fields: dict[str, Any]
) -> None:
    answer = function.invoke(bedrock_event(function, function="memory_view", **fields))
    assert answer["response"]["functionResponse"]["responseState"] in {"REPROMPT", "FAILURE"}


def test_a_token_that_is_not_true_opens_nothing(function: ToolFunction) -> None:
    for token in ("sk-memolith-main-x_aaaaaaaaaaaaaaaaaaaaaaaaaa-aaaaaaaaaaaaaaaa", "st-memolith-made.up.one", "x"):
        answer = function.invoke({**VIEW, "memory_store_id": function.store_id, "token": token})
        assert answer["is_error"]
        assert answer["content"].startswith("Refused: ")


def test_a_sessions_token_opens_its_store_in_its_mode_and_no_other(fresh: Fresh, function: ToolFunction) -> None:
    other = fresh.backend.client().beta.memory_stores.create(name="Other").id
    resources = [{"type": "memory_store", "memory_store_id": function.store_id, "access": "read_only"}]
    session = fresh.backend.raw("POST", "/v1/sessions", body={"resources": resources}).body
    create = {"command": "create", "path": "/memories/a", "file_text": "x"}

    def said(command: dict[str, Any], store_id: str) -> bool:
        event = {**command, "memory_store_id": store_id, "token": session["token"]}
        return bool(function.invoke(event)["is_error"])

    assert not said(VIEW, function.store_id)
    assert said(create, function.store_id)
    assert said(VIEW, other)
    assert fresh.paths() == {}


@pytest.mark.parametrize(
    "value", ["[" * 100_000, "9" * 5_000, "[" + "1," * 40_000 + "1]"], ids=["deep", "digits", "long"]
)
def test_a_hostile_number_or_range_of_bedrocks_is_answered_and_not_raised(function: ToolFunction, value: str) -> None:
    function.invoke(
        {
            **VIEW,
            "command": "create",
            "path": "/memories/a",
            "file_text": "x",
            "memory_store_id": function.store_id,
            "token": function.token,
        }
    )
    view = [{"name": "path", "value": "/memories/a"}, {"name": "view_range", "value": value}]
    shown = function.invoke(bedrock_event(function, function="view", parameters=view))
    assert "x" in str(shown["response"]["functionResponse"]["responseBody"])
    line = [{"name": "path", "value": "/memories/a"}, {"name": "insert_line", "value": value}]
    insert = [*line, {"name": "insert_text", "value": "y"}]
    told = function.invoke(bedrock_event(function, function="insert", parameters=insert))
    assert told["response"]["functionResponse"]["responseState"] == "REPROMPT"


def test_bedrocks_model_cannot_choose_store_or_token(function: ToolFunction) -> None:
    chosen = {"path": "/memories", "memory_store_id": OTHERS_STORE, "token": "x", "memolith_token": "x"}
    event = bedrock_event(function, function="view", parameters=bedrock_parameters(chosen))
    assert "responseState" not in function.invoke(event)["response"]["functionResponse"]


def test_a_gateways_model_can_choose_neither_store_nor_token_nor_shape(function: ToolFunction) -> None:
    bedrock = bedrock_event(function, function="view", parameters=[{"name": "path", "type": "string", "value": "x"}])
    bedrock["sessionAttributes"] = {"memolith_memory_store_id": OTHERS_STORE, "memolith_token": "x"}
    arguments = {**bedrock, "memory_store_id": OTHERS_STORE, "token": "x", **VIEW}
    answer = function.invoke(arguments, gateway_context("notes___memory"))
    assert answer == {"content": answer["content"], "is_error": False}


@pytest.mark.parametrize("name", ["others___memory", "memory", "___memory"])
def test_a_gateways_target_that_is_not_set_up_is_named(function: ToolFunction, name: str) -> None:
    answer = function.invoke(VIEW, gateway_context(name))
    assert answer["is_error"]
    assert "is not set up" in answer["content"]
    assert "memolith-{stage}-gateway" in answer["content"]


def test_targets_that_cannot_be_read_are_no_missing_ones(function: ToolFunction) -> None:
    function.targets.unavailable = True
    assert "cannot be read now" in function.invoke(VIEW, gateway_context("notes___memory"))["content"]


def test_an_agent_of_bedrock_without_its_attributes_fails_and_the_attribute_is_named(function: ToolFunction) -> None:
    for attributes in ({}, None, {"memolith_memory_store_id": function.store_id}):
        event = bedrock_event(function, function="view", parameters=[], sessionAttributes=attributes)
        response = function.invoke(event)["response"]["functionResponse"]
        assert response["responseState"] == "FAILURE"
        assert "session attribute memolith_" in response["responseBody"]["TEXT"]["body"]
    event = bedrock_event(function, apiPath="/memory", httpMethod="POST", sessionAttributes={})
    assert function.invoke(event)["response"]["httpStatusCode"] == 403


def test_bedrock_gets_back_what_it_tells_calls_apart_by(function: ToolFunction) -> None:
    event = bedrock_event(function, function="memory_view", parameters=bedrock_parameters({"path": "/memories"}))
    answer = function.invoke(event)
    assert answer["messageVersion"] == "1.0"
    assert (answer["response"]["actionGroup"], answer["response"]["function"]) == ("memory", "memory_view")
    assert answer["sessionAttributes"] == event["sessionAttributes"]


@pytest.mark.parametrize("line", ["x" * 78, "\u0001" * 20, "ü" * 30, "\U0001f9e0" * 10])
@pytest.mark.parametrize("shape", [bedrock_function, bedrock_api])
def test_an_answer_is_cut_at_a_lines_end_to_what_bedrock_takes(fresh: Fresh, line: str, shape: Any) -> None:
    lines = 90_000 // len(f"{line}\n".encode())
    memories = fresh.backend.client().beta.memory_stores.memories
    memories.create(fresh.store_id, path="/long", content=f"{line}\n" * lines)
    sizes: list[int] = []

    class Measured(ToolFunction):
        def invoke(self, event: object, context: object = None) -> dict[str, Any]:
            answer = super().invoke(event, context)
            sizes.append(len(json.dumps(answer)))
            return answer

    text, is_error = shape(Measured(fresh), {"command": "view", "path": "/memories/long"})
    assert not is_error
    assert 24_000 < sizes[0] <= 25_000
    kept, _, told = text.partition("\n\n(Cut here")
    assert told
    assert kept.splitlines()[-1].endswith(f"\t{line}")


def test_one_line_that_is_longer_than_an_answer_is_in_order_as_far_as_it_goes(fresh: Fresh) -> None:
    fresh.backend.client().beta.memory_stores.memories.create(fresh.store_id, path="/long", content="x" * 60_000)
    text, _ = bedrock_function(ToolFunction(fresh), {"command": "view", "path": "/memories/long"})
    assert text.count("x") > 20_000


def test_a_read_that_gets_no_answer_is_repeated_and_a_write_is_not(fresh: Fresh, function: ToolFunction) -> None:
    asked: list[str] = []

    def failing(event: Any) -> Any:
        method = event["requestContext"]["http"]["method"]
        asked.append(method)
        if method == "POST" or len(asked) < 3:
            raise RuntimeError
        return fresh.backend.answer(event)

    for name in ("reader", "writer"):
        function.peers.register(REGION, name, failing)
    event = {"memory_store_id": function.store_id, "token": function.token}
    assert not function.invoke({**VIEW, **event})["is_error"]
    assert asked == ["GET"] * 3
    asked.clear()
    answer = function.invoke({"command": "create", "path": "/memories/a", "file_text": "x", **event})
    assert asked == ["POST"]
    assert answer["is_error"]
    assert "does not answer now" in answer["content"]
    assert "may have been made" in answer["content"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("raised", "of_a_write"),
    [(Unavailable("gone"), "Nothing is known to have changed"), (OutcomeUnknown("lost"), "may have been made")],
)
def test_functions_that_do_not_answer_are_an_error_in_words(
    function: ToolFunction, raised: Exception, of_a_write: str
) -> None:
    class Silent:
        def call(self, *_: object) -> Any:
            raise raised

    function.forms = forms_on(Silent(), REGION, SystemClock(), SystemRandomness(), function.targets)
    named = {"memory_store_id": function.store_id, "token": function.token}
    answer = function.invoke({**VIEW, **named})
    assert answer["is_error"]
    assert "Nothing is known to have changed" in answer["content"]
    answer = function.invoke({"command": "create", "path": "/memories/a", "file_text": "x", **named})
    assert answer["is_error"]
    assert of_a_write in answer["content"]


def test_an_answer_of_the_writer_that_is_none_leaves_open_what_was_done(function: ToolFunction) -> None:
    function.peers.register(REGION, "writer", lambda _: {"statusCode": 200, "headers": {}, "body": "<html>"})
    named = {"memory_store_id": function.store_id, "token": function.token}
    answer = function.invoke({"command": "create", "path": "/memories/a", "file_text": "x", **named})
    assert "may have been made" in answer["content"]


def test_a_path_that_is_no_text_is_refused_and_not_a_crash(function: ToolFunction) -> None:
    event = {"memory_store_id": function.store_id, "token": function.token}
    for command in (
        {"command": "view", "path": "/memories/\ud800/a"},
        {"command": "delete", "path": "/memories/\ud800"},
    ):
        assert function.invoke({**command, **event})["is_error"]
