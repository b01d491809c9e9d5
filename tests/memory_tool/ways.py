"""The ways in: each gives a tool with `call(command)`, raising `ToolError` for a command that failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any, Protocol

from anthropic.lib.tools import ToolError

from memolith.adapters.memory import MemoryPeers, MemoryTargets
from memolith.adapters.system import SystemClock, SystemRandomness
from memolith.clients.sdk.memory_tool import SdkCaller
from memolith.entry.compose_tool import forms_on
from memolith.ports.targets import Target
from memolith.wire.mcp.server import OpenStore, server_on
from memolith.wire.memory_tool.forms import Forms
from memolith.wire.memory_tool.tool import MemoryTool
from memolith.wire.memory_tool.tree import Tree
from tests.memory_tool.conftest import Fresh
from tests.support.mcp_clients import Connected, connected


class Invokable(Protocol):
    """The tool function, somewhere, and what a caller has to open a store."""

    store_id: str
    token: str

    def invoke(self, event: object, context: object = ...) -> dict[str, Any]:
        """What it answers."""


Shape = Callable[[Invokable, Mapping[str, Any]], tuple[str, bool]]
Way = Callable[[Fresh], AbstractContextManager[Any]]
REGION = "us-east-1"
NO_CONTEXT = SimpleNamespace(client_context=None, aws_request_id="invocation-1")


class ToolFunction:
    """The tool function over a backend, as it is invoked in Lambda: what goes in and comes out passes through JSON."""

    def __init__(self, fresh: Fresh, shape: Shape | None = None) -> None:
        self.store_id, self.token = fresh.store_id, fresh.backend.api_key
        self.peers = MemoryPeers()
        for function in ("reader", "writer"):
            self.peers.register(REGION, function, fresh.backend.answer)
        self.targets = MemoryTargets({"notes": Target(self.store_id, self.token)})
        self.forms: Forms = forms_on(self.peers, REGION, SystemClock(), SystemRandomness(), self.targets)
        self._shape = shape or plain

    def invoke(self, event: object, context: object = NO_CONTEXT) -> dict[str, Any]:
        answer = self.forms.answer(json.loads(json.dumps(event)), context)
        return json.loads(json.dumps(answer))  # type: ignore[no-any-return]  # JSON has no type

    def call(self, command: Mapping[str, Any]) -> str:
        text, is_error = self._shape(self, command)
        if is_error:
            raise ToolError(text)
        return text


def plain(function: Invokable, command: Mapping[str, Any]) -> tuple[str, bool]:
    answer = function.invoke({**command, "memory_store_id": function.store_id, "token": function.token})
    return answer["content"], answer["is_error"]


def gateway_context(name: str) -> SimpleNamespace:
    return SimpleNamespace(client_context=SimpleNamespace(custom={"bedrockAgentCoreToolName": name}))


def gateway(function: Invokable, command: Mapping[str, Any]) -> tuple[str, bool]:
    answer = function.invoke(command, gateway_context("notes___memory"))
    return answer["content"], answer["is_error"]


def gateway_by_command(function: Invokable, command: Mapping[str, Any]) -> tuple[str, bool]:
    arguments = {name: value for name, value in command.items() if name != "command"}
    answer = function.invoke(arguments, gateway_context(f"notes___memory_{command['command']}"))
    return answer["content"], answer["is_error"]


def bedrock_event(called: Invokable, /, **fields: Any) -> dict[str, Any]:
    return {
        "messageVersion": "1.0",
        "agent": {"name": "a", "id": "AGENT12345", "alias": "ALIAS12345", "version": "1"},
        "inputText": "remember this",
        "sessionId": "session-1",
        "actionGroup": "memory",
        "sessionAttributes": {"memolith_memory_store_id": called.store_id, "memolith_token": called.token},
        "promptSessionAttributes": {},
        **fields,
    }


def bedrock_parameters(command: Mapping[str, Any]) -> list[dict[str, str]]:
    """As Bedrock sends them: the value of each is a string."""
    types = {str: "string", int: "integer", list: "array"}
    return [
        {"name": name, "type": types[type(value)], "value": value if isinstance(value, str) else json.dumps(value)}
        for name, value in command.items()
        if name != "command"
    ]


def bedrock_function(function: Invokable, command: Mapping[str, Any]) -> tuple[str, bool]:
    event = bedrock_event(function, function=command["command"], parameters=bedrock_parameters(command))
    answer = function.invoke(event)
    response = answer["response"]["functionResponse"]
    assert response.get("responseState", "REPROMPT") == "REPROMPT"
    return response["responseBody"]["TEXT"]["body"], "responseState" in response


def bedrock_api(function: Invokable, command: Mapping[str, Any]) -> tuple[str, bool]:
    properties = [{"name": "command", "type": "string", "value": command["command"]}, *bedrock_parameters(command)]
    body = {"content": {"application/json": {"properties": properties}}}
    event = bedrock_event(function, apiPath="/memory", httpMethod="POST", parameters=[], requestBody=body)
    response = function.invoke(event)["response"]
    said = json.loads(response["responseBody"]["application/json"]["body"])
    assert response["httpStatusCode"] == (400 if said["is_error"] else 200)
    return said["content"], said["is_error"]


@contextmanager
def mcp(fresh: Fresh) -> Iterator[Connected]:
    """The tool `memory` of the MCP server, called by the real client."""
    tree = Tree(SdkCaller(fresh.backend.client()), fresh.store_id)
    clock = SystemClock()
    server = server_on(OpenStore(fresh.store_id, tree, MemoryTool(tree, clock, SystemRandomness()), clock))
    with connected(server) as client:
        yield client


def invoked(shape: Shape) -> Way:
    """The tool function, called in this shape."""
    return lambda fresh: nullcontext(ToolFunction(fresh, shape))


WAYS: dict[str, Way] = {
    "sdk": lambda fresh: nullcontext(fresh.tool),
    "plain": invoked(plain),
    "gateway": invoked(gateway),
    "gateway by command": invoked(gateway_by_command),
    "bedrock function": invoked(bedrock_function),
    "bedrock api": invoked(bedrock_api),
    "mcp": mcp,
}
