"""Requests to one address, over connections that stay open, one for each thread.

What only reads is sent again without an answer, what writes is not, unless the caller says that repeating is safe. An
address that refuses the connection is not asked again: nothing listens there, and waiting does not change that.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from memolith.core.errors import InvalidRequest
from memolith.ports.clock import Clock
from memolith.wire.errors import may_be_done, message_of

TIMEOUT_S = 35.0
"""A little more than the API itself may take."""

CONNECT_TIMEOUT_S = 5.0
ATTEMPTS = 3
PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0
BETA = "agent-memory-2026-07-22"
OK, REDIRECT = 200, 300
NOT_FOUND = "not_found_error"
_NO_TARGET = re.compile(r"[^!-~]")
"""What HTTP has in no request line: spaces, control characters, and all beyond ASCII."""

_QUOTE = "Write spaces, control characters and what is not ASCII as %20 and the like, or name the object by its id"
REPEATABLE = frozenset({408, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""


class ApiError(Exception):
    """A request that came to nothing."""


class ApiRefused(ApiError):
    """The API answered with an error.

    Attributes:
        status: the HTTP status.
        body: the answer's JSON, or None where it was none.
        maybe_done: a write may have been done all the same.
    """

    def __init__(self, status: int, body: object, *, maybe_done: bool = False) -> None:
        super().__init__(f"the answer was a {status}")
        self.status = status
        self.body = body
        self.maybe_done = maybe_done

    @property
    def kind(self) -> str:
        """The error's type, such as ``not_found_error``; empty where the API did not answer as itself."""
        return str(self._told().get("type") or "")

    @property
    def message(self) -> str:
        """What the API says of it."""
        return message_of(self._told(), str(self))

    def _told(self) -> Mapping[str, Any]:
        told = self.body.get("error") if isinstance(self.body, Mapping) else None
        return told if isinstance(told, Mapping) else {}


class ApiUnanswered(ApiError):
    """There was no answer.

    Attributes:
        url: the address, without a path.
        maybe_done: a write may have been done all the same.
    """

    def __init__(self, url: str, *, maybe_done: bool) -> None:
        super().__init__(f"{url} does not answer")
        self.url = url
        self.maybe_done = maybe_done


class _NeverSent(Exception):
    """No connection; nothing was sent. `refused`: the machine is there, and nothing listens."""

    def __init__(self, *, refused: bool) -> None:
        super().__init__()
        self.refused = refused


