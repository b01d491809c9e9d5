"""``memolith stores``: the stores of a key's workspace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from memolith.clients.api.client import STORES
from memolith.clients.cli.api_client import Key, Store, Url, connect, speaking, store_address
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, confirm, say, show_fields, show_rows
from memolith.clients.cli.store_argument import DeletedStoreCommand, NamedStoreCommand
from memolith.core.errors import InvalidRequest

app = group("List, create, show, update, archive, delete and restore the stores of your workspace.")


Description = Annotated[str | None, typer.Option("--description", help="What the store is for; agents see it.")]
Metadata = Annotated[list[str] | None, typer.Option("--metadata", metavar="NAME=VALUE", help="May be repeated.")]
Regions = Annotated[
    str | None,
    typer.Option(
        "--durability", help="one_region; or two_regions: a write is acknowledged once a second region holds it."
    ),
]
Second = Annotated[
    str | None, typer.Option("--second-region", help="The second region; by default the one after the home.")
]
Secrets = Annotated[
    str | None,
    typer.Option(
        "--secrets",
        metavar="refuse|redact|flag",
        help="A write with a secret in it is refused, is stored without the secret, or is stored and flagged.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.command("list")
def list_stores(
    archived: Annotated[bool, typer.Option("--archived", help="Include archived stores.")] = False,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="Only deleted stores that can still be restored; with an admin key.")
    ] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List the stores of your workspace.

    Example: memolith stores list --json | jq -r '.[].id'
    """
    if archived and deleted:
        raise InvalidRequest("--deleted", "lists archived stores too: leave --archived out")
    with speaking():
        query: dict[str, str | int] = {"deleted": "true"} if deleted else {"include_archived": str(archived).lower()}
        found = list(connect(url, key).rows(STORES, {"limit": 100, **query}))
    more = ("erase_after",) if deleted else ("archived_at",) if archived else ()
    show_rows(found, ("id", "name", "updated_at", *more), as_json)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="The name of the store.")],
    description: Description = None,
    metadata: Metadata = None,
    durability: Regions = None,
    second_region: Second = None,
    secrets: Secrets = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Create a store, and print its id, which every other command takes.

    Example: memolith stores create "Team notes" --description "What the team has learned" --metadata team=core
    """
    fields = _given(description=description, metadata=_pairs(metadata, removing=False))
    ours = _given(durability=durability, second_region=second_region, scan_policy=_scanning(secrets))
    with speaking():
        store = connect(url, key).stores.create(name=name, **fields, **ours)
    if as_json:
        print(json.dumps(store))
    else:
        print(store.id)


@app.command(cls=NamedStoreCommand)
def show(store: Store, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Show a store: its name, its scan policy, and how long versions are kept.

    Example: memolith stores show memstore_useast1_01kb…
    """
    with speaking():
        found = connect(url, key).stores.retrieve(store)
    show_fields(found, as_json)


