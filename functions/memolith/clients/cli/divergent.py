"""``memolith divergent``: versions that a fail-over left behind, and that could not be replayed: look, restore,
dismiss.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from memolith.clients.cli.api_client import Key, Url, connect, speaking, store_address
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, say, show_rows
from memolith.clients.cli.store_argument import NamedStoreCommand, store_called
from memolith.core.proposals import line_diff

app = group("List, show, restore and dismiss versions that a failover left divergent.")

PART = "divergent"

Store = Annotated[str, typer.Argument(metavar="STORE", help="The store, by id or name.")]
Version = Annotated[str, typer.Argument(metavar="VERSION", help="memver_…, as `list` shows it.")]


@app.command("list")
def list_(
    store: Annotated[
        str | None, typer.Argument(metavar="STORE", help="A store, by id or name; by default every store.")
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List versions that a lost home acknowledged and that arrived too late to be replayed.

    Example: memolith divergent list
    """
    here = None if store is None else store_address(store_called(store, url, key), PART)
    client = connect(url, key)
    with speaking():
        if here is None:
            stores = client.stores.list(include_archived="true")
            found = [row for one in stores for row in client.rows(store_address(one.id, PART), {"limit": 100})]
        else:
            found = list(client.rows(here, {"limit": 100}))
    if as_json:
        print(json.dumps(found))
        return
    if not found:
        say("Nothing is divergent.")
        return
    table = [{**row, "store": row["memory_store_id"], "version": row["id"]} for row in found]
    show_rows(table, ("store", "version", "operation", "path", "created_at"), as_json=False)


@app.command(cls=NamedStoreCommand)
def show(store: Store, version: Version, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Show how a divergent version differs from what its memory holds now.

    Example: memolith divergent show memstore_useast1_01kb… memver_01kc…
    """
    address = store_address(store, PART, version)
    with speaking():
        found = connect(url, key).get(address)
    if as_json:
        print(json.dumps(found))
        return
    for line in _diff(found):
        say(line)


@app.command(cls=NamedStoreCommand)
def restore(store: Store, version: Version, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Write its text as the memory's next version, or as a new memory if the memory was deleted.

    The version is then no longer listed.

    Example: memolith divergent restore memstore_useast1_01kb… memver_01kc…
    """
    address = store_address(store, PART, version)
    with speaking():
        answer = connect(url, key).write(f"{address}/restore")
    if as_json:
        print(json.dumps(answer))
        return
    memory = answer["memory"]
    became = "its memory is deleted" if memory is None else f"{memory['path']} is now {memory['memory_version_id']}"
    say(f"{answer['id']}: {became}")


@app.command(cls=NamedStoreCommand)
def dismiss(store: Store, version: Version, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Erase a divergent version in every region, as a redaction does. It is then no longer listed.

    Example: memolith divergent dismiss memstore_useast1_01kb… memver_01kc…
    """
    address = store_address(store, PART, version)
    with speaking():
        answer = connect(url, key).post(f"{address}/dismiss")
    if as_json:
        print(json.dumps(answer))
        return
    say(f"{answer['id']}: dismissed")


def _diff(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the diff from the present memory to the divergent version; a line each where a path or memory ends."""
    current = found["current"]
    now = "nothing" if current is None else f"{current['path']} {current['memory_version_id']}"
    late = f"{found['path']} {found['id']} ({found['operation']}), divergent"
    yield f"--- {now}"
    yield f"+++ {late}"
    before, after = ((one or {}).get("content") for one in (current, found))
    yield from (line.removesuffix("\n") for line in line_diff(before, after)[2:])
