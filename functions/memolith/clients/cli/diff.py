"""``memolith diff``: what changed between two versions of one memory."""

from __future__ import annotations

import json
from itertools import islice
from typing import Annotated, Any

import typer

from memolith.clients.api.client import ApiClient
from memolith.clients.cli.api_client import Key, Store, Url, What, connect, memory_id_of, speaking
from memolith.clients.cli.output import Json, say
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest
from memolith.core.proposals import line_diff

app = typer.Typer(add_completion=False, rich_markup_mode=None)

Version = Annotated[str | None, typer.Argument(help="memver_…")]

_STYLES = (("+++", "bold"), ("---", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


@app.command(cls=StoreCommand)
def diff(
    store: Store,
    what: What,
    old: Version = None,
    new: Version = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Show what changed between two versions of a memory.

    With one version, compare it with the newest; with none, compare the newest with the one before it.

    Example: memolith diff memstore_useast1_01kb… /notes/todo.md memver_01kb…
    """
    with speaking():
        client = connect(url, key)
        before, after = _pair(client, store, memory_id_of(client, store, what), old, new)
    lines = changes(before, after)
    if as_json:
        ends = {"old": None if before is None else before.id, "new": after.id}
        print(json.dumps({**ends, "diff": "".join(lines)}))
        return
    for line in lines:
        style = next((style for start, style in _STYLES if line.startswith(start)), "")
        say(line.removesuffix("\n"), style)


def _pair(client: ApiClient, store: str, memory_id: str, old: str | None, new: str | None) -> tuple[Any, Any]:
    """Return the two versions with their content; the older one is None where the newest is the first.

    Raises:
        InvalidRequest: a version of another memory, or one whose text was erased.
    """
    versions = client.versions
    newest: list[Any] = []
    if new is None:
        newest = list(islice(versions.list(store, memory_id=memory_id, limit=2), 2))
        if not newest:
            raise InvalidRequest("PATH|MEMORY", f"{memory_id} has no versions in this store")
        new = newest[0].id
    if old is None and len(newest) > 1:
        old = newest[1].id

    def with_content(id: str) -> Any:
        version = versions.retrieve(id, memory_store_id=store)
        if version.memory_id != memory_id:
            raise InvalidRequest("VERSION", f"{id} is a version of another memory, {version.memory_id}")
        if version.content is None and version.operation != "deleted":
            raise InvalidRequest("VERSION", f"the text of {id} is not there any more")
        return version

    return None if old is None else with_content(old), with_content(new)


def changes(before: Any, after: Any) -> list[str]:
    """Return a unified diff, each line with its end; a rename shows in its first two lines alone."""
    lines = line_diff(before and before.content, after.content)[2:]
    moved = (before and before.path) != after.path
    return [f"--- {_label(before)}\n", f"+++ {_label(after)}\n", *lines] if lines or moved else []


def _label(version: Any) -> str:
    if version is None:
        return "/dev/null"
    return f"{version.path}\t{version.id} {version.operation} {version.created_at}"
