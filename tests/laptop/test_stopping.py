"""`memolith serve --stop`: it ends what serves a folder, whoever started it, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from memolith.adapters.local.files import shared
from memolith.clients.cli.failures import ApiFailed
from memolith.clients.cli.serve import _install
from memolith.entry.laptop_files import SERVING
from tests.laptop.processes import command, environment, serving
from tests.laptop.test_mcp import background
from tests.support.folders import quick_folder
from tests.support.mcp_clients import connected

MCP = ["-m", "memolith.clients.cli", "mcp"]


def stop(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = command(root, "--stop", *words)
    return subprocess.run(line, capture_output=True, text=True, env=environment(), timeout=120, check=False)


def ask(told: dict[str, str]) -> str:
    """What an agent is answered by `memolith mcp`, which starts the server where none runs."""
    with connected(StdioServerParameters(command=sys.executable, args=MCP, env=told)) as client:
        return str(client.call_tool("list_directory", {}).content)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="SERVERS ARE FOUND BY /proc/locks, WHICH IS LINUX'S")
def test_a_server_that_mcp_started_is_ended_and_mcp_starts_another_one(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with background(root) as told:
        assert "no memory store yet" in ask(told)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        with pytest.raises(ApiFailed) as refused:
            _install(root, int(told["MEMOLITH_PORT"]), "none")
        assert f"memolith serve --stop --root {root}" in refused.value.advice
        done = stop(root)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("process ") and str(root) in done.stdout
        assert stop(root).returncode == 1, "it had ended when the command said so"
        assert "no memory store yet" in ask(told)
        assert stop(root).returncode == 0


@pytest.mark.slow
def test_every_server_of_the_folder_is_ended_and_no_other(root: Path) -> None:
    with quick_folder() as other, serving(other) as elsewhere, serving(root) as first, serving(root) as second:
        done = stop(root, "--json")
        assert sorted(json.loads(done.stdout)["stopped"]) == sorted([first.process.pid, second.process.pid])
        assert [server.process.wait(10) for server in (first, second)] == [0, 0]
        assert elsewhere.process.poll() is None


@pytest.mark.slow
def test_what_uses_the_folder_and_is_no_server_is_left_alone_and_named(root: Path) -> None:
    done = stop(root)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"no server serves {root}" in done.stderr and "--root" in done.stderr
    with shared(root / SERVING):
        done = stop(root)
    assert (done.returncode, done.stdout) == (1, "")
    assert "another process has it open" in done.stderr
