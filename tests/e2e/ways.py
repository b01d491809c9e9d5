"""The ways in for agents on the deployment, each as a tool with `call(command)`, opened by a session's token."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import boto3
from anthropic.lib.tools import ToolError
from botocore.config import Config
from mcp import StdioServerParameters

from memolith.clients.sdk.memory_tool import MemolithMemoryTool
from scripts.agents import client
from tests.memory_tool.ways import Shape, bedrock_function, plain
from tests.support.mcp_clients import Connected, connected, connected_over_http


@dataclass(frozen=True, slots=True)
class Opened:
    """A store, a session's token for it, and the region that is asked."""

    dev: dict[str, Any]
    region: str
    store_id: str
    token: str
    session_id: str

    @property
    def api_url(self) -> str:
        """Where the region's API answers."""
        return str(self.dev["regions"][self.region]["api_url"])


class DeployedTool:
    """The function `tool`, invoked in Lambda."""

    def __init__(self, opened: Opened, shape: Shape) -> None:
        self.store_id, self.token = opened.store_id, opened.token
        self._functions = boto3.client(
            "lambda",
            opened.region,
            endpoint_url=opened.dev["endpoint"],
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(read_timeout=150, retries={"total_max_attempts": 1}),
        )
        self._name = opened.dev["regions"][opened.region]["functions"]["tool"]
        self._shape = shape

    def invoke(self, event: object, context: object = None) -> dict[str, Any]:
        """What it answers; a platform's context is no part of a direct invocation."""
        answer = self._functions.invoke(FunctionName=self._name, Payload=json.dumps(event).encode())
        assert not answer.get("FunctionError")
        return json.loads(answer["Payload"].read())  # type: ignore[no-any-return]  # JSON has no type

    def call(self, command: Any) -> str:
        """One command. Raises ToolError for one that failed."""
        text, is_error = self._shape(self, command)
        if is_error:
            raise ToolError(text)
        return text


def _sdk(opened: Opened) -> AbstractContextManager[MemolithMemoryTool]:
    return nullcontext(MemolithMemoryTool(client(opened.api_url, opened.token), opened.store_id))


def _invoked(shape: Shape) -> Callable[[Opened], AbstractContextManager[DeployedTool]]:
    return lambda opened: nullcontext(DeployedTool(opened, shape))


@contextmanager
def over_http(opened: Opened) -> Iterator[Connected]:
    """The real MCP client, on the deployment's API."""
    with connected_over_http(f"{opened.api_url}/mcp/{opened.store_id}", opened.token) as tool:
        yield tool


@contextmanager
def over_stdio(opened: Opened) -> Iterator[Connected]:
    """The real MCP client, on ``memolith mcp`` as a desktop starts it."""
    told = {"ANTHROPIC_BASE_URL": opened.api_url, "ANTHROPIC_API_KEY": opened.token, "PYTHONPATH": "functions"}
    arguments = ["-m", "memolith.clients.cli", "mcp", "--store", opened.store_id]
    environment = {"PATH": os.environ["PATH"], **told}
    with connected(StdioServerParameters(command=sys.executable, args=arguments, env=environment)) as tool:
        yield tool


WAYS: dict[str, Callable[[Opened], AbstractContextManager[Any]]] = {
    "SDK": _sdk,
    "tool function": _invoked(plain),
    "tool function, by Bedrock": _invoked(bedrock_function),
    "MCP over HTTP": over_http,
    "MCP over stdio": over_stdio,
}
