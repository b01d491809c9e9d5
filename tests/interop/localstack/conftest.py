"""LocalStack 4.9.2 without Docker, started from a lock of its own: on 127.0.0.1, free ports, ended by process id."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.local_cloud import emulator
from scripts.local_cloud.layout import Layout
from scripts.local_cloud.patches.bare_functions import make_runtime
from scripts.local_cloud.processes import ProcessFiles

HERE = Path(__file__).parent
PYTHON = HERE / ".venv" / "bin" / "python"
READY_WITHIN_S = 120


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """MiniStack, for its DynamoDB alone: LocalStack would fetch Amazon's DynamoDB Local from outside."""
    layout = Layout(tmp_path_factory.mktemp("tables"))
    processes = ProcessFiles(layout.processes, str(layout.emulator))
    try:
        yield emulator.start(layout, processes).endpoint
    finally:
        emulator.stop(layout, processes)


@pytest.fixture(scope="session")
def localstack(tables: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where LocalStack answers."""
    assert PYTHON.exists(), "make interop-localstack installs LocalStack"
    folder, port = tmp_path_factory.mktemp("localstack"), emulator.free_port()
    for name in ("files", "tmp", "home"):
        (folder / name).mkdir()
    environment = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "FILESYSTEM_ROOT": str(folder / "files"),
        "GATEWAY_LISTEN": f"127.0.0.1:{port}",
        "DISABLE_EVENTS": "1",
        "SKIP_SSL_CERT_DOWNLOAD": "1",
        "MEMOLITH_FUNCTION_PYTHON": str(make_runtime(folder / "runtime")),
        "MEMOLITH_TABLES": tables,
    }
    log = folder / "localstack.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(PYTHON), str(HERE / "localstack_main.py")],
            env=environment,
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        endpoint = f"http://127.0.0.1:{port}"
        _await(endpoint, process, log)
        yield endpoint
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _await(endpoint: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{endpoint}/_localstack/health", timeout=2):  # noqa: S310 our own address
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"LocalStack did not start:\n{log.read_text(errors='replace')[-4_000:]}")
