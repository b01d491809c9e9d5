"""``memolith extract``: what a session taught, as a proposal that waits for a person."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from memolith.clients.cli.api_client import Key, Url, connect, session_address, speaking
from memolith.clients.cli.output import Json, say, visible
from memolith.clients.cli.store_argument import store_called

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def extract(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="sesn_…")],
    store: Annotated[
        str | None, typer.Option("--store", help="Which of the session's stores, by id or name, if it has several.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Ask the model even if nothing was said since it was asked last.")
    ] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Propose memories of what a session taught: at most five, each resting on events of its transcript.

    Nothing is written until a person approves the proposal. Run it again as often as you like: about the same events it
    asks no model, and answers with the same proposal.

    Example: memolith extract sesn_useast1_01kb…
    """
    address = session_address(session)
    body: dict[str, object] = {} if store is None else {"memory_store_id": store_called(store, url, key)}
    if again:
        body["again"] = True
    with speaking():
        found = connect(url, key).post(f"{address}/extract", body)
    if as_json:
        print(json.dumps(found))
        return
    for note in found["notes"]:
        say(visible(f"{note['path']}  {note['name']}"))
    for reason, count in sorted(found["dropped"].items()):
        say(f"{count} dropped: {reason}")
    if found["outcome"] == "unchanged":
        say("nothing was said since the last extraction (--again asks the model all the same)")
    say(f"proposed as {found['proposal_id']}" if found["proposal_id"] else "nothing to propose")
