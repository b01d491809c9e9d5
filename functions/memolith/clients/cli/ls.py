"""``memolith ls``: which memories a store has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memolith.clients.cli.api_client import Key, Store, Url, connect, nothing_at, speaking
from memolith.clients.cli.output import Json, show_rows
from memolith.clients.transfer.read_headers import AT_HOME, live_at
from memolith.core.errors import InvalidRequest

if TYPE_CHECKING:
    from anthropic import Anthropic

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def ls(
    store: Store,
    path: Annotated[str, typer.Argument(help="A folder, or a memory's path.")] = "/",
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="List everything below, and no folders.")
    ] = False,
    long: Annotated[bool, typer.Option("--long", "-l", help="Show size, time and id.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List the memories and folders in a folder of a store, one path a line.

    Example: memolith ls memstore_useast1_01kb… /notes/ -l

    Example: memolith ls memstore_useast1_01kb… --recursive --json
    """
    if not path.startswith("/"):
        raise InvalidRequest("PATH", "must begin with /")
    with speaking():
        found = _below(connect(url, key), store, path, recursive)
    if as_json:
        print(json.dumps([row.to_dict(mode="json") for row in found]))
    elif long:
        rows = [
            {
                "bytes": getattr(row, "content_size_bytes", None),
                "updated_at": row.updated_at.isoformat(timespec="seconds") if row.type == "memory" else None,
                "memory": getattr(row, "id", None),
                "path": row.path,
            }
            for row in found
        ]
        show_rows(rows, ("bytes", "updated_at", "memory", "path"), as_json=False)
    else:
        for row in found:
            typer.echo(row.path)


def _below(client: Anthropic, store: str, path: str, recursive: bool) -> list[Any]:
    """List the rows of a folder, or the one memory at that path. Raises ApiFailed where neither exists."""
    folder = path if path.endswith("/") else f"{path}/"
    listed = client.beta.memory_stores.memories.list(
        store, path_prefix=folder, depth=0 if recursive else 1, limit=100, extra_headers=AT_HOME
    )
    found: list[Any] = list(listed)
    if found or path == "/":
        return found
    live = None if path.endswith("/") else live_at(client, store, path)
    if live is None:
        raise nothing_at(store, path)
    return [live]
