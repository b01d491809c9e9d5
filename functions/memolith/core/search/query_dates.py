"""The time that a query names, as an interval: ``in May 2026``, ``on 3 May``, ``last Friday``, ``vor zwei Wochen``.

It is a soft boost for what was written then, and never a filter: people misremember dates, and what they remember of
one may have been written down later. English, German, French and Spanish are read, and dates as Chinese and Japanese
write them. Numbers beside words that only resemble a month (``maybe 3``, ``decision 12``) are no dates.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from memolith.core.search import date_words
from memolith.core.search.date_words import MONTHS, SEASONS, WEEKDAYS
from memolith.core.times import EPOCH, LAST_US, since_epoch

DAY = timedelta(days=1)
Interval = tuple[int, int]
"""From and before, in microseconds since 1970."""

Span = tuple[datetime, datetime]
Match = re.Match[str]

_YEAR = r"(?P<year>(?:19|20)\d{2})"
_MONTH = rf"(?P<month>{date_words.alternatives(MONTHS)})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?P<ordinal>st|nd|rd|th|er|\.|º)?"


def named_intervals(query: str, now_us: int) -> tuple[Interval, ...]:
    """List every interval that the query names; what cannot be a date is skipped. Days are UTC's.

    A day, a month or a season without a year is the last one that had begun by `now_us`.
    """
    now = EPOCH + timedelta(microseconds=min(now_us, LAST_US))
    return tuple(dict.fromkeys((since_epoch(since), since_epoch(until)) for since, until in _spans(_plain(query), now)))


def _plain(query: str) -> str:
    """Leave out accents, and make one of all apostrophes and blanks.

    The Turkish i without a dot becomes an i: patterns that ignore case take it for one, and the tables of words do not.
    """
    decomposed = unicodedata.normalize("NFKD", query.replace("’", "'").replace("ı", "i"))
    return " ".join("".join(one for one in decomposed if not unicodedata.combining(one)).split())


def _spans(query: str, now: datetime) -> Iterator[Span]:
    """Yield what the rules find. What one has taken is not looked at by the next."""
    for pattern, read in _RULES:
        taken = []
        for match in pattern.finditer(query):
            try:
                found = [(since, until) for since, until in read(match, now) if since < until]
            except (ValueError, OverflowError):  # no such day, or one before or after all days
                continue
            if found:
                yield from found
                taken.append(match.span())
        for start, end in taken:
            query = f"{query[:start]}{' ' * (end - start)}{query[end:]}"


# ---- from parts to an interval ---------------------------------------------------------------------------------------


def _day(now: datetime, year: int, month: int, day: int) -> Span:
    since = datetime(year or now.year, month, day, tzinfo=UTC)
    if not year and since > now:
        since = since.replace(year=now.year - 1)
    return since, _later(since, DAY)


def _month(now: datetime, year: int, month: int) -> Span:
    since = datetime(year or now.year, month, 1, tzinfo=UTC)
    if not year and since > now:
        since = since.replace(year=now.year - 1)
    after = _later(since, 31 * DAY)
    return since, after if after == _LAST else after.replace(day=1)


_LAST = datetime.max.replace(tzinfo=UTC)


def _later(instant: datetime, by: timedelta) -> datetime:
    return instant + by if _LAST - instant > by else _LAST


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _group(match: Match, name: str) -> str:
    """Return what a group has found in lower case, empty where the rule has no such group."""
    return (match.groupdict().get(name) or "").lower()


def _number(match: Match, name: str) -> int:
    return int(_group(match, name) or 0)


def _to_now(match: Match, now: datetime, until: datetime) -> datetime:
    """Return the end of an interval: today after ``since``."""
    return _midnight(now) + DAY if _group(match, "since") else until


# ---- the rules: days, months and years -------------------------------------------------------------------------------


def _in_numbers(match: Match, now: datetime) -> Iterator[Span]:
    year, month, day = _number(match, "year"), _number(match, "number"), _number(match, "day")
    yield _day(now, year, month, day) if day else _month(now, year, month)


def _slashed(match: Match, now: datetime) -> Iterator[Span]:
    """Yield both readings where either number may be the month."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    for month, day in dict.fromkeys(((first, second), (second, first))):
        if month <= 12 and day <= 31:
            yield _day(now, year, month, day)


def _with_month(match: Match, now: datetime) -> Iterator[Span]:
    bare = not (_group(match, "year") or _group(match, "ordinal") or _group(match, "on") or _group(match, "since"))
    ends = match.end() == len(match.string.rstrip(" ?.!"))
    if bare and not ends and match["month"] in date_words.ALSO_WORDS:
        return  # "may 3 retries", "step 3 may fail"
    since, until = _day(now, _number(match, "year"), MONTHS[_group(match, "month")], _number(match, "day"))
    yield since, _to_now(match, now, until)


