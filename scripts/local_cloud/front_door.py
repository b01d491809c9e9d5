"""The front door of a cloud without HTTP APIs: one address, from which requests go to the functions' own URLs.

``python -m scripts.local_cloud.front_door FOLDER --instance=TOKEN``. ``FOLDER`` holds ``config.json``: the endpoint,
and for each region the URLs of reader, writer, mcp and keys; it gets ``ready.json`` with the address. Below the
address a path begins with the region; what follows is the API's. It routes as `infra.constructs.api` does, and
limits nothing.
"""

from __future__ import annotations

import http.client
import json
import signal
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

LIMIT_BYTES = 10_000_000
"""The HTTP API's own, for a request. Source: Amazon API Gateway Developer Guide, "HTTP API quotas"."""
TIMEOUT_S = 120.0
HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host"})

Urls = Mapping[str, Mapping[str, str]]


def function_for(method: str, path: str) -> str | None:
    """Return the function that a request is for; None for a method that no route has."""
    segments = path.split("?", maxsplit=1)[0].split("/")[1:]
    if segments[:1] == ["mcp"]:
        return "mcp"
    if segments[:2] == ["v1", "api_keys"]:
        lists_or_makes = len(segments) == 2 and method in ("GET", "POST")
        if lists_or_makes or (len(segments) == 4 and segments[3] == "revoke" and method == "POST"):
            return "keys"
    return {"GET": "reader", "POST": "writer", "DELETE": "writer"}.get(method)


class FrontDoor(ThreadingHTTPServer):
    """The server, on 127.0.0.1 and a free port.

    Args:
        endpoint: where every function URL answers, whatever its name resolves to on this machine.
        urls: region to function to URL.
    """

    daemon_threads = True

    def __init__(self, endpoint: str, urls: Urls) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.endpoint = urlsplit(endpoint)
        self.urls = urls

    @property
    def url(self) -> str:
        """Where it answers; append a region."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FrontDoor

    def _pass_on(self) -> None:
        _, region, *rest = self.path.split("/", 2)
        path = f"/{rest[0] if rest else ''}"
        name = function_for(self.command, path)
        url = self.server.urls.get(region, {}).get(name or "")
        length = int(self.headers.get("content-length") or 0)
        if url is None or not 0 <= length <= LIMIT_BYTES:
            self.close_connection = True
            self._answer(404 if url is None else 413, {}, b'{"message":"Not Found"}' if url is None else b"{}")
            return
        body = self.rfile.read(length)
        headers = {key: value for key, value in self.headers.items() if key.lower() not in HOP_BY_HOP}
        try:
            self._answer(*self._asked(urlsplit(url).netloc, path, headers, body))
        except (OSError, http.client.HTTPException) as error:
            said = f"the function's URL does not answer: {type(error).__name__}: {error}"
            self._answer(502, {}, json.dumps({"message": said}).encode())

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_OPTIONS = _pass_on

    def _asked(
        self, host: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        place = self.server.endpoint
        kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
        connection = kind(place.hostname or "127.0.0.1", place.port, timeout=TIMEOUT_S)
        try:
            connection.request(self.command, path, body or None, {**headers, "Host": host})
            answer = connection.getresponse()
            kept = {k: v for k, v in answer.getheaders() if k.lower() not in HOP_BY_HOP | {"content-length"}}
            return answer.status, kept, answer.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a path can be personal, and the functions log every request."""


def main() -> None:
    """Serve until SIGTERM."""
    folder = Path(sys.argv[1])
    config = json.loads((folder / "config.json").read_text())
    door = FrontDoor(config["endpoint"], config["urls"])
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=door.shutdown).start())
    unfinished = folder / "ready.json.new"
    unfinished.write_text(json.dumps({"url": door.url}))
    unfinished.replace(folder / "ready.json")
    door.serve_forever()


if __name__ == "__main__":
    main()
