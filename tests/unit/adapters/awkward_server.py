"""An HTTP server that answers as it was told, or does not answer.

boto3 itself talks to it, over a real socket, so that what a test calls a time-out or a lost reply is one. Nothing of
boto3 is replaced.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3

from memolith.adapters.aws.clients import Clients, Limits
from memolith.adapters.aws.names import Deployment

HOME, FAR = "us-east-1", "eu-west-1"
DEPLOYMENT = Deployment("test", "123456789012", (HOME, FAR), HOME)


@dataclass(frozen=True, slots=True)
class Request:
    """What came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def operation(self) -> str:
        """The operation of services that name it in a header: ``PutItem``."""
        return self.headers.get("x-amz-target", "").rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back. `cut` closes the connection after so many bytes of the body."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None


class Silence:
    """No answer: the caller's time runs out."""


class HangUp:
    """The connection is closed after the request was read, without a word."""


Script = Answer | Silence | HangUp | Callable[[Request], Answer]

SILENCE, HANG_UP = Silence(), HangUp()


def s3_error(status: int, code: str) -> Answer:
    """As S3 says it."""
    return Answer(status, f"<Error><Code>{code}</Code><Message>secret text</Message></Error>".encode())


def json_error(status: int, code: str, **more: Any) -> Answer:
    """As DynamoDB, SQS and Lambda say it."""
    body = json.dumps({"__type": f"com.amazonaws#{code}", "message": "secret text", **more}).encode()
    return Answer(status, body, {"x-amzn-errortype": code})


def json_answer(**fields: Any) -> Answer:
    """A JSON object."""
    return Answer(200, json.dumps(fields).encode())


@dataclass(slots=True)
class AwkwardServer:
    """Answers in order of `script`; the last one again and again.

    Attributes:
        clients: boto3 clients that talk to it, and wait for long, as this machine may be busy.
        hasty: others, that hardly wait.
        requests: what has come so far.
    """

    clients: Clients
    hasty: Clients
    url: str
    script: list[Script] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def answer(self, *script: Script) -> Clients:
        """Sets what comes next; clients whose patience fits."""
        self.script[:] = script
        return self.hasty if SILENCE in script else self.clients

    def forget(self) -> None:
        """Ends every silence, and begins anew."""
        self.over.set()
        self.over = threading.Event()
        self.script[:] = [Answer()]
        self.requests.clear()

    def next(self, request: Request) -> Answer | Silence | HangUp:
        self.requests.append(request)
        planned = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return planned(request) if callable(planned) else planned


@contextmanager
def awkward_server() -> Iterator[AwkwardServer]:
    """A server on a free port of this machine, gone afterwards."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = server.next(Request(self.command, self.path, headers, body))
            if isinstance(answer, Silence):
                server.over.wait(30)
            if not isinstance(answer, Answer):
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body[: answer.cut])
            self.close_connection = answer.cut is not None

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any

        def handle_expect_100(self) -> bool:
            """At once: boto3 waits a second for it."""
            going_on = super().handle_expect_100()
            self.wfile.flush()
            return going_on

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{listening.server_address[1]}"
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")
    patient, hasty = (Clients(url, Limits(10.0, wait_s, wait_s), session) for wait_s in (30.0, 0.5))
    server = AwkwardServer(patient, hasty, url, [Answer()])
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.forget()
        listening.shutdown()
        listening.server_close()
        thread.join(5)


def nobody_there() -> Clients:
    """Clients of a port that nobody listens on."""
    with awkward_server() as server:
        return server.clients
