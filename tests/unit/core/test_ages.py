"""How old a memory is said to be, and how far back a timeframe reaches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core import ages
from memolith.core.limits import TIMEFRAME_MAX_DAYS
from memolith.core.times import parse_rfc3339, rfc3339

NOW = parse_rfc3339("2026-11-23T10:30:00Z")
DAY = ages.DAY_US


@pytest.mark.parametrize(
    ("elapsed_us", "said"),
    [
        (-5, "today"),
        (0, "today"),
        (DAY - 1, "today"),
        (DAY, "yesterday"),
        (2 * DAY, "2 days ago"),
        (47 * DAY, "47 days ago"),
    ],
)
def test_an_age_is_told_in_days(elapsed_us: int, said: str) -> None:
    assert ages.age(NOW - elapsed_us, NOW) == said


def test_only_what_is_older_than_a_day_comes_with_a_caution() -> None:
    assert ages.caution(NOW - 2 * DAY + 1, NOW) is None
    assert "3 days old" in (ages.caution(NOW - 3 * DAY, NOW) or "")


@pytest.mark.parametrize(
    ("timeframe", "begins"),
    [
        ("7d", "2026-11-16T10:30:00Z"),
        ("24h", "2026-11-22T10:30:00Z"),
        ("2 weeks", "2026-11-09T10:30:00Z"),
        ("2w", "2026-11-09T10:30:00Z"),
        ("two days ago", "2026-11-21T10:30:00Z"),
        ("3 months ago", "2026-08-25T10:30:00Z"),
        ("last week", "2026-11-16T10:30:00Z"),
        ("the past 3 days", "2026-11-20T10:30:00Z"),
        (" Last  Week ", "2026-11-16T10:30:00Z"),
        ("today", "2026-11-23T00:00:00Z"),
        ("yesterday", "2026-11-22T00:00:00Z"),
        ("2026-05", "2026-05-01T00:00:00Z"),
        ("2026-05-03", "2026-05-03T00:00:00Z"),
        ("2026-05-03T12:00:00+02:00", "2026-05-03T10:00:00Z"),
        ("2026-05-03T12:00:00Z", "2026-05-03T12:00:00Z"),
        ("2026-05-03t12:00:00z", "2026-05-03T12:00:00Z"),
        ("1y", "2025-11-23T10:30:00Z"),
    ],
)
def test_a_timeframe_begins_where_people_mean_it_to(timeframe: str, begins: str) -> None:
    assert rfc3339(ages.since(timeframe, NOW)) == rfc3339(parse_rfc3339(begins))


@pytest.mark.parametrize(
    ("timeframe", "rule"),
    [
        ("", "must be a timeframe such as"),
        ("soon", "must be a timeframe such as"),
        ("day", "must be a timeframe such as"),
        ("2026-13", "must be a timeframe such as"),
        ("2026-02-30", "must be a timeframe such as"),
        ("2027-01-01", "must not begin in the future"),
        ("2 years", "must reach back a year at most"),
        ("0001-01-01", "must reach back a year at most"),
        ("9" * 65, "at most 64 characters"),
    ],
)
def test_what_is_no_timeframe_of_the_last_year_is_refused_with_the_rule(timeframe: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        ages.since(timeframe, NOW)


@given(st.text(max_size=80))
def test_any_text_is_a_timeframe_of_the_last_year_or_refused(text: str) -> None:
    try:
        begin = ages.since(text, NOW)
    except ValueError:
        return
    assert NOW - (TIMEFRAME_MAX_DAYS + 1) * DAY <= begin <= NOW
