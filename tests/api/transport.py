"""The unchanged SDK, without a network: requests become HTTP API events, answers become responses.

`Gateway` routes GET to one function and the rest to another, as the deployment does.
"""

from __future__ import annotations

import base64
import http.client
from collections.abc import Callable, Mapping
from typing import Any

import httpx2

from memolith.wire.wsgi import body_of, to_event

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Gateway(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """A transport for `httpx2` clients: `reads` answers GET, `writes` everything else.

    Attributes:
        log: method, path with query, and status of every request, in order.
    """

    def __init__(self, reads: Answer, writes: Answer | None = None) -> None:
        self._reads = reads
        self._writes = writes or reads
        self.log: list[tuple[str, str, int]] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return self._handle(request, request.read())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return self._handle(request, await request.aread())

    def _handle(self, request: httpx2.Request, body: bytes) -> httpx2.Response:
        raw_path = request.url.raw_path.decode("ascii")
        path, _, query = raw_path.partition("?")
        event = to_event(request.method, path, query, request.headers.multi_items(), body)
        answer = (self._reads if request.method == "GET" else self._writes)(event)
        self.log.append((request.method, raw_path, answer["statusCode"]))
        return httpx2.Response(
            answer["statusCode"], headers=dict(answer["headers"]), content=body_of(answer), request=request
        )


def body_of_event(event: Mapping[str, Any]) -> bytes:
    """The bytes that were sent."""
    body = event.get("body", "")
    return base64.b64decode(body) if event["isBase64Encoded"] else body.encode()


__all__ = ["Answer", "Gateway", "body_of", "body_of_event", "request_over_loopback", "to_event"]


def request_over_loopback(
    port: int, method: str, target: str, headers: Mapping[str, str | bytes], body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """One request to 127.0.0.1 as plain as can be: status, headers, body; of a stream what it begins with."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, target, body or None, dict(headers))
        response = connection.getresponse()
        answered = {name.lower(): value for name, value in response.getheaders()}
        endless = answered.get("content-type", "").startswith("text/event-stream")
        return response.status, answered, response.read1() if endless else response.read()
    finally:
        connection.close()
