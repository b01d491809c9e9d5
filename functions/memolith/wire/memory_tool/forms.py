"""The shapes in which agent platforms call the memory tool by invoking a function, and what each wants back.

    plain      `{"command": …, "memory_store_id": …, "token": …}` -> `{"content": …, "is_error": …}`
    Bedrock    an action group of Amazon Bedrock Agents, defined by function details or by an OpenAPI schema
    Gateway    a Lambda target of AgentCore Gateway: the event is the arguments, the tool's name is in the context

Store and token never come from what the model wrote: in the plain shape the caller puts them beside the command, for
Bedrock they are session attributes of the agent's caller, for Gateway the operator has set them up by target.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/agents-lambda.html,
https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/gateway-add-target-lambda.html
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

from memolith.core import ids
from memolith.ports.errors import PORT_FAILURES
from memolith.ports.targets import Targets
from memolith.wire.memory_tool import texts
from memolith.wire.memory_tool.tool import COMMANDS, MemoryTool, Result

Event = Mapping[str, Any]
OpenTool = Callable[[str, str], MemoryTool]
"""Store and token to the tool on it."""

STORE_ATTRIBUTE = "memolith_memory_store_id"
TOKEN_ATTRIBUTE = "memolith_token"  # noqa: S105 - the name of the attribute
GATEWAY_TOOL_NAME = "bedrockAgentCoreToolName"
GATEWAY_DELIMITER = "___"
TOOL = "memory"

BEDROCK_RESPONSE_MAX_BYTES = 25_000
"""Source: Amazon Bedrock User Guide, "Lambda response event": the payload is at most 25 KB."""

_PARSED = ("insert_line", "view_range")
"""Parameters that are no strings. Bedrock sends the value of every parameter as one."""

PARSED_MAX_CHARS = 100
"""More than a line's number or a range of two takes; a longer text is neither, and is not parsed."""


class NotSetUp(Exception):
    """Store or token are missing or cannot be meant: for who set the agent up, not for the model."""


class Forms:
    """Answers an invocation in the shape in which it came.

    Args:
        open_tool: the tool on a store, with the rights of a token.
        targets: what gateways' calls may touch.
    """

    def __init__(self, open_tool: OpenTool, targets: Targets) -> None:
        self._open_tool = open_tool
        self._targets = targets

    def answer(self, event: object, context: object) -> Mapping[str, Any]:
        """Answer a call. The response reports errors; nothing is raised for what a caller or a model got wrong.

        The context decides before the event does: in a gateway's call the event is the model's own words.
        """
        name = _gateway_tool(context)
        if name is not None:
            return _plain(_result(lambda: self._of_gateway(name, event)))
        if not isinstance(event, Mapping):
            return _plain(Result(texts.NOT_AN_OBJECT, is_error=True))
        if "actionGroup" in event and "messageVersion" in event:
            return self._of_bedrock(event)
        return _plain(_result(lambda: self._run(event.get("memory_store_id"), event.get("token"), event)))

    def _run(self, store_id: object, token: object, command: Event, named: tuple[str, str] = ("", "")) -> Result:
        store_name, token_name = named[0] or "memory_store_id", named[1] or "token"
        if not isinstance(store_id, str) or not ids.STORE.fullmatch(store_id):
            raise NotSetUp(texts.NO_STORE.format(name=store_name))
        if not isinstance(token, str) or not token.strip():
            raise NotSetUp(texts.NO_TOKEN.format(name=token_name))
        return self._open_tool(store_id, token.strip()).call(command)

    def _of_gateway(self, name: str, arguments: object) -> Result:
        target_name, delimiter, tool = name.partition(GATEWAY_DELIMITER)
        try:
            target = self._targets.find(target_name) if delimiter else None
        except PORT_FAILURES as error:
            raise NotSetUp(texts.TARGETS_UNREADABLE.format(reason=error)) from error
        if target is None:
            raise NotSetUp(texts.NO_TARGET.format(name=target_name))
        if not isinstance(arguments, Mapping):
            return Result(texts.NOT_AN_OBJECT, is_error=True)
        return self._run(target.memory_store_id, target.token, _command(tool, arguments))

    def _of_bedrock(self, event: Event) -> Mapping[str, Any]:
        by_function = "function" in event
        respond = _function_response if by_function else _api_response
        attributes = _mapping(event.get("sessionAttributes"))
        name = str(event.get("function") if by_function else event.get("apiPath")).rpartition("/")[2]
        command = _command(name, _bedrock_parameters(event))
        store_id, token = attributes.get(STORE_ATTRIBUTE), attributes.get(TOKEN_ATTRIBUTE)
        named = (f"session attribute {STORE_ATTRIBUTE}", f"session attribute {TOKEN_ATTRIBUTE}")
        try:
            result = self._run(store_id, token, command, named)
        except NotSetUp as problem:
            return respond(event, Result(str(problem), is_error=True), set_up=False)
        return _fitted(result, lambda shown: respond(event, shown, set_up=True))


