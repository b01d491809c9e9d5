"""The replicator's control address: HTTP on 127.0.0.1.

| request | answer |
|---|---|
| `GET /replication` | settings, and for each pair of regions what waits and what was copied |
| `POST /replication` with a JSON object | changes the settings it names, then answers as GET does |
| `GET /replication/recent?limit=100` | the copies made last, newest first |

A setting that does not exist, or a value outside its range, is answered 400 with ``{"error": ...}`` and changes
nothing.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from scripts.local_cloud.replication.replicator import Replicator
from scripts.local_cloud.replication.settings import BadSettings

_MOST_BYTES = 100_000


class Control:
    """Serves one replicator on a free port of 127.0.0.1, from a thread of its own."""

    def __init__(self, replicator: Replicator) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(replicator))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True, name="control")

    @property
    def url(self) -> str:
        """Where it answers, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and give the port back."""
        self._server.shutdown()
        self._server.server_close()


def _handler(replicator: Replicator) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if url.path == "/replication":
                self._answer(200, replicator.status())
            elif url.path == "/replication/recent":
                limit = parse_qs(url.query).get("limit", ["100"])[0]
                self._answer(200, {"copies": replicator.recent(int(limit) if limit.isdecimal() else 100)})
            else:
                self._answer(404, {"error": "there are /replication and /replication/recent"})

        def do_POST(self) -> None:
            if urlsplit(self.path).path != "/replication":
                self._answer(404, {"error": "settings are posted to /replication"})
                return
            try:
                replicator.use(replicator.settings.changed(self._body()))
            except (BadSettings, ValueError) as error:
                self._answer(400, {"error": str(error)})
            else:
                self._answer(200, replicator.status())

        def _body(self) -> dict[str, Any]:
            length = int(self.headers.get("Content-Length") or 0)
            if length > _MOST_BYTES:
                raise BadSettings("the body is too long")
            body = json.loads(self.rfile.read(length) or b"{}")
            if not isinstance(body, dict):
                raise BadSettings("the body is a JSON object of settings")
            return body

        def _answer(self, status: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Log no requests."""

    return Handler
