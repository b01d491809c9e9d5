"""What `mv` and `cp` do with a memory or a folder: the pairs of paths, and a report of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import typer

from memolith.clients.api.client import ApiClient
from memolith.clients.cli.api_client import below, find_memory, nothing_at, speaking
from memolith.clients.cli.failures import Exit, exit_of, explain
from memolith.clients.cli.output import show_memory, show_rows
from memolith.core.errors import InvalidRequest, MemolithError


def each_to(client: ApiClient, store: str, what: str, to: str, *, recursive: bool) -> list[tuple[str, str]]:
    """Return source and destination of each memory: of the one that is named, or of all in a folder.

    A folder that is put into another (TO ends with a slash, and the folder is named without one) keeps its name.

    Raises:
        InvalidRequest: TO is no path, or lies in the folder itself. ApiFailed: nothing is there.
    """
    if not to.startswith("/"):
        raise InvalidRequest("TO", "must begin with /")
    if not what.endswith("/"):
        try:
            path = str(find_memory(client, store, what).path)
            return [(what, to + path.rpartition("/")[2] if to.endswith("/") else to)]
        except MemolithError as error:
            if exit_of(error) is not Exit.NOT_FOUND or not recursive or not what.startswith("/"):
                raise
    elif not recursive:
        raise InvalidRequest("PATH|MEMORY", f"{what} is a folder: give --recursive")
    folder = f"{what.rstrip('/')}/"
    paths = below(client, store, folder)
    if not paths:
        raise nothing_at(store, what)
    into = f"{to.rstrip('/')}/"
    if to.endswith("/") and not what.endswith("/"):
        into += what.rpartition("/")[2] + "/"
    if into.startswith(folder):
        raise InvalidRequest("TO", f"{into} is in {folder} itself")
    return [(path, into + path[len(folder) :]) for path in paths]


def show_each(pairs: Sequence[tuple[str, str]], act: Callable[[str, str], Any], done: str, as_json: bool) -> None:
    """Act on each pair and report it. A failure ends the command where there is one pair, and is a row where there are
    several. Ends with exit code 3 if some failed.
    """
    if len(pairs) == 1:
        with speaking():
            memory = act(*pairs[0])
        show_memory(memory, done, as_json)
        return
    rows: list[dict[str, Any]] = []
    failures: list[MemolithError] = []
    for source, path in pairs:
        row: dict[str, Any] = {"result": done, "from": source, "path": path, "memory": None, "reason": None}
        try:
            with speaking():
                row["memory"] = act(source, path).id
        except MemolithError as error:
            failures.append(error)
            row.update(result="kept", reason=error.message)
        rows.append(row)
    show_rows(rows, ("result", "from", "path", "memory", "reason"), as_json)
    if failures:
        typer.echo(explain(failures[0]), err=True)
        raise typer.Exit(exit_of(failures[0]) if len(failures) == len(pairs) else Exit.IN_PART)
