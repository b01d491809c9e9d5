"""Finding many patterns at once: hyperscan says which rules may match where, the expression itself confirms.

Hyperscan reads a text once for all patterns, at a cost that hardly depends on their number, and reports only where a
match *ends*. Python's `re` then looks at a window before that end, as wide as the rule's widest match: that confirms
the match, finds its start and costs the same wherever it stands. Patterns are compiled in prefilter mode, in which
hyperscan may report too much and never too little.

A compiled database belongs to one version of hyperscan and one kind of processor. It is built with the bundle
(`memolith.scanner.database`), and compiled here only when no usable one is at hand.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import hyperscan

from memolith.scanner import sentences
from memolith.scanner.budget import Budget
from memolith.scanner.offsets import in_characters
from memolith.scanner.prefilter import SENTENCE_ENDS
from memolith.scanner.rules import Pattern, Rule

MOST_MATCHES = 256
"""Confirmed matches of one pattern in one text: more would add nothing to a verdict."""

_TOGETHER = 240
"""Expressions of one database: many share one table of beginnings, and past some hundred that finds too much."""

_STRIDE = 1_000
"""Characters that are confirmed between two looks at the budget: a look is a call of the system, and costs as much."""

_CLOSE = 24
"""Characters between two ends that are of one place, for a rule of signs."""

_EVENTS_A_LOOK = 1_024
"""Reports of the engine between two looks at the budget."""

_AFTER = 48
"""Characters after a reported end that the confirming match may still take, unless its rule reaches further."""


@dataclass(frozen=True, slots=True)
class Match:
    """A confirmed match of a rule, with positions in the text that was scanned."""

    rule: Rule
    span: tuple[int, int]
    found: re.Match[str] | None = None
    """The match itself, but for a rule of signs."""


@dataclass(frozen=True)
class PatternSet:
    """What an engine's databases are compiled from.

    Attributes:
        patterns: the rules' patterns: located, then confirmed.
        marks: expressions that are only located.
        marks_apart: whether each mark has a database of its own.
    """

    patterns: tuple[Pattern, ...]
    marks: tuple[str, ...] = ()
    marks_apart: bool = False

    @property
    def expressions(self) -> list[str]:
        """Everything to compile, in the order of the ids that hyperscan reports: what several look for, only once."""
        return list(self.users)

    @cached_property
    def users(self) -> dict[str, list[int]]:
        """For each expression the patterns that look for it, by number; marks are numbered after the patterns."""
        users: dict[str, list[int]] = {}
        for index, expression in enumerate([*(pattern.loose for pattern in self.patterns), *self.marks]):
            users.setdefault(expression, []).append(index)
        return users

    def together(self) -> list[list[int]]:
        """Return the numbers of the expressions that share a database, at most `_TOGETHER` each.

        Words of one language make the engine look more often for those of all others that share its database.
        """
        groups: dict[str, list[int]] = {}
        for number, (expression, (user, *_)) in enumerate(self.users.items()):
            groups.setdefault(self._group(expression, user), []).append(number)
        return [
            group[first : first + _TOGETHER] for group in groups.values() for first in range(0, len(group), _TOGETHER)
        ]

    def _group(self, expression: str, user: int) -> str:
        """Return a name for what an expression is compiled with, given one that looks for it."""
        if user >= len(self.patterns):
            return expression if self.marks_apart else ""
        if not expression.isascii():
            return "beyond ASCII"
        language = self.patterns[user].rule.language
        return language if language in ("", "english") else "other languages"


def compile_databases(patterns: PatternSet) -> list[Any]:
    """Compile a pattern set, a database for each group. CPU-bound: some seconds for a few hundred patterns."""
    expressions, databases = patterns.expressions, []
    for numbers in patterns.together():
        part = [expressions[number] for number in numbers]
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[expression.encode() for expression in part],
            ids=numbers,
            flags=[_flags(expression) for expression in part],
        )
        databases.append(database)
    return databases


def _flags(expression: str) -> int:
    """Bytes are cheaper to match than characters, and the same for an expression that names none beyond ASCII."""
    return int(hyperscan.HS_FLAG_PREFILTER | (0 if expression.isascii() else hyperscan.HS_FLAG_UTF8))


@dataclass(frozen=True, slots=True)
class Located:
    """What one pass found.

    Attributes:
        matches: confirmed matches, in the order of the rules and of the text, at most `MOST_MATCHES` a pattern.
        marks: for each mark that occurs, where its matches end, in bytes of the encoded text.
    """

    matches: list[Match]
    marks: dict[int, list[int]]


_NOTHING = Located([], {})


class Engine:
    """Compiled databases and the patterns they were compiled from.

    One scan at a time, because hyperscan's scratch space is not shared: threads wait for each other.
    """

    def __init__(self, patterns: PatternSet, databases: Sequence[Any]) -> None:
        """Take the patterns in the order in which they were compiled."""
        self._patterns = patterns.patterns
        self._users = list(patterns.users.values())
        self._databases = databases
        self._lock = threading.Lock()

    def scan(self, text: str, encoded: bytes, budget: Budget) -> Located:
        """Everything that the patterns find, or what was found when the budget was spent.

        Every pattern that may match has an equal share of what is left of the budget, the heaviest first, and leaves
        what it does not use to the others: what is stuffed with the beginnings of one match hides no other. What its
        share was too small for is done again with what is left once all had theirs.

        Args:
            text: the text to match, without surrogates.
            encoded: the same in UTF-8.
            budget: what it may cost; what was left undone is noted there.
        """
        ends = self._ends(encoded, budget)
        if not ends:
            return _NOTHING
        first_mark = len(self._patterns)
        hits = {index: _clusters(self._patterns[index], ends[index]) for index in ends if index < first_mark}
        if hits and len(text) != len(encoded):
            place = in_characters(encoded, (end for where in hits.values() for pair in where for end in pair))
            hits = {index: [(place[first], place[last]) for first, last in where] for index, where in hits.items()}
        found: dict[int, list[Match]] = {}
        heaviest = sorted(hits, key=lambda index: (-self._patterns[index].rule.weight, index))
        begin = budget.meter()
        for index in heaviest:
            _ = self._patterns[index].compiled, self._patterns[index].width, self._patterns[index].signs
        budget.forgive(begin)
        unfinished: list[int] = []
        for noted, indexes in ((False, heaviest), (True, unfinished)):
            for done, index in enumerate(indexes):
                share = budget.part(1 / (len(indexes) - done), noted)
                found[index] = list(islice(_confirm(self._patterns[index], text, hits[index], share), MOST_MATCHES))
                if share.exhausted and not noted:
                    unfinished.append(index)
        matches = [match for index in sorted(found) for match in found[index]]
        marks = {index - first_mark: where for index, where in ends.items() if index >= first_mark}
        return Located(matches, marks)

    def _ends(self, encoded: bytes, budget: Budget) -> dict[int, list[int]]:
        ends: dict[int, list[int]] = {}
        events = 0

        def on_match(index: int, _start: int, end: int, _flags: int, _context: object) -> bool:
            nonlocal events
            events += 1
            known = ends.get(index)
            if known is None:
                ends[index] = [end]
            else:
                known.append(end)
            return events % _EVENTS_A_LOOK == 0 and budget.spent()

        with self._lock, suppress(hyperscan.ScanTerminated):
            for database in self._databases:
                database.scan(encoded, match_event_handler=on_match)
        return {index: where for expression, where in ends.items() for index in self._users[expression]}


def _clusters(pattern: Pattern, ends: list[int]) -> list[tuple[int, int]]:
    """Return the first and the last of ends that stand so close that their windows are one, in order.

    Of a rule of signs only the sentences are read in which one stands, so there they stand closer.
    """
    reach = _CLOSE if pattern.rule.signs else pattern.rule.reach or _AFTER
    ends = sorted(ends)
    clusters, first, last = [], ends[0], ends[0]
    for end in ends:
        if end - last > reach:
            clusters.append((first, last))
            first = end
        last = end
    return [*clusters, (first, last)]


def _confirm(pattern: Pattern, text: str, clusters: list[tuple[int, int]], budget: Budget) -> Iterator[Match]:
    """Match the expression itself in the windows around the reported ends; overlapping windows are one."""
    done = 0
    windows = _merged(_windows(pattern, text, clusters))
    if pattern.signs:
        yield from _confirm_signs(pattern, text, windows, clusters, budget)
        return
    for start, stop in windows:
        for left in range(max(start, done), stop, _STRIDE):
            if budget.spent():
                return
            # A match may begin anywhere in this stride and reach beyond it.
            for match in pattern.compiled.finditer(text, max(left, done), min(stop, left + _STRIDE + pattern.width)):
                if match.start() >= left + _STRIDE:
                    break
                yield Match(pattern.rule, match.span(), match)
                done = match.end()


def _confirm_signs(
    pattern: Pattern, text: str, windows: Iterable[tuple[int, int]], clusters: Sequence[tuple[int, int]], budget: Budget
) -> Iterator[Match]:
    """Look for the signs in the sentences in which an end was reported, or at whose mark: an anchor is of signs."""
    read, lasts = 0, [last for _, last in clusters]
    for window in windows:
        for start, stop in sentences.sentences(text, *window):
            anchored = bisect_right(lasts, start)
            if anchored == len(lasts) or clusters[anchored][0] > window[1] + 1:
                break
            if clusters[anchored][0] > stop + 1:
                continue
            if read <= 0:
                if budget.spent():
                    return
                read = _STRIDE
            read -= stop - start
            for signs in pattern.signs:
                for span in sentences.spans_of(signs, text, start, stop):
                    yield Match(pattern.rule, span)


def _windows(pattern: Pattern, text: str, clusters: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield where a match may stand whose located part ends from one place to another.

    Before an anchor it stays within the anchor's sentence.
    """
    width, size = pattern.width, len(text)
    if pattern.rule.signs:
        yield from ((max(0, first - width), min(size, last + sentences.REACH)) for first, last in clusters)
        return
    reach = pattern.rule.reach or _AFTER
    for first, last in clusters:
        start = max(0, first - width)
        if pattern.rule.anchor:
            start = max(start, *(text.rfind(mark, start, first) + 1 for mark in SENTENCE_ENDS))
        yield start, min(size, last + reach)


def _merged(windows: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Windows in order of their ends, those that overlap as one."""
    start = stop = -1
    for left, right in windows:
        if stop < 0:
            start, stop = left, right
        elif left <= stop:
            start, stop = min(start, left), max(stop, right)
        else:
            yield start, stop
            start, stop = left, right
    if stop >= 0:
        yield start, stop
