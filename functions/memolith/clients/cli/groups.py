"""Make a group of commands, as every module of several commands has one."""

from __future__ import annotations

import typer


def group(help: str) -> typer.Typer:
    """Return an empty group, which shows its help where no command is named."""
    return typer.Typer(help=help, no_args_is_help=True, add_completion=False, rich_markup_mode=None)
