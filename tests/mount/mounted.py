"""Real mounts, as somebody starts them, and shells in them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import anthropic

from memolith.clients.mount.mounting import check_fuse, let_go
from memolith.core.errors import InvalidRequest
from tests.support.sdk import client_of

WITHIN_S = 120
"""How long anything may take, on a machine that is busy with something else."""


TRIAL = """
import os, signal, sys, threading
from memolith.clients.mount.mounting import check_fuse, let_go
check_fuse()
import mfusepy

class Trial(mfusepy.Operations):
    use_ns = True

    def init(self, path):
        print("mounted", flush=True)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()

mfusepy.FUSE(Trial(), sys.argv[1], foreground=True)
"""


@cache
def fuse_is_missing() -> str:
    """Why no test can mount here; empty where it can. A container may have all that it takes, and still not be let."""
    try:
        check_fuse()
    except InvalidRequest as error:
        return error.message
    with TemporaryDirectory(prefix="memolith-trial-") as folder:
        words = [sys.executable, "-c", TRIAL, folder]
        tried = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    if "mounted" in tried.stdout:
        return ""
    said = tried.stderr.strip().splitlines() or ["it said nothing"]
    return f"a trial mount failed: {said[0]}"


def until(holds: Callable[[], Any]) -> Any:
    """Waits for a condition, with a bound; answers what it gave."""
    deadline = time.monotonic() + WITHIN_S
    while not (found := holds()):
        assert time.monotonic() < deadline, f"not so within {WITHIN_S} s"
        time.sleep(0.05)
    return found


@dataclass(frozen=True, slots=True)
class Told:
    """How a shell's script ended."""

    code: int
    out: str
    err: str


@dataclass(slots=True)
class Mounted:
    """One process of ``memolith mount``."""

    url: str
    api_key: str
    store_id: str
    desk: Path
    words: tuple[str, ...] = ()
    folder: Path = field(default_factory=lambda: Path(mkdtemp(prefix="memolith-mount-")))
    process: subprocess.Popen[str] | None = None
    started: dict[str, Any] = field(default_factory=dict)

    def start(self) -> Mounted:
        """Returns once the folder shows the store."""
        told = ["--api-url", self.url, "--api-key", self.api_key, "--desk", str(self.desk), "--json", *self.words]
        words = [sys.executable, "-m", "memolith.clients.cli", "mount", self.store_id, str(self.folder), *told]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.started = json.loads(self.process.stdout.readline())
        return self

    def sh(self, script: str) -> Told:
        """Runs a script of bash in the folder."""
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
        return Told(done.returncode, done.stdout, done.stderr)

    def ok(self, script: str) -> str:
        """What a script that succeeds prints."""
        told = self.sh(script)
        assert told.code == 0, told
        return told.out

    def kill(self) -> None:
        """As ``kill -9`` does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(WITHIN_S)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Asks it to end; its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(WITHIN_S)

    def clear(self) -> None:
        """Ends it if it lives, and takes the folder away."""
        if self.process is not None and self.process.poll() is None:
            self.end()
        let_go(self.folder)
        self.folder.rmdir()


@contextmanager
def mounted(url: str, api_key: str, store_id: str, desk: Path, *words: str) -> Iterator[Mounted]:
    """A mount of a store while the block runs."""
    mount = Mounted(url, api_key, store_id, desk, words)
    try:
        yield mount.start()
    finally:
        mount.clear()


@dataclass(frozen=True, slots=True)
class Laptop:
    """An API on this machine."""

    url: str
    api_key: str
    folder: Path

    @property
    def client(self) -> anthropic.Anthropic:
        return client_of(self.url, self.api_key, timeout=60)

    def store(self) -> str:
        """A new, empty store."""
        return self.client.beta.memory_stores.create(name="Notes").id

    def stored(self, store_id: str) -> dict[str, str | None]:
        """Text by path."""
        listed = self.client.beta.memory_stores.memories.list(store_id, view="full")
        return {row.path: row.content for row in listed if row.type == "memory"}

    def log(self, store_id: str) -> list[tuple[str, str | None]]:
        """Every version of a store, oldest first: operation and path."""
        rows = list(self.client.beta.memory_stores.memory_versions.list(store_id, limit=100))
        return [(row.operation, row.path) for row in reversed(rows)]
