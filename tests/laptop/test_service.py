"""`memolith serve --install`: what it writes is what systemd and launchd take, and what they start is a server."""

from __future__ import annotations

import json
import os
import plistlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import urlopen

import pytest

from memolith.clients.cli import background_service
from memolith.clients.cli.background_service import (
    Launchd,
    Served,
    Systemd,
    plist_of,
    secrets_of,
    service,
    settings_of,
    unit_of,
)
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.clients.cli.serve import _install
from memolith.clients.cli.started_server import Answer, answer_of
from memolith.core.errors import InvalidRequest
from memolith.entry.settings import MODEL_SERVICES, LocalSettings, seal_folder
from tests.laptop.processes import environment
from tests.support.sdk import client_of

ODD = Served(Path('/tmp/with space/100% "quoted" $HOME'), 8377, "/opt/py thon/$bin/python")  # noqa: S108 - a name alone: nothing is made there

SYSTEMCTL = """#!{python}
import os, pathlib, shlex, subprocess, sys
words = sys.argv[1:]
state = pathlib.Path(os.environ["HOME"], "service.pid")
with open(os.environ["HOME"] + "/systemctl.log", "a") as log:
    print(*words, file=log)
def end():
    if state.exists():
        os.kill(int(state.read_text()), 15)
        state.unlink()
if "restart" in words:
    end()
    unit = pathlib.Path(os.environ["HOME"], ".config/systemd/user/memolith.service").read_text()
    lines = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)
    told = {{name: os.environ[name] for name in ("HOME", "PATH", "PYTHONPATH")}}
    told |= dict(one.split("=", 1) for one in shlex.split(lines["Environment"]))
    if "EnvironmentFile" in lines:
        text = pathlib.Path(lines["EnvironmentFile"]).read_text()
        told |= dict(one.split("=", 1) for one in shlex.split(text, comments=True))
    with open(os.environ["HOME"] + "/journal", "ab") as journal:
        child = subprocess.Popen(shlex.split(lines["ExecStart"]), env=told, stdout=subprocess.DEVNULL,
                                 stderr=journal, stdin=subprocess.DEVNULL, start_new_session=True)
    state.write_text(str(child.pid))
if "disable" in words:
    end()
"""


@pytest.fixture
def person(root: Path) -> Iterator[dict[str, str]]:
    """A person's environment, whose systemctl starts what a unit says, and leaves the machine's own alone."""
    (root / "bin").mkdir()
    fake = root / "bin" / "systemctl"
    fake.write_text(SYSTEMCTL.format(python=sys.executable))
    fake.chmod(0o755)
    (root / ".memolith").mkdir()
    shutil.move(root / "scanner.hsdb", root / ".memolith" / "scanner.hsdb")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    told = {"HOME": str(root), "PATH": f"{root}/bin:{os.environ['PATH']}", "MEMOLITH_PORT": port}
    try:
        own = {name: text for name, text in environment().items() if not name.startswith("XDG_")}
        yield {**own, **told, "PYTHONPATH": str(Path("functions").absolute())}
    finally:
        if (root / "service.pid").exists():
            os.kill(int((root / "service.pid").read_text()), signal.SIGKILL)


