"""``cairn import``: folders, archives and other programs' memories, as memories of a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from cairn.clients.cli.moving import Format, Replace, Under, ending_report, places, progress
from cairn.clients.cli.output import Json
from cairn.clients.cli.speaking import Key, Url, connect, once, speaking
from cairn.clients.transfer import found
from cairn.clients.transfer.found import Found
from cairn.clients.transfer.importing import Importer
from cairn.clients.transfer.report import Row, told
from cairn.core.errors import InvalidRequest

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("import")
def import_(
    source: Annotated[
        str | None, typer.Argument(metavar="[SOURCE]", help="A folder or a tar; with --from, which project.")
    ] = None,
    whose: Annotated[Format, typer.Option("--from", help="Whose memories they are.")] = Format.FOLDER,
    store: Annotated[str | None, typer.Option("--store", help="Into this store; without it, a new one.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="What the new store is called.")] = None,
    under: Under = "/",
    replace: Replace = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Import a folder, a tar, or the memories of Claude Code, Codex or Basic Memory; each file becomes a memory.

    Claude Code's are found from any folder or worktree of the project, Basic Memory's by the project's name. What
    cannot be a memory is reported with the reason: not UTF-8, too large, a path that the API does not take, refused by
    the safety scanner. If it stops, run it again. Exit code 3: something was not imported.

    Example: cairn import ~/notes --name "Team notes"

    Example: cairn import --from claude-code ~/code/app --store memstore_useast1_01kb… --under /app/

    Example: cairn import --from basic-memory main --dry-run --json
    """
    if store and name:
        raise InvalidRequest("--store, --name", "exclude each other")
    rows: list[Row] = []
    place = places.find(whose, source)
    with _read(place.folder, under) as read, ending_report(rows, as_json) as ending:
        rows += told(read.left_out)
        ending["source"], ending["store"] = str(place.folder), store
        for folder in place.beside:
            typer.echo(f"note: {folder} may have memories of this project too; it was not read", err=True)
        with speaking():
            client = connect(url, key)
            if store is None and not dry_run and read.files:
                ending["store"] = store = _make(client, name or place.name, place.description)
            with progress("importing", len(read.files), rows) as tell:
                Importer(client, store or "", replace=replace, dry_run=dry_run).run(read.files, tell)


def _make(client: Any, name: str, description: str) -> str:
    return str(once(client).beta.memory_stores.create(name=name, description=description).id)


@contextmanager
def _read(source: Path, under: str) -> Iterator[Found]:
    """Raises InvalidRequest: there is nothing of that name, or it cannot be read."""
    try:
        if source.is_dir():
            yield found.folder(source, under)
        elif source.is_file():
            with found.archive(source, under) as read:
                yield read
        else:
            raise InvalidRequest("SOURCE", f"{source} is neither a folder nor an archive")
    except OSError as error:
        raise InvalidRequest("SOURCE", f"{error.filename or source} cannot be read: {error.strerror}") from error
