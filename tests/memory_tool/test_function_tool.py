"""The memory tool as a function of the OpenAI API: OpenAI's own client, with a stand-in for the model behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import httpx2
import pytest
from anthropic.lib.tools import ToolError
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputParam

from memolith.clients.sdk.function_tool import ERROR, MemolithFunctionTool, parameters
from memolith.wire.memory_tool.tool import COMMANDS
from tests.memory_tool.conftest import Fresh
from tests.memory_tool.test_docs import NEEDED

SCRIPT: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/progress.md", "file_text": "step 1 done\n"},
    {"command": "create", "path": "/memories/progress.md", "file_text": "again"},
    {"command": "str_replace", "path": "/memories/progress.md", "old_str": "step 1", "new_str": "step 2"},
]
SAID = [
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
    "File created successfully at: /memories/progress.md",
    "Error: File /memories/progress.md already exists",
    "The memory file has been edited. Here is the snippet showing the change (with line numbers):",
]


class Model:
    """Answers OpenAI's API by the script: one call a turn, then a word."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def client(self) -> OpenAI:
        transport = httpx2.MockTransport(self.answer)
        return OpenAI(api_key="none", base_url="https://model.test/v1", http_client=httpx2.Client(transport=transport))

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        turn = len(self.asked)
        self.asked.append(json.loads(request.content))
        called = SCRIPT[turn] if turn < len(SCRIPT) else None
        shape = {"/v1/chat/completions": chat_completion, "/v1/responses": response}[request.url.path]
        return httpx2.Response(200, json=shape(turn, called))


def chat_completion(turn: int, called: Mapping[str, Any] | None) -> dict[str, Any]:
    function = {"name": "memory", "arguments": json.dumps(called)}
    calls = [{"id": f"call_{turn}", "type": "function", "function": function}] if called else None
    message = {"role": "assistant", "content": None if calls else "done", "tool_calls": calls, "refusal": None}
    finish = "tool_calls" if calls else "stop"
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion",
        "created": 1,
        "model": "a-model",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
    }


def response(turn: int, called: Mapping[str, Any] | None) -> dict[str, Any]:
    call = {"type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}", "name": "memory"}
    text = {"type": "output_text", "text": "done", "annotations": []}
    output: dict[str, Any] = (
        {**call, "arguments": json.dumps(called), "status": "completed"}
        if called
        else {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    )
    return {
        "id": f"resp_{turn}",
        "object": "response",
        "created_at": 1,
        "model": "a-model",
        "status": "completed",
        "output": [output],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


@pytest.fixture
def memory(fresh: Fresh) -> MemolithFunctionTool:
    return MemolithFunctionTool(fresh.backend.client(), fresh.store_id)


def test_a_loop_over_chat_completions_works_on_a_store(fresh: Fresh, memory: MemolithFunctionTool) -> None:
    model = Model()
    openai = model.client()
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": "go on"}]
    said: list[str] = []
    while True:
        completion = openai.chat.completions.create(model="a-model", messages=messages, tools=[memory.chat_tool()])
        message = completion.choices[0].message
        messages.append(cast(ChatCompletionMessageParam, message.model_dump(exclude_none=True)))
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            assert call.type == "function"
            said.append(memory.call(call.function.name, call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said[-1]})
    assert message.content == "done"
    assert [text.splitlines()[0] for text in said] == SAID
    assert fresh.paths() == {"/progress.md": "step 2 done\n"}
    assert [tool["function"]["name"] for tool in model.asked[0]["tools"]] == ["memory"]
    assert [one["content"] for one in model.asked[-1]["messages"] if one["role"] == "tool"] == said


def test_a_loop_over_responses_works_on_a_store(fresh: Fresh, memory: MemolithFunctionTool) -> None:
    model = Model()
    openai = model.client()
    items: ResponseInputParam = [{"role": "user", "content": "go on"}]
    said: list[str] = []
    while True:
        answer = openai.responses.create(model="a-model", input=items, tools=[memory.responses_tool()])
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            break
        for call in calls:
            said.append(memory.call(call.name, call.arguments))
            items.append(
                {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
            )
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": said[-1]})
    assert answer.output_text == "done"
    assert [text.splitlines()[0] for text in said] == SAID
    assert fresh.paths() == {"/progress.md": "step 2 done\n"}
    assert [tool["name"] for tool in model.asked[0]["tools"]] == ["memory"]


def test_the_schema_has_every_command_and_every_parameter() -> None:
    schema = parameters()
    assert schema["properties"]["command"]["enum"] == list(COMMANDS)
    assert set(schema["properties"]) == {"command"} | {name for names in NEEDED.values() for name in names}


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("remember", "{}", "There is no function 'remember'"),
        ("\ud800", "{}", r"There is no function '\ud800'"),
        ("memory", "{'command': 'view'}", "not JSON"),
        ("memory", "", "not JSON"),
        ("memory", "[]", "must be an object"),
        ("memory", "[" * 100_000, "not JSON"),
        ("memory", '{"path": ' * 100_000, "not JSON"),
        ("memory", '{"command": ' + "[" * 100 + "]" * 100 + "}", "must be a string"),
        ("memory", '{"command": "view", "path": "/memories/\\ud83d/x"}', "Unicode"),
        ("memory", "{}", "Unknown command"),
        ("memory", '{"command": "create", "path": "/memories/a"}', "needs the parameter file_text"),
        ("memory", '{"command": "create", "path": "/memories/a", "file_text": "\\ud800"}', "Unicode"),
    ],
)
def test_whatever_the_model_writes_is_answered_in_words(
    fresh: Fresh, memory: MemolithFunctionTool, name: str, arguments: str, reason: str
) -> None:
    said = memory.call(name, arguments)
    assert said.startswith(ERROR)
    assert reason in said
    assert said.encode(), "it is sent as UTF-8"
    assert fresh.paths() == {}


def test_a_parameter_that_is_null_is_one_that_is_not_given(fresh: Fresh, memory: MemolithFunctionTool) -> None:
    memory.call("memory", '{"command": "create", "path": "/memories/a", "file_text": "one two", "old_str": null}')
    memory.call("memory", '{"command": "str_replace", "path": "/memories/a", "old_str": " two", "new_str": null}')
    assert fresh.paths() == {"/a": "one"}


def test_a_store_that_does_not_answer_is_an_error_in_words(fresh: Fresh) -> None:
    def gone(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    client = fresh.backend.client(max_retries=0).with_options(
        http_client=httpx2.Client(transport=httpx2.MockTransport(gone))
    )
    said = MemolithFunctionTool(client, fresh.store_id).call("memory", '{"command": "view", "path": "/memories"}')
    assert said.startswith(f"{ERROR}The memory store does not answer now")


def test_the_answers_are_those_of_the_anthropic_tool(fresh: Fresh, memory: MemolithFunctionTool) -> None:
    """The same engine: one example is enough to see that it is plugged in."""
    command = {"command": "insert", "path": "/memories/none", "insert_line": 0, "insert_text": "x"}
    with pytest.raises(ToolError) as raised:
        fresh.tool.call(command)
    assert memory.call("memory", json.dumps(command)) == f"{ERROR}{raised.value.content}"
