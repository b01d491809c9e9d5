"""Start and stop MiniStack, on 127.0.0.1 and a free port, with everything it writes below ``.memolith/emulator``."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from scripts.local_cloud.environment import ensure_folders, for_emulator
from scripts.local_cloud.layout import PROJECT_ROOT, Layout
from scripts.local_cloud.processes import ProcessFiles

NAME = "emulator"
_READY_WITHIN_S = 30.0
_TRIES = 3


class EmulatorFailed(Exception):
    """The emulator ended, or did not answer in time; the message names its log."""


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator: where it answers, and which patches could not be applied (name to consequence)."""

    endpoint: str
    missing_patches: dict[str, str]


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def start(layout: Layout, processes: ProcessFiles, *, port: int | None = None, enforce_iam: bool = False) -> Emulator:
    """Start an empty emulator and wait until it answers (about a second).

    Whatever an earlier one left below ``.memolith/emulator`` is removed first.

    Raises:
        EmulatorFailed: it ended or did not answer within 30 seconds, on three free ports or on the one given.
    """
    for _ in range(_TRIES if port is None else 1):
        started = _try(layout, processes, free_port() if port is None else port, enforce_iam=enforce_iam)
        if started is not None:
            return started
    raise EmulatorFailed(f"the emulator did not start; see {_log(layout)}")


def _try(layout: Layout, processes: ProcessFiles, port: int, *, enforce_iam: bool) -> Emulator | None:
    """Start once; None if it ended by itself (another process took the port) or did not answer in time."""
    remove_state(layout)
    ensure_folders(*(layout.emulator / name for name in ("home", "tmp", "state", "s3")))
    report = layout.emulator / "patches.json"
    processes.start(
        NAME,
        [sys.executable, "-m", "scripts.local_cloud.emulator_main", str(report)],
        environment=for_emulator(layout, port, enforce_iam=enforce_iam),
        cwd=PROJECT_ROOT,
        log=_log(layout),
    )
    endpoint = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + _READY_WITHIN_S
    while time.monotonic() < deadline and processes.find(NAME) is not None:
        if answers(endpoint) and report.exists() and processes.find(NAME) is not None:
            return Emulator(endpoint, json.loads(report.read_text()))
        time.sleep(0.05)
    processes.stop(NAME)
    return None


def _log(layout: Layout) -> Path:
    return layout.logs / "emulator.log"


def answers(endpoint: str) -> bool:
    """Tell whether something that speaks HTTP answers at the endpoint."""
    try:
        with urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=2):  # noqa: S310  our own address
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def is_ministack(endpoint: str) -> bool:
    """Tell whether what answers at the endpoint is MiniStack, ours or another."""
    try:
        with urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=2) as answer:  # noqa: S310 - our own address
            return answer.status == 200 and "services" in json.load(answer)
    except (OSError, ValueError):
        return False


def stop(layout: Layout, processes: ProcessFiles) -> bool:
    """End the emulator and its functions, and remove what they wrote. Returns whether anything ran."""
    ended = processes.stop(NAME, grace_s=3)
    remove_state(layout)
    return ended


def remove_state(layout: Layout) -> None:
    """Remove the emulator's folder, with its objects, tables and the functions' unpacked bundles."""
    shutil.rmtree(layout.emulator, ignore_errors=True)
