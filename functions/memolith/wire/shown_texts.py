"""What an answer shows of memories' texts: the least trust class among them, by which a session's own class sinks.

It goes by the answer itself, not by the operation, so that an operation that is added is not forgotten. A path counts
only beside a text: what a listing shows without contents lowers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from memolith.app.api.service import Memolith
from memolith.app.kernel.results import RequestContext, SessionCredentials
from memolith.core.errors import once_done
from memolith.core.trust import AGENT, least, of_name, rank

_TEXTS = ("content", "text", "excerpt", "title")
"""A note's title is a part of its text, and what it states and links to is shown beside it."""

_CALLERS = "metadata"
"""What callers say of a store or a session, by names of their own: no name in it is one of this API."""


def lower_class(memolith: Memolith, call: RequestContext, answer: Mapping[str, Any], *, writes: bool) -> None:
    """Record, before it is answered, that a session is shown a text of a lower class than its own.

    No call for an API key, nor where the class is not lower. `writes`: this function may record it itself.

    Raises:
        Unavailable, OutcomeUnknown: it may not be recorded, so the answer must not be given. Of what `writes`, only
            OutcomeUnknown: it is done by then, and no client may repeat it.
    """
    credentials = call.credentials
    if not isinstance(credentials, SessionCredentials):
        return
    shown = least(_classes(answer), AGENT)
    if rank(shown) < rank(AGENT) and (call.trust is None or rank(shown) < rank(call.trust)):
        trust = memolith.session_trust
        record = trust.lower if writes else trust.ask_to_lower
        with (
            once_done("what was asked for is done, but the session's class is not recorded")
            if writes
            else nullcontext()
        ):
            record(credentials.workspace_id, credentials.session_id, shown)


def _classes(answer: object, excerpt: bool = False) -> Iterator[str | None]:
    """Yield the class of each text in an answer; the excerpt of a hit has its memory's.

    An event is a text as a whole: its sender chose the names of its fields, and what stands in them.
    """
    if isinstance(answer, list):
        for item in answer:
            yield from _classes(item)
    elif isinstance(answer, Mapping):
        is_event = "processed_at" in answer
        has_text = excerpt or is_event or any(answer.get(name) for name in _TEXTS)
        if has_text and isinstance(answer.get("trust"), str):
            yield of_name(answer["trust"])
        if is_event:
            return
        for name, value in answer.items():
            if name != _CALLERS:
                yield from _classes(value, excerpt=bool(answer.get("excerpt")))
