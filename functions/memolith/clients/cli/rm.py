"""``memolith rm``: memories deleted, each as it was when the command looked."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memolith.clients.api.client import ApiClient, Record
from memolith.clients.cli.api_client import Key, Store, Url, below, complete_path, connect, find_memory, speaking
from memolith.clients.cli.failures import ApiFailed, Exit, exit_of, explain
from memolith.clients.cli.output import Json, show_rows
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import MemolithError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def rm(
    store: Store,
    what: Annotated[
        list[str],
        typer.Argument(metavar="PATH|MEMORY", help="Memories, by path or id.", autocompletion=complete_path),
    ],
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Delete every memory of a folder, too.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Delete memories. A memory that another writer changes meanwhile is kept.

    Their versions stay: `memolith restore` brings a memory back. Exit code 3: some were not deleted.

    Example: memolith rm memstore_useast1_01kb… /notes/old.md /notes/older.md

    Example: memolith rm "Team notes" -r /notes/old/
    """
    client = connect(url, key)
    rows: list[dict[str, Any]] = []
    failures: list[MemolithError] = []
    with speaking():
        chosen = [each for one in what for each in (below(client, store, one) if recursive else None) or [one]]
    for one in chosen:
        try:
            with speaking():
                memory = find_memory(client, store, one) if recursive else _find(client, store, one)
                client.memories.delete(memory.id, memory_store_id=store, expected_content_sha256=memory.content_sha256)
        except MemolithError as error:
            failures.append(error)
            rows.append({"result": "kept", "path": one, "memory": None, "reason": error.message})
        else:
            rows.append({"result": "deleted", "path": memory.path, "memory": memory.id, "reason": None})
    if len(chosen) == 1 and failures:
        raise failures[0]
    show_rows(rows, ("result", "path", "memory", "reason"), as_json)
    if failures:
        typer.echo(explain(failures[0]), err=True)
        raise typer.Exit(exit_of(failures[0]) if len(failures) == len(chosen) else Exit.IN_PART)


def _find(client: ApiClient, store: str, what: str) -> Record:
    """Find a memory as `find_memory` does; where a folder has that name, the error says how to delete it."""
    try:
        return find_memory(client, store, what)
    except ApiFailed as error:
        if error.exit != Exit.NOT_FOUND or not below(client, store, what):
            raise
        raise ApiFailed(f"{what} is a folder; -r deletes every memory in it", Exit.NOT_FOUND) from error
