"""``memolith cat``: a memory's text, as it is."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from memolith.adapters.system import SystemClock
from memolith.clients.cli.api_client import (
    AsOf,
    Key,
    Store,
    Url,
    What,
    Withheld,
    connect,
    find_memory,
    memory_then,
    speaking,
)
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.clients.cli.instants import instant, local_now
from memolith.clients.cli.output import Json, is_terminal, printable
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.ages import age
from memolith.core.errors import InvalidRequest
from memolith.core.times import parse_rfc3339
from memolith.core.trust import UNKNOWN

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def cat(
    store: Store,
    what: What,
    version: Annotated[
        str | None, typer.Option("--version", help="An older version, memver_…, as `memolith log` shows it.")
    ] = None,
    as_of: AsOf = None,
    withheld: Withheld = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Print a memory's text, byte for byte; on a terminal, control characters are shown as escapes.

    With --json, print the whole memory. On a terminal, the text's age follows on standard error.

    A text that the safety scanner withholds is not printed: exit code 6. With --withheld and an admin's key it is.

    Example: memolith cat memstore_useast1_01kb… /notes/todo.md > todo.md

    Example: memolith cat "Team notes" /notes/todo.md --as-of '2 hours ago'

    Example: memolith cat memstore_useast1_01kb… /notes/todo.md --json | jq -r .content_sha256
    """
    if as_of is not None and version is not None:
        raise InvalidRequest("--as-of, --version", "exclude each other")
    with speaking():
        client = connect(url, key)
        if withheld:
            client = client.showing_withheld()
        found: Any
        if as_of is not None:
            found = memory_then(client, store, what, instant(as_of, local_now(), "--as-of"))
        elif version is None:
            found = find_memory(client, store, what, full=True)
        else:
            found = client.versions.retrieve(version, memory_store_id=store)
            if what not in (found.memory_id, found.path):
                raise ApiFailed(f"{version} is a version of another memory, {found.memory_id}", Exit.NOT_FOUND)
    if as_json:
        print(json.dumps(found))
    elif found.content is None:
        raise no_text(store, found)
    else:
        typer.echo(printable(found.content).encode(), nl=False)
        if is_terminal():
            typer.echo(f"({_age(found)}; trust: {found.get('trust', UNKNOWN)})", err=True)


def _age(found: Any) -> str:
    """Describe how old a memory, or a version, is: for a person at a terminal, beside the text and never in it."""
    moment = found.updated_at if found.type == "memory" else found.created_at
    return f"last changed {age(parse_rfc3339(moment), SystemClock().now_us())}"


def no_text(store: str, found: Any) -> ApiFailed:
    """Explain why a memory, or a version, has no text to show."""
    if getattr(found, "withheld", None):
        version = found.memory_version_id if found.type == "memory" else found.id
        advice = (
            f"`memolith quarantine show {store} {version}` says why; --withheld prints it all the same (admin key)."
        )
        return ApiFailed("the safety scanner withholds the text", Exit.SCANNER, advice)
    return ApiFailed("there is no text: the version is a deletion, or it was redacted", Exit.NOT_FOUND)
