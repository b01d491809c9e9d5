"""A server of this machine's own that a program starts: two of them may do so at once, and one server is enough."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from memolith.adapters.memory import ManualClock
from memolith.clients.cli.failures import ApiFailed
from memolith.clients.cli.started_server import KEY_S, START_S, find_or_start

FAILED = "`memolith serve` was started and has ended with code 1"


class Ended:
    """A server that finds the port taken: it has ended when it is first looked at."""

    returncode = 1

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options["stderr"].write(b"error: port 1 is not to be had: Address already in use.\n")

    def poll(self) -> int:
        return self.returncode


class KeyComes(ManualClock):
    """A clock during whose pauses the first server writes its key, a second after it listens."""

    def __init__(self, key: Path) -> None:
        super().__init__()
        self._key = key

    def pause(self, seconds: float) -> None:
        super().pause(seconds)
        if sum(self.paused_s) >= 1:
            self._key.write_text("sk-memolith-first\n")


@contextmanager
def listening(status: int = 200, **headers: str) -> Iterator[str]:
    """Yield the port of a server of HTTP that answers so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, text in {**headers, "content_length": "0"}.items():
                self.send_header(name.replace("_", "-"), text)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield str(server.server_port)
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a key, in which a server that is started ends at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMOLITH_ROOT", str(tmp_path / "root"))
    monkeypatch.setattr(subprocess, "Popen", Ended)
    return tmp_path / "root"


@pytest.mark.parametrize("status", [200, 503], ids=["in order", "not ready yet"])
def test_a_server_that_finds_another_of_memolith_at_its_port_is_no_failure_before_that_one_has_its_key(
    root: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    with listening(status, x_memolith_region="laptop") as port:
        monkeypatch.setenv("MEMOLITH_PORT", port)
        found = find_or_start(None, None, KeyComes(root / "key"))
    assert (found.url, found.key) == (f"http://127.0.0.1:{port}", "sk-memolith-first")


def test_a_server_of_another_folder_at_the_port_is_not_waited_for_as_long_as_a_start_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = ManualClock()
    with listening(x_memolith_region="laptop") as port:
        monkeypatch.setenv("MEMOLITH_PORT", port)
        with pytest.raises(ApiFailed, match=FAILED) as told:
            find_or_start(None, None, clock)
    assert "Address already in use" in str(told.value.advice)
    assert KEY_S <= sum(clock.paused_s) < KEY_S + 1 < START_S


def test_a_server_that_has_ended_where_another_program_listens_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    with listening() as port:
        monkeypatch.setenv("MEMOLITH_PORT", port)
        with pytest.raises(ApiFailed, match=FAILED):
            find_or_start(None, None, clock)
    assert clock.paused_s == []


def test_a_server_that_has_ended_where_nothing_listens_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    with listening() as port:
        monkeypatch.setenv("MEMOLITH_PORT", port)
    with pytest.raises(ApiFailed, match=FAILED):
        find_or_start(None, None, clock)
    assert clock.paused_s == []