def _of_month(match: Match, now: datetime) -> Iterator[Span]:
    """Yield a month, or its beginning, middle or end where that is named."""
    since, until = _month(now, _number(match, "year"), MONTHS[_group(match, "month")])
    part = date_words.PARTS.get(_group(match, "part"))
    if part is not None:
        third = (until - since) / 3
        since, until = since + third * part, since + third * (part + 1)
    yield since, _to_now(match, now, until)


def _of_year(match: Match, now: datetime) -> Iterator[Span]:
    since = datetime(_number(match, "year"), 1, 1, tzinfo=UTC)
    yield since, _to_now(match, now, _later(since, 366 * DAY).replace(month=1, day=1))


def _quarter(match: Match, now: datetime) -> Iterator[Span]:
    since, _ = _month(now, _number(match, "year"), 3 * _number(match, "quarter") - 2)
    yield since, _later(since, 92 * DAY).replace(day=1)


def _season(match: Match, now: datetime) -> Iterator[Span]:
    since, _ = _month(now, _number(match, "year"), SEASONS[_group(match, "season")])
    yield since, _to_now(match, now, _later(since, 92 * DAY).replace(day=1))


# ---- the rules: seen from today --------------------------------------------------------------------------------------


def _near_day(match: Match, now: datetime) -> Iterator[Span]:
    since = _midnight(now) - date_words.NEAR_DAYS[_group(match, "near")] * DAY
    yield since, since + DAY


def _hier(match: Match, now: datetime) -> Iterator[Span]:
    """Read ``hier`` as yesterday in French alone: in German it is "here"."""
    if re.search(
        r"\b(?:le|la|les|est|que|qu|du|des|nous|je|il|elle|pour|ce|fait|dit|avons|quoi)\b", match.string, re.I
    ):
        today = _midnight(now)
        yield today - DAY, today