class HttpApi:
    """One address with one key. May be shared between threads.

    Args:
        url: the API's address, which may have a path.
        key: an API key, or a session's token.
        headers: to send with every request.
        repeat_writes: send a write again, too, where nothing is known of the first; only for callers who recognize what
            they have done themselves.
    """

    def __init__(
        self,
        url: str,
        key: str,
        clock: Clock,
        *,
        headers: Mapping[str, str] | None = None,
        repeat_writes: bool = False,
    ) -> None:
        self.url, self.key = url.rstrip("/"), key
        self._also = dict(headers or {})
        self._clock, self._repeat_writes = clock, repeat_writes
        self._address = urlsplit(self.url)
        self._headers = {"authorization": f"Bearer {key}", "anthropic-beta": BETA, "accept": "application/json"}
        self._headers.update(self._also)
        self._threads = threading.local()

    def repeating_writes(self) -> HttpApi:
        """Return the same for a caller who can repeat any write."""
        return HttpApi(self.url, self.key, self._clock, headers=self._also, repeat_writes=True)

    def with_headers(self, headers: Mapping[str, str]) -> HttpApi:
        """Return the same, sending these headers too."""
        also = {**self._also, **headers}
        return HttpApi(self.url, self.key, self._clock, headers=also, repeat_writes=self._repeat_writes)

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send a request and return the answer's JSON.

        Raises:
            ApiRefused: the answer is an error. ApiUnanswered: there is none.
            InvalidRequest: the address has a character that no request may have; nothing was sent.
        """
        writes = method != "GET"
        attempts = 1 if writes and not self._repeat_writes else ATTEMPTS
        target = (
            self._address.path
            + path
            + (f"?{urlencode(query, quote_via=quote, errors='surrogatepass')}" if query else "")
        )
        sent = {**self._headers, **(headers or {})}
        if _NO_TARGET.search(target):
            raise InvalidRequest("address", f"{self._base()}{target!a} cannot be asked for: nothing was sent. {_QUOTE}")
        payload = None
        if body is not None:
            payload, sent["content-type"] = json.dumps(body).encode(), "application/json"
        maybe_done = False
        for left in reversed(range(attempts)):
            try:
                status, told, retry_after_s = self._exchange(method, target, payload, sent)
            except _NeverSent as error:
                if error.refused or not left:
                    raise ApiUnanswered(self._base(), maybe_done=maybe_done) from error
            except (OSError, http.client.HTTPException) as error:
                maybe_done = writes
                if not left:
                    raise ApiUnanswered(self._base(), maybe_done=maybe_done) from error
            else:
                if OK <= status < REDIRECT and isinstance(told, dict):
                    return told
                maybe_done = maybe_done or (writes and may_be_done(status, ApiRefused(status, told).kind))
                if not left or status not in REPEATABLE:
                    raise ApiRefused(status, told, maybe_done=maybe_done)
                self._clock.pause(retry_after_s or PAUSE_S)
                continue
            self._clock.pause(PAUSE_S)
        raise AssertionError("unreachable")

    def _exchange(
        self, method: str, target: str, payload: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, object, float | None]:
        """Send once, and read the whole answer. A kept connection that has ended meanwhile is opened anew first.

        Raises:
            _NeverSent: no connection. OSError, HTTPException: no answer, or none that is whole.
        """
        connection = self._connection()
        try:
            connection.request(method, target, payload, dict(headers))
            answer = connection.getresponse()
            read = answer.read()
        except BaseException:
            self._drop()
            raise
        if answer.will_close:
            self._drop()
        try:
            told = json.loads(read)
        except ValueError:
            told = None
        return answer.status, told, _seconds(answer.headers.get("retry-after"))

    def _connection(self) -> http.client.HTTPConnection:
        """Return this thread's open connection, made where there is none. Raises _NeverSent."""
        kept: http.client.HTTPConnection | None = getattr(self._threads, "connection", None)
        if kept is not None and kept.sock is not None and not _has_ended(kept.sock):
            return kept
        self._drop()
        made = _connection_to(self._address)
        try:
            made.connect()
        except OSError as error:
            raise _NeverSent(refused=isinstance(error, ConnectionRefusedError)) from error
        made.sock.settimeout(TIMEOUT_S)
        self._threads.connection = made
        return made

    def _drop(self) -> None:
        kept: http.client.HTTPConnection | None = getattr(self._threads, "connection", None)
        if kept is not None:
            kept.close()
            self._threads.connection = None

    def _base(self) -> str:
        return f"{self._address.scheme}://{self._address.netloc}"


def _has_ended(sock: Any) -> bool:
    """Tell whether the other side has closed a connection on which nothing is awaited."""
    import select

    return bool(select.select([sock], [], [], 0)[0])


def _connection_to(address: SplitResult) -> http.client.HTTPConnection:
    """Make a connection, through the proxy that the environment names, never to this machine itself."""
    host, port = address.hostname or "", address.port
    if address.scheme != "https":
        return http.client.HTTPConnection(host, port, timeout=CONNECT_TIMEOUT_S)
    context = _tls()
    proxy = _proxy_for(host)
    if proxy is None:
        return http.client.HTTPSConnection(host, port, timeout=CONNECT_TIMEOUT_S, context=context)
    through = http.client.HTTPSConnection(
        proxy.hostname or "", proxy.port or 80, timeout=CONNECT_TIMEOUT_S, context=context
    )
    through.set_tunnel(host, port or 443)
    return through


def _tls() -> Any:
    """Trust what the machine trusts; where it has no certificates of its own (Python for macOS), those of certifi."""
    import ssl

    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"] and not os.environ.get("SSL_CERT_FILE"):
        try:
            import certifi
        except ImportError:
            return context
        context.load_verify_locations(certifi.where())
    return context


def _proxy_for(host: str) -> SplitResult | None:
    if not any(name.lower() == "https_proxy" for name in os.environ):
        return None
    from urllib.request import getproxies, proxy_bypass

    named = getproxies().get("https")
    return None if named is None or proxy_bypass(host) else urlsplit(named if "//" in named else f"//{named}")


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else min(float(text), LONGEST_PAUSE_S)
    except ValueError:
        return None
