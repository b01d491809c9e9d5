"""The memory tool for the `anthropic` SDK's tool runner, on a store of Memolith.

client = anthropic.Anthropic(base_url="https://…", api_key="…")     # Memolith's address and key
tool = MemolithMemoryTool(client, "memstore_…")
anthropic.Anthropic().beta.messages.tool_runner(model=…, max_tokens=…, messages=[…], tools=[tool])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anthropic
from anthropic.lib.tools import BetaFunctionToolResultType, ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from anyio.to_thread import run_sync
from pydantic import BaseModel

from memolith.adapters.system import SystemClock, SystemRandomness
from memolith.clients.sdk.once import is_unknown, once
from memolith.ports.clock import Clock
from memolith.wire.memory_tool import texts
from memolith.wire.memory_tool.texts import ToolFailure
from memolith.wire.memory_tool.tool import MemoryTool
from memolith.wire.memory_tool.tree import Reply, Tree


class SdkCaller:
    """Asks the API through an SDK client: its address, its credentials, and for reads its repetitions.

    A write is sent again only where nothing was done (`once`), as often as the client repeats anything.

    Args:
        client: of Memolith's address.
        clock: waits before a write is sent again.
    """

    def __init__(self, client: anthropic.Anthropic, clock: Clock | None = None) -> None:
        self._client = client
        self._clock = clock or SystemClock()

    def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request. Raises ToolFailure where there is no answer."""
        options: Any = {"params": dict(query or {}), "headers": dict(headers or {})}
        try:
            if method == "GET":
                return self._sent(method, path, body, options)
            options["max_retries"] = 0
            return once(lambda: self._sent(method, path, body, options), self._clock, self._client.max_retries)
        except anthropic.APIStatusError as error:
            return Reply(error.status_code, error.body if isinstance(error.body, Mapping) else {})
        except anthropic.APIConnectionError as error:
            maybe_done = method != "GET" and is_unknown(error)
            raise texts.unanswered(type(error).__name__, maybe_done=maybe_done) from error

    def _sent(self, method: str, path: str, body: Mapping[str, Any] | None, options: Any) -> Reply:
        if method == "GET":
            answer: Any = self._client.get(path, cast_to=object, options=options)
        elif method == "POST":
            answer = self._client.post(path, cast_to=object, body=body, options=options)
        else:
            answer = self._client.delete(path, cast_to=object, options=options)
        return Reply(200, answer)


class MemolithMemoryTool(BetaAbstractMemoryTool):
    """`memory_20250818` on one store.

    Args:
        client: of Memolith's address, with a key or a token that may write to the store.
        store_id: ``memstore_…``.
        cache_control: as the SDK's other tools take it.
    """

    def __init__(
        self,
        client: anthropic.Anthropic,
        store_id: str,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = tool_on(client, store_id)

    def call(self, input: object) -> BetaFunctionToolResultType:
        """Run a command as the model wrote it, so that nothing is lost in the SDK's models of it.

        Raises:
            ToolError: what failed, in words for the model.
        """
        return self._run(input)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> BetaFunctionToolResultType:
        return self._run(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> BetaFunctionToolResultType:
        return self._run(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> BetaFunctionToolResultType:
        return self._run(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> BetaFunctionToolResultType:
        return self._run(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> BetaFunctionToolResultType:
        return self._run(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> BetaFunctionToolResultType:
        return self._run(command)

    def clear_all_memory(self) -> BetaFunctionToolResultType:
        """Delete every memory of the store, one by one; their versions stay listable."""
        try:
            return self._tool.clear()
        except ToolFailure as failure:
            raise ToolError(str(failure)) from failure

    def _run(self, command: object) -> str:
        return run(self._tool, command)


class AsyncMemolithMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for asynchronous code: each command runs in a thread, on a synchronous client.

    Args: as for `MemolithMemoryTool`.
    """

    def __init__(
        self,
        client: anthropic.Anthropic,
        store_id: str,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = MemolithMemoryTool(client, store_id)

    async def call(self, input: object) -> BetaFunctionToolResultType:
        """Run `MemolithMemoryTool.call` in a thread."""
        return await run_sync(self._tool.call, input)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> BetaFunctionToolResultType:
        return await run_sync(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> BetaFunctionToolResultType:
        return await run_sync(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> BetaFunctionToolResultType:
        return await run_sync(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> BetaFunctionToolResultType:
        return await run_sync(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> BetaFunctionToolResultType:
        return await run_sync(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> BetaFunctionToolResultType:
        return await run_sync(self._tool.rename, command)

    async def clear_all_memory(self) -> BetaFunctionToolResultType:
        return await run_sync(self._tool.clear_all_memory)


def tool_on(client: anthropic.Anthropic, store_id: str) -> MemoryTool:
    """Make the memory tool on a store, through an SDK client."""
    return MemoryTool(Tree(SdkCaller(client), store_id), SystemClock(), SystemRandomness())


def run(tool: MemoryTool, command: object) -> str:
    """Run one command, given as the SDK's model or as the model's own JSON.

    Raises:
        ToolError: what failed, in words for the model.
    """
    fields = command.model_dump(exclude_unset=True) if isinstance(command, BaseModel) else command
    if not isinstance(fields, Mapping):
        raise ToolError(texts.NOT_AN_OBJECT)
    try:
        return tool.run(fields)
    except ToolFailure as failure:
        raise ToolError(str(failure)) from failure
