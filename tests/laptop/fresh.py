"""A checkout and a home that were just made, in which the README's lines are run as they are written."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
WITHIN_S = 600
"""How long one line may take: an installation on a busy machine, from a slow registry."""

KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PIP_", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "HTTPS_PROXY", "https_proxy")
"""What is kept of this process's environment: how to reach a package registry, and nothing of a person's own."""


@dataclass
class FreshMachine:
    """A home with nothing in it, and a copy of the files that a clone would have.

    Attributes:
        said: everything that the lines printed, line by line of the README.
    """

    home: Path
    checkout: Path
    port: int
    said: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that a line sees. The port is the only one of Memolith's own."""
        kept = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
        return {**kept, "HOME": str(self.home), "MEMOLITH_PORT": str(self.port), "SHELL": "/bin/bash"}

    def shell(self, lines: str, *, code: int | None = 0, **also: str) -> str:
        """Run lines of a shell in the checkout; what they printed, on both outputs.

        Raises:
            AssertionError: they ended with another code, or with a traceback.
        """
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", lines],
            cwd=self.checkout,
            env=self.environment | also,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WITHIN_S,
        )
        self.said.append(done.stdout)
        assert "Traceback" not in done.stdout, (lines, done.stdout)
        assert code is None or done.returncode == code, (lines, done.returncode, done.stdout)
        return done.stdout

    def terminal(self, lines: str) -> str:
        """Run lines of a shell on a terminal, as a person does; what stood there."""
        holder, terminal = pty.openpty()
        with subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", lines],
            cwd=self.checkout,
            env=self.environment | {"TERM": "xterm"},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        ) as running:
            os.close(terminal)
            shown = b"".join(_read_all(holder))
            code = running.wait(WITHIN_S)
        text = shown.decode(errors="replace")
        self.said.append(text)
        assert "Traceback" not in text and code == 0, (lines, code, text)
        return text

    @contextmanager
    def running(self, line: str, **also: str) -> Iterator[subprocess.Popen[bytes]]:
        """A line that stays, such as the server's or a mount's, ended as Ctrl-C does; it has to end with 0."""
        log = self.home / f"{line.split()[1]}.log"
        with log.open("wb") as said:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {line}"],
                cwd=self.checkout,
                env=self.environment | also,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        try:
            yield process
            process.send_signal(signal.SIGINT)
            assert process.wait(WITHIN_S) == 0, (line, log.read_text())
        finally:
            process.kill()
            process.wait()
            self.said.append(log.read_text())
        assert "Traceback" not in self.said[-1], (line, self.said[-1])

    def until(self, lines: str, process: subprocess.Popen[bytes]) -> None:
        """Wait until a shell's lines succeed, for as long as the process that they wait for is there."""
        ends = time.monotonic() + WITHIN_S
        while subprocess.run(["bash", "-c", lines], cwd=self.checkout, env=self.environment, check=False).returncode:
            assert process.poll() is None and time.monotonic() < ends, (lines, self.said[-3:])
            time.sleep(0.5)


def _read_all(holder: int) -> Iterator[bytes]:
    try:
        while part := os.read(holder, 65_536):
            yield part
    except OSError:  # Linux says so once nothing holds the terminal's other end
        pass
    finally:
        os.close(holder)


def make_fresh(folder: Path) -> FreshMachine:
    """Make a home, and copy the files of this checkout that git knows or would take, as they are now."""
    home, checkout = folder / "home", folder / "checkout"
    home.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    return FreshMachine(home, checkout, port)
