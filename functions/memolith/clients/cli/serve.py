"""``memolith serve``: Memolith on this machine, for one person, without AWS.

The server is an entry of its own (`memolith.entry.serve`), as a Lambda function is one: this command checks its
options, gives them to it as settings, and becomes it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NoReturn

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
            help="A model of meanings for searches: none, or use (pip install '.[model]').",
        ),
    ] = "none",
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Start with one line of JSON: url, api_key, root, pid. With --install: url, service. "
            "With --uninstall: removed. With --stop: stopped.",
        ),
    ] = False,
    install: Annotated[
        bool, typer.Option("--install", help="Start it now and with every login: a systemd or launchd user service.")
    ] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Stop that service, and remove it.")] = False,
    stop: Annotated[
        bool,
        typer.Option("--stop", help="End what serves the folder, as what `memolith mcp` started, and wait for it."),
    ] = False,
) -> None:
    """Serve the API on 127.0.0.1, over files in a folder, until Ctrl-C.

    The first start creates a workspace and an API key. Every start prints the two lines of code that use it. Several
    servers may share one folder.

    Example: memolith serve --root ~/team --port 0

    Example: memolith serve --install

    Example: memolith serve --stop
    """
    told = {"MEMOLITH_PORT": str(port), "MEMOLITH_ROOT": str(root.expanduser().absolute())}
    told |= {"MEMOLITH_SEARCH_MODEL": search_model, "MEMOLITH_OUTPUT": "json" if as_json else "text"}
    if stop:
        _become("stop", told)
    if uninstall:
        _uninstall(as_json)
        return
    missing = [name for name in ("waitress", "hyperscan", "pydantic") if find_spec(name) is None]
    if missing:
        typer.echo(f"{', '.join(missing)} missing: pip install '.[local]'", err=True)
        raise typer.Exit(2)
    if install:
        _install(root.expanduser().absolute(), port, search_model, as_json)
        return
    _become("serve", told)


def _become(entry: str, settings: Mapping[str, str]) -> NoReturn:
    words = [sys.executable, "-m", f"memolith.entry.{entry}"]
    os.execve(sys.executable, words, {**os.environ, **settings})  # noqa: S606 - our own module


def _install(root: Path, port: int, search_model: str, as_json: bool = False) -> None:
    """Install the service, and wait until it answers. Raises InvalidRequest, ApiFailed, OSError."""
    from memolith.adapters.system import SystemClock
    from memolith.clients.cli.background_service import Served, service, settings_of
    from memolith.clients.cli.failures import ApiFailed, Exit
    from memolith.clients.cli.started_server import START_S, Answer, answer_of, listens
    from memolith.core.errors import InvalidRequest

    if port == 0:
        raise InvalidRequest("--port", "must be a port of its own for a service, such as 8377")
    manager, url, clock = service(), f"http://127.0.0.1:{port}", SystemClock()
    # The installed service may listen there itself, and is replaced.
    if answer_of(url) is Answer.ANOTHER if manager.path.exists() else listens(url):
        ours = answer_of(url) is Answer.MEMOLITH
        end = f"If it serves {root}, run `memolith serve --stop --root {root}` first" if ours else "End it"
        raise ApiFailed(f"something listens at {url} already", Exit.USAGE, f"{end}, or choose another --port.")
    settings = settings_of(os.environ)
    manager.install(Served(root, port, search_model=search_model, settings=settings))
    end_us = clock.ticks_us() + START_S * 1_000_000
    while (found := answer_of(url)) is not Answer.MEMOLITH:
        if found is Answer.ANOTHER or clock.ticks_us() > end_us:
            advice = f"`memolith doctor` says what is wrong; {manager.log(root)} shows what the server says."
            told = "and another program answers" if found is Answer.ANOTHER else "and does not answer"
            raise ApiFailed(f"the service is installed, {told} at {url}", Exit.NO_ANSWER, advice)
        clock.pause(0.2)
    if as_json:
        print(json.dumps({"url": url, "service": str(manager.path)}))
        return
    print(f"Memolith answers at {url}, now and after every login; {manager.path} says so.")
    if settings:
        print(f"Until it is installed again it keeps, as they are set now: {', '.join(settings)}.")


def _uninstall(as_json: bool) -> None:
    from memolith.clients.cli.background_service import service

    manager = service()
    removed = manager.uninstall()
    if as_json:
        print(json.dumps({"removed": removed}))
        return
    none = "no service is installed; `memolith serve --stop` ends a server that runs without one"
    print(f"{manager.path} is removed" if removed else none)
