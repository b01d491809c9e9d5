"""``memolith log``: the versions of one memory."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import typer

from memolith.clients.cli.api_client import Key, Store, Url, complete_path, connect, memory_id_of, speaking
from memolith.clients.cli.instants import instant, local_now
from memolith.clients.cli.output import Json, show_rows
from memolith.clients.cli.store_argument import StoreCommand

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def log(
    store: Store,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH|MEMORY",
            help="A memory; by default all of the store.",
            autocompletion=complete_path,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="INSTANT", help="Only versions made since: yesterday, '2 hours ago', 2026-11-22."
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many versions to show.")] = 20,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List a memory's versions, newest first, also of a deleted memory; without one, those of the whole store.

    Example: memolith log "Team notes" --since yesterday

    Example: memolith log memstore_useast1_01kb… /notes/todo.md
    """
    with speaking():
        client = connect(url, key)
        asked: dict[str, str | int] = {"limit": min(limit, 100)}
        if what is not None:
            asked["memory_id"] = memory_id_of(client, store, what)
        if since is not None:
            asked["created_at[gte]"] = instant(since, local_now(), "--since")
        versions = client.versions.list(store, **asked)
        rows = [_row(version) for version in islice(versions, limit)]
    show_rows(rows, ("version", "created_at", "operation", "path", "bytes", "trust", "by"), as_json)


def _row(version: Any) -> dict[str, Any]:
    actor = {} if version.created_by is None else version.created_by
    return {
        "version": version.id,
        "memory": version.memory_id,
        "created_at": version.created_at,
        "operation": version.operation if version.redacted_at is None else f"{version.operation}, redacted",
        "path": version.path,
        "bytes": version.content_size_bytes,
        "content_sha256": version.content_sha256,
        "trust": version.get("trust"),
        "by": next((text for name, text in actor.items() if name.endswith("_id")), None),
    }
