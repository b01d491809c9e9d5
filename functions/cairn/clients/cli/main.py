"""``cairn``: the command line.

Each subcommand is a module with a Typer application called ``app``; it is imported when it is asked for, so that the
command line starts quickly whatever the others need. A new one is a line in `SUBCOMMANDS`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from cairn.clients.cli.failures import EXIT_FAILED, explain
from cairn.core.errors import CairnError

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("cairn.clients.cli.serve", "Cairn on this machine: the whole API in one process, without AWS."),
    "dev": ("cairn.clients.cli.dev", "A local cloud: the real deployment, on this machine."),
    "scan": ("cairn.clients.cli.scan", "The safety scanner: a file, a folder, a store."),
    "mcp": ("cairn.clients.cli.mcp", "A store for MCP clients, on standard input and output."),
    "context": ("cairn.clients.cli.context", "What a session's agent is told of its memory, for its prompt."),
    "lint": ("cairn.clients.cli.lint", "What is amiss in the memories of a store or a folder."),
    "log": ("cairn.clients.cli.log", "A memory's versions."),
    "diff": ("cairn.clients.cli.diff", "What changed between two versions of a memory."),
    "restore": ("cairn.clients.cli.restore", "An old version, or a whole store as it was, as new versions."),
    "keys": ("cairn.clients.cli.keys", "API keys: create, list, revoke."),
    "index": ("cairn.clients.cli.index", "A region's index: how it is, what was set aside, rebuild it."),
    "quarantine": ("cairn.clients.cli.quarantine", "Texts that the scanner withholds: list, show, release, restore."),
    "erasure": ("cairn.clients.cli.erasure", "Erasure: how far it is in each region, and a search for remains."),
    "regions": ("cairn.clients.cli.regions", "The deployment's regions: add one."),
}
"""Subcommand to the module that has its ``app``, and the line that the help shows without importing it."""


class LazyGroup(TyperGroup):
    """A group whose subcommands are imported on first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of `SUBCOMMANDS`."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The subcommand, imported; None if there is none of that name."""
        if cmd_name not in SUBCOMMANDS:
            return None
        command: Any = typer.main.get_command(import_module(SUBCOMMANDS[cmd_name][0]).app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of subcommands, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in SUBCOMMANDS.items()])


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def cairn() -> None:
    """Memory infrastructure for AI agents, in your own AWS account."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Entry point: an error of Cairn becomes a line that says what to do, and exit code 1."""
    try:
        app(args=arguments, prog_name="cairn")
    except CairnError as error:
        print(explain(error), file=sys.stderr)
        sys.exit(EXIT_FAILED)
