"""``memolith cite``: say which memories helped a session."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from memolith.clients.cli.api_client import Key, Url, connect, session_address, speaking
from memolith.clients.cli.output import Json, say
from memolith.clients.cli.store_argument import store_called

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def cite(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="sesn_…")],
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Paths of memories, /deploys.md.")],
    store: Annotated[
        str | None, typer.Option("--store", help="Which of the session's stores, by id or name, if it has several.")
    ] = None,
    note: Annotated[str | None, typer.Option("--note", help="What they helped with; kept with the transcript.")] = None,
    message: Annotated[
        str | None, typer.Option("--message", help="Of which message; each counts once with each memory.")
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Record which memories helped a session. Where the store counts uses, they come before unused ones in recall.

    Example: memolith cite sesn_useast1_01kb… /deploys.md --note "which day to deploy"
    """
    address = session_address(session)
    entry: dict[str, Any] = {} if note is None else {"note": note}
    body: dict[str, Any] = {"entries": [{"path": path, **entry} for path in paths]}
    if store is not None:
        body["memory_store_id"] = store_called(store, url, key)
    if message is not None:
        body["message_id"] = message
    with speaking():
        done = connect(url, key).post(f"{address}/citations", body)
    if as_json:
        print(json.dumps(done))
        return
    say(f"{done['accepted']} cited, {done['duplicates']} cited before")
