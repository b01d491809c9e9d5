"""The official MCP client, for tests that are synchronous: connected once, for as many calls as a block makes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

import httpx2
from anthropic.lib.tools import ToolError
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent


class Connected:
    """A client that is connected.

    Attributes:
        client: whose methods `portal` calls, from outside its loop.
    """

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.client = client
        self._portal = portal

    def tools(self) -> list[str]:
        """The names of the tools that are offered."""
        return [tool.name for tool in self._portal.call(self.client.list_tools).tools]

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """One tool, called."""
        answer: CallToolResult = self._portal.call(self.client.call_tool, name, dict(arguments))
        return answer

    def call(self, command: Mapping[str, Any]) -> str:
        """The tool `memory`, in the shape of the SDK's tools.

        Raises:
            ToolError: the command failed.
        """
        answer = self.call_tool("memory", command)
        (content,) = answer.content
        assert isinstance(content, TextContent)
        if answer.is_error:
            raise ToolError(content.text)
        assert answer.structured_content == {"text": content.text}
        return content.text


@contextmanager
def connected(server: Any) -> Iterator[Connected]:
    """To a server in this process, or to what a transport's parameters start."""
    with _connected(Client(server)) as client:
        yield client


@contextmanager
def connected_over_http(url: str, bearer: str) -> Iterator[Connected]:
    """To a server that answers streamable HTTP."""
    with _connected(_over_http(url, bearer)) as client:
        yield client


@asynccontextmanager
async def _over_http(url: str, bearer: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {bearer}"}, timeout=300) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


@contextmanager
def _connected(client: AbstractAsyncContextManager[Client]) -> Iterator[Connected]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client) as entered:
        yield Connected(portal, entered)
