"""Notes that somebody else has put into the store, through the API beside the tools."""

from __future__ import annotations

from tests.mcp.conftest import Server


def put(server: Server, path: str, content: str) -> None:
    server.fresh.backend.client().beta.memory_stores.memories.create(server.store_id, path=path, content=content)