def _result(run: Callable[[], Result]) -> Result:
    try:
        return run()
    except NotSetUp as problem:
        return Result(str(problem), is_error=True)


def _plain(result: Result) -> Mapping[str, Any]:
    return {"content": result.text, "is_error": result.is_error}


def _gateway_tool(context: object) -> str | None:
    """Return `{target}___{tool}` where a gateway invoked the function, else None."""
    custom = getattr(getattr(context, "client_context", None), "custom", None)
    name = custom.get(GATEWAY_TOOL_NAME) if isinstance(custom, Mapping) else None
    return name if isinstance(name, str) else None


def _command(name: str, parameters: Event) -> Event:
    """Build a command as the tool takes it. `name` is the tool's, or a command's own, alone or after the tool's.

    An agent's function has at most five parameters, so there is one for each command.
    """
    command = name.removeprefix(f"{TOOL}_")
    return {**parameters, "command": command} if command in COMMANDS else parameters


def _bedrock_parameters(event: Event) -> dict[str, Any]:
    """Return the parameters by name, a request body's too; numbers and lists are parsed from their text.

    What is of another form than Bedrock's is passed over: the tool then says which parameter it lacks.
    """
    content = _mapping(_mapping(event.get("requestBody")).get("content"))
    bodies = [part for media in content.values() for part in _parts(_mapping(media).get("properties"))]
    parts = [*_parts(event.get("parameters")), *bodies]
    given = {str(part["name"]): part.get("value") for part in parts}
    return {name: _parsed(value) if name in _PARSED else value for name, value in given.items()}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _parts(value: object) -> list[Mapping[str, Any]]:
    """Return those of a list that are a named parameter."""
    listed = value if isinstance(value, list) else []
    return [part for part in listed if isinstance(part, Mapping) and "name" in part]


def _parsed(value: object) -> object:
    """Parse a text as JSON; return the text itself where it is none, for the tool to refuse."""
    if not isinstance(value, str) or len(value) > PARSED_MAX_CHARS:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _function_response(event: Event, result: Result, *, set_up: bool) -> Mapping[str, Any]:
    """Make the response. The model sees a failed command (REPROMPT); an agent that is not set up fails (FAILURE)."""
    response: dict[str, Any] = {"responseBody": {"TEXT": {"body": result.text}}}
    if result.is_error:
        response["responseState"] = "REPROMPT" if set_up else "FAILURE"
    return _bedrock(event, {"function": event.get("function"), "functionResponse": response})


def _api_response(event: Event, result: Result, *, set_up: bool) -> Mapping[str, Any]:
    status = 200 if not result.is_error else 400 if set_up else 403
    fields = {
        "apiPath": event.get("apiPath"),
        "httpMethod": event.get("httpMethod"),
        "httpStatusCode": status,
        "responseBody": {"application/json": {"body": json.dumps(_plain(result), ensure_ascii=False)}},
    }
    return _bedrock(event, fields)


def _bedrock(event: Event, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "messageVersion": "1.0",
        "response": {"actionGroup": event["actionGroup"], **fields},
        "sessionAttributes": event.get("sessionAttributes") or {},
        "promptSessionAttributes": event.get("promptSessionAttributes") or {},
    }


def _fitted(result: Result, respond: Callable[[Result], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Cut the response's text, at a line's end if it has lines, where the whole is more than Bedrock takes."""
    whole = respond(result)
    if _size_bytes(whole) <= BEDROCK_RESPONSE_MAX_BYTES:
        return whole

    def cut(length: int) -> Mapping[str, Any]:
        kept = result.text[:length]
        lines = kept.rpartition("\n")[0]
        return respond(Result((lines if len(lines) >= length // 2 else kept) + texts.CUT, result.is_error))

    lengths = range(len(result.text))
    fitting = bisect_right(lengths, BEDROCK_RESPONSE_MAX_BYTES, key=lambda length: _size_bytes(cut(length)))
    return cut(max(0, fitting - 1))


def _size_bytes(response: Mapping[str, Any]) -> int:
    """Return an upper bound of its size as Lambda sends it."""
    return len(json.dumps(response))
