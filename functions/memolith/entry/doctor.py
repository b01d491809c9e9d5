"""``memolith doctor``: looks at a laptop's folder and machine, without a server, and mends what can be mended.

Run as ``python -m memolith.entry.doctor``, with `LocalSettings` in the environment, and MEMOLITH_DOCTOR_FIX=1 to mend.
Exit code 0: in order, or mended. 1: something is not, and the report says what to do.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from memolith.adapters.local.failures import explain
from memolith.adapters.local.files import locked
from memolith.adapters.system import SystemClock
from memolith.core.times import rfc3339
from memolith.entry.doctor_checks import Finding, Looked, State, examine, is_folder, look_again
from memolith.entry.laptop_files import START, family, index_path, set_aside
from memolith.entry.settings import LocalSettings, SettingsError

FIX = "MEMOLITH_DOCTOR_FIX"
EXIT_NOT_IN_ORDER = 1
EXIT_USAGE = 2


def main() -> int:
    """Look, mend if that is asked for, report, and return the exit code."""
    try:
        settings = LocalSettings.read()
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE
    root = settings.root
    looked = examine(root, settings.port)
    findings = looked.findings
    if os.environ.get(FIX) == "1" and is_folder(root):
        done = mend(root, looked)
        findings = [*done, *examine(root, settings.port).findings]
    try:
        _report(findings, as_json=settings.as_json)
        sys.stdout.flush()
    except BrokenPipeError:  # as after `memolith doctor | head`: its reader has what it wanted
        return _give_up_output()
    except OSError as error:
        print(f"error: standard output cannot be used: {error.strerror}", file=sys.stderr)
        return _give_up_output()
    return EXIT_NOT_IN_ORDER if any(one.state is State.ERROR for one in findings) else 0


def mend(root: Path, looked: Looked) -> list[Finding]:
    """Set aside what a start cannot use, so that the next one makes the rest anew from the objects; close what is open.

    The index is set aside in any case: SQLite has no checksums, so that a row may be damaged in a file that looks
    whole. An object whose first line is damaged is set aside, and its slot is free, so that its memory can be written
    again: nothing of it could be read. One whose text alone is damaged stays. Nothing is done while a server runs.
    Repeatable.
    """
    if looked.served:  # the one that begins in the folder now may hold the lock for long
        return [_served()]
    try:
        with locked(root / START):
            looked = look_again(root, looked)
            return [_served()] if looked.served else _mend(root, looked)
    except OSError as error:
        return [Finding("fix", State.ERROR, *explain(error, Path(error.filename or root)))]


def _served() -> Finding:
    told = "nothing was mended: a server serves the folder"
    return Finding("fix", State.ERROR, told, "end it (`memolith serve --stop`), then run `memolith doctor --fix` again")


def _mend(root: Path, looked: Looked) -> list[Finding]:
    done = []
    moment = rfc3339(SystemClock().now_us()).replace(":", "-")
    paths = [part for path in (*looked.broken, index_path(root)) for part in family(path)] + looked.unreadable
    for path in dict.fromkeys(paths):
        done.append(Finding("fix", State.NOTE, f"{path} was set aside in {set_aside(root, [path], moment)}"))
    secrets = [root / name for name in ("key", "person.key", "signing.json")]
    for path, mode in ((root, 0o700), *((path, 0o600) for path in secrets)):
        if path.exists() and path.stat().st_mode & 0o077:
            path.chmod(mode)
            done.append(Finding("fix", State.NOTE, f"{path} was closed to other users"))
    return done


def _report(findings: list[Finding], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([asdict(one) for one in findings]))
        return
    width = max(len(one.part) for one in findings)
    for one in findings:
        mark = one.state.upper() if one.state is State.ERROR else one.state
        print(f"{mark:<5}  {one.part:<{width}}  {_visible(one.found)}")
        if one.remedy and one.state is not State.OK:
            print(f"{'':<5}  {'':<{width}}  -> {_visible(one.remedy)}")


def _give_up_output() -> int:
    """Drop what standard output still holds, which could not be written as the process ends either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_NOT_IN_ORDER


def _visible(text: str) -> str:
    """Escape what could steer a terminal: a file may have any name."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


if __name__ == "__main__":
    sys.exit(main())