def serve(person: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "memolith.clients.cli", "serve", *words]
    return subprocess.run(command, env=person, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="THE SERVICE IS INSTALLED BY SYSTEMD, WHICH IS LINUX'S"
)
def test_installing_starts_a_server_and_uninstalling_ends_it(person: dict[str, str], root: Path) -> None:
    done = serve(person, "--install")
    assert done.returncode == 0, done.stderr
    url = f"http://127.0.0.1:{person['MEMOLITH_PORT']}/healthz"
    with urlopen(url, timeout=30) as answer:
        assert answer.status == 200
    assert "sk-memolith" not in (root / "journal").read_text() + done.stdout
    assert serve(person, "--install").returncode == 0, "installing again replaces it"
    done = serve(person, "--uninstall")
    assert (done.returncode, "is removed" in done.stdout) == (0, True)
    assert not (root / ".config/systemd/user/memolith.service").exists()
    assert serve(person, "--uninstall").stdout.startswith("no service is installed; `memolith serve --stop`")
    asked = (root / "systemctl.log").read_text().splitlines()
    assert asked[:3] == ["--user daemon-reload", "--user enable memolith.service", "--user restart memolith.service"]
    assert asked[-2:] == ["--user disable --now memolith.service", "--user daemon-reload"]


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="THE SERVICE IS INSTALLED BY SYSTEMD, WHICH IS LINUX'S"
)
def test_the_service_keeps_the_settings_with_which_it_was_installed(person: dict[str, str], root: Path) -> None:
    """It starts with the environment of the service manager, and not with that of the shell."""
    told = {"MEMOLITH_ERASE_DELAY_DAYS": "60", "MEMOLITH_SEAL_FOLDER": "~/seals", "MEMOLITH_RERANK_KEY": 'a"b$c\\d #'}
    done = serve(person | told, "--install")
    assert done.returncode == 0, done.stderr
    assert "MEMOLITH_ERASE_DELAY_DAYS" in done.stdout and told["MEMOLITH_RERANK_KEY"] not in done.stdout
    unit, secret = (root / ".config/systemd/user" / name for name in ("memolith.service", "memolith.env"))
    assert "MEMOLITH_RERANK_KEY" not in unit.read_text() and stat.S_IMODE(secret.stat().st_mode) == 0o600
    key = (root / ".memolith" / "key").read_text().strip()
    client = client_of(f"http://127.0.0.1:{person['MEMOLITH_PORT']}", key)
    store = client.beta.memory_stores.create(name="Team notes")
    client.beta.memory_stores.delete(store.id)
    (found,) = client.beta.memory_stores.list(extra_query={"deleted": "true"})
    erased_in = datetime.fromisoformat((found.model_extra or {})["erase_after"]) - datetime.now(UTC)
    assert timedelta(days=59) < erased_in <= timedelta(days=60)
    assert f'"MEMOLITH_SEAL_FOLDER={root}/seals"' in unit.read_text()
    assert serve(person, "--install").returncode == 0
    assert not secret.exists(), "what is not set any more is forgotten"
    assert "ERASE_DELAY" not in unit.read_text()


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="THE SERVICE IS INSTALLED BY SYSTEMD, WHICH IS LINUX'S"
)
def test_installing_and_uninstalling_say_one_json_value_where_that_is_asked_for(
    person: dict[str, str], root: Path
) -> None:
    done = serve(person, "--install", "--json")
    told = {
        "url": f"http://127.0.0.1:{person['MEMOLITH_PORT']}",
        "service": str(root / ".config/systemd/user/memolith.service"),
    }
    assert (done.returncode, json.loads(done.stdout)) == (0, told), done.stderr
    for removed in (True, False):
        done = serve(person, "--uninstall", "--json")
        assert (done.returncode, json.loads(done.stdout)) == (0, {"removed": removed}), done.stderr


@pytest.mark.slow
def test_a_port_that_is_taken_or_none_installs_nothing(person: dict[str, str], root: Path) -> None:
    with socket.create_server(("127.0.0.1", int(person["MEMOLITH_PORT"]))):
        done = serve(person, "--install")
    assert done.returncode != 0 and "listens" in done.stderr
    assert "--port" in serve(person, "--install", "--port", "0").stderr
    assert not (root / ".config").exists()


