"""How a command answers: a table for people, tab-separated lines for other programs, or JSON.

Nothing is cut off: an id in a table is one that the next command takes. Control characters of names and texts are shown
as escapes, so that no text steers the terminal.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from memolith.clients.api.client import redacted_in_words

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_STYLES = {"bold": "1", "red": "31", "green": "32", "cyan": "36"}


def say(line: str, style: str = "") -> None:
    """Print a line on standard output, `printable`; the style shows on a terminal, unless NO_COLOR is set."""
    line = printable(line)
    print(f"\x1b[{_STYLES[style]}m{line}\x1b[0m" if style and _styled() else line)


def show_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], as_json: bool) -> None:
    """Print rows: as a JSON array, as a table where a terminal shows them, else tab-separated and without a heading."""
    if as_json:
        print(json.dumps(list(rows)))
        return
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    if not is_terminal():
        for line in cells:
            print("\t".join(line))
        return
    widths = [max(map(_width, column)) for column in zip(columns, *cells, strict=True)]
    for number, line in enumerate([list(columns), *cells]):
        padded = [cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)]
        say("  ".join(padded).rstrip(), "" if number else "bold")


def _cell(value: Any) -> str:
    """Show a value in one cell: nothing for none, a list with commas, true and false as JSON says them."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(_cell, value))
    if isinstance(value, bool):
        return json.dumps(value)
    return "" if value is None else visible(str(value))


def show_fields(fields: Mapping[str, Any], as_json: bool) -> None:
    """Print one thing: as a JSON object, or a line for each field that has a value."""
    if as_json:
        print(json.dumps(dict(fields)))
        return
    shown = {name: value for name, value in fields.items() if value not in (None, "", {}, []) and name != "type"}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        say(f"{name:<{width}}  {visible(text)}")


def show_memory(memory: Any, done: str, as_json: bool) -> None:
    """Print what became of one memory: as JSON with ``result``, or as a line."""
    if as_json:
        print(json.dumps({**memory, "result": done}))
        return
    say(f"{done}  {visible(memory.path)}  {memory.id}  {memory.memory_version_id}")
    if redacted := redacted_in_words(memory):
        print(visible(redacted), file=sys.stderr)


def confirm(question: str, yes: bool) -> None:
    """Ask on standard error, so that standard output stays what it is. Ends the command, with 1, unless it is yes."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def visible(text: str) -> str:
    """Escape a name from a file or a memory, so that it cannot steer the terminal."""
    if text.isprintable():
        return text
    shown = (char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return "".join(shown)


def visible_text(text: str) -> str:
    """Escape what could steer the terminal in a text of several lines, whose line ends and tabs stay."""
    return "".join(char if char in "\n\t" else visible(char) for char in text)


def printable(text: str) -> str:
    """Return a text for standard output: on a terminal as `visible_text`, for a program as it is."""
    return visible_text(text) if is_terminal() else text


def is_terminal() -> bool:
    """Tell whether a person reads the output."""
    return sys.stdout.isatty()


def _styled() -> bool:
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _width(text: str) -> int:
    """Return how many columns a terminal uses for a text."""
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1 for char in text
    )
