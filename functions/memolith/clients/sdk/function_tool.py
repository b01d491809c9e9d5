"""The memory tool as a function of the OpenAI API, for chat completions and responses, on a store of Memolith.

memory = MemolithFunctionTool(anthropic.Anthropic(base_url="https://…", api_key="…"), "memstore_…")    # Memolith's
address answer = openai.OpenAI().chat.completions.create(model=…, messages=[…], tools=[memory.chat_tool()])
for call in answer.choices[0].message.tool_calls or ():
    text = memory.call(call.function.name, call.function.arguments)

Needs no package of OpenAI's, so that it serves everything that takes functions in these two shapes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anthropic

from memolith.clients.sdk.memory_tool import tool_on

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionFunctionToolParam
    from openai.types.responses import FunctionToolParam

NAME = "memory"

DESCRIPTION = (
    "Your memory: files under /memories that outlast this conversation. View /memories before anything else, and "
    "record what you learn and how far you are while you work: what is not recorded may be lost at any time."
)

ERROR = "Error: "
NO_FUNCTION = "There is no function {name!r}; there is memory."
NOT_JSON = "The arguments are not JSON: {reason}."
NOT_AN_OBJECT = 'The arguments must be an object such as {"command": "view", "path": "/memories"}.'


def parameters() -> dict[str, Any]:
    """Return the JSON schema of the arguments: one object for all six commands; only `command` is required.

    It is not of the strict kind, in which every command would carry the parameters of all the others as null.
    """
    described = {
        "path": "For all but rename: a path under /memories",
        "file_text": "create: the content of the new file",
        "old_str": "str_replace: the text to replace, which must be in the file exactly once",
        "new_str": "str_replace: what to put in its place; without it the text is deleted",
        "insert_text": "insert: the text",
        "old_path": "rename: from this path",
        "new_path": "rename: to this path, where nothing is yet",
    }
    return {
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "enum": ["view", "create", "str_replace", "insert", "delete", "rename"],
                "description": "What to do",
            },
            **{name: {"type": "string", "description": text} for name, text in described.items()},
            "view_range": {
                "type": "array",
                "items": {"type": "integer"},
                "description": "view: first and last line of a file, counted from 1; -1 is its end",
            },
            "insert_line": {"type": "integer", "description": "insert: after which line, 0 for the top"},
        },
        "required": ["command"],
        "additionalProperties": False,
    }


class MemolithFunctionTool:
    """One function, `memory`, on one store.

    Args:
        client: of Memolith's address, with a key or a token that may write to the store.
        store_id: ``memstore_…``.
    """

    def __init__(self, client: anthropic.Anthropic, store_id: str) -> None:
        self._tool = tool_on(client, store_id)

    def chat_tool(self) -> ChatCompletionFunctionToolParam:
        """Return the function for `tools` of a chat completion."""
        return {
            "type": "function",
            "function": {"name": NAME, "description": DESCRIPTION, "parameters": parameters(), "strict": False},
        }

    def responses_tool(self) -> FunctionToolParam:
        """Return the function for `tools` of a response."""
        return {
            "type": "function",
            "name": NAME,
            "description": DESCRIPTION,
            "parameters": parameters(),
            "strict": False,
        }

    def call(self, name: str, arguments_json: str) -> str:
        """Return what to send back for one call of the model's: never an exception for what the model wrote.

        An edit is committed on exactly what was read, as with every way in to the memory tool. A result has no mark for
        errors in this API, so the text of a failed call begins with ``Error: ``, also where the store does not answer.

        Args:
            name: of the function, as the model called it.
            arguments_json: as the model wrote them.
        """
        if name != NAME:
            return ERROR + NO_FUNCTION.format(name=name)
        try:
            command = json.loads(arguments_json)
        except (ValueError, RecursionError) as error:
            return ERROR + NOT_JSON.format(reason=error)
        if not isinstance(command, dict):
            return ERROR + NOT_AN_OBJECT
        result = self._tool.call(command)
        return f"{ERROR}{result.text}" if result.is_error else result.text
