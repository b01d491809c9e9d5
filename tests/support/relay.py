"""An address that stands for another one, and counts what goes through."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "host"}
TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Relay:
    """Attributes: asked: method, path and query of each request so far."""

    url: str
    asked: list[str] = field(default_factory=list)


@contextmanager
def relay(url: str) -> Iterator[Relay]:
    """Passes requests on to a URL while the block runs."""
    with httpx2.Client(timeout=TIMEOUT_S) as upstream:

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass_on(self) -> None:
                through.asked.append(f"{self.command} {self.path}")
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
                answer = upstream.request(self.command, url.rstrip("/") + self.path, headers=headers, content=body)
                self.send_response(answer.status_code)
                for name, value in answer.headers.items():
                    if name.lower() not in HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("content-length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            do_GET = do_POST = do_DELETE = _pass_on

            def log_message(self, format: str, *args: object) -> None:
                """Keeps the tests' output quiet."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        through = Relay(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield through
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
