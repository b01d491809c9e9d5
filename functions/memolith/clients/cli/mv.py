"""``memolith mv``: a memory, or a folder of them, under another path."""

from __future__ import annotations

from typing import Annotated

import typer

from memolith.clients.cli.api_client import Key, Store, Url, What, complete_path, connect, find_memory, speaking
from memolith.clients.cli.folders import each_to, show_each
from memolith.clients.cli.output import Json
from memolith.clients.cli.store_argument import StoreCommand

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def mv(
    store: Store,
    what: What,
    to: Annotated[
        str,
        typer.Argument(
            metavar="TO", help="The new path; if it ends with /, the folder to move into.", autocompletion=complete_path
        ),
    ],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Move a memory, or every memory of a folder, to another path. Each keeps its id and its versions.

    A path that is taken is refused. A folder is moved one memory after another: exit code 3 if some were not.

    Example: memolith mv memstore_useast1_01kb… /notes/todo.md /done/

    Example: memolith mv "Team notes" /notes/2025/ /archive/2025/
    """
    with speaking():
        client = connect(url, key)
        pairs = each_to(client, store, what, to, recursive=True)

    def move(source: str, path: str) -> object:
        memory = find_memory(client, store, source)
        return client.memories.update(memory.id, memory_store_id=store, path=path)

    show_each(pairs, move, "moved", as_json)
