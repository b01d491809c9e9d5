"""``memolith ls``: which memories a store has."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from memolith.clients.api.client import ApiClient, Record
from memolith.clients.cli.api_client import (
    AsOf,
    Key,
    Store,
    Url,
    complete_path,
    connect,
    nothing_at,
    speaking,
    store_address,
)
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.clients.cli.instants import instant, local_now
from memolith.clients.cli.output import Json, say, show_rows, visible
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def ls(
    store: Store,
    path: Annotated[str, typer.Argument(help="A folder, or a memory's path.", autocompletion=complete_path)] = "/",
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="List everything below, and no folders.")
    ] = False,
    long: Annotated[
        bool, typer.Option("--long", "-l", help="Show size, time, id, trust class, and whether the text is withheld.")
    ] = False,
    as_of: AsOf = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List the memories and folders in a folder of a store, one path a line.

    Example: memolith ls memstore_useast1_01kb… /notes/ -l

    Example: memolith ls memstore_useast1_01kb… --recursive --json

    Example: memolith ls "Team notes" /notes/ --as-of yesterday
    """
    if not path.startswith("/"):
        raise InvalidRequest("PATH", "must begin with /")
    with speaking():
        client = connect(url, key)
        when = None if as_of is None else instant(as_of, local_now(), "--as-of")
        found = _below(client, store, path, recursive) if when is None else _then(client, store, path, recursive, when)
        held = _withheld(client, store, path, recursive) if long and not as_json and when is None else frozenset()
    if as_json:
        print(json.dumps(found))
    elif long:
        rows = [
            {
                "bytes": getattr(row, "content_size_bytes", None),
                "updated_at": getattr(row, "updated_at", None),
                "memory": getattr(row, "id", None),
                "trust": getattr(row, "trust", None),
                "state": "withheld" if getattr(row, "id", None) in held else None,
                "path": row.path,
            }
            for row in found
        ]
        show_rows(rows, ("bytes", "updated_at", "memory", "trust", "state", "path"), as_json=False)
    else:
        for row in found:
            say(visible(row.path))


def _withheld(client: ApiClient, store: str, path: str, recursive: bool) -> frozenset[str]:
    """Return the ids of the memories there whose texts are withheld.

    Verdicts are told with contents alone: a request for 20 memories of a folder, and for a thousand of a whole store.
    """
    if path == "/" and recursive:
        listed = client.rows(store_address(store, "pack"))
    else:
        prefix = path if path.endswith("/") else f"{path}/"
        listed = client.memories.list(store, path_prefix=prefix, depth=0 if recursive else 1, view="full", limit=20)
    return frozenset(one["id"] for one in listed if one.get("withheld"))


def _then(client: ApiClient, store: str, path: str, recursive: bool, when: str) -> list[Any]:
    """List the rows of a folder as it was. Raises ApiFailed where neither it nor a memory was there."""
    folder = path if path.endswith("/") else f"{path}/"
    below = list(client.memories.list(store, path_prefix=folder, as_of=when))
    if not below and path != "/":
        beside = client.memories.list(store, path_prefix=path[: path.rindex("/") + 1], as_of=when)
        below = [row for row in beside if row.path == path]
        if not below:
            raise ApiFailed(f"nothing was at {path} then", Exit.NOT_FOUND, "`memolith log` lists what was.")
    if recursive or (below and below[0].path == path):
        return below
    rows: dict[str, Any] = {}
    for row in below:
        name, slash, _ = row.path[len(folder) :].partition("/")
        rows.setdefault(
            folder + name + slash, Record(type="memory_prefix", path=folder + name + slash) if slash else row
        )
    return list(rows.values())


def _below(client: ApiClient, store: str, path: str, recursive: bool) -> list[Any]:
    """List the rows of a folder, or the one memory at that path. Raises ApiFailed where neither exists."""
    folder = path if path.endswith("/") else f"{path}/"
    listed = client.memories.list(store, path_prefix=folder, depth=0 if recursive else 1)
    found: list[Any] = list(listed)
    if found or path == "/":
        return found
    live = None if path.endswith("/") else client.memories.at(store, path)
    if live is None:
        raise nothing_at(store, path)
    return [live]
