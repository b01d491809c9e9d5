"""The words by which people name a time, in English, German, French and Spanish, without accents; and in Chinese."""

from __future__ import annotations

from collections.abc import Iterable

_MONTH_NAMES = (
    "january jan januar janner janvier enero",
    "february feb februar fevrier febrero",
    "march mar marz maerz mars marzo",
    "april apr avril abril",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet julio",
    "august aug aout agosto",
    "september sept sep septembre septiembre setiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez decembre diciembre",
)
MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}

ALSO_WORDS = frozenset(("may", "march", "mar", "mars", "sep", "dec", "oct", "jan"))
"""Months that are other words as well: in small letters beside a number they need something that says "date"."""

_WEEKDAY_NAMES = (
    "monday montag lundi lunes",
    "tuesday dienstag mardi martes",
    "wednesday mittwoch mercredi miercoles",
    "thursday donnerstag jeudi jueves",
    "friday freitag vendredi viernes",
    "saturday samstag sonnabend samedi sabado",
    "sunday sonntag dimanche domingo",
)
WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAY_NAMES) for name in names.split()}

SEASONS = {
    **dict.fromkeys(("spring", "springtime", "fruhling", "fruhjahr", "printemps", "primavera"), 3),
    **dict.fromkeys(("summer", "sommer", "ete", "verano"), 6),
    **dict.fromkeys(("autumn", "fall", "herbst", "automne", "otono"), 9),
    **dict.fromkeys(("winter", "hiver", "invierno"), 12),
}
"""The month that each begins with, in the north."""

PARTS = {
    **dict.fromkeys(("early", "beginning", "anfang", "debut", "principios"), 0),
    **dict.fromkeys(("mid", "middle", "mitte", "mi", "mediados"), 1),
    **dict.fromkeys(("late", "end", "ende", "fin", "finales"), 2),
}
SINCE = ("since", "seit", "depuis", "desde")

CJK_CALENDAR = {"周": 7, "星期": 7, "礼拜": 7, "週": 7, "月": 30, "年": 365}
CJK_UNITS = {
    "天": 1,
    "日": 1,
    "周": 7,
    "星期": 7,
    "週間": 7,
    "个星期": 7,
    "个月": 30,
    "か月": 30,
    "ヶ月": 30,
    "年": 365,
}
UNITS = {
    **dict.fromkeys(("day", "days", "tag", "tage", "tagen", "jour", "jours", "dia", "dias"), 1),
    **dict.fromkeys(("week", "weeks", "woche", "wochen", "semaine", "semaines", "semana", "semanas"), 7),
    **dict.fromkeys(("fortnight", "fortnights", "quinzaine"), 14),
    **dict.fromkeys(("month", "months", "monat", "monate", "monaten", "mois", "mes", "meses"), 30),
    **dict.fromkeys(("year", "years", "jahr", "jahre", "jahren", "an", "ans", "annee", "annees", "ano", "anos"), 365),
    **CJK_CALENDAR,
    **CJK_UNITS,
}

_COUNT_NAMES = {
    1: "a an one ein eine einem einer einen un une una 一",
    2: "two couple zwei deux dos paar 二 两",
    3: "three few several drei trois tres einigen quelques algunos 三",
    4: "four vier quatre cuatro 四",
    5: "five funf cinq cinco 五",
    6: "six sechs seis 六",
    7: "seven sieben sept siete 七",
    8: "eight acht huit ocho 八",
    9: "nine neun neuf nueve 九",
    10: "ten zehn dix diez 十",
    12: "twelve zwolf douze doce",
}
_SINGLE_COUNTS = {name: number for number, names in _COUNT_NAMES.items() for name in names.split()}
COUNTS = {**_SINGLE_COUNTS, "a couple of": 2, "a few": 3, "ein paar": 2}

NEAR_DAYS = {
    **dict.fromkeys(("today", "this morning", "tonight", "heute", "aujourd'hui", "hoy"), 0),
    **dict.fromkeys(("yesterday", "last night", "gestern", "ayer"), 1),
    **dict.fromkeys(("day before yesterday", "vorgestern", "avant-hier", "anteayer"), 2),
    **dict.fromkeys(("今天", "今日"), 0),
    **dict.fromkeys(("昨天", "昨日"), 1),
    **dict.fromkeys(("前天", "一昨日"), 2),
}


def count(name: str) -> int:
    """Return a number from its digits or its name."""
    return int(name) if name.isdecimal() else COUNTS[name.lower()]


def alternatives(names: Iterable[str]) -> str:
    """Write the names as alternatives of a regular expression, longer ones before those that they begin with."""
    return "|".join(sorted(names, key=lambda name: (-len(name), name)))
