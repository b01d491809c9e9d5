"""``memolith``: the command line.

Each subcommand is a module with a Typer application called ``app``; it is imported when it is asked for, so that the
command line starts quickly whatever the others need. A new one is a line in `SUBCOMMANDS`; `TOGETHER` says which of
them share a line of the help, so that it fits a screen.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from memolith.clients.cli.failures import exit_of, explain
from memolith.core.errors import MemolithError

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("memolith.clients.cli.serve", "Memolith on this machine: the whole API in one process, without AWS."),
    "dev": ("memolith.clients.cli.dev", "A local cloud: the real deployment, on this machine."),
    "stores": ("memolith.clients.cli.stores", "List, create, update, archive, delete stores."),
    "ls": ("memolith.clients.cli.ls", "The memories and folders of a store."),
    "search": ("memolith.clients.cli.search", "Full-text search over a store."),
    "cat": ("memolith.clients.cli.cat", "A memory's text, or an older version's."),
    "put": ("memolith.clients.cli.put", "A file or standard input, as a memory."),
    "edit": ("memolith.clients.cli.edit", "A memory in $EDITOR."),
    "mv": ("memolith.clients.cli.mv", "A memory under another path."),
    "rm": ("memolith.clients.cli.rm", "Delete memories."),
    "log": ("memolith.clients.cli.log", "A memory's versions."),
    "diff": ("memolith.clients.cli.diff", "What changed between two versions of a memory."),
    "restore": ("memolith.clients.cli.restore", "An old version, or a whole store as it was, as new versions."),
    "import": ("memolith.clients.cli.import_", "A folder, a tar, or another program's memories, as a store's."),
    "export": ("memolith.clients.cli.export", "A store's memories as files, in a folder or a tar."),
    "lint": ("memolith.clients.cli.lint", "What is amiss in the memories of a store or a folder."),
    "scan": ("memolith.clients.cli.scan", "The safety scanner: a file, a folder, a store."),
    "quarantine": (
        "memolith.clients.cli.quarantine",
        "Texts that the scanner withholds: list, show, release, restore.",
    ),
    "sessions": ("memolith.clients.cli.sessions", "Agents' sessions: begin, show, token, end."),
    "context": ("memolith.clients.cli.context", "What a session's agent is told of its memory, for its prompt."),
    "mount": ("memolith.clients.cli.mount", "A store as a folder of this machine."),
    "sync": ("memolith.clients.cli.sync", "A store and a folder kept in step, where there is no FUSE."),
    "mcp": ("memolith.clients.cli.mcp", "A store for MCP clients, on standard input."),
    "keys": ("memolith.clients.cli.keys", "API keys: create, list, revoke."),
    "index": ("memolith.clients.cli.index", "A region's index: how it is, what was set aside, rebuild it."),
    "erasure": ("memolith.clients.cli.erasure", "Erasure: how far it is in each region, and a search for remains."),
    "divergent": ("memolith.clients.cli.divergent", "What a fail-over left behind: list, show, restore, dismiss."),
    "homes": ("memolith.clients.cli.homes", "The home region of each store: list, move, fail over, bring back."),
    "regions": ("memolith.clients.cli.regions", "The deployment's regions: add one."),
}
"""Subcommand to the module that has its ``app``, and the line that the help shows without importing it."""

TOGETHER: dict[tuple[str, ...], str] = {
    ("serve", "dev"): "Memolith on this machine; a local cloud of it.",
    ("ls", "search", "cat"): "What a store has, searched too; a text of it.",
    ("put", "edit", "mv", "rm"): "Write from a file or $EDITOR, move, delete.",
    ("log", "diff", "restore"): "Versions, what changed; back to what was.",
    ("import", "export"): "Folders, tars, and other programs' memories.",
    ("lint", "scan", "quarantine"): "What is amiss; the scanner; what it withholds.",
    ("sessions", "context"): "Agents' sessions; what an agent is told.",
    ("mount", "sync", "mcp"): "A store as a folder; a store for MCP clients.",
    ("index", "erasure"): "A region's index; what is erased, and how far.",
    ("divergent", "homes", "regions"): "Stores' homes; what a fail-over left; regions.",
}
"""Commands that share one line of the help, and that line; it stands where the first of them stands."""


USUAL_NAMES = {
    "list": "ls",
    "get": "cat",
    "show": "cat",
    "read": "cat",
    "write": "put",
    "create": "put",
    "update": "put",
    "delete": "rm",
    "remove": "rm",
    "rename": "mv",
    "move": "mv",
    "history": "log",
    "versions": "log",
    "memories": "ls",
    "start": "serve",
    "load": "import",
    "dump": "export",
    "backup": "export",
    "find": "search",
    "grep": "search",
}
"""What other command lines call it."""


class LazyGroup(TyperGroup):
    """A group whose subcommands are imported on first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of `SUBCOMMANDS`."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the subcommand; None if none has that name."""
        if cmd_name not in SUBCOMMANDS:
            return None
        command: Any = typer.main.get_command(import_module(SUBCOMMANDS[cmd_name][0]).app)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve the subcommand; for an unknown one, the error names those that are alike."""
        if args and args[0] not in SUBCOMMANDS and not args[0].startswith("-"):
            alike = get_close_matches(args[0], [*SUBCOMMANDS, *USUAL_NAMES], n=3)
            meant = dict.fromkeys(USUAL_NAMES.get(name, name) for name in alike)
            hint = f"Did you mean {' or '.join(map(repr, meant))}?" if meant else "`memolith --help` lists them."
            ctx.fail(f"No such command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the subcommands, without importing any of them."""
        rows: dict[tuple[str, ...], str] = {}
        for name, (_, text) in SUBCOMMANDS.items():
            names = next((names for names in TOGETHER if name in names), (name,))
            rows.setdefault(names, TOGETHER.get(names, text))
        with formatter.section("Commands"):
            formatter.write_dl([(", ".join(names), text) for names, text in rows.items()])


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def memolith() -> None:
    """Memory infrastructure for AI agents. `memolith COMMAND --help` has examples."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: an error becomes a line that says what to do, and an exit code that says which kind."""
    try:
        app(args=arguments, prog_name="memolith")
    except MemolithError as error:
        print(explain(error), file=sys.stderr)
        sys.exit(exit_of(error))
