"""The server over streamable HTTP, one HTTP API event at a time: stateless, answers as JSON, no streams.

    POST /mcp/{memory_store_id}     the store in the path
    POST /mcp                       every store of a session's token, or of an API key; a tool's `project` says which

Every event has a server and a session manager of its own: the manager runs once in its life, and nothing may be left
between two callers in one process. The bearer is sent on with every request to the API, which alone decides what it is
worth; the API is asked for it before the message is read (`bearers`), and here it is only looked at to see that it is
one, and which stores it names.
Source: https://modelcontextprotocol.io/specification, "Streamable HTTP"; RFC 6750 §3 (WWW-Authenticate).
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anyio import sleep_forever
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from memolith.app.auth.session_tokens import PREFIX
from memolith.core import ids
from memolith.core.errors import InvalidRequest, MemolithError, Unauthenticated, Unavailable
from memolith.wire import auth
from memolith.wire.mcp.bearers import Bearers, stores_in
from memolith.wire.mcp.server import Stores, server_on
from memolith.wire.requests import BODY_MAX_BYTES

ROOT = "/mcp"
Event = Mapping[str, Any]


class McpHttp:
    """Answers HTTP API events (payload format 2.0).

    Args:
        open_stores: ids of stores, or None for all, and a bearer to what the tools act on.
        bearers: who is let in.
        own_address: the hosts and origins that a request may name, from its event.
    """

    def __init__(
        self,
        open_stores: Callable[[Sequence[str] | None, str], Stores],
        bearers: Bearers,
        own_address: Callable[[Event], TransportSecuritySettings] | None = None,
    ) -> None:
        self._open_stores = open_stores
        self._bearers = bearers
        self._own_address = own_address or _of_domain

    def answer(self, event: Event) -> dict[str, Any]:
        """Answer an event. A request of the protocol that fails gets the protocol's own error."""
        if event["requestContext"]["http"]["method"] != "POST":
            return _refused(405, "only POST is answered: there are no sessions and no streams", {"allow": "POST"})
        headers = {str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()}
        try:
            bearer = _bearer(headers)
            store_ids = _stores_of(str(event["rawPath"]), bearer)
            self._bearers.check(store_ids[0] if store_ids else None, bearer)
            body = _body_of(event)
        except Unavailable as error:
            return _refused(503, str(error))
        except _Unreadable as error:
            return _refused(400, str(error))
        except Unauthenticated as error:
            return _refused(401, str(error), {"www-authenticate": 'Bearer realm="memolith"'})
        except MemolithError as error:
            return _refused(404, str(error))
        server = server_on(self._open_stores(store_ids, bearer))
        return asyncio.run(_exchange(server, self._own_address(event), headers, body))


class _Unreadable(Exception):
    """The body is not what the event says it is."""


def _body_of(event: Event) -> bytes:
    body = str(event.get("body") or "")
    try:
        return base64.b64decode(body, validate=True) if event.get("isBase64Encoded") else body.encode()
    except ValueError:
        raise _Unreadable("the body must be UTF-8") from None


def _bearer(headers: Mapping[str, str]) -> str:
    """Return the API key or session's token, not verified yet. Raises Unauthenticated for what is neither."""
    scheme, _, text = headers.get("authorization", "").strip().partition(" ")
    bearer = text.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "").strip()
    if not bearer.startswith(PREFIX):
        auth.of_key(bearer)
    return bearer


def _stores_of(path: str, bearer: str) -> list[str] | None:
    """Return the store that the path names, or else the token's; None for all of a key's. Raises InvalidRequest."""
    named = path.removeprefix(ROOT).strip("/")
    if named:
        if not ids.STORE.fullmatch(named):
            raise InvalidRequest("path", f"must be {ROOT}, or {ROOT}/ and a memory store's id, memstore_…")
        return [named]
    if not bearer.startswith(PREFIX):
        return None
    stores = stores_in(bearer)
    if not stores:
        raise InvalidRequest("path", f"must name the store, {ROOT}/memstore_…: the token has none")
    return stores


def _of_domain(event: Event) -> TransportSecuritySettings:
    """Allow the API's own domain alone."""
    domain = str(event["requestContext"].get("domainName", ""))
    return TransportSecuritySettings(allowed_hosts=[domain], allowed_origins=[f"https://{domain}"])


async def _exchange(
    server: Server[Any], security: TransportSecuritySettings, headers: Mapping[str, str], body: bytes
) -> dict[str, Any]:
    """Run one request through a session manager that lives as long as it."""
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=security,
        max_request_body_size=BODY_MAX_BYTES,
    )
    exchange = _Exchange(body, headers)
    async with manager.run():
        await manager.handle_request(exchange.scope, exchange.receive, exchange.send)
    return exchange.response()


class _Exchange:
    """One event as ASGI's request, and the response that is sent to it. Source: ASGI 3, "HTTP"."""

    def __init__(self, body: bytes, headers: Mapping[str, str]) -> None:
        self._body = body
        self._received = False
        self._status = 500
        self._headers: dict[str, str] = {}
        self._content = b""
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "https",
            "path": ROOT,
            "raw_path": ROOT.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "server": None,
            "client": None,
        }

    async def receive(self) -> dict[str, Any]:
        """Return the body, and then nothing: a function does not see an event's client leave."""
        if self._received:
            await sleep_forever()
        self._received = True
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def send(self, message: Mapping[str, Any]) -> None:
        """Keep a part of the response."""
        if message["type"] == "http.response.start":
            self._status = int(message["status"])
            self._headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
        else:
            self._content += message.get("body", b"")

    def response(self) -> dict[str, Any]:
        """Return the response in Lambda's form."""
        headers = {**self._headers, "cache-control": "no-store"}
        headers.pop("content-length", None)
        return {
            "statusCode": self._status,
            "headers": headers,
            "body": self._content.decode(),
            "isBase64Encoded": False,
        }


def _refused(status: int, reason: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": reason}}
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json", "cache-control": "no-store", **(headers or {})},
        "body": json.dumps(body, ensure_ascii=False),
        "isBase64Encoded": False,
    }
