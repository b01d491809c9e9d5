"""What ``import`` and ``export`` share: their options, their progress, and the report at their end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from memolith.clients.cli.failures import AGAIN, Exit, once_changed
from memolith.clients.cli.output import visible
from memolith.clients.transfer.report import MOVED, Row, Tell, as_json, complete
from memolith.core.errors import InvalidRequest
from memolith.core.paths import check_path_prefix
from memolith.core.trust import TrustName

MAX_TRUST: TrustName = "agent"
"""What an import of a history believes where it does not say: as much as a session that has read nothing."""


def _check_under(under: str) -> str:
    try:
        return check_path_prefix(under)
    except InvalidRequest as error:
        raise InvalidRequest("--under", error.rule) from error


Under = Annotated[
    str,
    typer.Option(
        "--under", metavar="/FOLDER/", callback=_check_under, help="The store's folder to import into or export from."
    ),
]
MaxTrust = Annotated[
    TrustName | None,
    typer.Option(
        "--max-trust",
        help="The best trust class of a file (that of the key), or up to which a history is believed (agent).",
    ),
]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite texts that differ.")]


@contextmanager
def counting(doing: str, total: int | None, *, of_bytes: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error while the block runs, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda number: None
        return
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from memolith.clients.cli.consoles import aside

    counted = DownloadColumn(binary_units=True) if of_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), counted, TimeElapsedColumn())
    with Progress(*columns, console=aside, transient=True) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda number: bar.advance(task, number)


@contextmanager
def progress(doing: str, total: int | None, rows: list[Row]) -> Iterator[Tell]:
    """Show the same bar, counting rows, and keep each of them."""
    with counting(doing, total) as advance:

        def tell(row: Row) -> None:
            rows.append(row)
            advance(1)

        yield tell


@contextmanager
def ending_report(
    rows: list[Row], json_wanted: bool, made: Sequence[object] = (), continues: str = AGAIN
) -> Iterator[dict[str, Any]]:
    """Report at the end what was done, also if an error ends it; the block fills in what the report is about.

    Args:
        rows: what became of each thing; the block adds them.
        json_wanted: for programs.
        made: what the block has made or changed besides; it adds that at once.
        continues: how the rest is done where an error ends the block.
    """
    about: dict[str, Any] = {}
    try:
        yield about
    except BaseException:
        if moved := any(row.result in MOVED for row in rows):
            about["stopped"] = True
            _show(rows, about, json_wanted, continues)
        with once_changed(moved or made, continues):
            raise
    _show(rows, about, json_wanted)
    if not complete(rows):
        raise typer.Exit(Exit.IN_PART)


def _show(rows: list[Row], about: dict[str, Any], json_wanted: bool, continues: str = "") -> None:
    report = as_json(rows, **about)
    if json_wanted:
        print(json.dumps(report))
        return
    for row in report["rows"]:
        if row["result"] not in MOVED:
            print(visible(f"{row['result']}  {row['path']}: {row['reason']}"))
    if any(row["result"] == "created" for row in report["rows"]) and about.get("not_carried"):
        print(f"not carried, of any file: its {', '.join(about['not_carried'])}")
    counted = ", ".join(f"{number} {result}" for result, number in sorted(report["results"].items()))
    versions = _versions(about.get("versions", 0))
    done = counted or (f"{versions} versions" if versions else "nothing to do")
    print(visible("  ".join([about.get("store") or "", done]).strip()))
    if about.get("stopped"):
        print(f"stopped before the end: {continues}")


def _versions(counted: Any) -> int:
    """Return how many versions a copy with history moved, which it counts by outcome or as a whole."""
    return int(sum(counted.values())) if isinstance(counted, dict) else int(counted)