@app.command(cls=NamedStoreCommand)
def update(
    store: Store,
    name: Annotated[str | None, typer.Option("--name", help="The name of the store.")] = None,
    description: Description = None,
    metadata: Metadata = None,
    durability: Regions = None,
    second_region: Second = None,
    secrets: Secrets = None,
    approval: Annotated[
        list[str] | None,
        typer.Option(
            "--approval",
            metavar="WHOSE=WHAT",
            help="agents, pipelines or people = write or propose: whether their writes wait for a person. "
            "paths=/policy/ or paths=/policy/,require=2: a folder in which everybody's wait, for one person or two; "
            "give all of them, for they replace those that were set. paths= alone: none.",
        ),
    ] = None,
    pipelines: Annotated[
        list[str] | None,
        typer.Option(
            "--pipelines",
            metavar="WHAT=VALUE",
            help="What dreams and extraction may do: dreams=propose, extraction=off, may_edit=not_people, "
            "max_deletes=0, max_delete_percent=0, max_tokens=100000, max_tokens_per_day; and by themselves: "
            "auto_extract=propose, auto_dream=propose or write, idle_hours, dream_every_hours, dream_min_sessions, "
            "model; usage=count, unused_days.",
        ),
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Change a store's name, description, metadata, durability, second region, approval, pipelines, or what becomes of
    secrets. What you do not give stays.

    `--metadata NAME=` removes a pair.

    Example: memolith stores update memstore_useast1_01kb… --name "Team notes" --metadata team=

    Example: memolith stores update "Team notes" --approval agents=propose --approval paths=/policy/,require=2
    """
    fields = _given(name=name, description=description, metadata=_pairs(metadata, removing=True))
    ours = _given(durability=durability, second_region=second_region, scan_policy=_scanning(secrets))
    ours |= _given(approval=_approval(approval), pipelines=_settings(pipelines))
    if not fields and not ours:
        raise InvalidRequest("", "nothing to change: give an option, such as --name or --description")
    with speaking():
        changed = connect(url, key).stores.update(store, **fields, **ours)
    show_fields(changed, as_json)


@app.command(cls=NamedStoreCommand)
def archive(store: Store, yes: Yes = False, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Archive a store: it can still be read, but never be written again. Asks first.

    Example: memolith stores archive memstore_useast1_01kb… --yes
    """
    with speaking():
        client = connect(url, key)
        found = client.stores.retrieve(store)
        confirm(f"Archive {found.name} ({store})? It can never be written again.", yes)
        archived = client.stores.archive(store)
    show_fields(archived, as_json)


@app.command(cls=NamedStoreCommand)
def delete(store: Store, yes: Yes = False, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Delete a store with all its memories and their versions, in every region. Asks first.

    Nothing of it is found from then on. It is erased after the delay that the deployment has configured, seven days
    unless it says otherwise; until then `memolith stores restore` brings it back.

    Example: memolith stores delete memstore_useast1_01kb… --yes
    """
    with speaking():
        client = connect(url, key)
        found = client.stores.retrieve(store)
        confirm(f"Delete {found.name} ({store}) with everything in it?", yes)
        gone = client.stores.delete(store)
    if as_json:
        print(json.dumps(gone))
    else:
        say(
            f"{store} is deleted. `memolith stores list --deleted` says until when it can be restored.",
        )


@app.command(cls=DeletedStoreCommand)
def restore(store: Store, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Bring a deleted store back, with all its memories and versions. Works until its erasure begins.

    `memolith stores list --deleted` says which stores can be restored, and until when. Needs an admin key.

    Example: memolith stores restore memstore_useast1_01kb…
    """
    with speaking():
        restored = connect(url, key).post(store_address(store, "restore"))
    show_fields(restored, as_json)


def _scanning(secrets: str | None) -> Mapping[str, str] | None:
    return None if secrets is None else {"secrets": secrets}


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _approval(words: Sequence[str] | None) -> Mapping[str, Any] | None:
    """Parse whose writes wait, and in which folders all do. Raises InvalidRequest for a word that is no pair."""
    pairs = _pairs(words, removing=False, option="--approval")
    if pairs is None or "paths" not in pairs:
        return pairs
    paths = [word.removeprefix("paths=") for word in words or () if word.startswith("paths=")]
    return {**pairs, "paths": [_staged_path(path) for path in paths if path]}


def _staged_path(path: str) -> Mapping[str, str | int]:
    """Parse a folder; the API checks what it says. A prefix ends with a slash, so ``,require=`` is no part of one."""
    prefix, required, people = path.rpartition(",require=")
    if not required:
        return {"prefix": path}
    return {"prefix": prefix, "require": int(people) if people.isdecimal() else people}


def _settings(words: Sequence[str] | None) -> Mapping[str, str | int] | None:
    """Parse settings, whose numbers are numbers. Raises InvalidRequest for a word that is no pair, or has no value."""
    pairs = _pairs(words, removing=False, option="--pipelines")
    if pairs is None:
        return None
    settings: dict[str, str | int] = {}
    for name, value in pairs.items():
        if not value:
            raise InvalidRequest("--pipelines", f"{name}= has no value: give one, or leave it out to keep what is set")
        settings[name] = int(value) if value.isdecimal() else value
    return settings


def _pairs(
    words: Sequence[str] | None, *, removing: bool, option: str = "--metadata"
) -> Mapping[str, str | None] | None:
    """Parse pairs. Raises InvalidRequest for a word that is no pair."""
    if not words:
        return None
    pairs: dict[str, str | None] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise InvalidRequest(option, f"{word} is not NAME=VALUE")
        pairs[name] = None if removing and not value else value
    return pairs
