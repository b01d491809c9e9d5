"""``memolith import``: folders, archives and other programs' memories, as memories of a store."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer

from memolith.clients.cli.api_address import words_of_address
from memolith.clients.cli.api_client import Key, Url, connect, speaking
from memolith.clients.cli.failures import AGAIN, GOES_ON
from memolith.clients.cli.output import Json
from memolith.clients.cli.store_argument import one_called
from memolith.clients.cli.transfer_options import (
    MAX_TRUST,
    MaxTrust,
    Replace,
    Under,
    counting,
    ending_report,
    progress,
)
from memolith.clients.transfer import archives, discovery, history, known_tools
from memolith.clients.transfer.discovery import Found
from memolith.clients.transfer.history import HistoryImporter
from memolith.clients.transfer.importing import Importer
from memolith.clients.transfer.known_tools import Format, KnownTool
from memolith.clients.transfer.report import NOT_CARRIED, Row, told
from memolith.core.approval import ApprovalPolicy
from memolith.core.errors import InvalidRequest
from memolith.core.pipelines.policy import PipelinesPolicy

app = typer.Typer(add_completion=False, rich_markup_mode=None)

SOURCE_KEY = "memolith_import_source"
SOURCE_CHARS = 32


@app.command("import")
def import_(
    source: Annotated[
        str | None, typer.Argument(metavar="SOURCE", help="A folder, a tar or a ZIP; with --from, the project.")
    ] = None,
    whose: Annotated[Format, typer.Option("--from", help="The program that the memories are from.")] = Format.FOLDER,
    store: Annotated[
        str | None,
        typer.Option("--store", help="The store to import into, by id or name; by default that of an earlier import."),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Make a new store, although there is one of an earlier import.")
    ] = (False),
    name: Annotated[str | None, typer.Option("--name", help="The name of the new store.")] = None,
    under: Under = "/",
    replace: Replace = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    max_trust: MaxTrust = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Import a folder, a tar, a ZIP, or the memories of Claude Code, Codex or Basic Memory; each file is a memory then.

    Give any folder or worktree of a project for Claude Code, and the project's name for Basic Memory. The command
    reports what cannot be a memory, with the reason: not UTF-8, too large, a path that the API does not take, refused
    by the safety scanner. Run again, it continues in the store that it made, also after a stop; with --new it makes
    another one, and says, where it stops, how to go on. Exit code 3: something was not imported. Files that programs
    keep for themselves, and those that .memolithignore names, are left out.

    A file has the trust class of the key that imports it, or --max-trust if that is lower: untrusted_document for what
    no one vouches for. What is there already with the same text keeps its class.

    A tar made by `memolith export --history` is recognised and imported with all its versions. Each keeps its trust
    class up to --max-trust, and up to what the key writes.

    Example: memolith import ~/notes --name "Team notes"

    Example: memolith import ~/downloads --name "From elsewhere" --max-trust untrusted_document

    Example: memolith import --from claude-code ~/code/app --store memstore_useast1_01kb… --under /app/

    Example: memolith import --from basic-memory main --dry-run --json

    Example: memolith import notes.tar.gz --api-url https://memory.example.com --api-key sk-memolith-…
    """
    if store and (name or new):
        raise InvalidRequest("--store, --name, --new", "exclude each other")
    rows: list[Row] = []
    place = known_tools.find(whose, source)
    if place.folder.is_file() and history.is_history(place.folder):
        if under != "/" or replace or dry_run:
            raise InvalidRequest(
                "SOURCE", "has a history, which goes in as it is: without --under, --replace, --dry-run"
            )
        _import_history(place.folder, store, name, max_trust or MAX_TRUST, as_json, url, key)
        return
    made: list[str] = []
    instead = "--new" if name is None else "--new and --name"
    named = "--from" if source is None else "SOURCE"
    ends = ending_report(rows, as_json, made, GOES_ON if new else AGAIN)
    with _read(place, under, named) as read, ends as ending:
        rows += told(read.left_out)
        ending["source"], ending["store"] = str(place.folder), store
        ending["not_carried"] = NOT_CARRIED
        for folder in place.beside:
            typer.echo(f"note: {folder} may have memories of this project too; it was not read", err=True)
        with _going_on(made if new else [], lambda made: f"give --store {made} instead of {instead}"):
            client = connect(url, key)
            if store is not None:
                ending["store"] = store = one_called(client, store)
            if store is None and read.files:
                ending["store"] = store = _own_store(client, whose, place, name, made, new=new, dry_run=dry_run)
            with progress("importing", len(read.files), rows) as tell:
                importer = Importer(client, store or "", replace=replace, dry_run=dry_run, max_trust=max_trust)
                importer.run(read.files, tell)


