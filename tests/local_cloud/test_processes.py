"""A process that was started is found again and ended, with its children, and nobody else's is touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.local_cloud.processes import ProcessFiles
from tests.local_cloud.conftest import until

SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
KILLED = (-signal.SIGKILL, 0)
"""What `poll` tells of a killed child: 0 where whoever stopped it has taken its status already."""
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEPER!r}, sys.argv[1]])"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[ProcessFiles]:
    """Records in a folder of the test; what still runs afterwards is ended."""
    made = ProcessFiles(tmp_path / "processes", str(tmp_path))
    yield made
    for name in made.recorded():
        made.stop(name, grace_s=0)


def start(processes: ProcessFiles, folder: Path, program: str, *words: str) -> subprocess.Popen[bytes]:
    """Start a Python program and wait until it has printed something."""
    log = folder / "log"
    argv = [sys.executable, "-c", program, *words]
    process = processes.start("it", argv, environment=dict(os.environ), cwd=folder, log=log)
    until(lambda: log.read_text().startswith("up"), "the program runs")
    return process


def test_a_started_process_is_found_until_it_is_stopped(processes: ProcessFiles, tmp_path: Path) -> None:
    process = start(processes, tmp_path, SLEEPER)
    running = processes.find("it")
    assert running is not None
    assert running.pid == process.pid
    assert processes.stop("it")
    assert processes.find("it") is None
    assert processes.recorded() == []
    assert not processes.stop("it")


def test_a_process_that_ignores_the_request_is_killed(processes: ProcessFiles, tmp_path: Path) -> None:
    process = start(processes, tmp_path, STUBBORN)
    assert processes.stop("it", grace_s=0.2)
    until(lambda: process.poll() in KILLED, "it was killed")


def test_children_end_with_their_parent(processes: ProcessFiles, tmp_path: Path) -> None:
    start(processes, tmp_path, PARENT, str(tmp_path))
    assert len(processes.members("it")) == 2
    processes.stop("it")
    assert processes.members("it") == []


def test_children_whose_parent_was_killed_are_ended_too(processes: ProcessFiles, tmp_path: Path) -> None:
    process = start(processes, tmp_path, PARENT, str(tmp_path))
    process.kill()
    process.wait()
    assert processes.find("it") is None
    assert len(processes.members("it")) == 1
    assert processes.stop("it")
    assert processes.members("it") == []


def test_another_process_that_was_given_the_recorded_id_is_left_alone(processes: ProcessFiles, tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", SLEEPER], start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        (tmp_path / "processes").mkdir()
        record = {"name": "it", "pid": other.pid, "token": "--instance=0123456789abcdef"}
        (tmp_path / "processes" / "it.json").write_text(json.dumps(record))
        assert processes.find("it") is None
        assert not processes.stop("it")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
