"""The memory tool on a store, the SDK's own tool on a folder, and both given the same commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from anthropic.lib.tools import ToolError

from memolith.adapters.system import SystemClock
from memolith.clients.sdk.memory_tool import MemolithMemoryTool
from tests.api.harness import Backend, memolith_backend


@dataclass(frozen=True, slots=True)
class Said:
    """What a command answered."""

    text: str
    is_error: bool = False


def say(tool: Any, command: Mapping[str, Any]) -> Said:
    """What the tool runner would send back for a command."""
    try:
        return Said(str(tool.call(dict(command))))
    except ToolError as error:
        return Said(str(error.content), is_error=True)


@dataclass(frozen=True, slots=True)
class Fresh:
    """A tool on an empty store."""

    backend: Backend
    store_id: str
    tool: MemolithMemoryTool

    def say(self, **command: Any) -> Said:
        return say(self.tool, command)

    def paths(self) -> dict[str, str | None]:
        """Every memory's content by path."""
        listed = self.backend.client().beta.memory_stores.memories.list(self.store_id, view="full")
        return {item.path: item.content for item in listed if item.type == "memory"}


def fresh_tool() -> Fresh:
    """A new store, on a cloud whose clock shows the machine's time, as the tool's does."""
    backend = memolith_backend(10_000)
    backend.clock.advance((SystemClock().now_us() - backend.clock.now_us()) / 1_000_000)
    client = backend.client()
    store_id = client.beta.memory_stores.create(name="Notes").id
    return Fresh(backend, store_id, MemolithMemoryTool(client, store_id))


@pytest.fixture
def fresh() -> Fresh:
    return fresh_tool()
