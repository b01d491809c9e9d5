"""Writes that are sent once: to Memolith's address, and again only where nothing was done.

The SDK would also send a write again whose answer was lost. It may have been done, and another client may have written
since. So a client for writes repeats nothing by itself, and each write goes through `once`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import anthropic
import httpx2

from memolith.ports.clock import Clock
from memolith.wire.errors import may_be_done, says_not_done

PAUSE_FIRST_S, PAUSE_MAX_S = 0.5, 60.0
"""How long to wait before a write is sent again: at first where the answer does not say, and at most where it does."""

NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout)
"""There was no connection, so that nothing was sent."""

Answer = TypeVar("Answer")


def once(send: Callable[[], Answer], clock: Clock, max_retries: int) -> Answer:
    """Send a write, and again only where nothing was done.

    Args:
        send: sends it through a client that repeats nothing.
        clock: waits before the write is sent again.
        max_retries: how often, at most.

    Raises:
        anthropic.APIError: the last error; `is_unknown` tells whether the write may have been done.
    """
    pauses = 0
    while True:
        try:
            return send()
        except anthropic.APIError as error:
            if pauses >= max_retries or not _may_send_again(error):
                raise
            clock.pause(_wanted_pause_s(error) or pause_s(pauses))
        pauses += 1


def pause_s(pauses: int) -> float:
    """Return how long to wait after so many pauses, where the answer does not say."""
    return min(PAUSE_FIRST_S * 2.0**pauses, PAUSE_MAX_S)


def is_unknown(error: anthropic.APIError) -> bool:
    """Tell whether a write that failed so may have been done."""
    if isinstance(error, anthropic.APIStatusError):
        return may_be_done(error.status_code, _kind(error))
    return not isinstance(error.__cause__, NOT_SENT)


def _may_send_again(error: anthropic.APIError) -> bool:
    """Tell whether nothing was done, and the answer does not say to leave it at that."""
    if isinstance(error, anthropic.APIStatusError):
        asks_to = error.response.headers.get("x-should-retry") != "false"
        return asks_to and says_not_done(error.status_code, _kind(error))
    return isinstance(error.__cause__, NOT_SENT)


def _kind(error: anthropic.APIStatusError) -> str:
    """Return the response's `error.type`, empty for none."""
    told = error.body.get("error") if isinstance(error.body, Mapping) else None
    return str(told.get("type") or "") if isinstance(told, Mapping) else ""


def _wanted_pause_s(error: anthropic.APIError) -> float | None:
    """Return how long the answer says to wait, at most `PAUSE_MAX_S`; None where it does not say."""
    said = error.response.headers.get("retry-after", "") if isinstance(error, anthropic.APIStatusError) else ""
    return min(float(said), PAUSE_MAX_S) if said.isdecimal() else None