@contextmanager
def another_program(port: int) -> Iterator[None]:
    """A server of HTTP that is not Memolith's."""
    with ThreadingHTTPServer(("127.0.0.1", port), BaseHTTPRequestHandler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def test_a_port_that_another_program_has_leaves_the_installed_service_as_it_is(
    person: dict[str, str], root: Path
) -> None:
    unit = root / ".config/systemd/user/memolith.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("as it was")
    with another_program(int(person["MEMOLITH_PORT"])):
        done = serve(person, "--install")
    assert (done.returncode, done.stdout) == (Exit.USAGE, "")
    assert "something listens at" in done.stderr and "--port" in done.stderr
    assert unit.read_text() == "as it was"
    assert not (root / "systemctl.log").exists()


def test_an_answer_of_another_program_is_not_taken_for_the_service_that_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It took the port after that was looked at."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with ExitStack() as ending:

        class Overtaken(Systemd):
            def install(self, served: Served) -> None:
                ending.enter_context(another_program(served.port))

        monkeypatch.setattr(background_service, "service", lambda: Overtaken(tmp_path / "memolith.service"))
        with pytest.raises(ApiFailed, match="is installed, and another program answers at") as told:
            _install(tmp_path, port, "none")
    assert "`memolith doctor` says what is wrong" in str(told.value.advice)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("answered", "answer"),
    [
        (b"HTTP/1.1 200 OK\r\nx-memolith-region: laptop\r\ncontent-length: 0\r\n\r\n", Answer.MEMOLITH),
        (b"HTTP/1.1 503 No\r\nx-memolith-region: laptop\r\ncontent-length: 0\r\n\r\n", Answer.NONE),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", Answer.ANOTHER),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Answer.ANOTHER),
        (b"", Answer.NONE),
    ],
    ids=["memolith", "without its index", "another server of HTTP", "no server of HTTP", "a connection that ends"],
)
def test_who_answers_at_a_port_is_told_by_what_memolith_alone_says(answered: bytes, answer: Answer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answered)

        thread = Thread(target=answer_once)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert answer_of(url) is answer
        thread.join()
    assert answer_of(url) is Answer.NONE


def test_a_manager_that_refuses_is_named_with_what_to_do(person: dict[str, str], root: Path) -> None:
    (root / "bin" / "systemctl").write_text("#!/bin/sh\necho Failed to connect to bus >&2\nexit 1\n")
    done = serve(person, "--install")
    assert done.returncode != 0
    assert "Failed to connect to bus" in done.stderr and "enable-linger" in done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="THE UNIT IS NOT VERIFIED: NO systemd-analyze")
def test_systemd_takes_the_unit_with_any_path(tmp_path: Path) -> None:
    settings = {"MEMOLITH_MODEL_URL": "http://[::1]/a%20b?$x", "OPENAI_API_KEY": "sk-x"}
    served = Served(ODD.root, 8377, sys.executable, settings=settings)
    unit = tmp_path / "memolith.service"
    unit.write_text(unit_of(served, tmp_path / "memolith.env"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(unit)], capture_output=True, text=True, check=False
    )
    complaints = [line for line in done.stderr.splitlines() if "memolith.service" in line]
    assert complaints == []


def test_the_unit_quotes_what_systemd_would_read_as_its_own() -> None:
    lines = dict(line.split("=", 1) for line in unit_of(ODD, Path("/x")).splitlines() if "=" in line)
    assert lines["ExecStart"] == '"/opt/py thon/$$bin/python" -m memolith.entry.serve'
    assert lines["Environment"] == (
        '"MEMOLITH_ROOT=/tmp/with space/100%% \\"quoted\\" $HOME" "MEMOLITH_PORT=8377" "MEMOLITH_SEARCH_MODEL=none"'
    )
    assert lines["StandardOutput"] == "null"
    with pytest.raises(InvalidRequest, match="printable"):
        unit_of(Served(Path("/a\nExecStart=evil"), 1), Path("/x"))
    assert "EnvironmentFile" not in lines


def test_keys_stand_in_a_file_of_their_own_as_systemd_reads_one() -> None:
    """In double quotes it takes a backslash before a quote and a backslash away, and expands nothing."""
    keyed = Served(Path("/r"), 1, settings={"OPENAI_API_KEY": 'a"b\\c$d%e', "MEMOLITH_MODEL_SERVICE": "openai"})
    lines = unit_of(keyed, Path("/home/a b/100%/memolith.env")).splitlines()
    assert "EnvironmentFile=/home/a b/100%%/memolith.env" in lines
    assert "OPENAI_API_KEY" not in "".join(lines) and '"MEMOLITH_MODEL_SERVICE=openai"' in "".join(lines)
    assert secrets_of(keyed).splitlines()[1:] == ['OPENAI_API_KEY="a\\"b\\\\c$d%e"']
    with pytest.raises(InvalidRequest, match="OPENAI_API_KEY"):
        secrets_of(Served(Path("/r"), 1, settings={"OPENAI_API_KEY": "a\nb"}))


