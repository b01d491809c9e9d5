"""Consoles for commands that show their progress. They import `rich`, which takes longer than most commands."""

from __future__ import annotations

from rich.console import Console

console = Console()
aside = Console(stderr=True)
"""For progress and whatever else is not the answer, where standard output is one JSON value."""
