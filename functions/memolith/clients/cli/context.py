"""``memolith context``: what a session's agent is told of its memory, or what one of these stores would be told."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from memolith.clients.api.client import SESSIONS, address
from memolith.clients.cli.api_client import Key, Url, connect, session_address, speaking
from memolith.clients.cli.output import Json, printable
from memolith.clients.cli.store_argument import store_called
from memolith.core.errors import InvalidRequest

TOKEN_LIFETIME_S = 60
SESSION = "sesn_"

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def context(
    what: Annotated[
        list[str], typer.Argument(metavar="SESSION|STORE…", help="A session, sesn_…, or up to 8 stores, by id or name.")
    ],
    refresh: Annotated[bool, typer.Option("--refresh", help="Read the session's stores as they are now.")] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="For stores: the context of a session that may only read.")
    ] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Print an agent's memory context, for its system prompt: its stores and the index of each.

    A session's context stays the same text until --refresh. For stores, the command begins a session, asks it for its
    context, and ends it.

    Example: memolith context sesn_useast1_01kb… > prompt.md
    """
    sessions = [one for one in what if one.startswith(SESSION)]
    if sessions and len(what) > 1:
        raise InvalidRequest("SESSION|STORE", f"must be one session ({SESSION}…), or stores, by id or name")
    stores = [] if sessions else [store_called(one, url, key) for one in what]
    with speaking():
        client = connect(url, key)
        answer = _of_stores(client, stores, read_only) if stores else _of_session(client, what[0], refresh)
    print(json.dumps(answer) if as_json else printable(answer["text"]), end="\n" if as_json else "")


def _of_session(client: Any, session_id: str, refresh: bool) -> dict[str, Any]:
    asked = {"refresh": True} if refresh else {}
    answer: dict[str, Any] = client.post(f"{session_address(session_id)}/context", asked)
    return answer


def _of_stores(client: Any, stores: list[str], read_only: bool) -> dict[str, Any]:
    access = "read_only" if read_only else "read_write"
    resources = [{"type": "memory_store", "memory_store_id": store, "access": access} for store in stores]
    begin = {"resources": resources, "title": "memolith context", "token_lifetime_seconds": TOKEN_LIFETIME_S}
    session: dict[str, Any] = client.post(SESSIONS, begin)
    try:
        return _of_session(client, session["id"], refresh=False)
    finally:
        client.post(address(session["id"], "archive", of=SESSIONS))
