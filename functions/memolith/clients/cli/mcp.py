"""``memolith mcp``: stores over the Model Context Protocol, on standard input and output."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memolith.clients.api.client import ApiClient
from memolith.clients.api.http import HttpApi
from memolith.clients.cli.api_client import Key, Url
from memolith.core import ids
from memolith.core.errors import InvalidRequest
from memolith.core.limits import SESSION_STORES_MAX

if TYPE_CHECKING:
    from memolith.ports.clock import Clock

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def mcp(
    store: Annotated[
        list[str] | None,
        typer.Option(
            "--store",
            metavar="STORE",
            help="A store, by id or name; may be repeated, up to 8 times. By default MEMOLITH_MEMORY_STORE_ID, or all.",
        ),
    ] = None,
    start: Annotated[
        bool, typer.Option(help="Start `memolith serve` in the background where this machine's own does not run.")
    ] = True,
    url: Url = None,
    key: Key = None,
) -> None:
    """Serve stores as MCP tools on standard input and output, until the input ends.

    With a key, the command begins a session of its own at the first call, renews its token, and ends it with the
    input: the tools never act with the key. A session's token in the key's place is used as it is.

    Example: memolith mcp --store "Team notes"

    Example: memolith mcp --api-url http://127.0.0.1:8377 --store memstore_laptop_01kb…
    """
    if find_spec("mcp") is None:
        typer.echo("mcp missing: pip install '.[mcp]'", err=True)
        raise typer.Exit(2)
    by_default = os.environ.get("MEMOLITH_MEMORY_STORE_ID")
    stores = list(dict.fromkeys(store or ([by_default] if by_default else [])))
    if len(stores) > SESSION_STORES_MAX:
        raise InvalidRequest("--store", f"must be given at most {SESSION_STORES_MAX} times")
    if any(one.startswith("memstore_") and not ids.STORE.fullmatch(one) for one in stores):
        raise InvalidRequest("--store", "must be a memory store's id, memstore_…, or a store's name")
    _serve(stores, url, key, start)


def _serve(stores: list[str], url: str | None, key: str | None, start: bool) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    from memolith.adapters.system import SystemClock, SystemRandomness
    from memolith.clients.cli.agent_session import AgentSession
    from memolith.wire.mcp.all_stores import AllStores
    from memolith.wire.mcp.server import OpenStore, server_on
    from memolith.wire.memory_tool.tool import MemoryTool
    from memolith.wire.memory_tool.tree import Tree

    clock = SystemClock()
    session = AgentSession(lambda: _client(url, key, start, clock), stores, clock)

    def open_store(store_id: str) -> OpenStore:
        tree = Tree(session, store_id)
        return OpenStore(store_id, tree, MemoryTool(tree, clock, SystemRandomness()), clock)

    server: Any = server_on(AllStores(session, open_store, clock, session.store_ids))

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    try:
        anyio.run(serve)
    finally:
        session.end()


def _client(url: str | None, key: str | None, start: bool, clock: Clock) -> ApiClient:
    """Make the client with the key. Raises InvalidRequest, ApiFailed."""
    from memolith.clients.cli.api_address import find_address
    from memolith.clients.cli.started_server import find_or_start

    address = find_or_start(url, key, clock) if start else find_address(url, key)
    return ApiClient(HttpApi(address.url, address.key, clock))
