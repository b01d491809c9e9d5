"""`memolith serve` as a service of this person's session: a systemd user unit on Linux, a launchd agent on macOS.

The file names this Python and this folder, so that it goes on with the installation that wrote it. What the server
prints at its start is dropped, because the key is in it; its warnings go to the journal, or to ``ROOT/serve.log`` on
macOS.
"""

from __future__ import annotations

import os
import plistlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.core.errors import InvalidRequest

UNIT = "memolith.service"
LABEL = "memolith.serve"
MODULE = "memolith.entry.serve"
WITHIN_S = 60
LOG = "serve.log"


@dataclass(frozen=True, slots=True)
class Served:
    """What the service serves: a folder on a port, with this Python."""

    root: Path
    port: int
    python: str = sys.executable
    search_model: str = "none"

    @property
    def variables(self) -> dict[str, str]:
        """The server's settings, as it reads them."""
        return {
            "MEMOLITH_ROOT": str(self.root),
            "MEMOLITH_PORT": str(self.port),
            "MEMOLITH_SEARCH_MODEL": self.search_model,
        }


class Service(Protocol):
    """One kind of service manager."""

    path: Path

    def install(self, served: Served) -> None:
        """Write the file and start the service, now and with every login. Repeatable: the last one counts.

        Raises:
            OSError: the file cannot be written. ApiFailed: the manager refuses; the file stays.
        """

    def uninstall(self) -> bool:
        """Stop the service and remove its file; whether there was one. Repeatable. Raises OSError, ApiFailed."""

    def log(self, root: Path) -> str:
        """Return what shows the service's warnings: a command, or a file."""


def service(platform: str = sys.platform, home: Path | None = None) -> Service:
    """Return this machine's service manager. Raises InvalidRequest: it has none that we know."""
    home = home or Path.home()
    if platform == "darwin":
        return Launchd(home / "Library" / "LaunchAgents" / f"{LABEL}.plist")
    if platform.startswith("linux"):
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        return Systemd(folder / "systemd" / "user" / UNIT)
    raise InvalidRequest("--install", f"{platform} has neither systemd nor launchd; run `memolith serve` yourself")


class Systemd:
    """A user unit of systemd."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def install(self, served: Served) -> None:
        """See `Service.install`."""
        write(self.path, unit_of(served).encode())
        self._systemctl("daemon-reload")
        self._systemctl("enable", UNIT)
        self._systemctl("restart", UNIT)

    def uninstall(self) -> bool:
        """See `Service.uninstall`."""
        if not self.path.exists():
            return False
        self._systemctl("disable", "--now", UNIT)
        self.path.unlink()
        self._systemctl("daemon-reload")
        return True

    def log(self, root: Path) -> str:
        """See `Service.log`."""
        return f"`journalctl --user --unit {UNIT}`"

    def _systemctl(self, *words: str) -> None:
        run(
            ["systemctl", "--user", *words], self.path, "it needs a systemd session of yours (`loginctl enable-linger`)"
        )


class Launchd:
    """A launch agent of macOS."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def install(self, served: Served) -> None:
        """See `Service.install`."""
        self._end()
        write(self.path, plist_of(served))
        run(["launchctl", "bootstrap", self._domain, str(self.path)], self.path, "log in on the machine's own screen")

    def uninstall(self) -> bool:
        """See `Service.uninstall`."""
        if not self.path.exists():
            return False
        self._end()
        self.path.unlink()
        return True

    def log(self, root: Path) -> str:
        """See `Service.log`."""
        return str(root / LOG)

    def _end(self) -> None:
        """Stop the agent; one that does not run is no error."""
        words = ["launchctl", "bootout", f"{self._domain}/{LABEL}"]
        subprocess.run(words, capture_output=True, check=False, timeout=WITHIN_S)

    @property
    def _domain(self) -> str:
        return f"gui/{os.getuid()}"


def unit_of(served: Served) -> str:
    """Write the unit. Source: systemd.service(5), systemd.syntax(7), "Quoting" and "Specifiers"."""
    environment = " ".join(_quoted(f"{name}={value}") for name, value in served.variables.items())
    return "\n".join(
        [
            "# Written by `memolith serve --install`; `memolith serve --uninstall` removes it.",
            "[Unit]",
            "Description=Memolith, memory for agents on this machine",
            "",
            "[Service]",
            f"ExecStart={_quoted(served.python, command=True)} -m {MODULE}",
            f"Environment={environment}",
            "# The first line that the server prints has the key.",
            "StandardOutput=null",
            "StandardError=journal",
            "Restart=on-failure",
            "RestartSec=5",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
    )


def plist_of(served: Served) -> bytes:
    """Write the agent's property list. Source: launchd.plist(5)."""
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": [served.python, "-m", MODULE],
            "EnvironmentVariables": served.variables,
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "StandardOutPath": "/dev/null",
            "StandardErrorPath": str(served.root / LOG),
        }
    )


def write(path: Path, content: bytes) -> None:
    """Write a file as a whole, with its folders. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    beside.write_bytes(content)
    beside.replace(path)


def run(words: Sequence[str], file: Path, hint: str) -> None:
    """Run a command of the service manager. Raises ApiFailed: it is not there, or refuses."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=WITHIN_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or "it does not end"
        raise ApiFailed(f"{words[0]} cannot be run: {reason}", Exit.FAILED, f"{file} is there; {hint}.") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise ApiFailed(f"`{' '.join(words)}` failed: {said[-1]}", Exit.FAILED, f"{file} is there; {hint}.")


def _quoted(text: str, *, command: bool = False) -> str:
    """Quote one word of a unit. Raises InvalidRequest for what cannot stand in one."""
    if not text.isprintable():
        raise InvalidRequest("--root", "must have printable characters alone, to stand in a service's file")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped.replace("$", "$$") if command else escaped}"'