def _import_history(
    path: Path, store: str | None, name: str | None, max_trust: str, as_json: bool, url: str | None, key: str | None
) -> None:
    """Import into a new store of the same name, or into a given one, to go on after a stop."""
    rows: list[Row] = []
    into: list[str] = []

    def again(into: str) -> str:
        words = [str(path), "--store", into, "--max-trust", max_trust, *words_of_address(url)]
        return f"memolith import {shlex.join(words)}"

    with ending_report(rows, as_json, into, GOES_ON) as ending:
        ending["source"], ending["store"] = str(path), store
        with history.opened(path) as (manifest, versions), _going_on(into, again):
            client = connect(url, key)
            into.append(make_like(client, manifest.store, name) if store is None else one_called(client, store))
            ending["store"] = into[0]
            with counting("importing versions", manifest.versions) as advance:
                importer = HistoryImporter(client, into[0], advance, max_trust)
                ending["versions"] = dict(importer.run(versions, rows.append))
        rows += settings_left_behind(manifest.store)


@contextmanager
def _going_on(into: list[str], how: Callable[[str], str]) -> Iterator[None]:
    """Translate the API's errors, as `speaking`; say on standard error how to go on with the store, once there is one.

    Args:
        into: the store's id, once it is known.
        how: what imports the rest into it.
    """
    try:
        with speaking():
            yield
    except BaseException:
        if into:
            typer.echo(f"to go on: {how(into[0])}", err=True)
        raise


def settings_left_behind(told: Mapping[str, Any]) -> list[Row]:
    """Name those settings of a store that an import does not take over."""
    policy, rows = told.get("scan_policy") or {}, list[Row]()
    secrets = policy.get("secrets", "refuse")
    if policy.get("policy", "standard") != "standard" or policy.get("allow") or secrets != "refuse":
        own = f"{policy.get('policy', 'standard')}, secrets: {secrets}"
        rows.append(Row("scan policy", "noted", f"the store's own ({own}) is not taken over: set it anew"))
    if told.get("second_region") is not None:
        rows.append(Row("durability", "noted", "the store's second region is not taken over: set it anew"))
    for name, default in (("approval", ApprovalPolicy().to_json()), ("pipelines", PipelinesPolicy().to_json())):
        chosen = {field: value for field, value in (told.get(name) or {}).items() if value != default.get(field)}
        if chosen:
            rows.append(Row(name, "noted", f"the store's own ({json.dumps(chosen)}) is not taken over: set it anew"))
    return rows


def make_like(client: Any, told: Mapping[str, Any], name: str | None) -> str:
    """Make a store as described, without its policies: a tar must not decide what this deployment accepts or pays."""
    also = {"retention": told["retention"]} if "retention" in told else {}
    made = client.stores.create(
        name=name or told["name"], description=told.get("description"), metadata=told.get("metadata"), **also
    )
    return str(made.id)


def _own_store(
    client: Any, whose: Format, place: KnownTool, name: str | None, made: list[str], *, new: bool, dry_run: bool
) -> str | None:
    """Return the store that an earlier import of the same source made, or make one; None for a dry run without one.

    One that it makes is added to `made`.

    A store is known by a hash of its source, in its metadata, and by its name where one is given.
    """
    source = sha256(f"{whose}\n{place.folder.resolve()}".encode()).hexdigest()[:SOURCE_CHARS]
    if not new:
        listed = (one for one in client.stores.list() if (one.metadata or {}).get(SOURCE_KEY) == source)
        earlier = next((one for one in listed if name in (None, one.name)), None)
        if earlier is not None:
            typer.echo(f"note: continues in {earlier.name}, {earlier.id}; --new makes another store", err=True)
            return str(earlier.id)
    if dry_run:
        return None
    store = client.stores.create(name=name or place.name, description=place.description, metadata={SOURCE_KEY: source})
    made.append(str(store.id))
    return made[0]


@contextmanager
def _read(place: KnownTool, under: str, argument: str) -> Iterator[Found]:
    """Read the source. Raises InvalidRequest, of the argument that named it: nothing is there, or it cannot be read."""
    source = place.folder
    try:
        if source.is_dir():
            yield discovery.composed(discovery.folder(source, under, place.own_files))
        elif source.is_file():
            with archives.archive(source, under) as read:
                yield discovery.composed(read)
        elif place.program and not source.exists():
            raise InvalidRequest(argument, f"{place.program} has remembered nothing here yet: there is no {source}")
        else:
            raise InvalidRequest(argument, f"{source} is neither a folder nor an archive")
    except OSError as error:
        raise InvalidRequest(argument, f"{error.filename or source} cannot be read: {error.strerror}") from error
