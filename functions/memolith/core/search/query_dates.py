"""The time that a query names, as an interval: ``in May 2026``, ``on 3 May``, ``yesterday``, ``last week``.

It is a soft boost for what was written then, and never a filter: people misremember dates, and what they remember of
one may have been written down later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

DAY = timedelta(days=1)
Interval = tuple[int, int]
"""From and before, in microseconds since 1970."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBER = {name: number for number, name in enumerate(_MONTHS, start=1)}
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_ISO = re.compile(r"\b(?P<year>\d{4})-(?P<number>\d{2})(?:-(?P<day>\d{2}))?\b")
_DAY_FIRST = re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH},?(?: (?P<year>\d{{4}}))?\b", re.I)
_MONTH_FIRST = re.compile(rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b,?(?: (?P<year>\d{{4}})\b)?", re.I)
_MONTH_YEAR = re.compile(rf"\b{_MONTH},? (?P<year>\d{{4}})\b", re.I)
_IN_MONTH = re.compile(rf"\b(?:in|during|since|last) {_MONTH}(?![a-z ]* \d)\b", re.I)
_YEAR = re.compile(r"\b(?:in|during|of|since) (?P<year>(?:19|20)\d{2})\b", re.I)
_AGO = re.compile(r"\b(?P<count>\d{1,3}|a|an|one|two|three|four|five|six) (?P<unit>day|week|month|year)s? ago\b", re.I)
_LAST = re.compile(r"\b(?P<which>last|this|past) (?P<unit>week|month|year)\b", re.I)
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


def named_intervals(query: str, now_us: int) -> tuple[Interval, ...]:
    """List every interval that the query names; what cannot be a date is skipped. Days are UTC's.

    A day or a month without a year is the last one that had begun by `now_us`.
    """
    now = datetime.fromtimestamp(now_us / 1_000_000, UTC)
    return tuple(dict.fromkeys((_us(since), _us(until)) for since, until in _intervals(query, now)))


def _intervals(query: str, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    exact = False
    for pattern in (_ISO, _DAY_FIRST, _MONTH_FIRST, _MONTH_YEAR, _IN_MONTH):
        for match in pattern.finditer(query):
            found = _of_match(match.groupdict(), now)
            if found is not None:
                exact = True
                yield found
        if exact:
            return
    yield from (_year(int(match["year"])) for match in _YEAR.finditer(query))
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    lowered = query.lower()
    if re.search(r"\btoday\b", lowered):
        yield today, today + DAY
    if re.search(r"\byesterday\b", lowered):
        yield today - DAY, today
    for match in _AGO.finditer(lowered):
        unit, count = _DAYS[match["unit"]], _COUNTS.get(match["count"]) or int(match["count"])
        middle = today - unit * count * DAY
        yield middle - (unit // 4) * DAY, middle + (1 + unit // 4) * DAY
    for match in _LAST.finditer(lowered):
        days = _DAYS[match["unit"]]
        since = today - days * DAY if match["which"] != "last" else today - 2 * days * DAY
        yield since, today + DAY


def _of_match(parts: dict[str, str | None], now: datetime) -> tuple[datetime, datetime] | None:
    month = int(parts.get("number") or 0) or _NUMBER[(parts.get("month") or "")[:3].lower()]
    year, day = int(parts.get("year") or 0), int(parts.get("day") or 0)
    try:
        since = datetime(year or now.year, month, day or 1, tzinfo=UTC)
        if not year and since > now:
            since = since.replace(year=now.year - 1)
    except ValueError:
        return None
    try:
        return since, since + DAY if day else (since + 31 * DAY).replace(day=1)
    except OverflowError:
        return since, datetime.max.replace(tzinfo=UTC)


def _year(year: int) -> tuple[datetime, datetime]:
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


def _us(instant: datetime) -> int:
    return int((instant - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1))
