"""When a statement holds, as it says itself: ``@effective[2026-06-10,2026-07-27)``, ``@occurred:"June 10, 2026"``.

This is valid time, which a writer states; when a version was written, its store knows exactly. Neither is derived from
the other. Days are UTC's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from memolith.core.times import FIRST_US, LAST_US, parse_rfc3339, since_epoch

Interval = tuple[int | None, int | None]
"""From and before, in microseconds since 1970; None where it is open."""

FIELD_MAX_CHARS = 64
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

KINDS = frozenset(("effective", "valid", "occurred", "due", "mentioned"))
_KIND = r"(?P<kind>[A-Za-z][A-Za-z0-9_]*)"
_RANGE = re.compile(rf"@{_KIND}?(?P<open>[\[(])(?P<since>[^\[\](),]*),(?P<until>[^\[\](),]*)(?P<close>[\])])(?=\s|$)")
_QUOTED = re.compile(rf'@(?:{_KIND}:)?"(?P<point>(?:[^"\\]|\\.){{0,{FIELD_MAX_CHARS}}})"')
_NAMED = re.compile(rf"@{_KIND}:(?P<point>\d\S{{3,{FIELD_MAX_CHARS}}})(?=\s|$)")
_BARE = re.compile(rf"@(?P<kind>)(?P<point>\d\S{{3,{FIELD_MAX_CHARS}}})(?=\s|$)")
_DAY_FIRST = re.compile(r"(?P<day>\d{1,2})(?:st|nd|rd|th)? (?P<month>[a-z]{3,9})\.?,? (?P<year>\d{4})")
_MONTH_FIRST = re.compile(r"(?P<month>[a-z]{3,9})\.?(?: (?P<day>\d{1,2})(?:st|nd|rd|th)?)?,? (?P<year>\d{4})")
_ISO = re.compile(r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?")


def peeled(content: str) -> tuple[str, Interval | None]:
    """Return an observation's content without the qualifier that it begins with, and the interval that this states.

    What cannot be read as time, or would leave nothing, stays in the content, as in Basic Memory.
    """
    if not content.startswith("@"):
        return content, None
    match = _RANGE.match(content) or _QUOTED.match(content) or _NAMED.match(content) or _BARE.match(content)
    if match is None or (match["kind"] and match["kind"] not in KINDS):
        return content, None
    valid = _range(match) if match.re is _RANGE else _span(match["point"])
    rest = content[match.end() :].strip()
    return (content, None) if valid is None or not rest else (rest, valid)


def of_fields(fields: Mapping[str, str]) -> Interval | None:
    """Return the interval that a note's frontmatter states: ``valid_from`` and, exclusive, ``valid_until``."""
    since, until = _span(fields.get("valid_from", "")), _span(fields.get("valid_until", ""))
    if since is None and until is None:
        return None
    return (None if since is None else since[0], None if until is None else until[0])


def overlap(one: Interval | None, other: Interval | None) -> bool:
    """Tell whether two statements may hold at the same instant."""
    (since, until), (other_since, other_until) = one or (None, None), other or (None, None)
    begins_before = until is None or other_since is None or other_since < until
    return begins_before and (other_until is None or since is None or since < other_until)


def both(one: Interval | None, other: Interval | None) -> Interval | None:
    """Return the interval in which a statement holds of which it and its note each say when."""
    if one is None or other is None:
        return other if one is None else one
    since = max((bound for bound in (one[0], other[0]) if bound is not None), default=None)
    until = min((bound for bound in (one[1], other[1]) if bound is not None), default=None)
    return since, until


def _range(match: re.Match[str]) -> Interval | None:
    """Return the interval of a range; None where a bound is no date, or where it is empty."""
    since, until = _span(match["since"]), _span(match["until"])
    if (match["since"].strip() and since is None) or (match["until"].strip() and until is None):
        return None
    begin = None if since is None else since[1] if match["open"] == "(" else since[0]
    end = None if until is None else until[1] if match["close"] == "]" else until[0]
    return None if begin is not None and end is not None and begin >= end else (begin, end)


def _span(text: str) -> tuple[int, int] | None:
    """Return the day, the month or the instant that a text names; None where it names none."""
    lowered = text.strip().lower()[:FIELD_MAX_CHARS]
    for pattern in (_ISO, _DAY_FIRST, _MONTH_FIRST):
        match = pattern.fullmatch(lowered)
        if match is not None:
            return _of_parts(match["year"], match["month"], match["day"])
    try:
        instant = parse_rfc3339(lowered.upper()) if "t" in lowered else None
    except (ValueError, OverflowError):
        return None
    return (instant, instant + 1) if instant is not None and FIRST_US <= instant < LAST_US else None


def _of_parts(year: str, month: str, day: str | None) -> tuple[int, int] | None:
    if not month.isdigit() and month[:3] not in _MONTHS:
        return None
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
    try:
        begin = datetime(int(year), number, int(day or 1), tzinfo=UTC)
        end = begin + timedelta(days=1) if day else (begin + timedelta(days=31)).replace(day=1)
    except (ValueError, OverflowError):
        return None
    return since_epoch(begin), since_epoch(end)
