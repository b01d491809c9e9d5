"""`memolith serve` as a service of this person's session: a systemd user unit on Linux, a launchd agent on macOS.

The file names this Python and this folder, so that it goes on with the installation that wrote it. A service has the
environment of its manager, not the shell's: the server's settings are kept as they are set when it is installed. What
the server prints at its start is dropped, because the key is in it; its warnings go to the journal, or to
``ROOT/serve.log`` on macOS.
"""

from __future__ import annotations

import os
import plistlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from memolith.adapters.local.files import write_new
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.core.errors import InvalidRequest

UNIT = "memolith.service"
LABEL = "memolith.serve"
MODULE = "memolith.entry.serve"
WITHIN_S = 60
LOG = "serve.log"

SETTINGS = (
    "MEMOLITH_MAX_MEMORIES_PER_STORE",
    "MEMOLITH_LOG_LEVEL",
    "MEMOLITH_ERASE_DELAY_DAYS",
    "MEMOLITH_SEAL_FOLDER",
    "XDG_CONFIG_HOME",
    "MEMOLITH_MODEL_SERVICE",
    "MEMOLITH_MODEL_ID",
    "MEMOLITH_MODEL_URL",
    "MEMOLITH_MODEL_WINDOW_TOKENS",
    "MEMOLITH_RERANK_URL",
    "MEMOLITH_RERANK_MODEL",
    "MEMOLITH_RERANK_KEY",
)
"""What the server reads beside the options of ``memolith serve`` (`memolith.entry.settings.LocalSettings`)."""

ACCESS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "bedrock": (
        "AWS_REGION",
        "AWS_PROFILE",
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
    ),
}
"""What each service of models is asked with. That of others is not the server's to keep."""

SECRETS = frozenset(
    {
        "MEMOLITH_RERANK_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
    }
)
PATHS = frozenset({"MEMOLITH_SEAL_FOLDER", "XDG_CONFIG_HOME", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"})
"""What a service, which runs in another folder, would look for elsewhere."""


def settings_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the server that are set in an environment, with paths made absolute."""
    told = {name: text.strip() for name, text in environment.items()}
    names = (*SETTINGS, *ACCESS.get(told.get("MEMOLITH_MODEL_SERVICE", "").lower(), ()))
    found = {name: told[name] for name in names if told.get(name)}
    return {name: str(Path(text).expanduser().absolute()) if name in PATHS else text for name, text in found.items()}


@dataclass(frozen=True, slots=True)
class Served:
    """What the service serves: a folder on a port, with this Python; `settings` are those of `settings_of`."""

    root: Path
    port: int
    python: str = sys.executable
    search_model: str = "none"
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def variables(self) -> dict[str, str]:
        """The server's settings but for its secrets, as it reads them."""
        return {
            "MEMOLITH_ROOT": str(self.root),
            "MEMOLITH_PORT": str(self.port),
            "MEMOLITH_SEARCH_MODEL": self.search_model,
            **{name: text for name, text in self.settings.items() if name not in SECRETS},
        }

    @property
    def secrets(self) -> dict[str, str]:
        """The keys of other services."""
        return {name: text for name, text in self.settings.items() if name in SECRETS}


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
        unit = unit_of(served, self._secrets)
        if served.secrets:
            write(self._secrets, secrets_of(served).encode())
        write(self.path, unit.encode())
        if not served.secrets:
            self._secrets.unlink(missing_ok=True)
        self._systemctl("daemon-reload")
        self._systemctl("enable", UNIT)
        self._systemctl("restart", UNIT)

    def uninstall(self) -> bool:
        """See `Service.uninstall`."""
        if not self.path.exists():
            return False
        self._systemctl("disable", "--now", UNIT)
        self.path.unlink()
        self._secrets.unlink(missing_ok=True)
        self._systemctl("daemon-reload")
        return True

    def log(self, root: Path) -> str:
        """See `Service.log`."""
        return f"`journalctl --user --unit {UNIT}`"

    @property
    def _secrets(self) -> Path:
        return self.path.with_suffix(".env")

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


def unit_of(served: Served, secrets: Path) -> str:
    """Write the unit. Source: systemd.service(5), systemd.syntax(7), "Quoting" and "Specifiers".

    Keys are not in it but in the file `secrets`: a unit is shown by `systemctl` and kept among settings.
    """
    environment = " ".join(_quoted(value, name) for name, value in served.variables.items())
    file = [f"EnvironmentFile={_printable(str(secrets), 'HOME').replace('%', '%%')}"] if served.secrets else []
    return "\n".join(
        [
            "# Written by `memolith serve --install`; `memolith serve --uninstall` removes it.",
            "[Unit]",
            "Description=Memolith, memory for agents on this machine",
            "",
            "[Service]",
            f"ExecStart={_quoted(served.python)} -m {MODULE}",
            f"Environment={environment}",
            *file,
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


def secrets_of(served: Served) -> str:
    """Write the file of the unit's keys. Source: systemd.exec(5), "EnvironmentFile="."""
    lines = [f'{name}="{_escaped(_printable(text, name))}"\n' for name, text in served.secrets.items()]
    return "".join(["# Written by `memolith serve --install`.\n", *lines])


def plist_of(served: Served) -> bytes:
    """Write the agent's property list. Source: launchd.plist(5)."""
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": [served.python, "-m", MODULE],
            "EnvironmentVariables": {**served.variables, **served.secrets},
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "StandardOutPath": "/dev/null",
            "StandardErrorPath": str(served.root / LOG),
        }
    )


def write(path: Path, content: bytes) -> None:
    """Write a file as a whole, with its folders; this person alone may read it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_new(path.parent, content).replace(path)


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


def _quoted(text: str, name: str | None = None) -> str:
    """Quote one word of a unit: a variable, or of a command. Raises InvalidRequest for what cannot stand in one."""
    escaped = _escaped(_printable(text, name or "--install")).replace("%", "%%")
    return f'"{name}={escaped}"' if name else f'"{escaped.replace("$", "$$")}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _printable(text: str, name: str) -> str:
    if not text.isprintable():
        raise InvalidRequest(name, "must have printable characters alone, to stand in a service's file")
    return text
