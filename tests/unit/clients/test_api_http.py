"""Requests of the command line: what is sent again, what is not, and what is said of a server that does not answer."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from memolith.adapters.memory import ManualClock
from memolith.clients.api.http import ApiRefused, ApiUnanswered, HttpApi
from memolith.core.errors import InvalidRequest

ROOT = Path(__file__).parents[3]
HEAVY = ("anthropic", "boto3", "httpx2", "hyperscan", "mcp", "rich", "asyncio", "cryptography")
"""Packages that take longer to import than a command may take to answer. Typer itself imports pydantic."""

COMMANDS = (
    "stores list",
    "ls memstore_1",
    "cat memstore_1 /a",
    "log memstore_1 /a",
    "search memstore_1 word",
    "rm memstore_1 /a",
    "mv memstore_1 /a /b",
    "diff memstore_1 /a",
    "put memstore_1 /a /dev/null",
    "restore memstore_1 /a --version memver_1",
    "import notes --store memstore_1",
    "export memstore_1 out",
    "sessions list",
    "quarantine list memstore_1",
)
IMPORTED = """
import os, shlex, sys
from memolith.clients.cli import main
for number, command in enumerate(sys.argv[1:]):
    if os.fork() == 0:
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{number}.{name}", os.O_WRONLY | os.O_CREAT), stream)
        try:
            main.run(shlex.split(command))
        except SystemExit:
            pass
        print(*sorted({name.partition(".")[0] for name in sys.modules}), flush=True)
        os._exit(0)
    os.wait()
"""
"""Each command in a process of its own, all of which have in common that the command line is imported."""


@contextmanager
def answering(replies: Sequence[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that sends these bytes, one for each request, each over a connection of its own, and what it was sent.

    An empty reply closes the connection instead.
    """
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for reply in replies:
                connection, _ = server.accept()
                with connection:
                    requests.append(connection.recv(65_536))
                    connection.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", requests
        thread.join(10)


def reply(status: int, body: object, headers: str = "") -> bytes:
    content = json.dumps(body).encode()
    return (
        f"HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {len(content)}\r\n{headers}\r\n".encode()
        + content
    )


BUSY = reply(503, {"error": {"type": "overloaded_error", "message": "not now"}}, "retry-after: 2\r\n")
DONE = reply(200, {"id": "x"})


def test_a_read_is_sent_again_after_503_and_after_a_connection_that_was_cut() -> None:
    clock = ManualClock()
    began = clock.now_us()
    with answering([BUSY, b"", DONE]) as (url, requests):
        assert HttpApi(url, "key", clock).send("GET", "/v1/x", {"a b": "ü&"}) == {"id": "x"}
    assert len(requests) == 3 and requests[0].startswith(b"GET /v1/x?a%20b=%C3%BC%26 HTTP/1.1\r\n")
    assert clock.now_us() - began == 2_500_000


@pytest.mark.parametrize("path", ["/v1/a b", "/v1/\x7f", "/v1/ö"])
def test_a_write_to_an_address_that_cannot_be_sent_is_refused_at_once_and_surely_not_done(path: str) -> None:
    clock = ManualClock()
    began = clock.now_us()
    with socket.create_server(("127.0.0.1", 0)) as server:
        api = HttpApi(f"http://127.0.0.1:{server.getsockname()[1]}", "key", clock, repeat_writes=True)
        with pytest.raises(InvalidRequest) as refused:
            api.send("POST", path, None, {"a": 1})
    assert "nothing was sent" in refused.value.message and clock.now_us() == began


def test_a_write_is_sent_once_and_its_lost_reply_is_told_as_unknown() -> None:
    with answering([b""]) as (url, requests), pytest.raises(ApiUnanswered) as raised:
        HttpApi(url, "key", ManualClock()).send("POST", "/v1/x", None, {"a": 1})
    assert raised.value.maybe_done and len(requests) == 1
    with answering([BUSY]) as (url, _), pytest.raises(ApiRefused) as refused:
        HttpApi(url, "key", ManualClock()).send("POST", "/v1/x", None, {"a": 1})
    assert (refused.value.kind, refused.value.message) == ("overloaded_error", "not now")


@pytest.mark.parametrize(
    ("status", "body", "maybe_done"),
    [
        (503, {"message": "Service Unavailable"}, True),
        (500, {"message": "Internal Server Error"}, True),
        (504, {"error": {"type": "timeout_error", "message": "look first"}}, True),
        (503, {"error": {"type": "overloaded_error", "message": "not now"}}, False),
        (429, {"message": "Too Many Requests"}, False),
        (409, {"error": {"type": "conflict_error", "message": "no"}}, False),
        (413, {"message": "Request Too Long"}, False),
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_refused_write_may_be_done_unless_memolith_or_a_throttle_says_that_it_is_not(
    method: str, status: int, body: object, maybe_done: bool
) -> None:
    replies = [reply(status, body)] * (1 if method == "POST" or status in (409, 413) else 3)
    with answering(replies) as (url, _), pytest.raises(ApiRefused) as refused:
        HttpApi(url, "key", ManualClock()).send(method, "/v1/x")
    assert refused.value.maybe_done is (maybe_done and method == "POST")


def test_a_repeated_write_may_be_done_where_a_gateway_answered_first_and_nobody_after_it() -> None:
    gateways = reply(503, {"message": "Service Unavailable"})
    for first, maybe_done in ((gateways, True), (BUSY, False)):
        with answering([first, BUSY, BUSY]) as (url, _), pytest.raises(ApiRefused) as refused:
            HttpApi(url, "key", ManualClock()).repeating_writes().send("POST", "/v1/x", None, {"a": 1})
        assert refused.value.maybe_done is maybe_done


def test_a_caller_who_can_repeat_writes_has_them_sent_again() -> None:
    with answering([BUSY, b"", DONE]) as (url, requests):
        HttpApi(url, "key", ManualClock()).repeating_writes().send("POST", "/v1/x", None, {"a": 1})
    assert len(requests) == 3


def test_an_address_that_refuses_the_connection_is_asked_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    clock = ManualClock()
    began = clock.now_us()
    with pytest.raises(ApiUnanswered) as raised:
        HttpApi(f"http://127.0.0.1:{port}", "key", clock).send("GET", "/v1/x")
    assert (clock.now_us(), raised.value.maybe_done) == (began, False)


def test_an_answer_that_is_not_of_the_api_is_refused_without_its_text() -> None:
    page = b"HTTP/1.1 404 X\r\ncontent-length: 19\r\n\r\n<html>secret</html>"
    with answering([page]) as (url, _), pytest.raises(ApiRefused) as refused:
        HttpApi(url, "key", ManualClock()).send("GET", "/")
    assert (refused.value.status, refused.value.body, refused.value.kind) == (404, None, "")


def test_no_command_imports_a_package_that_is_slow_to_import(tmp_path: Path) -> None:
    environment = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "functions"),
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_API_KEY": "k",
    }
    (tmp_path / "notes").mkdir()
    subprocess.run([sys.executable, "-c", IMPORTED, *COMMANDS], check=True, env=environment, cwd=tmp_path)
    for number, command in enumerate(COMMANDS):
        said = (tmp_path / f"{number}.err").read_text()
        assert "127.0.0.1:9 does not answer" in said, (command, said)
        assert "memolith serve" in said
        imported = set((tmp_path / f"{number}.out").read_text().split())
        heavy = imported & set(HEAVY)
        if command.startswith("import "):  # what reads .memolithignore looks for it, in 2 ms, and does without it
            heavy -= {"hyperscan"}
        assert "memolith" in imported and not heavy, (command, heavy)
