"""``memolith mcp``: a store over the Model Context Protocol, on standard input and output."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memolith.clients.cli.api_client import Key, Url, connect, speaking
from memolith.core import ids
from memolith.core.errors import InvalidRequest

if TYPE_CHECKING:
    from anthropic import Anthropic

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def mcp(
    store: Annotated[
        str | None,
        typer.Option(
            "--store", envvar="MEMOLITH_MEMORY_STORE_ID", help="The store, memstore_…; by default the only one."
        ),
    ] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """Serve one store as MCP tools on standard input and output, until the input ends.

    Example: memolith mcp --api-url http://127.0.0.1:8377 --store memstore_laptop_01kb…
    """
    if find_spec("mcp") is None:
        typer.echo("mcp missing: pip install '.[mcp,sdk]'", err=True)
        raise typer.Exit(2)
    with speaking():
        client = connect(url, key)
        store_id = _only_store(client) if store is None else store
    if not ids.STORE.fullmatch(store_id):
        raise InvalidRequest("--store", "must be a memory store's id, memstore_…")
    _serve(client, store_id)


def _only_store(client: Anthropic) -> str:
    """Return the workspace's store, if it has one and no other. Raises InvalidRequest."""
    stores = client.beta.memory_stores.list(limit=2).data
    if len(stores) != 1:
        raise InvalidRequest("--store", "must be given: the workspace has " + ("several stores" if stores else "none"))
    return stores[0].id


def _serve(client: Anthropic, store_id: str) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    from memolith.adapters.system import SystemClock, SystemRandomness
    from memolith.clients.sdk.memory_tool import SdkCaller
    from memolith.wire.mcp.server import OpenStore, server_on
    from memolith.wire.memory_tool.tool import MemoryTool
    from memolith.wire.memory_tool.tree import Tree

    tree = Tree(SdkCaller(client), store_id)
    clock = SystemClock()
    server: Any = server_on(OpenStore(store_id, tree, MemoryTool(tree, clock, SystemRandomness()), clock))

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)
