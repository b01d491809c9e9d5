"""How old a memory is, in the words that a reader is told, and how far back a timeframe such as ``7d`` reaches."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from memolith.core.limits import TIMEFRAME_MAX_CHARS, TIMEFRAME_MAX_DAYS
from memolith.core.times import since_epoch

DAY_US = 86_400_000_000

GRAMMAR = "such as 7d, 24h, 2 weeks, 3 months ago, today, yesterday, last week, 2026-05 or 2026-05-01"

_DAYS = {"h": 1 / 24, "hour": 1 / 24, "d": 1, "day": 1, "w": 7, "week": 7, "mo": 30, "month": 30, "y": 365, "year": 365}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_SPAN = re.compile(
    r"(?:(?:in )?(?:the )?(?:last|past) )?(?P<count>\d{1,5}|a|an|one|two|three|four|five|six)? ?"
    r"(?P<unit>hour|day|week|month|year|mo|[hdwy])s?(?: ago)?"
)
_DATE = re.compile(r"(?P<year>\d{4})-(?P<month>\d{2})(?:-(?P<day>\d{2}))?")


def age(then_us: int, now_us: int) -> str:
    """Return ``today``, ``yesterday`` or ``47 days ago``, by days of 24 hours; ahead of the clock is today."""
    days = (now_us - then_us) // DAY_US
    if days <= 0:
        return "today"
    return "yesterday" if days == 1 else f"{days} days ago"


def caution(then_us: int, now_us: int) -> str | None:
    """Return what to keep in mind of a memory that is older than a day; None for a newer one."""
    days = (now_us - then_us) // DAY_US
    if days <= 1:
        return None
    return (
        f"This memory is {days} days old. It is an observation of its time and not live state: what it says about how "
        "code behaves, and the files and lines that it cites, may be outdated. Verify it against what is there now "
        "before you assert it."
    )


def since(timeframe: str, now_us: int) -> int:
    """Return the instant at which a timeframe begins, in microseconds since 1970. Days are UTC's.

    Raises:
        ValueError: it is none of `GRAMMAR`, begins in the future, or reaches back further than a year. The message is
            the rule that it breaks.
    """
    text = " ".join(timeframe[: TIMEFRAME_MAX_CHARS + 1].lower().split())
    if len(timeframe) > TIMEFRAME_MAX_CHARS:
        raise ValueError(f"must be at most {TIMEFRAME_MAX_CHARS} characters long")
    begin = _begin(text, now_us)
    if begin is None:
        raise ValueError(f"must be a timeframe {GRAMMAR}")
    if begin > now_us:
        raise ValueError("must not begin in the future")
    if now_us - begin > (TIMEFRAME_MAX_DAYS + 1) * DAY_US:
        raise ValueError("must reach back a year at most")
    return begin


def _begin(text: str, now_us: int) -> int | None:
    today = now_us // DAY_US * DAY_US
    if text in ("today", "yesterday"):
        return today - (DAY_US if text == "yesterday" else 0)
    date = _DATE.fullmatch(text)
    if date is not None or re.match(r"\d{4}-\d\d-\d\dt", text):
        return _of_date(text, date)
    span = _SPAN.fullmatch(text)
    if span is None or (span["count"] is None and not re.match(r"(in )?(the )?(last|past) ", text)):
        return None
    count = _COUNTS.get(span["count"] or "one") or int(span["count"])
    return int(now_us - count * _DAYS[span["unit"]] * DAY_US)


def _of_date(text: str, date: re.Match[str] | None) -> int | None:
    try:
        if date is None:
            moment = datetime.fromisoformat(text.upper())
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        else:
            moment = datetime(int(date["year"]), int(date["month"]), int(date["day"] or 1), tzinfo=UTC)
    except ValueError:
        return None
    return since_epoch(moment)