class Asked(dict[str, str]):
    """An environment that knows which variables were looked for."""

    def __init__(self, **set_ones: str) -> None:
        super().__init__(set_ones)
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


@pytest.mark.parametrize("chosen", [{}, *({"MEMOLITH_MODEL_SERVICE": name} for name in MODEL_SERVICES)])
def test_every_setting_that_the_server_reads_is_kept(chosen: dict[str, str]) -> None:
    needed = {"AWS_REGION": "eu-west-1", "ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}
    environment = Asked(**needed, **chosen, MEMOLITH_RERANK_URL="http://127.0.0.1:1/rerank")
    LocalSettings.read(environment)
    seal_folder(environment)
    options = {"MEMOLITH_ROOT", "MEMOLITH_PORT", "MEMOLITH_SEARCH_MODEL", "MEMOLITH_OUTPUT"}
    told = {**dict.fromkeys(environment.names, "1"), **chosen}
    assert set(settings_of(told)) == environment.names - options


def test_the_page_of_the_laptop_has_every_setting_of_the_server_with_its_default() -> None:
    page = Path("docs/laptop.md").read_text().partition("| setting | default |")[2].partition("\n\n")[0]
    found = dict(re.findall(r"^\| `(MEMOLITH_\w+)` \| ([^|]*?) \|", page, re.MULTILINE))
    names = {*background_service.SETTINGS, *Served(Path("/"), 1).variables} - {"XDG_CONFIG_HOME"}
    assert set(found) == names
    defaults = LocalSettings.read({})
    assert found["MEMOLITH_PORT"] == str(defaults.port)
    assert found["MEMOLITH_LOG_LEVEL"] == f"`{defaults.log_level}`"
    assert found["MEMOLITH_ERASE_DELAY_DAYS"] == str(defaults.erase_delay_days)
    assert found["MEMOLITH_MAX_MEMORIES_PER_STORE"] == f"{defaults.memories_per_store:,}"


def test_launchds_list_has_the_same_command_and_folder_and_drops_the_key() -> None:
    keyed = plistlib.loads(plist_of(Served(Path("/r"), 1, settings={"OPENAI_API_KEY": "sk-x"})))
    assert keyed["EnvironmentVariables"]["OPENAI_API_KEY"] == "sk-x"
    told = plistlib.loads(plist_of(ODD))
    assert told["ProgramArguments"] == ["/opt/py thon/$bin/python", "-m", "memolith.entry.serve"]
    variables = {"MEMOLITH_ROOT": str(ODD.root), "MEMOLITH_PORT": "8377", "MEMOLITH_SEARCH_MODEL": "none"}
    assert told["EnvironmentVariables"] == variables
    assert (told["StandardOutPath"], told["RunAtLoad"]) == ("/dev/null", True)


def test_launchd_is_asked_to_end_the_old_agent_and_begin_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "launchctl"
    fake.write_text(f"#!/bin/sh\necho $1 >> {tmp_path}/asked\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    agent = service("darwin", tmp_path)
    assert isinstance(agent, Launchd)
    agent.install(ODD)
    assert plistlib.loads(agent.path.read_bytes())["Label"] == "memolith.serve"
    assert stat.S_IMODE(agent.path.stat().st_mode) == 0o600, "a key of a service may be in it"
    assert (agent.uninstall(), agent.uninstall(), agent.path.exists()) == (True, False, False)
    assert (tmp_path / "asked").read_text().split() == ["bootout", "bootstrap", "bootout"]


def test_each_platform_has_its_manager_or_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    unit = service("linux", tmp_path)
    assert isinstance(unit, Systemd) and unit.path == tmp_path / "xdg" / "systemd" / "user" / "memolith.service"
    with pytest.raises(InvalidRequest, match="win32"):
        service("win32", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ApiFailed, match="cannot be run"):
        unit.install(Served(tmp_path, 1))
