"""``memolith usage``: which memories of a store were used, and which were not for long."""

from __future__ import annotations

from typing import Annotated

import typer

from memolith.clients.cli.api_client import Key, Store, Url, connect, speaking, store_address
from memolith.clients.cli.output import Json, show_rows
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.limits import LIST_MAX

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def usage(
    store: Store,
    unused: Annotated[bool, typer.Option("--unused", help="Only memories that count as unused.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List how often each memory was cited and read, in the order of their paths. Nothing is deleted for its age.

    Counted where the store's policy says so: memolith stores update STORE --pipelines usage=count

    Example: memolith usage "Team notes" --unused
    """
    asked: dict[str, str | int] = {"limit": LIST_MAX, "unused": "true" if unused else "false"}
    with speaking():
        rows = list(connect(url, key).rows(store_address(store, "usage"), asked))
    show_rows(rows, ("path", "cited", "last_cited_on", "read", "last_read_on", "unused"), as_json)
    if not as_json and any(one["counted_since"] is None for one in rows):
        advice = "memolith stores update STORE --pipelines usage=count, and wait for ten minutes"
        typer.echo(f"uses of this store are not counted yet ({advice})", err=True)
