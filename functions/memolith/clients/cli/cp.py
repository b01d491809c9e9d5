"""``memolith cp``: a memory's text, or a folder of them, as new memories."""

from __future__ import annotations

from typing import Annotated

import typer

from memolith.clients.cli.api_client import Key, Store, Url, What, complete_path, connect, find_memory, speaking
from memolith.clients.cli.cat import no_text
from memolith.clients.cli.folders import each_to, show_each
from memolith.clients.cli.output import Json
from memolith.clients.cli.store_argument import StoreCommand

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def cp(
    store: Store,
    what: What,
    to: Annotated[
        str,
        typer.Argument(
            metavar="TO", help="The new path; if it ends with /, the folder to copy into.", autocompletion=complete_path
        ),
    ],
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Copy every memory of a folder.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Copy a memory's text to another path, as a new memory with a history of its own. A path that is taken is refused.

    Example: memolith cp memstore_useast1_01kb… /notes/template.md /notes/today.md

    Example: memolith cp "Team notes" -r /notes/ /backup/
    """
    with speaking():
        client = connect(url, key)
        pairs = each_to(client, store, what, to, recursive=recursive)

    def copy(source: str, path: str) -> object:
        memory = find_memory(client, store, source, full=True)
        if memory.content is None:
            raise no_text(store, memory)
        return client.memories.create(store, path=path, content=memory.content)

    show_each(pairs, copy, "copied", as_json)
