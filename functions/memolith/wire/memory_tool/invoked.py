"""The API asked by invoking the functions behind it: the reader for GET, the writer for everything else.

What they get is the event that API Gateway would have made of the same request, credentials included, so that a way in
has no rights of its own: it may do what the token that it was given may do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from memolith.ports.clock import Clock
from memolith.ports.errors import PORT_FAILURES, Unavailable
from memolith.ports.peers import Peers
from memolith.wire.memory_tool import texts
from memolith.wire.memory_tool.texts import ToolFailure
from memolith.wire.memory_tool.tree import Reply
from memolith.wire.wsgi import body_of, to_event

READ_ATTEMPTS = 3
PAUSE_S = 0.2


class InvokedApi:
    """`tree.Caller` over the functions of one region.

    Args:
        peers: invokes them.
        region: whose functions.
        token: an API key or a session's token, sent with every request.
        clock: waits a moment before a read is repeated. A write is sent once.
    """

    def __init__(self, peers: Peers, region: str, token: str, clock: Clock) -> None:
        self._peers = peers
        self._region = region
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self._clock = clock

    def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request. Raises ToolFailure where there is no answer."""
        raw = b"" if body is None else json.dumps(body).encode()
        encoded = urlencode(dict(query or {}), quote_via=quote, errors="surrogatepass")
        event = to_event(method, quote(path), encoded, {**self._headers, **(headers or {})}.items(), raw)
        function, attempts = ("reader", READ_ATTEMPTS) if method == "GET" else ("writer", 1)
        for attempt in range(1, attempts):
            try:
                reply = self._ask(function, event)
            except ToolFailure:
                pass
            else:
                if reply.status < 500:
                    return reply
            self._clock.pause(PAUSE_S * attempt)
        return self._ask(function, event)

    def _ask(self, function: str, event: Mapping[str, Any]) -> Reply:
        try:
            answer = self._peers.call(self._region, function, event)
            return Reply(int(answer["statusCode"]), json.loads(body_of(answer)))
        except PORT_FAILURES as error:
            maybe_done = function == "writer" and not isinstance(error, Unavailable)
            raise texts.unanswered(error, maybe_done=maybe_done) from error
        except (KeyError, ValueError) as error:
            raise texts.unanswered(f"the {function} gave no answer", maybe_done=function == "writer") from error
