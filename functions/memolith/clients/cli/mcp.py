"""``memolith mcp``: a store over the Model Context Protocol, on standard input and output."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from itertools import islice
from typing import Annotated, Any

import typer

from memolith.clients.api.client import ApiClient
from memolith.clients.api.http import ApiRefused, ApiUnanswered
from memolith.clients.cli.api_client import Key, Url, connect, speaking
from memolith.core import ids
from memolith.core.errors import InvalidRequest
from memolith.wire.memory_tool import texts
from memolith.wire.memory_tool.texts import ToolFailure
from memolith.wire.memory_tool.tree import Reply

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
        typer.echo("mcp missing: pip install '.[mcp]'", err=True)
        raise typer.Exit(2)
    with speaking():
        client = connect(url, key)
        store_id = _only_store(client) if store is None else store
    if not ids.STORE.fullmatch(store_id):
        raise InvalidRequest("--store", "must be a memory store's id, memstore_…")
    _serve(client, store_id)


def _only_store(client: ApiClient) -> str:
    """Return the workspace's store, if it has one and no other. Raises InvalidRequest."""
    stores = list(islice(client.stores.list(limit=2), 2))
    if len(stores) != 1:
        raise InvalidRequest("--store", "must be given: the workspace has " + ("several stores" if stores else "none"))
    return str(stores[0].id)


class HttpCaller:
    """Asks the API as the memory tool's tree does. Errors of the API are replies too."""

    def __init__(self, client: ApiClient) -> None:
        self._http = client.http

    def call(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
    ) -> Reply:
        """Send one request. Raises ToolFailure where there is no answer."""
        try:
            return Reply(200, self._http.send(method, path, query, body))
        except ApiRefused as error:
            return Reply(error.status, error.body if isinstance(error.body, Mapping) else {})
        except ApiUnanswered as error:
            raise ToolFailure(texts.UNANSWERED.format(reason=str(error))) from error


def _serve(client: ApiClient, store_id: str) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    from memolith.adapters.system import SystemClock, SystemRandomness
    from memolith.wire.mcp.server import OpenStore, server_on
    from memolith.wire.memory_tool.tool import MemoryTool
    from memolith.wire.memory_tool.tree import Tree

    tree = Tree(HttpCaller(client), store_id)
    clock = SystemClock()
    server: Any = server_on(OpenStore(store_id, tree, MemoryTool(tree, clock, SystemRandomness()), clock))

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)
