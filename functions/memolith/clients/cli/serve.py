"""``memolith serve``: Memolith on this machine, for one person, without AWS.

The server is an entry of its own (`memolith.entry.serve`), as a Lambda function is one: this command checks its
options, gives them to it as settings, and becomes it.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def serve(
    port: Annotated[
        int,
        typer.Option(
            "--port", envvar="MEMOLITH_PORT", min=0, max=65_535, help="The port to listen on; 0 takes any free port."
        ),
    ] = 8377,
    root: Annotated[
        Path, typer.Option("--root", envvar="MEMOLITH_ROOT", help="The folder that holds everything.")
    ] = Path("~/.memolith"),
    search_model: Annotated[
        str,
        typer.Option(
            "--search-model",
            envvar="MEMOLITH_SEARCH_MODEL",
            help="A model of meanings for searches: none, or use (pip install 'memolith[model]').",
        ),
    ] = "none",
    as_json: Annotated[
        bool, typer.Option("--json", help="Start with one line of JSON: url, api_key, root, pid.")
    ] = False,
) -> None:
    """Serve the API on 127.0.0.1, over files in a folder, until Ctrl-C.

    The first start creates a workspace and an API key. Every start prints the two lines of code that use it. Several
    servers may share one folder.

    Example: memolith serve --root ~/team --port 0
    """
    missing = [name for name in ("waitress", "hyperscan", "pydantic") if find_spec(name) is None]
    if missing:
        typer.echo(f"{', '.join(missing)} missing: pip install '.[local]'", err=True)
        raise typer.Exit(2)
    told = {"MEMOLITH_PORT": str(port), "MEMOLITH_ROOT": str(root.expanduser().absolute())}
    told |= {"MEMOLITH_SEARCH_MODEL": search_model}
    environment = {**os.environ, **told, "MEMOLITH_OUTPUT": "json" if as_json else "text"}
    os.execve(sys.executable, [sys.executable, "-m", "memolith.entry.serve"], environment)  # noqa: S606 - our own module
