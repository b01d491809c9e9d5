"""``memolith serve --stop``: ends what serves a folder, whoever started it, as `memolith mcp` or another terminal.

Run as ``python -m memolith.entry.stop``, with `LocalSettings` in the environment. Exit code 0: every server of the
folder has ended. 1: none serves it, or one does not end, and the message says what to do.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from memolith.adapters.local.failures import explain
from memolith.adapters.local.files import holder, is_shared
from memolith.adapters.system import SystemClock
from memolith.entry.laptop_files import SERVERS, SERVING
from memolith.entry.settings import LocalSettings, SettingsError
from memolith.ports.clock import Clock

WITHIN_S = 60
"""A server finishes requests for five seconds, and seals what it acknowledged."""

LOOK_AGAIN_S = 0.05
EXIT_FAILED = 1
EXIT_USAGE = 2


class NotEnded(Exception):
    """No server was there to be ended, or one did not end."""


def stop(root: Path, clock: Clock) -> list[int]:
    """End every server of a folder, one after the other, and return their processes once they have ended.

    A process is told to end right after the kernel named it as a holder of the servers' lock, and no other ever is.

    Raises:
        NotEnded: with what to do. OSError: the folder cannot be read.
    """
    stopped: list[int] = []
    until = clock.ticks_us()
    while (process := holder(root / SERVERS)) is not None:
        if process not in stopped:
            _tell(process, root)
            stopped.append(process)
            until = clock.ticks_us() + WITHIN_S * 1_000_000
        elif clock.ticks_us() > until:
            raise NotEnded(
                f"process {process} was told to end {WITHIN_S} seconds ago and still serves {root}; "
                f"`kill -9 {process}` ends it, and nothing that was acknowledged is lost"
            )
        clock.pause(LOOK_AGAIN_S)
    if not stopped and is_shared(root / SERVING):
        raise NotEnded(
            f"no server that can be told serves {root}, but another process has it open: an audit or a repair, which "
            "ends by itself, or a server of an earlier release, which `pgrep -f memolith.entry.serve` finds"
        )
    if not stopped:
        raise NotEnded(f"no server serves {root}; --root names another folder")
    return stopped


def _tell(process: int, root: Path) -> None:
    if process < 1:
        raise NotEnded(f"what serves {root} is in another container; end it there")
    try:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    except PermissionError as error:
        raise NotEnded(f"process {process} serves {root}, and belongs to another user; end it as that user") from error


def main() -> int:
    """Stop, say what was stopped, and return the exit code."""
    try:
        settings = LocalSettings.read()
    except SettingsError as error:
        return _fail(str(error), EXIT_USAGE)
    try:
        stopped = stop(settings.root, SystemClock())
    except NotEnded as error:
        return _fail(str(error))
    except OSError as error:
        cause, hint = explain(error, Path(error.filename or settings.root))
        return _fail(f"{settings.root} cannot be used: {cause}; {hint}")
    if settings.as_json:
        print(json.dumps({"stopped": stopped}))
        return 0
    for process in stopped:
        print(f"process {process}, which served {settings.root}, has ended")
    return 0


def _fail(problem: str, code: int = EXIT_FAILED) -> int:
    print(f"error: {problem}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