def _ago(match: Match, now: datetime) -> Iterator[Span]:
    days = date_words.UNITS[_group(match, "unit")]
    middle = _midnight(now) - days * date_words.count(_group(match, "count")) * DAY
    yield middle - (days // 4) * DAY, middle + (1 + days // 4) * DAY


def _last_few(match: Match, now: datetime) -> Iterator[Span]:
    days = date_words.UNITS[_group(match, "unit")] * date_words.count(_group(match, "count"))
    yield _midnight(now) - days * DAY, _midnight(now) + DAY


def _unit(match: Match, now: datetime) -> Iterator[Span]:
    """Yield this or the last week, month or year, as calendars have them."""
    days = date_words.UNITS[_group(match, "unit")]
    this = bool(_group(match, "this"))
    today = _midnight(now)
    if days == 7:
        since = today - today.weekday() * DAY
        before = since - 7 * DAY
    elif days == 30:
        since = today.replace(day=1)
        before = (since - DAY).replace(day=1)
    else:
        since = today.replace(month=1, day=1)
        before = (since - DAY).replace(month=1, day=1)
    yield (since, today + DAY) if this else (before, since)


def _weekday(match: Match, now: datetime) -> Iterator[Span]:
    today = _midnight(now)
    since = today - ((today.weekday() - WEEKDAYS[_group(match, "weekday")]) % 7 or 7) * DAY
    yield since, _to_now(match, now, since + DAY)


def _weekend(match: Match, now: datetime) -> Iterator[Span]:
    today = _midnight(now)
    saturday = today - ((today.weekday() - 5) % 7) * DAY
    yield saturday, min(saturday + 2 * DAY, today + DAY)


# ---- the rules, those first that take most ---------------------------------------------------------------------------

Reader = Callable[[Match, datetime], Iterator[Span]]


def _rule(pattern: str, read: Reader) -> tuple[re.Pattern[str], Reader]:
    return re.compile(pattern, re.IGNORECASE), read


_WORDS = date_words.alternatives
_BEFORE_DAY = r"(?:(?P<on>on|the|am|vom|den|le|du|el|al|by|from|of|until|bis|zum) )?"
_BEFORE_MONTH = r"(?:(?P<on>on|by|from|of|until) )?"
_SINCE = rf"(?P<since>{_WORDS(date_words.SINCE)})"
_PART = rf"(?P<part>{_WORDS(date_words.PARTS)})[ -](?:of |de |du |d')?"
_UNIT = rf"(?P<unit>{_WORDS(date_words.UNITS)})"
_COUNT = rf"(?P<count>\d{{1,3}}|{_WORDS(date_words.COUNTS)})"
_WEEKDAY = rf"(?P<weekday>{_WORDS(WEEKDAYS)})"
_SEASON = rf"(?P<season>{_WORDS(SEASONS)})"
_PAST = r"(?:derniere?|passee?|pasad[oa])"

_RULES = (
    _rule(rf"(?<![\w.-]){_YEAR}[-/](?P<number>\d{{1,2}})(?:[-/](?P<day>\d{{1,2}}))?(?![\w/-])", _in_numbers),
    _rule(r"(?<!\d)(?:(?P<year>\d{4})年)?(?P<number>\d{1,2})月(?:(?P<day>\d{1,2})[日号])?", _in_numbers),
    _rule(rf"(?<!\d){_YEAR}年", _of_year),
    _rule(rf"(?<![\w.])(?P<day>\d{{1,2}})\. ?(?P<number>\d{{1,2}})\. ?{_YEAR}(?!\.?\w)", _in_numbers),
    _rule(rf"(?<![\w/])(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})/{_YEAR}(?![\w/])", _slashed),
    _rule(
        rf"(?:\b{_SINCE} )?(?:\b{_BEFORE_DAY})(?<![-./\w]){_DAY}(?:,? of | de | d'| ){_MONTH}"
        rf"(?:,? (?:de |del )?{_YEAR}\b)?",
        _with_month,
    ),
    _rule(rf"(?:\b{_SINCE} )?\b{_BEFORE_MONTH}{_MONTH} (?:the )?{_DAY}\b(?:,? {_YEAR}\b)?(?![-:/%]|\.\d)", _with_month),
    _rule(rf"(?:\b{_SINCE} )?(?:\b{_PART})?\b{_MONTH},? (?:de |del )?{_YEAR}\b", _of_month),
    _rule(
        rf"\b(?:{_PART}|{_SINCE} |(?:in|during|last|this|im|letzten|letztem|en|au mois de|en el mes de) )"
        rf"{_MONTH}(?![a-z ]* \d)",
        _of_month,
    ),
    _rule(rf"\b{_MONTH} {_PAST}\b", _of_month),
    _rule(rf"\bQ(?P<quarter>[1-4])(?: (?:of |de )?{_YEAR})?\b", _quarter),
    _rule(rf"\b{_SEASON} (?:of |de )?{_YEAR}\b", _season),
    _rule(
        rf"\b(?:(?:in|during|last|this|im|letzten|diesen|au|en|cet|el|la|este|esta|{_SINCE}) "
        rf"(?:the |early |late )?|l'){_SEASON}\b(?! \w*\d)",
        _season,
    ),
    _rule(rf"\b(?:{_SINCE}|in|during|of|im jahr|en|en el ano|anno) {_YEAR}\b", _of_year),
    _rule(rf"\b(?P<near>{_WORDS(name for name in date_words.NEAR_DAYS if name.isascii())})\b", _near_day),
    _rule(rf"(?P<near>{_WORDS(name for name in date_words.NEAR_DAYS if not name.isascii())})", _near_day),
    _rule(r"\bhier\b", _hier),
    _rule(rf"\b{_COUNT} {_UNIT} (?:ago|back|earlier)\b", _ago),
    _rule(rf"\b(?:vor|il y a|hace) (?:about |etwa |environ |unos |unas )?{_COUNT} {_UNIT}\b", _ago),
    _rule(rf"(?P<count>\d{{1,3}}|[一二两三四五六七八九十])(?P<unit>{_WORDS(date_words.CJK_UNITS)})[之以]?前", _ago),
    _rule(
        rf"\b(?:last|past|letzten|vergangenen|ces|les|los|las) {_COUNT} (?:derniere?s |ultim[oa]s )?{_UNIT}\b",
        _last_few,
    ),
    _rule(rf"\b{_UNIT} {_PAST}\b", _unit),
    _rule(
        rf"\b(?:last|past|previous|(?:letzt|vergangen|vorig)e[nrs]?|(?P<this>this|diese[nrs]?|cette|cet|ce|esta|este)) "
        rf"{_UNIT}\b",
        _unit,
    ),
    _rule(rf"(?:上个?|去|先|昨|(?P<this>这个?|本|今))(?P<unit>{_WORDS(date_words.CJK_CALENDAR)})", _unit),
    _rule(rf"\b{_WEEKDAY} {_PAST}\b", _weekday),
    _rule(rf"\b(?:on|last|this|past|am|(?:letzt|vergangen)e[nm]|ce|le|el|el pasado|{_SINCE}) {_WEEKDAY}\b", _weekday),
    _rule(
        r"\b(?:(?:over|on|at|during|last|this) (?:the )?weekend|(?:am|letztes) (?:letzten )?wochenende"
        r"|(?:ce|le) week-end|(?:el|este) fin de semana)\b",
        _weekend,
    ),
)
