"""Bearers that the API knows: asked before a message is read, and remembered for a minute.

The function has no rights of its own and cannot read the index, so it asks its region's reader for the store that the
message is about. That the answer is remembered opens nothing: every request to the API carries the bearer and is
checked there. A bearer that was revoked meanwhile is told, for a minute, which tools there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from memolith.app.auth.session_tokens import PREFIX
from memolith.app.kernel.recent import Recent
from memolith.core import ids
from memolith.core.errors import Unauthenticated, Unavailable
from memolith.core.limits import SESSION_STORES_MAX
from memolith.ports.clock import Clock
from memolith.wire.memory_tool.texts import ToolFailure
from memolith.wire.memory_tool.tree import Reply

REMEMBERED_US = 60_000_000
REMEMBERED_MAX = 1_000

_KNOWN = (200, 403, 404, 429)
"""What the API answers, where a path and an id are in form, only once it knows the bearer."""

Ask = Callable[[str | None, str], Reply]
"""A store's id, or None for all, and a bearer to the API's answer; raises ToolFailure where there is none."""


class Bearers:
    """The bearers that were good a short while ago, by their SHA-256.

    Args:
        ask: reads a store, or lists one, with a bearer.
        clock: its wall clock; one that is set back forgets.
    """

    def __init__(self, ask: Ask, clock: Clock) -> None:
        self._ask = ask
        self._good = Recent(clock, REMEMBERED_US, REMEMBERED_MAX)

    def check(self, store_id: str | None, bearer: str) -> None:
        """Return if the API lets the bearer in, whatever it may do there. One invocation, or none.

        A bearer that is refused is not remembered: a key that has just been made may be known in a moment.

        Raises:
            Unauthenticated: the API does not. Unavailable: it does not answer.
        """
        digest = hashlib.sha256(bearer.encode()).hexdigest()
        if digest in self._good:
            return
        try:
            reply = self._ask(store_id, bearer)
        except ToolFailure as failure:
            raise Unavailable(str(failure)) from failure
        if reply.status == 401:
            raise Unauthenticated(str(reply.body["error"]["message"]))
        if reply.status not in _KNOWN:
            raise Unavailable(str(reply.body["error"]["message"]), hint="try again")
        self._good.note(digest)


def stores_in(token: str) -> list[str]:
    """List the stores that a token says it opens. It is not verified: the API does that, with each request.

    What is no store's id would make another path, which the API answers before it looks at the token.

    Raises:
        Unauthenticated: it is no token, or one that no session gets: of other things than stores, or of too many.
    """
    import jwt

    no_token = Unauthenticated("this is not a token of Memolith")
    try:
        claims = jwt.decode(token.removeprefix(PREFIX), options={"verify_signature": False})
    except jwt.InvalidTokenError:
        raise no_token from None
    access = claims.get("acc")
    stores = list(access) if isinstance(access, Mapping) else []
    if len(stores) > SESSION_STORES_MAX or not all(ids.STORE.fullmatch(store_id) for store_id in stores):
        raise no_token
    return stores
