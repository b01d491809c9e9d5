"""``memolith dev``: the local cloud of a checkout.

The local cloud is part of the project, not of the installed package: it deploys the CDK app that lies beside it. These
commands find the checkout and run its ``python -m scripts.local_cloud`` with the words that they were given.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

from memolith.clients.cli.groups import group

_COMMANDS = {
    "up": "Start the local cloud and deploy Memolith into it.",
    "status": "Show what runs, where it answers, and the state of replication.",
    "replication": "Change how the regions replicate, while they run: lag, jitter, duplicates, order, pauses.",
    "faults": "Make the running emulator fail: cut off a region, throttle tables, lose replies.",
    "down": "Stop the local cloud and everything that it started.",
}
_FORWARDED = {"allow_extra_args": True, "ignore_unknown_options": True}

app = group("Run the local cloud: an AWS emulator on this machine, with Memolith deployed into it as on AWS.")


def find_checkout(start: Path) -> Path | None:
    """Find the checkout that contains `start`; else the one that contains this file; None outside of any."""
    for folder in (start, *start.parents, *Path(__file__).resolve().parents):
        if (folder / "scripts" / "local_cloud" / "__main__.py").is_file():
            return folder
    return None


def _forward(command: str, words: list[str]) -> None:
    """Run the checkout's command, with the checkout's own Python if it has one, and exit as it does."""
    checkout = find_checkout(Path.cwd())
    if checkout is None:
        if "--help" in words:
            typer.echo(f"Usage: memolith dev {command} [OPTIONS]\n\n  {_COMMANDS[command]}\n")
        typer.echo(
            "The local cloud is part of Memolith's source, and this is not a checkout of it: "
            "clone the project, run `make setup`, and call `memolith dev` inside.",
            err=True,
        )
        raise typer.Exit(0 if "--help" in words else 2)
    own = checkout / ".venv" / "bin" / "python"
    python = str(own) if own.exists() else sys.executable
    try:
        done = subprocess.run([python, "-m", "scripts.local_cloud", command, *words], cwd=checkout, check=False)
    except KeyboardInterrupt:
        # The child has got it too, and has cleaned up.
        raise typer.Exit(130) from None
    raise typer.Exit(done.returncode)


def _add(name: str, summary: str) -> None:
    @app.command(name, help=summary, add_help_option=False, context_settings=dict(_FORWARDED))
    def forward(ctx: typer.Context) -> None:
        _forward(name, ctx.args)


for _name, _summary in _COMMANDS.items():
    _add(_name, _summary)
