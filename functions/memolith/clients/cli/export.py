"""``memolith export``: a store's memories as files, in a folder or a tar."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer

from memolith.clients.cli.api_client import Key, Store, Url, Withheld, connect, nothing_at, speaking
from memolith.clients.cli.output import Json
from memolith.clients.cli.store_argument import StoreCommand
from memolith.clients.cli.transfer_options import Replace, Under, counting, ending_report, progress
from memolith.clients.transfer import known_tools
from memolith.clients.transfer.exporting import Folder, Tar, Target, TarMode, export, memories, whole
from memolith.clients.transfer.history import export as export_history
from memolith.clients.transfer.known_tools import Format
from memolith.clients.transfer.report import Row
from memolith.core.errors import InvalidRequest

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_TARS: dict[str, TarMode] = {".tar": "x", ".tar.gz": "x:gz", ".tgz": "x:gz", ".tar.bz2": "x:bz2", ".tar.xz": "x:xz"}


@app.command("export", cls=StoreCommand)
def export_(
    store: Store,
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="A folder, or NAME.tar[.gz]; with --to, the project.")
    ] = None,
    whose: Annotated[Format, typer.Option("--to", help="The program that the memories are for.")] = Format.FOLDER,
    history: Annotated[
        bool,
        typer.Option("--history", help="Export every version, into NAME.tar[.gz]; `memolith import` reads it."),
    ] = False,
    under: Under = "/",
    replace: Replace = False,
    withheld: Withheld = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Export a store's memories as files: a folder, a tar, or where Claude Code, Codex or Basic Memory keep theirs.

    The command leaves files alone that the store does not have. It overwrites a file with another text only with
    --replace. It reports what cannot be a file, with the reason. Exit code 3: something was not exported.

    Texts that the safety scanner withholds are left out and reported, unless --withheld asks for them.

    With --history, the tar holds all versions, with ids, times and actors: it can move the store to another Memolith.

    Example: memolith export memstore_useast1_01kb… ~/notes

    Example: memolith export memstore_useast1_01kb… notes.tar.gz --under /app/ --json

    Example: memolith export memstore_useast1_01kb… --to claude-code ~/code/app

    Example: memolith export memstore_laptop_01kb… notes.tar.gz --history
    """
    rows: list[Row] = []
    place = known_tools.find(whose, target)
    if history:
        _check_history(place.folder, whose, under, replace)
    with ending_report(rows, as_json) as ending, speaking():
        ending["store"], ending["target"] = store, str(place.folder)
        client = connect(url, key)
        if withheld:
            client = client.showing_withheld()
        if history:
            with counting("exporting versions", None) as advance:
                ending["versions"] = export_history(client, store, place.folder, rows.append, advance, replace=replace)
            return
        listed = iter(memories(client, store, under))
        first = list(islice(listed, 1))
        if not first and under != "/":
            raise nothing_at(store, under)
        with _opened(place.folder, replace) as opened, progress("exporting", None, rows) as tell:
            export(chain(first, listed), opened, under, tell)


def _check_history(path: Path, whose: Format, under: str, replace: bool) -> None:
    if whose is not Format.FOLDER or under != "/":
        raise InvalidRequest("--history", "goes with neither --to nor --under: it is the whole store")
    if not path.name.endswith((".tar", ".tar.gz", ".tgz")):
        raise InvalidRequest("TARGET", "with --history must be NAME.tar, NAME.tar.gz or NAME.tgz")
    if path.exists() and not replace:
        raise InvalidRequest("TARGET", f"{path} is there already (--replace writes over it)")


@contextmanager
def _opened(path: Path, replace: bool) -> Iterator[Target]:
    """Open the target. Raises InvalidRequest: it cannot be written, or exists already."""
    mode = next((mode for ending, mode in _TARS.items() if path.name.endswith(ending)), None)
    if mode is None or path.is_dir():
        yield Folder(path, replace=replace)
        return
    if path.exists() and not replace:
        raise InvalidRequest("TARGET", f"{path} is there already (--replace writes over it)")
    try:
        with whole(path, replace=replace) as beside, tarfile.open(beside, mode) as opened:
            yield Tar(opened)
    except OSError as error:
        raise InvalidRequest("TARGET", f"{path} cannot be written: {error.strerror}") from error
