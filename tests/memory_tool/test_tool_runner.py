"""The SDK's own loop, with a stand-in for the model: tool calls come, results go back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anthropic
import httpx2

from tests.memory_tool.conftest import Fresh

SCRIPT: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/progress.md", "file_text": "step 1 done\n"},
    {"command": "create", "path": "/memories/progress.md", "file_text": "again"},
    {"command": "str_replace", "path": "/memories/progress.md", "old_str": "step 1", "new_str": "step 2"},
]


class Model:
    """Answers the Messages API by a script: one tool call a turn, then a word."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """In this process, as a client's transport."""
        return httpx2.Response(200, json=self.message(json.loads(request.content)))

    def answer_event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """At an address, behind `tests.api.loopback.serving`."""
        assert event["rawPath"] == "/v1/messages"
        message = self.message(json.loads(event["body"]))
        headers = {"content-type": "application/json"}
        return {"statusCode": 200, "headers": headers, "body": json.dumps(message), "isBase64Encoded": False}

    def message(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The next turn."""
        self.asked.append(asked)
        turn = len(self.asked) - 1
        if turn < len(SCRIPT):
            content = [{"type": "tool_use", "id": f"toolu_{turn}", "name": "memory", "input": SCRIPT[turn]}]
        else:
            content = [{"type": "text", "text": "done"}]
        return {
            "id": f"msg_{turn}",
            "type": "message",
            "role": "assistant",
            "model": "a-model",
            "content": content,
            "stop_reason": "tool_use" if turn < len(SCRIPT) else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def results(self) -> list[tuple[str, bool]]:
        """Each tool result that came back, once, and whether it was marked as an error."""
        blocks = [block for asked in self.asked for message in asked["messages"] for block in message["content"]]
        results = [block for block in blocks if isinstance(block, dict) and block["type"] == "tool_result"]
        by_call = {block["tool_use_id"]: (_text(block["content"]), bool(block.get("is_error"))) for block in results}
        return [by_call[call] for call in sorted(by_call)]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_the_sdks_tool_runner_works_on_a_store(fresh: Fresh) -> None:
    model = Model()
    client = anthropic.Anthropic(
        api_key="none",
        base_url="https://model.test",
        http_client=httpx2.Client(transport=httpx2.MockTransport(model.answer)),
    )
    runner = client.beta.messages.tool_runner(
        model="a-model", max_tokens=100, messages=[{"role": "user", "content": "go on"}], tools=[fresh.tool]
    )
    final = runner.until_done()
    assert [block.type for block in final.content] == ["text"]
    assert model.asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert_played(model, fresh.paths())


def assert_played(model: Model, files: Mapping[str, str | None]) -> None:
    """The script was played to its end: every result came back, and the store holds what it says."""
    texts = [text.splitlines()[0] for text, _ in model.results()]
    assert texts == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
        "File created successfully at: /memories/progress.md",
        "File /memories/progress.md already exists",
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):",
    ]
    assert [is_error for _, is_error in model.results()] == [False, False, True, False]
    assert files == {"/progress.md": "step 2 done\n"}
