"""Real processes of ``memolith serve``, and the unchanged SDK in front of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic

from tests.support.sdk import client_of

START_S = 60
END_S = 60


@dataclass(frozen=True, slots=True)
class Server:
    """One process, and what its first line said."""

    process: subprocess.Popen[str]
    url: str
    api_key: str

    def client(self, **options: Any) -> anthropic.Anthropic:
        """The SDK, which tries nothing twice by itself."""
        return client_of(self.url, self.api_key, timeout=30, **options)

    def kill(self) -> None:
        """As ``kill -9`` does."""
        self.process.kill()
        self.process.wait(END_S)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Asks it to end; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(END_S)


def command(root: Path, *words: str) -> list[str]:
    """``memolith serve`` as somebody types it."""
    return [sys.executable, "-m", "memolith.clients.cli", "serve", "--root", str(root), *words]


def environment() -> dict[str, str]:
    """This process's, with nothing of Memolith's own settings, nor of another API's."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("MEMOLITH_", "ANTHROPIC_"))}


@contextmanager
def serving(root: Path, *, words: Sequence[str] = (), before: Sequence[str] = (), **settings: str) -> Iterator[Server]:
    """A server over the folder, on a port that was free, with settings of its environment; killed as the block ends.

    It is the process that `memolith serve` becomes, without the eighth of a second that this command takes before.

    Args:
        words: another program than this release's server, which takes its settings from the environment as well.
        before: what the program is started by, such as a namespace.
    """
    line = [*before, *(words or [sys.executable, "-m", "memolith.entry.serve"])]
    told = {"MEMOLITH_ROOT": str(root), "MEMOLITH_PORT": "0", "MEMOLITH_OUTPUT": "json"}
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment() | told | settings) as process:
        try:
            assert process.stdout is not None
            started = json.loads(process.stdout.readline())
            assert (started["root"], started["pid"]) == (str(root), process.pid)
            yield Server(process, started["url"], started["api_key"])
        finally:
            process.kill()
