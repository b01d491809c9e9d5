"""``memolith``: the command line.

Each subcommand is a module with a Typer application called ``app``; it is imported when it is asked for, so that the
command line starts quickly whatever the others need. A new one is a line in `SUBCOMMANDS`; `TOGETHER` says which of
them share a line of the help, so that it fits a screen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from memolith import __version__
from memolith.clients.cli.failures import Exit, exit_of, explain, explain_defect, explain_missing, explain_os
from memolith.core.errors import MemolithError

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("memolith.clients.cli.serve", "Run the whole API on this machine, in one process, without AWS."),
    "doctor": ("memolith.clients.cli.doctor", "Look for what is wrong on this machine, and mend it."),
    "dev": ("memolith.clients.cli.dev", "Run a local cloud: the real deployment, on an emulator."),
    "stores": ("memolith.clients.cli.stores", "List, create, update, archive and delete stores."),
    "use": ("memolith.clients.cli.use", "Set the store that commands use where none is named."),
    "ls": ("memolith.clients.cli.ls", "List the memories and folders of a store."),
    "search": ("memolith.clients.cli.search", "Search a store's texts."),
    "recall": ("memolith.clients.cli.recall", "Show the few memories that matter for a task."),
    "activity": ("memolith.clients.cli.activity", "List the memories that were changed last."),
    "graph": ("memolith.clients.cli.graph", "Show what is linked with a memory."),
    "observations": ("memolith.clients.cli.observations", "List what memories state."),
    "conflicts": ("memolith.clients.cli.conflicts", "List what contradicts each other; resolve it."),
    "cat": ("memolith.clients.cli.cat", "Print a memory's text, or an older version of it."),
    "put": ("memolith.clients.cli.put", "Write a memory from a file or standard input."),
    "edit": ("memolith.clients.cli.edit", "Edit a memory in $EDITOR."),
    "cp": ("memolith.clients.cli.cp", "Copy memories to other paths."),
    "mv": ("memolith.clients.cli.mv", "Move a memory to another path."),
    "rm": ("memolith.clients.cli.rm", "Delete memories."),
    "log": ("memolith.clients.cli.log", "List a memory's versions."),
    "diff": ("memolith.clients.cli.diff", "Show what changed between two versions of a memory."),
    "why": ("memolith.clients.cli.why", "Show which version brought a line, by whom, and what it rests on."),
    "restore": ("memolith.clients.cli.restore", "Restore an old version, or a whole store as of an instant."),
    "dream": ("memolith.clients.cli.dream", "Have a store consolidated, and show what that changed."),
    "import": ("memolith.clients.cli.import_", "Import a folder, a tar, or another program's memories."),
    "export": ("memolith.clients.cli.export", "Export a store's memories to a folder or a tar."),
    "backup": ("memolith.clients.cli.backup", "Back up stores into a folder or a bucket; verify, restore."),
    "lint": ("memolith.clients.cli.lint", "Check the memories of a store or a folder for mistakes."),
    "scan": ("memolith.clients.cli.scan", "Run the safety scanner over a file, a folder or a store."),
    "quarantine": (
        "memolith.clients.cli.quarantine",
        "List, show, release and restore texts that the scanner withholds.",
    ),
    "proposals": ("memolith.clients.cli.proposals", "List, show, approve, reject and revert proposals."),
    "sessions": ("memolith.clients.cli.sessions", "Begin, show and end agents' sessions, and issue tokens."),
    "transcript": ("memolith.clients.cli.transcript", "Import and show what was said in sessions."),
    "remember": ("memolith.clients.cli.remember", "Write a remark into a store's log of the day."),
    "extract": ("memolith.clients.cli.extract", "Propose memories of what a session taught."),
    "cite": ("memolith.clients.cli.cite", "Say which memories helped a session."),
    "usage": ("memolith.clients.cli.usage", "List which memories were used, and which were not."),
    "context": ("memolith.clients.cli.context", "Print an agent's memory context, for its system prompt."),
    "mount": ("memolith.clients.cli.mount", "Mount a store as a folder of this machine."),
    "sync": ("memolith.clients.cli.sync", "Keep a store and a folder in step, without FUSE."),
    "mcp": ("memolith.clients.cli.mcp", "Serve a store to MCP clients, on standard input and output."),
    "keys": ("memolith.clients.cli.keys", "Create, list and revoke API keys."),
    "index": ("memolith.clients.cli.index", "Show and rebuild a region's index; redrive dead letters."),
    "erasure": ("memolith.clients.cli.erasure", "Show how far an erasure is, and search for leftovers."),
    "repair": ("memolith.clients.cli.repair", "Restore damaged texts from a copy that is whole."),
    "audit": ("memolith.clients.cli.audit", "Check stored memories against the sealed checkpoints."),
    "divergent": ("memolith.clients.cli.divergent", "List, show, restore and dismiss divergent versions."),
    "homes": ("memolith.clients.cli.homes", "List and move stores' home regions; fail over and return."),
    "regions": ("memolith.clients.cli.regions", "Add regions to the deployment, and remove them."),
}
"""Subcommand to the module that has its ``app``, and the line that the help shows without importing it."""

TOGETHER: dict[tuple[str, ...], str] = {
    ("serve", "dev", "mount", "sync", "mcp"): "Run it; mount, sync, speak MCP.",
    ("stores", "use", "keys", "sessions"): "Manage stores, keys and sessions.",
    ("ls", "search", "recall", "activity"): "List, find, recall; what changed last.",
    ("context", "graph", "observations"): "Show what is linked, and what is stated.",
    ("cat", "put", "edit", "cp", "mv", "rm"): "Print, write, edit, copy, move, delete.",
    ("log", "diff", "restore", "transcript"): "Show history, versions, transcripts.",
    ("import", "export", "backup"): "Copy from and to folders and tars; back up.",
    ("lint", "scan", "quarantine", "audit"): "Check texts, and what is stored.",
    ("remember", "cite", "extract", "dream"): "Take a remark; distill what was said.",
    ("conflicts", "proposals", "why", "usage"): "Decide; explain a line; see what is used.",
    ("doctor", "index", "erasure", "repair"): "Find and mend damage; verify erasure.",
    ("divergent", "homes", "regions"): "Move homes, fail over; change the regions.",
}
"""Commands that share one line of the help, and that line; it stands where the first of them stands."""

NAMES_WIDTH = 34
"""How wide the column of the commands' names may be; a line of 80 characters has room for what they do."""

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
    "copy": "cp",
    "rename": "mv",
    "move": "mv",
    "history": "log",
    "versions": "log",
    "memories": "ls",
    "start": "serve",
    "load": "import",
    "dump": "export",
    "find": "search",
    "grep": "search",
}
"""What other command lines call it."""


