"""``memolith scan``: the safety scanner over a file, a folder or a live store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from memolith.adapters.encoders import installed_meaning
from memolith.adapters.local.compiled_scanner import load_scanner
from memolith.clients.cli.api_address import laptop_root
from memolith.clients.cli.api_client import Key, Url
from memolith.clients.cli.failures import explain
from memolith.clients.cli.output import Json
from memolith.clients.cli.sarif import sarif
from memolith.clients.cli.scan_inputs import Source, UnreadError, files, memories, store_of
from memolith.clients.cli.scan_results import Results, Scanned, Unread, as_json, as_text
from memolith.core.errors import InvalidRequest, MemolithError
from memolith.scanner import Policy, Scanner, ScannerUnavailableError, Verdict

EXIT_CLEAN, EXIT_REJECTED, EXIT_UNFINISHED = 0, 1, 2
"""Nothing rejected; something rejected; not everything could be scanned as asked, and nothing is said about it."""

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Run the safety scanner over a file, a folder or a store."
)

_COLUMNS = (
    SpinnerColumn(),
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeElapsedColumn(),
)


class Format(StrEnum):
    """How the results are written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


_WRITERS: dict[Format, Callable[[Results], str]] = {
    Format.TEXT: as_text,
    Format.JSON: as_json,
    Format.SARIF: lambda results: json.dumps(sarif(results), indent=2) + "\n",
}


@app.command()
def scan(
    target: Annotated[str, typer.Argument(metavar="PATH|STORE", help="A file, a folder, or a store, by id or name.")],
    policy: Annotated[Policy, typer.Option(help="What to reject; audit only reports.")] = Policy.STANDARD,
    deep: Annotated[bool, typer.Option("--deep", help="Use the slower, broader rules too.")] = False,
    allow: Annotated[list[str] | None, typer.Option(metavar="RULE", help="Ignore this rule's findings.")] = None,
    form: Annotated[Format, typer.Option("--format", help="The format of the results.")] = Format.TEXT,
    output: Annotated[Path | None, typer.Option(help="Write the results to this file.")] = None,
    url: Url = None,
    key: Key = None,
    in_json: Json = False,
) -> None:
    """Scan texts as a write is scanned: for secrets, injected instructions, hidden characters, commands that leak.

    Files that are not UTF-8 text are listed as not scanned. Version-control folders are skipped.

    Exit code: 0 nothing was rejected, 1 something was, 2 the scan could not be done.

    Example: memolith scan memories/ --deep --format sarif --output memolith.sarif
    """
    try:
        store = store_of(target, url, key)
        sources = files(Path(target)) if store is None else memories(store, url, key)
        results = _scan_all(sources, policy, deep, frozenset(allow or ()))
        _write(_WRITERS[Format.JSON if in_json else form](results), output)
    except MemolithError as error:
        _fail(explain(error))
    except BrokenPipeError:
        raise  # its reader has what it wanted, as of any command
    except (OSError, ScannerUnavailableError) as error:
        _fail(f"error: {error}")
    raise typer.Exit(EXIT_REJECTED if results.count(Verdict.REJECT) else EXIT_CLEAN)


def _scan_all(sources: Sequence[Source], policy: Policy, deep: bool, allow: frozenset[str]) -> Results:
    scanned, unread = list[Scanned](), list[Unread]()
    console = Console(stderr=True)
    with Progress(*_COLUMNS, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("loading the rules", total=None)
        scanner = _load(deep, lambda: progress.update(task, description="compiling the rules, once for this machine"))
        _must_know(allow, scanner)
        look = scanner.scan_deeply if deep else scanner.scan
        progress.update(task, description="scanning", total=len(sources))
        for source in progress.track(sources, task_id=task):
            try:
                text = source.read()
            except UnreadError as error:
                unread.append(Unread(source, str(error)))
            else:
                scanned.append(Scanned(source, look(text, path=source.path, policy=policy, allow=allow)))
    return Results(tuple(scanned), tuple(unread), policy, deep)


def _load(deep: bool, compiling: Callable[[], None]) -> Scanner:
    """Load the patterns that ``memolith serve`` has, or compile them there; each time, if nothing can be kept there.

    A deep scan has the model of meanings besides, where one is installed.
    """
    model = installed_meaning() if deep else None
    try:
        return load_scanner(laptop_root(), compiling, model)
    except OSError:
        return Scanner.load(model=model)


def _must_know(allow: Iterable[str], scanner: Scanner) -> None:
    unknown = sorted(rule for rule in allow if not scanner.knows(rule))
    if unknown:
        raise InvalidRequest("--allow", f"there is no rule named {', '.join(unknown)}")


def _write(text: str, output: Path | None) -> None:
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, "utf-8")


def _fail(message: str) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(EXIT_UNFINISHED)
