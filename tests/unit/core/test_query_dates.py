"""Which time a query names, as people say it in four languages; and what only looks like one."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.search.query_dates import named_intervals
from memolith.core.times import parse_rfc3339

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
"""A Sunday."""


def us(instant: datetime) -> int:
    return round(instant.timestamp() * 1_000_000)


def day(text: str) -> int:
    return us(datetime.fromisoformat(f"{text}T00:00Z"))


@pytest.mark.parametrize("now", ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-05:00"])
def test_a_query_is_read_as_of_the_last_moment_that_there_is(now: str) -> None:
    assert named_intervals("yesterday", parse_rfc3339(now))


@pytest.mark.parametrize(
    ("query", "since", "until"),
    [
        ("on 2026-05-03", "2026-05-03", "2026-05-04"),
        ("on 3 May", "2026-05-03", "2026-05-04"),
        ("on the 3rd of May 2025", "2025-05-03", "2025-05-04"),
        ("May 3rd, 2025", "2025-05-03", "2025-05-04"),
        ("on December 24", "2025-12-24", "2025-12-25"),
        ("in May 2026", "2026-05-01", "2026-06-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("2026-02", "2026-02-01", "2026-03-01"),
        ("12.05.2026", "2026-05-12", "2026-05-13"),
        ("25/12/2025", "2025-12-25", "2025-12-26"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("in Q2", "2026-04-01", "2026-07-01"),
        ("in Q3 2025", "2025-07-01", "2025-10-01"),
        ("in spring", "2026-03-01", "2026-06-01"),
        ("last summer", "2026-06-01", "2026-09-01"),
        ("in winter 2024", "2024-12-01", "2025-03-01"),
        ("early November", "2026-11-01", "2026-11-11"),
        ("late March 2026", "2026-03-21T16:00", "2026-04-01"),
        ("since May", "2026-05-01", "2026-11-23"),
        ("since 3 May", "2026-05-03", "2026-11-23"),
        ("today", "2026-11-22", "2026-11-23"),
        ("yesterday", "2026-11-21", "2026-11-22"),
        ("the day before yesterday", "2026-11-20", "2026-11-21"),
        ("last Friday", "2026-11-20", "2026-11-21"),
        ("on Friday", "2026-11-20", "2026-11-21"),
        ("over the weekend", "2026-11-21", "2026-11-23"),
        ("three days ago", "2026-11-19", "2026-11-20"),
        ("two weeks ago", "2026-11-07", "2026-11-10"),
        ("a fortnight ago", "2026-11-05", "2026-11-12"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("this week", "2026-11-16", "2026-11-23"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("in the past 3 weeks", "2026-11-01", "2026-11-23"),
        ("am 3. Mai 2026", "2026-05-03", "2026-05-04"),
        ("im März", "2026-03-01", "2026-04-01"),
        ("gestern", "2026-11-21", "2026-11-22"),
        ("vor zwei Wochen", "2026-11-07", "2026-11-10"),
        ("letzte Woche", "2026-11-09", "2026-11-16"),
        ("am Montag", "2026-11-16", "2026-11-17"),
        ("le 3 mai 2026", "2026-05-03", "2026-05-04"),
        ("en février", "2026-02-01", "2026-03-01"),
        ("qu’avons-nous dit hier", "2026-11-21", "2026-11-22"),
        ("il y a deux semaines", "2026-11-07", "2026-11-10"),
        ("la semaine dernière", "2026-11-09", "2026-11-16"),
        ("lundi dernier", "2026-11-16", "2026-11-17"),
        ("el 3 de mayo de 2026", "2026-05-03", "2026-05-04"),
        ("en mayo", "2026-05-01", "2026-06-01"),
        ("ayer", "2026-11-21", "2026-11-22"),
        ("hace dos semanas", "2026-11-07", "2026-11-10"),
        ("el mes pasado", "2026-10-01", "2026-11-01"),
        ("2026年5月3日", "2026-05-03", "2026-05-04"),
        ("昨天", "2026-11-21", "2026-11-22"),
        ("两周前", "2026-11-07", "2026-11-10"),
        ("上个月", "2026-10-01", "2026-11-01"),
    ],
)
def test_a_query_names_a_time(query: str, since: str, until: str) -> None:
    [interval] = named_intervals(f"What happened {query}?", us(NOW))
    began = us(datetime.fromisoformat(f"{since}:00Z")) if "T" in since else day(since)
    assert interval == (began, day(until))


def test_where_either_number_may_be_the_month_both_days_are_meant() -> None:
    found = named_intervals("what happened on 5/12/2026?", us(NOW))
    assert [since for since, _ in found] == [day("2026-05-12"), day("2026-12-05")]


@pytest.mark.parametrize(
    "query",
    [
        "", "may I ask", "the 31st of June", "2026-13-01", "99 bottles", "section 3.4", "decision 12",
        "maybe 3 retries", "separate 2", "junior 4", "novel 10", "augmented 20", "marketing 2026", "in mayor",
        "CVE-2024-10-12", "it may 3 times fail", "step 3 may fail", "spring boot", "version 1.2.2026.4",
        "Was steht hier", "port 2026",
        "marching on 12", "the mars 3 lander", "decimal 5",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_time_is_none(query: str) -> None:
    assert named_intervals(query, us(NOW)) == ()


@pytest.mark.parametrize(
    "letter", [one for one in map(chr, range(128, sys.maxunicode + 1)) if re.match("[a-z]", one, re.IGNORECASE)]
)
@pytest.mark.parametrize(
    "query", ["last friday", "april 2026", "3 april", "late april", "in spring", "six weeks ago", "last week"]
)
def test_a_letter_that_differs_from_one_of_ascii_only_by_case_is_read_as_that(query: str, letter: str) -> None:
    plain = "i" if letter in "ıİ" else letter.casefold()
    assert named_intervals(query.replace(plain, letter), us(NOW)) == named_intervals(query, us(NOW)) != ()


@given(st.text(max_size=80), st.integers(0, 4_102_444_800_000_000))
def test_any_text_may_be_asked(query: str, now_us: int) -> None:
    assert all(since < until for since, until in named_intervals(query, now_us))


@given(st.integers(day("1990-01-01"), day("2090-01-01")))
def test_the_last_week_month_and_year_end_where_this_one_begins(at: int) -> None:
    for unit in ("week", "month", "year"):
        [(before, until)] = named_intervals(f"what changed last {unit}?", at)
        [(since, tomorrow)] = named_intervals(f"what changed this {unit}?", at)
        assert before < until == since <= at < tomorrow
        assert tomorrow - at <= 86_400_000_000
