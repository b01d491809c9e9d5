"""``memolith lint``: what is amiss in the memories of a store or a folder, by the rules of
`memolith.core.memory_conventions`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from memolith.clients.cli.api_client import Key, Url
from memolith.clients.cli.failures import Exit, exit_of, explain
from memolith.clients.cli.output import Json, visible
from memolith.clients.cli.scan_inputs import Source, UnreadError, files, memories, store_of
from memolith.core.errors import MemolithError
from memolith.core.graph import resolution
from memolith.core.graph.note import Note, parse
from memolith.core.memory_conventions import Remark, folders_of, lint
from memolith.core.path_twins import twins

EXIT_CLEAN, EXIT_REMARKS, EXIT_UNFINISHED = 0, 1, 2
"""Nothing amiss, but for warnings; something is; the memories could not be read, and nothing is said about them."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("lint")
def command(
    target: Annotated[
        str, typer.Argument(metavar="STORE|FOLDER", help="A folder, or a store of a live API, by id or name.")
    ],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Check memories for mistakes: frontmatter, Why and How-to-apply lines, the index, links, observations,
    paths that look alike.

    What cannot be read as text (withheld, not UTF-8) is listed as unread; links to it are not reported as broken.

    What had better not be remembered, by the rules of extraction (excl-…), is a warning, and no mistake.

    Exit code: 0 no mistake was found, 1 there are mistakes, 2 the memories could not be read; 4, 7 and 8 as of any
    command: no such store, a key that may not, no answer.

    Example: memolith lint memories/ --json
    """
    try:
        store = store_of(target, url, key)
        sources = files(Path(target)) if store is None else memories(store, url, key)
        remarks, read = _remarks(sources)
    except (MemolithError, OSError) as error:
        told = (
            explain(error) if isinstance(error, MemolithError) else f"error: {target} cannot be read: {error.strerror}"
        )
        typer.echo(told, err=True)
        code = exit_of(error) if isinstance(error, MemolithError) else Exit.FAILED
        raise typer.Exit(EXIT_UNFINISHED if code is Exit.FAILED else code) from error  # 1 says that there are mistakes
    _print(remarks, read, as_json)
    raise typer.Exit(EXIT_CLEAN if all(one.is_warning for one in remarks) else EXIT_REMARKS)


def _remarks(sources: list[Source]) -> tuple[list[Remark], int]:
    """List what is amiss, and count the memories that were read."""
    paths = frozenset(source.path for source in sources)
    folders = folders_of(paths)
    remarks: list[Remark] = []
    notes: dict[str, Note] = {}
    read = 0
    for source in sources:
        try:
            text = source.read()
        except UnreadError as error:
            remarks.append(Remark(source.path, 1, "unread", str(error)))
            continue
        read += 1
        remarks += lint(source.path, text, paths, folders)
        if source.path.endswith(".md"):
            notes[source.path] = parse(source.path, text)
    remarks += [*_of_links(notes, paths), *twins(paths)]
    return sorted(remarks, key=lambda remark: (remark.path, remark.line, remark.rule, remark.message)), read


def _of_links(notes: dict[str, Note], paths: frozenset[str]) -> Iterator[Remark]:
    """Yield what is amiss with links; those to what could not be read are not reported as broken."""
    unread = {path: parse(path, "") for path in paths if path not in notes}
    yield from resolution.lint({**unread, **notes})


def _print(remarks: list[Remark], read: int, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"read": read, "remarks": [asdict(remark) for remark in remarks]}))
        return
    for remark in remarks:
        mark = "warning: " if remark.is_warning else ""
        print(visible(f"{remark.path}:{remark.line}: {mark}{remark.rule}: {remark.message}"))
    print(f"{read} memories read, {len(remarks)} remarks")
