"""How a command answers: a table for people, or JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

console = Console()
aside = Console(stderr=True)
"""For progress and whatever else is not the answer, where standard output is one JSON value."""


def show_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], as_json: bool) -> None:
    """Print rows: as a JSON array, or as a table with these columns."""
    if as_json:
        print(json.dumps(list(rows)))
        return
    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*("" if row.get(column) is None else str(row[column]) for column in columns))
    console.print(table)


def show_fields(fields: Mapping[str, Any], as_json: bool) -> None:
    """Print one thing: as a JSON object, or a line for each field that has a value."""
    if as_json:
        print(json.dumps(dict(fields)))
        return
    shown = {name: value for name, value in fields.items() if value not in (None, "", {}, []) and name != "type"}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        console.print(f"{name:<{width}}  {text}", highlight=False, markup=False, soft_wrap=True)


def show_memory(memory: Any, done: str, as_json: bool) -> None:
    """Print what became of one memory: as JSON with ``result``, or as a line."""
    if as_json:
        print(json.dumps({**memory.to_dict(mode="json"), "result": done}))
        return
    line = f"{done}  {memory.path}  {memory.id}  {memory.memory_version_id}"
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def confirm(question: str, yes: bool) -> None:
    """Ask on standard error, so that standard output stays what it is. Ends the command, with 1, unless it is yes."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def visible(text: str) -> str:
    """Escape a name from a file or a memory, so that it cannot steer the terminal."""
    shown = (char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return "".join(shown)
