"""``memolith sync``: a store and a folder kept in step, where there is no FUSE."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from memolith.clients.cli.api_address import find_address
from memolith.clients.cli.api_client import Key, Store, Url
from memolith.clients.cli.failures import ApiFailed, Exit, unanswered
from memolith.clients.cli.output import Json, visible
from memolith.clients.cli.store_argument import StoreCommand
from memolith.clients.sync.folder import SyncFolder
from memolith.clients.sync.syncing import Syncing
from memolith.clients.transfer.ignoring import FILE as IGNORE_FILE
from memolith.clients.transfer.report import Row, as_json, complete
from memolith.clients.working_copy.store_client import Denied, Gone, NoAnswer, StoreClientError
from memolith.core import ids
from memolith.core.errors import InvalidRequest

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def sync(
    store: Store,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; created if it is missing.")],
    watch: Annotated[bool, typer.Option("--watch", help="Run until Ctrl-C, one pass every --interval.")] = False,
    interval_s: Annotated[
        float, typer.Option("--interval", min=0.1, max=3600, help="Seconds between two passes of --watch.")
    ] = 5.0,
    delete: Annotated[bool, typer.Option("--delete", help="Delete memories even if very many files are gone.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Sync a store and a folder, both ways: copy to each side what changed on the other since the last time.

    If both sides changed a file, it gets the store's text, and the folder's text is kept beside it as NAME.conflict-….
    What the store refuses stays in the folder and is reported. Exit code 3: there were conflicts or refusals.

    Example: memolith sync memstore_useast1_01kb… ~/memory

    Example: memolith sync memstore_useast1_01kb… ~/memory --watch --interval 2
    """
    from memolith.adapters.system import SystemClock, SystemRandomness
    from memolith.clients.working_copy.http_store_client import HttpStoreClient

    if not ids.STORE.fullmatch(store):
        raise InvalidRequest("STORE", "must be a memory store's id, memstore_…")
    address, clock = find_address(url, key), SystemClock()
    client = HttpStoreClient(address.url, address.key, store, clock)
    try:
        side = SyncFolder(folder.expanduser().absolute(), store)
    except OSError as error:
        raise InvalidRequest("DIR", f"{folder} cannot be used: {error.strerror}") from error
    syncing = Syncing(client, side, clock, SystemRandomness(), many_deletions=delete)
    if watch:
        with suppress(KeyboardInterrupt):
            rows: list[Row] = []
            while True:
                rows = _pass(syncing, folder, as_json, before=rows)
                clock.pause(interval_s)
    elif not complete(_pass(syncing, folder, as_json, before=None)):
        raise typer.Exit(Exit.IN_PART)


def _pass(syncing: Syncing, folder: Path, json_wanted: bool, before: list[Row] | None) -> list[Row]:
    """Run one pass and report it; after the first, only what is new.

    A watch goes on when the store does not answer, the disk refuses, or the folder's patterns are being edited: each
    may pass.

    Raises:
        ApiFailed: the store does not answer, or not to this key; or the disk refuses.
        InvalidRequest: the folder cannot be kept in step.
    """
    rows: list[Row] = []
    try:
        syncing.run(rows.append)
    except (NoAnswer, Denied, Gone, OSError) as error:
        _show(rows, json_wanted, before or [])
        failed = _failure(error, folder)
        interrupted = isinstance(error.__context__, KeyboardInterrupt)
        if before is not None and isinstance(error, (NoAnswer, OSError)) and not interrupted:
            typer.echo(f"{failed.message}: tried again", err=True)
            return rows
        raise failed from error
    except InvalidRequest as error:
        if before is None or error.field != IGNORE_FILE:
            raise
        typer.echo(f"{visible(error.message)}: tried again", err=True)
        return before
    except KeyboardInterrupt:
        _show(rows, json_wanted, before or [])
        raise
    except StoreClientError as error:
        raise unanswered(error) from error
    _show(rows, json_wanted, before)
    return rows


def _failure(error: StoreClientError | OSError, folder: Path) -> ApiFailed:
    """Make the error of a pass that stopped. A disk that is full names no file."""
    advice = "What was done so far is kept; run it again to continue."
    if isinstance(error, StoreClientError):
        return unanswered(error, advice)
    told = f"{visible(str(error.filename or folder))} cannot be used: {error.strerror or type(error).__name__}"
    return ApiFailed(told, Exit.FAILED, advice)


def _show(rows: list[Row], json_wanted: bool, before: list[Row] | None) -> None:
    if before is not None:
        rows = [row for row in rows if row not in before]
    if json_wanted:
        if rows or before is None:
            print(json.dumps(as_json(rows)), flush=True)
        return
    for row in sorted(rows, key=lambda row: row.path):
        reason = f": {row.reason}" if row.reason else ""
        print(visible(f"{row.result}  {row.path}{reason}"), flush=True)
    if not rows and before is None:
        print("in step")
