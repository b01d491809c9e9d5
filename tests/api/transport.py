"""The unchanged SDK, without a network: requests become HTTP API events, answers become responses.

`to_event` does what API Gateway's HTTP API does (payload format 2.0): header names in lower case, repeated headers
joined, the path and the query as they came, the body as text where its content type is textual and it is UTF-8, as
base64 otherwise. `Gateway` routes GET to one function and the rest to another, as the deployment does.
"""

from __future__ import annotations

import base64
import http.client
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx2

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_TEXTUAL = ("text/", "application/json", "application/xml", "application/javascript")


def to_event(
    method: str,
    path: str,
    query: str = "",
    headers: Iterable[tuple[str, str]] = (),
    body: bytes = b"",
    stage: str = "$default",
) -> dict[str, Any]:
    """The event of one request; `path` and `query` as on the wire."""
    joined: dict[str, str] = {}
    for name, value in headers:
        joined[name.lower()] = f"{joined[name.lower()]},{value}" if name.lower() in joined else value
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": f"{method} /{{proxy+}}",
        "rawPath": path,
        "rawQueryString": query,
        "headers": joined,
        "requestContext": {"http": {"method": method, "path": path, "sourceIp": "127.0.0.1"}, "stage": stage},
        "isBase64Encoded": False,
    }
    if body:
        event["body"], event["isBase64Encoded"] = _encoded(body, joined.get("content-type", ""))
    return event


def _encoded(body: bytes, content_type: str) -> tuple[str, bool]:
    if content_type.startswith(_TEXTUAL):
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), True


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


def body_of(answer: Mapping[str, Any]) -> bytes:
    """The bytes a gateway would send. Raises UnicodeEncodeError for an answer that no gateway could."""
    if answer["isBase64Encoded"]:
        return base64.b64decode(answer["body"])
    return str(answer["body"]).encode()


def request_over_loopback(
    port: int, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """One request to 127.0.0.1 as plain as can be: status, headers, body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, target, body or None, dict(headers))
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()
