"""The API on 127.0.0.1, one process: what a laptop without AWS will serve. Port 0 takes a free one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.api.transport import Answer, body_of, to_event


class _Server(ThreadingHTTPServer):
    """For a hundred clients that come at once, and go as they like."""

    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is none."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # the base class says less


@contextmanager
def serving(answer: Answer) -> Iterator[int]:
    """Serves while the block runs; yields the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            path, _, query = self.path.partition("?")
            response = answer(to_event(self.command, path, query, self.headers.items(), body))
            content = body_of(response)
            self.send_response(response["statusCode"])
            for name, value in response["headers"].items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = _serve

        def log_message(self, format: str, *args: object) -> None:
            """Keeps the tests' output quiet."""

    server = _Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
