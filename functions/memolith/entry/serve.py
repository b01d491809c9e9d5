"""``memolith serve``: the API on 127.0.0.1, in this process, until it is told to end.

Run as ``python -m memolith.entry.serve``, with `LocalSettings` in the environment. SIGTERM and SIGINT end it: no new
request is taken, those under way are finished.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import SO_REUSEADDR, SOL_SOCKET, socket
from types import FrameType
from typing import Any

from waitress.server import create_server
from waitress.wasyncore import close_all

from memolith.adapters.encoders import EncoderMissing, meaning_of
from memolith.adapters.local.compiled_scanner import load_scanner
from memolith.adapters.local.failures import explain
from memolith.adapters.local.files import held, make_folder
from memolith.adapters.local.process_memory import bound_arenas
from memolith.adapters.rerankers.http import HttpReranker
from memolith.core.errors import MemolithError
from memolith.entry.compose_laptop import WORKSPACE, LocalSite, Machine, open_site, owner_key
from memolith.entry.laptop_files import SERVERS
from memolith.entry.laptop_http import LaptopHttp
from memolith.entry.laptop_log import start_logging
from memolith.entry.laptop_models import models_of
from memolith.entry.settings import LocalSettings, SettingsError
from memolith.ports.errors import PortError
from memolith.ports.rerank import Reranker
from memolith.scanner.secrets import ScannerUnavailableError
from memolith.wire.wsgi import application

_log = logging.getLogger(__name__)

HOST = "127.0.0.1"
THREADS = 16
LARGEST_BODY_BYTES = 10 * 1024 * 1024
"""As API Gateway has it; the API itself refuses far smaller ones, in its own words."""

ELSEWHERE = "Choose another folder with --root, or see what `memolith doctor` says of this one."

EXIT_FAILED = 1
EXIT_USAGE = 2


class PortTaken(OSError):
    """The port is not to be had, which was seen before the patterns were compiled."""


class Server:
    """The site's API on one port of this machine, taken when this is made.

    Attributes:
        url: where it answers.

    Raises:
        OSError: the port is not to be had.
    """

    def __init__(self, site: LocalSite, port: int) -> None:
        self._channels: dict[int, Any] = {}
        self._streams = site.streams
        self._server = create_server(
            application(LaptopHttp(site.api.answer, site.region.clock, site.region.randomness).answer),
            map=self._channels,
            host=HOST,
            port=port,
            threads=THREADS,
            ident="memolith",
            max_request_body_size=LARGEST_BODY_BYTES,
            clear_untrusted_proxy_headers=True,
        )
        self.url = f"http://{HOST}:{self._server.effective_port}"

    def run(self) -> None:
        """Serve until SystemExit or KeyboardInterrupt is raised in this thread, or until `stop`.

        Requests that are under way then are finished, for up to five seconds.
        """
        try:
            self._server.run()
        finally:
            close_all(self._channels)

    def end_streams(self) -> None:
        """End what would keep its thread as long as its client listens. Repeatable, and from a signal's handler too."""
        self._streams.close()

    def stop(self) -> None:
        """End `run`, from another thread. Repeatable."""
        self.end_streams()
        self._server.task_dispatcher.shutdown()
        with suppress(OSError):  # its end of the pipe is closed where `run` has ended by itself
            self._server.trigger.pull_trigger(lambda: close_all(self._channels))


def main() -> int:
    """Serve, and return the exit code: 1 if it cannot, with what to do; 2 for settings that make no sense."""
    try:
        settings = LocalSettings.read()
    except SettingsError as error:
        return _fail(str(error), EXIT_USAGE)
    start_logging(settings.log_level)
    bound_arenas()
    try:
        make_folder(settings.root)
        with held(settings.root / SERVERS):  # before anything that takes long, so that it can be ended there, too
            return _serve(settings)
    except OSError as error:
        cause, hint = explain(error, Path(error.filename or settings.root))
        return _fail(f"{settings.root} cannot be used: {cause}; {hint}. {ELSEWHERE}")
    except (PortError, MemolithError) as error:
        return _fail(f"{settings.root} cannot be used: {error}. {ELSEWHERE}")
    except EncoderMissing as error:
        return _fail(str(error))
    except ImportError as error:
        return _fail(f"the SDK of MEMOLITH_MODEL_SERVICE is not installed here ({error.name}); pip install it")
    except ScannerUnavailableError as error:
        return _fail(f"the safety scanner does not work here, and nothing is served without it: {error}")


def _serve(settings: LocalSettings) -> int:
    gc.disable()  # until all is loaded: looking for garbage among what stays takes a tenth of a start
    machine = Machine.real(settings.search_model, _reranker(settings))
    try:
        scanner = load_scanner(settings.root, partial(_before_compiling, settings.port), meaning_of(machine.encoder))
    except PortTaken as error:
        return _fail_port(settings.port, error)
    site = open_site(
        settings.root,
        scanner,
        machine,
        settings.memories_per_store,
        deep=scanner,
        erase_delay_days=settings.erase_delay_days,
        models=models_of(settings.model, machine.clock, machine.randomness, machine.metrics),
    )
    try:
        server = Server(site, settings.port)
    except OSError as error:
        site.close()
        return _fail_port(settings.port, error)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, partial(_end, server))
    try:
        owner_key(settings.root, site.region, "person.key", "person")
        _announce(settings, server.url, owner_key(settings.root, site.region))
        gc.freeze()
        gc.enable()
        server.run()
    finally:
        site.close()
    return 0


def _before_compiling(port: int) -> None:
    """Say why the start takes long. Raises PortTaken where it would be in vain."""
    with socket() as probe:
        probe.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise PortTaken(error.errno, error.strerror) from error
    _log.warning("the scanner's patterns are compiled for this machine, once; that takes about twenty seconds")


def _reranker(settings: LocalSettings) -> Reranker | None:
    chosen = settings.reranker
    return None if chosen is None else HttpReranker(chosen.url, chosen.model, chosen.key)


def _announce(settings: LocalSettings, url: str, api_key: str) -> None:
    """Print the address and the key, as code to be pasted or one line of JSON, and flush at once."""
    if settings.as_json:
        started = {"url": url, "api_key": api_key, "workspace_id": WORKSPACE, "root": str(settings.root)}
        print(json.dumps(started | {"pid": os.getpid()}), flush=True)
        return
    print(f"Memolith answers at {url} and keeps everything in {settings.root}. Ctrl-C ends it.\n")
    print("    from anthropic import Anthropic")
    print(f'    memolith = Anthropic(base_url="{url}", api_key="{api_key}")\n', flush=True)


def _end(server: Server, number: int, frame: FrameType | None) -> None:
    server.end_streams()
    raise SystemExit(0)


def _fail_port(port: int, error: OSError) -> int:
    return _fail(f"port {port} is not to be had: {error.strerror}. Choose another one with --port, or 0.")


def _fail(problem: str, code: int = EXIT_FAILED) -> int:
    print(f"error: {problem}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
