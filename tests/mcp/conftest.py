"""A store as an MCP server, and the real client on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import pytest
from mcp import Client, MCPError
from mcp_types import TextContent

from memolith.adapters.system import SystemClock, SystemRandomness
from memolith.clients.sdk.memory_tool import SdkCaller
from memolith.wire.mcp.server import OpenStore, server_on
from memolith.wire.memory_tool.tool import MemoryTool
from memolith.wire.memory_tool.tree import Tree
from tests.memory_tool.conftest import Fresh, fresh_tool

Result = TypeVar("Result")


@pytest.fixture
def fresh() -> Fresh:
    return fresh_tool()


def with_client(server: Any, act: Callable[[Client], Awaitable[Result]]) -> Result:
    """What `act` makes of a client that is connected to `server`: an object, or a transport."""

    async def run() -> Result | MCPError:
        async with Client(server) as client:
            try:
                return await act(client)
            except MCPError as error:
                return error  # raised outside, where no task group wraps it

    answer = asyncio.run(run())
    if isinstance(answer, MCPError):
        raise answer
    return answer


class AheadClock(SystemClock):
    """The system's clock, and as much ahead of it as a test sets."""

    ahead_us = 0

    def now_us(self) -> int:
        return super().now_us() + self.ahead_us


class Server:
    """One store's server in this process."""

    def __init__(self, fresh: Fresh) -> None:
        self.fresh = fresh
        self.store_id = fresh.store_id
        tree = Tree(SdkCaller(fresh.backend.client()), fresh.store_id)
        self.clock = clock = AheadClock()
        self.server = server_on(OpenStore(fresh.store_id, tree, MemoryTool(tree, clock, SystemRandomness()), clock))

    @property
    def store_name(self) -> str:
        return self.fresh.backend.client().beta.memory_stores.retrieve(self.store_id).name

    def ask(self, act: Callable[[Client], Awaitable[Result]]) -> Result:
        return with_client(self.server, act)

    def call(self, name: str, /, **arguments: Any) -> tuple[str, Mapping[str, Any] | None, bool]:
        """A tool's text, its structured content, and whether it is an error."""
        answer = self.ask(lambda client: client.call_tool(name, arguments))
        (content,) = answer.content
        assert isinstance(content, TextContent)
        return content.text, answer.structured_content, answer.is_error


@pytest.fixture
def server(fresh: Fresh) -> Server:
    return Server(fresh)
