"""What can be done to the running emulator: a region cut off, tables throttled, replies lost.

The emulator is one process for all regions, so a region is cut off by what a request names: the region of its
signature's scope, of its bucket, or of its HTTP API. Such a request's connection is closed without an answer. That is
so for every caller, the region's own functions among them: the region is gone, not merely out of reach.

`POST /_memolith/faults` takes `Faults.changed`'s JSON object and answers with what holds, and how often each fault has
struck since the emulator started; GET shows it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any
from urllib.parse import parse_qs

PATH = "/_memolith/faults"
_SCOPE = re.compile(r"Credential=[^/]+/\d{8}/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request")
_API = re.compile(r"/_aws/execute-api/([a-z0-9]+)/")
_LOG = re.compile(r"/log/")
_MOST_BYTES = 100_000

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class BadFaults(ValueError):
    """The faults cannot be meant; the message names the field and what it takes."""


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong now. Everything is off by default.

    Attributes:
        cut: regions that answer nothing.
        throttle: region to the share (0 to 1) of requests to its tables that are refused as throttled.
        lose_replies: region to the share of puts into logs of its bucket that are done, and whose answer is lost.
        apis: id of an HTTP API to the region it is in; without it a region's API cannot be told.
    """

    cut: frozenset[str] = frozenset()
    throttle: Mapping[str, float] = field(default_factory=dict)
    lose_replies: Mapping[str, float] = field(default_factory=dict)
    apis: Mapping[str, str] = field(default_factory=dict)

    def changed(self, wanted: Mapping[str, Any]) -> Faults:
        """Replace the fields that a JSON object names; fields not named stay.

        Raises:
            BadFaults: a field that does not exist, or a value outside its range.
        """
        known = {one.name for one in fields(self)}
        if unknown := sorted(set(wanted) - known):
            raise BadFaults(f"no such fault: {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        values: dict[str, Any] = {}
        for name, value in wanted.items():
            if name == "cut":
                values[name] = frozenset(_names(name, value))
            elif name == "apis":
                values[name] = _mapping(name, value)
            else:
                values[name] = {region: _share(name, share) for region, share in _mapping(name, value).items()}
        return replace(self, **values)

    def as_json(self) -> dict[str, Any]:
        """Return the faults as `changed` takes them."""
        return {
            "cut": sorted(self.cut),
            "throttle": dict(self.throttle),
            "lose_replies": dict(self.lose_replies),
            "apis": dict(self.apis),
        }

    def named_by(self, request: Request) -> set[str]:
        """Return the regions that a request is about, of those that faults are about."""
        named = {request.region} if request.region else set()
        if api := _API.match(request.path):
            named.add(self.apis.get(api[1], ""))
        if request.service in ("s3", ""):
            bucket = request.path.lstrip("/").partition("/")[0]
            named |= {region for region in (*self.cut, *self.lose_replies) if bucket.endswith(f"-{region}")}
        return named - {""}


@dataclass(frozen=True, slots=True)
class Request:
    """As much of a request as says what it is about; `region` and `service` are its signature's, or empty."""

    method: str
    path: str
    region: str
    service: str

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Request:
        """Read a request from an ASGI scope."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        signed = headers.get("authorization", "")
        if not signed:
            query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
            signed = f"Credential={query.get('X-Amz-Credential', [''])[0]}"
        found = _SCOPE.search(signed)
        region, service = (found[1], found[2]) if found else ("", "")
        return cls(scope.get("method", ""), scope.get("path", ""), region, service)


class Faulty:
    """An ASGI application around the emulator's, on which faults strike.

    Args:
        app: the emulator's.
        drop: closes the connection of a request that `send` would have answered, without an answer.
        chance: between 0 and 1, drawn for each request that a share is about.
    """

    def __init__(self, app: App, drop: Callable[[Send], None], chance: Callable[[], float] = random.random) -> None:
        self._app = app
        self._drop = drop
        self._chance = chance
        self.faults = Faults()
        self.struck = dict.fromkeys(("cut", "throttle", "lose_replies"), 0)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == PATH:
            await self._control(scope, receive, send)
        else:
            await self._strike(Request.of(scope), scope, receive, send)

    async def _strike(self, request: Request, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        faults = self.faults
        if faults.cut and faults.named_by(request) & faults.cut:
            self.struck["cut"] += 1
            self._drop(send)
        elif request.service == "dynamodb" and self._hits(faults.throttle.get(request.region)):
            self.struck["throttle"] += 1
            await _answer(send, 400, _THROTTLED, b"application/x-amz-json-1.0")
        elif self._loses_reply(request):
            self.struck["lose_replies"] += 1
            await self._app(scope, receive, _nobody)
            self._drop(send)
        else:
            await self._app(scope, receive, send)

    def _loses_reply(self, request: Request) -> bool:
        shares = self.faults.lose_replies
        if not shares or request.method != "PUT" or not _LOG.search(request.path):
            return False
        return any(self._hits(shares.get(region)) for region in self.faults.named_by(request))

    def _hits(self, share: float | None) -> bool:
        return share is not None and self._chance() < share

    async def _control(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            try:
                wanted = json.loads(await _body(receive) or b"{}")
                if not isinstance(wanted, dict):
                    raise BadFaults("the body is a JSON object of faults")
                self.faults = self.faults.changed(wanted)
            except ValueError as error:
                await _answer(send, 400, {"error": str(error)})
                return
        await _answer(send, 200, {**self.faults.as_json(), "struck": dict(self.struck)})


_THROTTLED = {
    "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException",
    "message": "Rate of requests exceeds the allowed throughput.",
}


async def _nobody(message: dict[str, Any]) -> None:
    """Drop an answer that no caller gets."""


async def _body(receive: Receive) -> bytes:
    body = b""
    while len(body) < _MOST_BYTES:
        message = await receive()
        body += bytes(message.get("body", b""))
        if not message.get("more_body"):
            return body
    raise BadFaults("the body is too long")


async def _answer(
    send: Send, status: int, content: Mapping[str, Any], content_type: bytes = b"application/json"
) -> None:
    body = json.dumps(content).encode()
    headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _names(name: str, value: Any) -> list[str]:
    if not (isinstance(value, list) and all(isinstance(one, str) and one for one in value)):
        raise BadFaults(f'{name} is a list of regions such as ["us-east-1"], not {value!r}')
    return value


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadFaults(f"{name} is an object, not {value!r}")
    return value


def _share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadFaults(f"{name} takes shares from 0 to 1, not {value!r}")
    return float(value)
