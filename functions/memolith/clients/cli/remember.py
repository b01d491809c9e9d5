"""``memolith remember``: a remark in the store's log of the day."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from memolith.clients.cli.api_client import Key, Store, Url, connect, speaking, store_address
from memolith.clients.cli.output import Json, say, visible
from memolith.clients.cli.store_argument import StoreCommand

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def remember(
    store: Store,
    text: Annotated[str, typer.Argument(help="What is worth keeping, in at most 2,000 characters.")],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Write a remark into the log of the day, /logs/2026/11/2026-11-23.md; a dream distills it later.

    Example: memolith remember "Team notes" "Deploy on Thursdays: the on-call engineer is in then."
    """
    with speaking():
        done = connect(url, key).write(store_address(store, "log"), {"text": text})
    if as_json:
        print(json.dumps(done))
        return
    say(visible(f"{done['path']}  {'unchanged' if done['unchanged'] else 'remark'} {done['number']}"))
