"""A session of an agent's program: begun with a key at the first request, renewed while the program runs, then ended.

What reads and writes with a session's token carries the session's trust class, and is never shown a withheld text; the
key itself is used for nothing else. A token that was given in the key's place is used as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memolith.app.auth.session_tokens import PREFIX
from memolith.clients.api.client import SESSIONS, ApiClient, address
from memolith.clients.api.http import ApiError, ApiRefused, ApiUnanswered, HttpApi
from memolith.clients.cli.api_address import is_this_machine
from memolith.clients.cli.failures import ApiFailed
from memolith.clients.cli.store_argument import one_called
from memolith.core.errors import InvalidRequest, MemolithError
from memolith.core.limits import SESSION_STORES_MAX, TOKEN_LIFETIME_MAX_S
from memolith.core.times import parse_rfc3339
from memolith.ports.clock import Clock
from memolith.wire.mcp.bearers import stores_in
from memolith.wire.memory_tool import texts
from memolith.wire.memory_tool.texts import ToolFailure
from memolith.wire.memory_tool.tree import Reply

UNAUTHENTICATED, FORBIDDEN = 401, 403
TITLE = "memolith mcp"
NO_STORE_YET = "there is no memory store yet: `memolith stores create NAME` makes one"
TOO_MANY = "there are {count} memory stores, and a session takes {most}: name those to serve with --store"
SEVERAL_MAX = 100
LEAST_US = 60_000_000


class AgentSession:
    """Asks the API with a session's token (`memory_tool.tree.Caller`). May be shared between threads.

    Args:
        connect: makes the client, with the key; called once, at the first request. It may start a server.
        named: the stores, by id or name; none for all that the key reaches.
        clock: tells when a token is old.
    """

    def __init__(self, connect: Callable[[], ApiClient], named: Sequence[str], clock: Clock) -> None:
        self._connect = connect
        self._named = tuple(named)
        self._clock = clock
        self._lock = threading.Lock()
        self._owner: ApiClient | None = None
        self._http: HttpApi | None = None
        self._session_id: str | None = None
        self._store_ids: list[str] = []
        self._renew_at_us: float = 0

    def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request. After a 401, which did nothing, once more with a new token. Raises ToolFailure."""
        reply = self._send(self._ready(), method, path, query, body, headers)
        if reply.status == UNAUTHENTICATED and self._session_id is not None:
            reply = self._send(self._ready(refused=True), method, path, query, body, headers)
        return reply

    def store_ids(self) -> list[str]:
        """Return the ids of the session's stores; begins it where it has not begun. Raises ToolFailure."""
        self._ready()
        return list(self._store_ids)

    def end(self) -> None:
        """End the session, if one was begun. What keeps it from ending is passed over: its token ends by itself."""
        with self._lock:
            if self._owner is None or self._session_id is None:
                return
            session_id, self._session_id, self._http = self._session_id, None, None
            try:
                self._owner.post(address(session_id, "archive", of=SESSIONS))
            except ApiError:
                return

    def _send(
        self,
        http: HttpApi,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
    ) -> Reply:
        try:
            return Reply(200, http.send(method, path, query, body, headers))
        except ApiRefused as error:
            return Reply(error.status, error.body if isinstance(error.body, Mapping) else {})
        except ApiUnanswered as error:
            raise _unanswered(error, maybe_done=error.maybe_done) from error
        except InvalidRequest as error:  # it has a character that no request may have, and was not sent
            raise ToolFailure(texts.REFUSED.format(reason=error.message)) from error

    def _ready(self, *, refused: bool = False) -> HttpApi:
        """Return the way to the API with a token that is good for a while. Raises ToolFailure."""
        with self._lock:
            if self._http is not None and not refused and self._clock.now_us() < self._renew_at_us:
                return self._http
            try:
                if self._session_id is None or self._owner is None:
                    return self._begin()
                return self._renew(self._owner, self._session_id)
            except ApiRefused as error:
                raise ToolFailure(texts.REFUSED.format(reason=error.message)) from error
            except ApiUnanswered as error:
                raise _unanswered(error) from error
            except MemolithError as error:
                advice = error.advice if isinstance(error, ApiFailed) else ""
                raise ToolFailure(texts.REFUSED.format(reason=f"{error.message}. {advice}".strip())) from error

    def _begin(self) -> HttpApi:
        owner = self._owner = self._connect()
        named = list(dict.fromkeys(one_called(owner, one) for one in self._named))
        if owner.http.key.startswith(PREFIX):
            self._store_ids = named or stores_in(owner.http.key)
            self._renew_at_us, self._http = float("inf"), owner.http
            return owner.http
        self._store_ids = named or self._all(owner)
        try:
            session = self._created(owner, "read_write")
        except ApiRefused as error:
            if error.status != FORBIDDEN:
                raise
            session = self._created(owner, "read_only")  # a key that may only read begins sessions that only read
        self._session_id = str(session["id"])
        return self._take(owner, session)

    def _all(self, owner: ApiClient) -> list[str]:
        """Return the ids of all stores. Raises ToolFailure for none and for too many, and as the API does."""
        found = [str(one.id) for one in owner.stores.list(limit=SEVERAL_MAX)]
        if not found:
            raise ToolFailure(texts.REFUSED.format(reason=NO_STORE_YET))
        if len(found) > SESSION_STORES_MAX:
            reason = TOO_MANY.format(count=len(found), most=SESSION_STORES_MAX)
            raise ToolFailure(texts.REFUSED.format(reason=reason))
        return found

    def _created(self, owner: ApiClient, access: str) -> dict[str, Any]:
        resources = [
            {"type": "memory_store", "memory_store_id": store_id, "access": access} for store_id in self._store_ids
        ]
        begin = {"resources": resources, "title": TITLE, "token_lifetime_seconds": TOKEN_LIFETIME_MAX_S}
        return owner.post(SESSIONS, begin)

    def _renew(self, owner: ApiClient, session_id: str) -> HttpApi:
        """Get another token; a session that has been ended meanwhile is begun anew. Raises as the API does."""
        try:
            renewed = owner.post(
                address(session_id, "token", of=SESSIONS), {"token_lifetime_seconds": TOKEN_LIFETIME_MAX_S}
            )
        except ApiRefused as error:
            if error.status in (UNAUTHENTICATED, FORBIDDEN) or error.status >= 500:
                raise
            self._session_id = None
            return self._begin()
        return self._take(owner, renewed)

    def _take(self, owner: ApiClient, session: Mapping[str, Any]) -> HttpApi:
        """Use a session's token until nine tenths of its time are over, and for a minute in any case: clocks differ."""
        now_us = self._clock.now_us()
        left_us = parse_rfc3339(str(session["token_expires_at"])) - now_us
        self._renew_at_us = now_us + max(left_us * 0.9, LEAST_US)
        self._http = HttpApi(owner.http.url, str(session["token"]), self._clock)
        return self._http


def _unanswered(error: ApiUnanswered, *, maybe_done: bool = False) -> ToolFailure:
    """Say that nobody answers; where a server of this machine never got the request, say what starts it.

    `maybe_done`: what was asked for may have been done.
    """
    start = "" if error.maybe_done or not is_this_machine(error.url) else "; `memolith serve` starts it"
    return texts.unanswered(f"{error}{start}", maybe_done=maybe_done)
