"""``memolith backup``: stores in a folder that no deletion reaches, and from there into any Memolith."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from memolith.clients.cli.api_client import Key, Url, connect, speaking
from memolith.clients.cli.import_ import make_like, settings_left_behind
from memolith.clients.cli.output import Json, show_rows
from memolith.clients.cli.transfer_options import MAX_TRUST, MaxTrust, counting, ending_report
from memolith.clients.transfer import backup, history
from memolith.clients.transfer.backup import StoredHistory
from memolith.clients.transfer.history import HistoryImporter
from memolith.clients.transfer.report import Row
from memolith.core.errors import InvalidRequest

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Back up stores into a folder, verify a backup, and restore stores from it.",
)

Folder = Annotated[Path, typer.Argument(help="The backup's folder.", file_okay=False)]


@app.command()
def create(
    folder: Folder,
    store: Annotated[
        list[str] | None, typer.Option("--store", help="Only this store; may be repeated. By default all.")
    ] = None,
    records: Annotated[
        bool, typer.Option("--records", help="Proposals, sessions, transcripts and dreams, too, to be read.")
    ] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Back up stores of your workspace, with all versions, into a new or empty folder.

    Use an admin key: withheld texts are given to admins alone. Each workspace needs a backup of its own. The manifest,
    `backup.json`, has the SHA-256 of every file. Exit code 3: a text is missing, and the report says which.

    With --records the folder has the stores' proposals and decisions, sessions, transcripts and dreams, too, as JSON
    lines. They are kept to be read; no restoration makes anything of them.

    Example: memolith backup create /backups/2026-11-22

    Example: memolith backup create /backups/2026-11-22 && aws s3 sync /backups s3://my-backups
    """
    rows: list[Row] = []
    with ending_report(rows, as_json) as ending, speaking():
        ending["target"] = str(folder)
        try:
            with counting("backing up versions", None) as advance:
                client = connect(url, key)
                written = backup.write(client, folder, store or (), rows.append, advance, with_records=records)
        except OSError as error:
            raise InvalidRequest("FOLDER", f"{error.filename or folder} cannot be written: {error.strerror}") from error
        for one in written:
            rows += [Row(one.store_id, "written"), Row(one.store_id, "noted", _beside(one))]
        ending["versions"] = sum(one.versions for one in written)


@app.command()
def verify(folder: Folder, as_json: Json = False) -> None:
    """Read every byte of a backup and compare it with the manifest. Needs no deployment.

    Example: memolith backup verify /backups/2026-11-22
    """
    rows = [
        {
            "store": one.store_id,
            "name": one.store["name"],
            "versions": one.versions,
            "records": None if one.records is None else sum(one.records.counts.values()),
            "sha256": one.sha256,
        }
        for one in _verified(folder)
    ]
    show_rows(rows, ("store", "name", "versions", "records", "sha256"), as_json)


@app.command()
def restore(
    folder: Folder,
    store: Annotated[
        list[str] | None, typer.Option("--store", help="Only this one of its stores; may be repeated.")
    ] = None,
    max_trust: MaxTrust = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Restore stores from a backup, each as a new store with all its versions. Needs an admin key.

    The whole backup is verified first. Memories and versions keep their ids; a store gets a new one, which the report
    names. Every text is scanned again. If the command stops, it says how to go on.

    A version keeps its trust class up to --max-trust, and up to what the key writes: what persons wrote stays theirs
    with a person's key and --max-trust user.

    Example: memolith backup restore /backups/2026-11-22 --api-url https://memory.example.com --api-key sk-memolith-…
    """
    chosen = _chosen(_verified(folder), store)
    rows: list[Row] = []
    restored: list[dict[str, str]] = []
    with ending_report(rows, as_json) as ending, speaking():
        ending["source"], ending["stores"] = str(folder), restored
        client = connect(url, key)
        with counting("restoring versions", sum(one.versions for one in chosen)) as advance:
            for number, one in enumerate(chosen):
                try:
                    rows += _restore(client, folder, one, restored, advance, max_trust or MAX_TRUST)
                except BaseException:
                    _say_how_to_go_on(folder, chosen[number:], restored, max_trust or MAX_TRUST)
                    raise


def _beside(one: StoredHistory) -> str:
    """Say what was kept of a store beside its versions, and what was not."""
    if one.records is None:
        return "without proposals, sessions, transcripts and dreams (--records keeps them)"
    counts = ", ".join(f"{count} {kind}s" for kind, count in one.records.counts.items())
    return f"with {counts or 'no other records'}; these are not restored"


def _verified(folder: Path) -> list[StoredHistory]:
    try:
        return backup.verified(folder)
    except OSError as error:
        raise InvalidRequest("FOLDER", f"{error.filename or folder} cannot be read: {error.strerror}") from error


def _chosen(found: list[StoredHistory], wanted: list[str] | None) -> list[StoredHistory]:
    missing = set(wanted or ()) - {one.store_id for one in found}
    if missing:
        raise InvalidRequest("--store", f"{', '.join(sorted(missing))} is not in the backup; `backup verify` lists it")
    return [one for one in found if not wanted or one.store_id in wanted]


def _restore(
    client: Any, folder: Path, one: StoredHistory, restored: list[dict[str, str]], advance: Any, max_trust: str
) -> list[Row]:
    """Make one store anew; return what became of its memories. Adds its old and new id to `restored` at once."""
    rows: list[Row] = []
    with history.opened(folder / one.file) as (manifest, versions):
        made = make_like(client, manifest.store, None)
        restored.append({"from": one.store_id, "store": made})
        HistoryImporter(client, made, advance, max_trust).run(versions, rows.append)
    rows += settings_left_behind(one.store)
    if one.store.get("archived_at") is not None:
        client.stores.archive(made)
    rows.append(
        Row(one.store_id, "noted", f"is {made} now; proposals, sessions, transcripts and dreams are not restored")
    )
    return rows


def _say_how_to_go_on(folder: Path, left: list[StoredHistory], restored: list[dict[str, str]], max_trust: str) -> None:
    rest = left
    if restored and restored[-1]["from"] == left[0].store_id:
        source = shlex.quote(str(folder / left[0].file))
        typer.echo(
            f"to go on: memolith import {source} --store {restored[-1]['store']} --max-trust {max_trust}", err=True
        )
        rest = left[1:]
    if rest:
        names = " ".join(f"--store {one.store_id}" for one in rest)
        typer.echo(
            f"then: memolith backup restore {shlex.quote(str(folder))} {names} --max-trust {max_trust}", err=True
        )
