"""Instants as people write them, on the command line alone: the API takes RFC 3339."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

from memolith.core.errors import InvalidRequest
from memolith.core.times import rfc3339

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AGO = re.compile(r"(\d{1,6})\s*(s|m|h|d|w|second|minute|hour|day|week)s?(\s+ago)?")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
EXAMPLES = "yesterday, '2 hours ago', 3d, 2026-11-22, '2026-11-22 10:30', or RFC 3339"


def instant(text: str, now: datetime, field: str) -> str:
    """Return an instant as the API takes it.

    A date is its first moment, a time without a zone is one of this machine's, ``yesterday`` is 24 hours ago. What this
    machine's clocks showed is read by the rules of its zone for that day, which are not those of now half a year later.

    Args:
        now: with this machine's zone.
        field: the option that the text was given for.

    Raises:
        InvalidRequest: it is none of these.
    """
    words = text.strip().lower()
    ago = _AGO.fullmatch(words)
    try:
        if ago:
            moment = now - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2][0]])
        elif words in ("now", "today", "yesterday"):
            midnight = datetime.combine(now.date(), time()).astimezone()
            moment = {"now": now, "today": midnight, "yesterday": now - timedelta(days=1)}[words]
        else:
            moment = datetime.fromisoformat(text.strip())
            if moment.tzinfo is None:
                moment = moment.astimezone()
        return rfc3339((moment - _EPOCH) // timedelta(microseconds=1))
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(field, f"{text} is not an instant: give {EXAMPLES}") from error


def local_now() -> datetime:
    """Return the time here, with this machine's zone."""
    return datetime.now().astimezone()
