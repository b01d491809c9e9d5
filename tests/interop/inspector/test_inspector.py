"""The MCP inspector's command line lists every tool and calls it, over stdio and over HTTP (`make interop`).

Each run of it is a process that starts, connects and ends, as whoever tries a server out would do by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from memolith.wire.mcp.server import TOOLS
from tests.api.loopback import serving
from tests.api.transport import body_of_event
from tests.mcp.calls import every_call
from tests.mcp.test_http import Gateway
from tests.memory_tool.conftest import Fresh, fresh_tool

INSPECTOR = Path(__file__).parent / "node_modules" / ".bin" / "mcp-inspector"
TOOL_FAILED = 5
"""The exit code for a tool that answers with an error."""


class Inspector:
    """The command line, for one server."""

    def __init__(self, *server: str) -> None:
        self._server = server

    def ask(self, method: str, *options: str) -> tuple[int, dict[str, Any]]:
        """Exit code, and what the server answered."""
        patient = ("--connect-timeout", "240000")
        command = [str(INSPECTOR), "--cli", *patient, "--method", method, *options, *self._server]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        pairs = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in arguments.items()]
        return self.ask("tools/call", "--tool-name", name, "--tool-arg", *pairs)


@pytest.fixture
def fresh() -> Fresh:
    return fresh_tool()


@pytest.fixture(params=["stdio", "HTTP"])
def inspector(request: pytest.FixtureRequest, fresh: Fresh) -> Iterator[Inspector]:
    """On a store of this process: through `memolith mcp`, or through the function behind a port."""
    if request.param == "HTTP":
        gateway = Gateway(fresh)

        def answer(event: Mapping[str, Any]) -> Mapping[str, Any]:
            headers, method = event["headers"], event["requestContext"]["http"]["method"]
            return gateway.answer(event["rawPath"], headers, body_of_event(event), method, headers["host"])

        with serving(answer) as port:
            url = f"http://127.0.0.1:{port}/mcp/{fresh.store_id}"
            header = f"Authorization: Bearer {fresh.backend.api_key}"
            yield Inspector("--transport", "http", "--server-url", url, "--header", header)
        return
    with serving(fresh.backend.answer) as port:
        told = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": fresh.backend.api_key}
        variables = {"PYTHONPATH": "functions", "PATH": os.environ["PATH"], **told}
        pairs = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
        yield Inspector(*pairs, "--", sys.executable, "-m", "memolith.clients.cli", "mcp")


def test_the_inspector_lists_every_tool_and_finds_nothing_wrong_with_their_schemas(inspector: Inspector) -> None:
    code, listed = inspector.ask("tools/list", "--strict")
    assert (code, [tool["name"] for tool in listed["tools"]]) == (0, list(TOOLS))


def test_the_inspector_calls_every_tool(inspector: Inspector, fresh: Fresh) -> None:
    for name, arguments in every_call().items():
        code, answer = inspector.call(name, arguments)
        assert (code, answer["isError"]) == (0, False), (name, answer)
        assert answer["structuredContent"], name
    assert fresh.paths() == {"/n/a.md": "Deploys go out on Wednesdays.\n"}


def test_a_tool_that_fails_is_told_as_one(inspector: Inspector) -> None:
    code, answer = inspector.call("read_note", {"path": "/memories/none"})
    assert (code, answer["isError"]) == (TOOL_FAILED, True)
    assert "does not exist" in answer["content"][0]["text"]


def test_the_inspector_reads_memories_as_resources_and_the_guide(inspector: Inspector, fresh: Fresh) -> None:
    fresh.say(command="create", path="/memories/a.md", file_text="1\n")
    uri = f"memolith://{fresh.store_id}/a.md"
    assert [one["uri"] for one in inspector.ask("resources/list")[1]["resources"]] == [uri]
    assert inspector.ask("resources/read", "--uri", uri)[1]["contents"][0]["text"] == "1\n"
    assert [one["name"] for one in inspector.ask("prompts/list")[1]["prompts"]] == ["memory_guide"]
