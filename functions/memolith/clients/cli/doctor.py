"""``memolith doctor``: what is wrong with the folder or the machine, and what to do.

It needs no server. As `memolith serve` does, this command becomes an entry of its own (`memolith.entry.doctor`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Set broken files aside, so that the next start makes them anew.")
    ] = False,
    root: Annotated[
        Path, typer.Option("--root", envvar="MEMOLITH_ROOT", help="The folder that holds everything.")
    ] = Path("~/.memolith"),
    port: Annotated[
        int, typer.Option("--port", envvar="MEMOLITH_PORT", min=1, max=65_535, help="The port to look at.")
    ] = 8377,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look at this machine's folder without a server: databases, every object, disk, port, rights, FUSE, versions.

    Each line says what was found, and what to do if it is not in order. Exit code 1: something is not.

    Example: memolith doctor

    Example: memolith doctor --fix --root ~/team
    """
    told = {"MEMOLITH_PORT": str(port), "MEMOLITH_ROOT": str(root.expanduser().absolute())}
    told |= {"MEMOLITH_OUTPUT": "json" if as_json else "text", "MEMOLITH_DOCTOR_FIX": "1" if fix else "0"}
    environment = {**os.environ, **told}
    os.execve(sys.executable, [sys.executable, "-m", "memolith.entry.doctor"], environment)  # noqa: S606 - our own module
