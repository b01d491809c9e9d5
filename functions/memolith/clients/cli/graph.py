"""``memolith graph``: what is linked with a memory."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from memolith.clients.api.client import address
from memolith.clients.cli.api_client import Key, Store, Url, connect, speaking
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.clients.cli.instants import instant, local_now
from memolith.clients.cli.output import Json, say, visible
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.limits import GRAPH_DEPTH_MAX, GRAPH_LIMIT_DEFAULT, GRAPH_LIMIT_MAX

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def graph(
    store: Store,
    what: Annotated[str, typer.Argument(help="A memory: its path, title, permalink or id, mem_…")],
    direction: Annotated[str, typer.Option("--direction", "-d", help="out, in (backlinks) or both.")] = "both",
    depth: Annotated[int, typer.Option("--depth", min=1, max=GRAPH_DEPTH_MAX, help="How many links away.")] = 1,
    types: Annotated[str | None, typer.Option("--types", help="Only relations of these types, with commas.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=GRAPH_LIMIT_MAX, help="The greatest number of memories.")
    ] = GRAPH_LIMIT_DEFAULT,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="WHEN", help="As it was: 'yesterday', 2026-06-01.")
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Show the memories that one links to or that link to it, and each relation with its line.

    Example: memolith graph memstore_useast1_01kb… people/ada --depth 2

    Example: memolith graph memstore_useast1_01kb… "Ada Lovelace" --direction in --json
    """
    root = {"memory_id": what} if what.startswith("mem_") else {"path": what}
    asked: dict[str, str | int] = {**root, "direction": direction, "depth": depth, "limit": limit}
    if types is not None:
        asked["types"] = types
    if as_of is not None:
        asked["as_of"] = instant(as_of, local_now(), "--as-of")
    with speaking():
        found = connect(url, key).get(address(store, "graph"), asked)
        if found["candidates"] and not as_json:
            listed = ", ".join(found["candidates"])
            raise ApiFailed(f"{what} may mean {listed}", Exit.NOT_FOUND, "Name one of these paths.")
    if as_json:
        print(json.dumps(found))
        return
    paths = {node["memory_id"]: node["path"] for node in found["nodes"]}
    for node in found["nodes"]:
        line = f"{node['distance']}  {node['path']}  {node['title']} ({node['age']})"
        say(visible(line))
    for edge in found["edges"]:
        target = paths.get(edge["to"]) or f"[[{edge['target_text']}]]"
        line = f"   {paths[edge['from']]}:{edge['line']}: {edge['type']} {target}"
        say(visible(line))
    if found["truncated"]:
        typer.echo("there are more; ask for more with --limit, or for fewer with --types", err=True)