class LazyGroup(TyperGroup):
    """A group whose subcommands are imported on first use."""

    _completing_names = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of `SUBCOMMANDS`."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the subcommand; None if none has that name."""
        if cmd_name not in SUBCOMMANDS:
            return None
        if self._completing_names:
            return TyperCommand(cmd_name, help=SUBCOMMANDS[cmd_name][1])
        command: Any = typer.main.get_command(import_module(SUBCOMMANDS[cmd_name][0]).app)
        command.name = cmd_name
        return command

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the name of a subcommand, without importing any of them."""
        self._completing_names = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._completing_names = False

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve the subcommand; for an unknown one, the error names those that are alike."""
        if args and args[0] not in SUBCOMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

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
            formatter.write_dl([(", ".join(names), text) for names, text in rows.items()], col_max=NAMES_WIDTH)


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    """Print the version and end, if it is asked for."""
    if wanted:
        print(f"memolith {__version__}")
        raise typer.Exit()


@app.callback()
def memolith(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Memory infrastructure for AI agents. `memolith COMMAND --help` has examples."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: an error becomes a line that says what to do, and an exit code that says which kind."""
    _make_printable()
    try:
        _run_and_flush(arguments)
    except MemolithError as error:
        _end(explain(error), exit_of(error))
    except ModuleNotFoundError as error:
        _end(explain_missing(error), Exit.USAGE)
    except BrokenPipeError:
        _end("", Exit.FAILED)  # as after `memolith log … | head`: its reader has what it wanted
    except OSError as error:
        _end(explain_os(error), Exit.FAILED)
    except Exception as error:  # noqa: BLE001 - a user is shown a line, whatever happens
        _end(explain_defect(error), Exit.FAILED)


def _make_printable() -> None:
    """Open what a caller has closed of the standard streams, here and for processes that a command starts.

    A character that the stream's encoding lacks is printed as an escape.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free: this one
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - for as long as the process runs
        elif isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _run_and_flush(arguments: Sequence[str] | None) -> None:
    """Run the command, and write out what it printed, so that a full disk is an error that can still be told."""
    try:
        app(args=arguments, prog_name="memolith")
    finally:
        sys.stdout.flush()


def _end(message: str, code: Exit) -> NoReturn:
    """Print the message and exit. What standard output still holds cannot be written, and is given up."""
    if message:
        print(message, file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
