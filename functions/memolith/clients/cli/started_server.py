"""This machine's own server, started in the background by a program that needs one and finds none.

It is the same process as `memolith serve`, detached, so that it outlives the program that started it. Its warnings are
in ``ROOT/serve.log``. Two programs may start one at once: the second server finds the port taken and ends, and both
programs use the first.
"""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from memolith.clients.cli.api_address import DEV_FILE, LAPTOP_PORT, Address, find_address, laptop_root
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.core.errors import InvalidRequest
from memolith.ports.clock import Clock

LOG = "serve.log"
LOG_MAX_BYTES = 1_000_000
START_S = 180
"""A first start compiles the scanner's patterns, on a slow machine for a minute."""

KEY_S = 10
"""A server that listens has written its key by then, before it answers anything, unless it serves another folder."""

LOOK_AGAIN_S = 0.2
NEEDED = ("waitress", "hyperscan", "pydantic")


def find_or_start(url: str | None, key: str | None, clock: Clock) -> Address:
    """Find the API as every command does; where that is this machine's own server and none listens, start one.

    Raises:
        InvalidRequest: no address is known, or no key for it. ApiFailed: the server did not start.
    """
    own = f"http://127.0.0.1:{os.environ.get('MEMOLITH_PORT') or LAPTOP_PORT}"
    if url is None and not DEV_FILE.exists() and not (laptop_root() / "key").is_file():
        _start(own, clock)
    address = find_address(url, key)
    if address.url.rstrip("/") == own and not listens(own):
        _start(own, clock)
    return address


def listens(url: str) -> bool:
    """Tell whether anything takes connections at an address."""
    place = urlsplit(url)
    try:
        with socket.create_connection((place.hostname or "", place.port or 80), timeout=5):
            return True
    except OSError:
        return False


class Answer(Enum):
    """Who answers at an address."""

    NONE = "nobody"
    MEMOLITH = "a server of Memolith that is in order"
    ANOTHER = "another program"


def answer_of(url: str) -> Answer:
    """Ask an address for its health. A server that cannot use its index does not count yet."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port or 80, timeout=5)
    try:
        connection.request("GET", "/healthz")
        found = connection.getresponse()
        if found.getheader("x-memolith-region") is None:
            return Answer.ANOTHER
        return Answer.MEMOLITH if found.status == http.client.OK else Answer.NONE
    except OSError:  # before what follows: a connection that ends without an answer is both
        return Answer.NONE
    except http.client.HTTPException:
        return Answer.ANOTHER
    finally:
        connection.close()


def _start(url: str, clock: Clock) -> None:
    """Start a server and wait until it listens. Raises InvalidRequest, ApiFailed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InvalidRequest("", f"no server runs here, and {', '.join(missing)} is missing: pip install '.[local]'")
    root = laptop_root().absolute()
    log = root / LOG
    environment = {**os.environ, "MEMOLITH_ROOT": str(root), "MEMOLITH_PORT": str(urlsplit(url).port)}
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if log.exists() and log.stat().st_size > LOG_MAX_BYTES:
            log.replace(log.with_name(f"{LOG}.1"))
        with log.open("ab") as said:
            log.chmod(0o600)
            process = subprocess.Popen(
                [sys.executable, "-m", "memolith.entry.serve"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # it begins with the key, which belongs into no log
                stderr=said,
                start_new_session=True,
                cwd=root,
            )
    except OSError as error:
        raise ApiFailed(f"{error.filename or root} cannot be used: {error.strerror}", Exit.NO_ANSWER) from error
    end_us = clock.now_us() + START_S * 1_000_000
    while not (listens(url) and (root / "key").is_file()):  # without a key there, it is another program that listens
        has_ended = process.poll() is not None
        if has_ended:
            end_us = min(end_us, clock.now_us() + KEY_S * 1_000_000)
        is_late = clock.now_us() > end_us
        if has_ended and (is_late or not _may_be_starting(url)):
            advice = f"{_last_line(log)}\n`memolith doctor` says what is wrong."
            raise ApiFailed(
                f"`memolith serve` was started and has ended with code {process.returncode}", Exit.FAILED, advice
            )
        if is_late:
            raise ApiFailed(f"`memolith serve` was started and does not listen yet at {url}: see {log}", Exit.NO_ANSWER)
        clock.pause(LOOK_AGAIN_S)


def _may_be_starting(url: str) -> bool:
    """Tell whether another server of Memolith may have the port, which listens a moment before it has its key."""
    return listens(url) and answer_of(url) is not Answer.ANOTHER


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1] if lines else ""
