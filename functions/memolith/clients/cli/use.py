"""``memolith use``: the store that commands mean where none is named."""

from __future__ import annotations

from typing import Annotated

import typer

from memolith.clients.cli.api_client import Key, Url
from memolith.clients.cli.output import Json, show_fields
from memolith.clients.cli.store_argument import complete_store, default_store, keep_default, store_called
from memolith.core.errors import InvalidRequest

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def use(
    store: Annotated[
        str | None,
        typer.Argument(metavar="STORE", help="Its id or its name.", autocompletion=complete_store),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Have no default store any more.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Set the default store: commands use it where no store is named. Without STORE, show it.

    It is kept on this machine, for the address that is asked. MEMOLITH_STORE, a name or an id, comes before it.

    Example: memolith use "Team notes" && memolith ls /notes/
    """
    if none and store:
        raise InvalidRequest("--none", "goes without STORE")
    if none:
        keep_default(url, key, None)
        show_fields({"store": None}, as_json)
        return
    if store is None:
        shown = default_store(url, key)
    else:
        shown = store_called(store, url, key)
        keep_default(url, key, shown)
    show_fields({"store": shown}, as_json)
