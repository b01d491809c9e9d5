"""Start a process that outlives this command, and end it later without ever ending another's.

A process id alone is no identity: ids are reused. So every process is started with a random token as its last
argument, the token is recorded beside the id, and a process whose command line does not carry it is another one's.
Each leads a session of its own, so that its children (the emulator's functions) are found by their group even when
the leader was killed.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Running:
    """One process that was started: its name here, its id, and the token in its command line that proves it."""

    name: str
    pid: int
    token: str


@dataclass(frozen=True, slots=True)
class _Row:
    pid: int
    group: int
    command: str


class ProcessFiles:
    """The records of the processes of one local cloud, a JSON file each.

    Args:
        folder: where the records lie; made when the first process is started.
        mark: a text in the command line of every child of these processes (the folder that the emulator unpacks
            functions into). Children whose leader has ended are signalled only if they carry it.
    """

    def __init__(self, folder: Path, mark: str) -> None:
        self._folder = folder
        self._mark = mark

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: Path,
        log: Path,
        identify_with: str = "--instance=",
    ) -> subprocess.Popen[bytes]:
        """Start a process in a session of its own, its output in ``log``, and record it. Returns at once.

        ``identify_with`` and the token become the last argument; the program has to tolerate it.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        token = f"{identify_with}{secrets.token_hex(8)}"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*argv, token],
                env=dict(environment),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._path(name).write_text(json.dumps(asdict(Running(name, process.pid, token))))
        return process

    def find(self, name: str) -> Running | None:
        """Find the recorded process of this name if it still runs, else None."""
        recorded = self._read(name)
        if recorded is None:
            return None
        return recorded if any(_leads(row, recorded) for row in _table()) else None

    def recorded(self) -> list[str]:
        """List the names of all records, running or not."""
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def members(self, name: str) -> list[int]:
        """List the ids of the recorded process and of everything in its session that still runs."""
        recorded = self._read(name)
        return [] if recorded is None else [row.pid for row in self._members(recorded)]

    def stop(self, name: str, *, grace_s: float = 5.0) -> bool:
        """End a process and what it started; the record goes too. Repeating it is harmless.

        Asks with SIGTERM, waits up to ``grace_s``, then kills. Returns whether anything had to be ended.
        """
        recorded = self._read(name)
        if recorded is None:
            return False
        ended = False
        for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
            members = self._members(recorded)
            if not members:
                break
            ended = True
            for row in members:
                _signal(row.pid, number)
            self._wait_until_gone(recorded, patience_s)
        self._path(name).unlink(missing_ok=True)
        return ended

    def _wait_until_gone(self, recorded: Running, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            _reap(recorded.pid)
            if not self._members(recorded):
                return
            time.sleep(_POLL_S)

    def _members(self, recorded: Running) -> list[_Row]:
        group = [row for row in _table() if row.group == recorded.pid]
        if any(_leads(row, recorded) for row in group):
            return group
        return [row for row in group if self._mark in row.command]

    def _read(self, name: str) -> Running | None:
        try:
            return Running(**json.loads(self._path(name).read_text()))
        except FileNotFoundError:
            return None

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _leads(row: _Row, recorded: Running) -> bool:
    return row.pid == recorded.pid and recorded.token in row.command


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _reap(pid: int) -> None:
    """Collect the process if it is a child of this very one; another command's child is collected by init."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def _table() -> list[_Row]:
    """List all processes that have not ended, by ``ps``, whose output is the same on Linux and macOS."""
    listing = subprocess.run(
        ["ps", "-axww", "-o", "pid=,pgid=,stat=,command="],
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = []
    for line in listing.splitlines():
        pid, group, state, *command = line.split(None, 3)
        if not state.startswith("Z"):
            rows.append(_Row(int(pid), int(group), command[0] if command else ""))
    return rows
