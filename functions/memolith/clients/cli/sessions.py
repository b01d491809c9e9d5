"""``memolith sessions``: which stores an agent has for a while, and the token that it comes in with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from memolith.clients.api.client import SESSIONS
from memolith.clients.cli.api_client import Key, Url, connect, session_address, speaking
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, say, show_fields, show_rows
from memolith.clients.cli.store_argument import store_called
from memolith.core.errors import InvalidRequest

app = group("Begin, list, show and end agents' sessions, and issue tokens.")

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="sesn_…")]
Lifetime = Annotated[int | None, typer.Option("--lifetime-s", help="For how many seconds the token is valid.")]


@app.command()
def begin(
    stores: Annotated[
        list[str] | None, typer.Argument(metavar="STORE", help="Stores to read and write, by id or name.")
    ] = None,
    read_only: Annotated[
        list[str] | None,
        typer.Option("--read-only", metavar="STORE", help="A store to read only, by id or name; may be repeated."),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="What the session is about.")] = None,
    lifetime_s: Lifetime = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Begin a session with these stores. Its token is shown only now, and stored nowhere.

    Example: memolith sessions begin memstore_useast1_01kb… --read-only memstore_useast1_01kc… --title "Tuesday"
    """
    resources = [_resource(store_called(one, url, key), "read_write") for one in stores or ()]
    resources += [_resource(store_called(one, url, key), "read_only") for one in read_only or ()]
    if not resources:
        raise InvalidRequest("STORE", "name at least one, to write or as --read-only")
    body = {"resources": resources, "title": title, "token_lifetime_seconds": lifetime_s}
    with speaking():
        _show_token(connect(url, key).post(SESSIONS, _given(body)), as_json)


@app.command("list")
def list_sessions(
    made_by: Annotated[str | None, typer.Option("--key-id", metavar="KEY", help="Those that this key began.")] = None,
    store: Annotated[str | None, typer.Option("--store", metavar="STORE", help="Those that have this store.")] = None,
    ended: Annotated[bool, typer.Option("--all", help="Those that have ended, too.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List the workspace's sessions, newest first. Needs a key of scope admin.

    Example: memolith sessions list --key-id apikey_useast1_01kb… --all
    """
    chosen = None if store is None else store_called(store, url, key)
    filters = {"api_key_id": made_by, "memory_store_id": chosen, "include_archived": "true" if ended else None}
    with speaking():
        found = list(connect(url, key).rows(SESSIONS, _given(filters)))
    listed = [
        {
            **one,
            "key_id": one["created_by"].get("api_key_id"),
            "stores": [each["memory_store_id"] for each in one["resources"]],
        }
        for one in found
    ]
    show_rows(listed, ("id", "status", "key_id", "created_at", "archived_at", "title", "stores"), as_json)


@app.command()
def show(session: SessionId, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Show a session: its stores, where they are mounted, and whether it has ended.

    Example: memolith sessions show sesn_useast1_01kb… --json
    """
    address = session_address(session)
    with speaking():
        found = connect(url, key).get(address)
    if as_json:
        print(json.dumps(found))
        return
    show_fields({name: value for name, value in found.items() if name != "resources"}, as_json=False)
    for one in found["resources"]:
        line = f"{one['access']}  {one['memory_store_id']}  {one['mount_path']}  {one['name']}"
        say(line)


@app.command()
def token(
    session: SessionId, lifetime_s: Lifetime = None, url: Url = None, key: Key = None, as_json: Json = False
) -> None:
    """Issue another token of a session. Earlier tokens stay valid until they expire.

    Example: memolith sessions token sesn_useast1_01kb… --lifetime-s 3600
    """
    address = f"{session_address(session)}/token"
    with speaking():
        _show_token(connect(url, key).post(address, _given({"token_lifetime_seconds": lifetime_s})), as_json)


@app.command()
def end(session: SessionId, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """End a session. Each region refuses its tokens once it has learned of the end.

    Example: memolith sessions end sesn_useast1_01kb…
    """
    address = f"{session_address(session)}/archive"
    with speaking():
        ended = connect(url, key).post(address)
    if as_json:
        print(json.dumps(ended))
    else:
        say(f"{session} has ended")


def _resource(store: str, access: str) -> dict[str, str]:
    return {"type": "memory_store", "memory_store_id": store, "access": access}


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _show_token(session: Mapping[str, Any], as_json: bool) -> None:
    """Print the token; for people it is alone in the last line, so that it can be copied."""
    if as_json:
        print(json.dumps(session))
        return
    line = f"{session['id']}  its token is valid until {session['token_expires_at']}"
    say(line)
    print(session["token"])
