"""Instants as whole microseconds since 1970, so that order and ticks are exact; RFC 3339 at the edges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

TICK_US = 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_WITHOUT_OFFSET = EPOCH.replace(tzinfo=None)


def since_epoch(moment: datetime) -> int:
    """Return a moment with an offset as whole microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


FIRST_US, LAST_US = since_epoch(datetime.min.replace(tzinfo=UTC)), since_epoch(datetime.max.replace(tzinfo=UTC))
"""The first and the last instant that `rfc3339` can show: those of the years 1 to 9999 in UTC."""


def rfc3339(instant_us: int) -> str:
    """Format ``2026-11-21T10:00:00.000000Z``; always six decimals, so that text order is time order."""
    moment = _EPOCH_WITHOUT_OFFSET + timedelta(microseconds=instant_us)
    return f"{moment.isoformat(timespec='microseconds')}Z"


def parse_rfc3339(text: str) -> int:
    """Parse to microseconds since 1970. Raises ValueError for text without an offset, or that is no date and time.

    Its offset may put it a day before `FIRST_US` or after `LAST_US`: nothing can show it then.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("an offset such as Z or +00:00 is missing")
    return since_epoch(moment)


def after(now_us: int, parent_us: int | None) -> int:
    """Return a version's created_at: the clock's time, or the parent's plus one tick where the clock is behind it."""
    return now_us if parent_us is None else max(now_us, parent_us + TICK_US)


def is_due(began_us: int | None, now_us: int, every_us: int) -> bool:
    """Tell whether to begin again what was begun at `began_us` (None: never), and is done once in `every_us`.

    It is due as well where it began as far ahead: the clock was ahead then, and has been set right. One that began a
    little ahead is not: processes' clocks disagree by seconds.
    """
    return began_us is None or abs(now_us - began_us) >= every_us


def not_ahead(instant_us: int | None, now_us: int) -> int:
    """Return an instant up to which something is done; 0 where there is none, or where it is still to come.

    The clock that gave such a one was ahead, and has been set right: it does not say what was done by then.
    """
    return instant_us if instant_us is not None and instant_us <= now_us else 0
