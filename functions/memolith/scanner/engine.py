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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import hyperscan

from memolith.scanner.offsets import in_characters
from memolith.scanner.prefilter import SENTENCE_ENDS
from memolith.scanner.rules import Pattern, Rule

MOST_ENDS = 256
"""Ends that are looked at for one pattern in one text."""

MOST_MATCHES = 32
"""Confirmed matches of one pattern in one text: more would add nothing to a verdict."""

_AFTER = 48
"""Characters after a reported end that the confirming match may still take, unless its rule reaches further."""


@dataclass(frozen=True, slots=True)
class Match:
    """A confirmed match of a rule, with positions in the text that was scanned."""

    rule: Rule
    found: re.Match[str]


@dataclass(frozen=True)
class PatternSet:
    """What one database is compiled from.

    Attributes:
        patterns: the rules' patterns: located, then confirmed.
        marks: expressions that are only located.
    """

    patterns: tuple[Pattern, ...]
    marks: tuple[str, ...] = ()

    @property
    def expressions(self) -> list[str]:
        """Everything to compile, in the order of the ids that hyperscan reports."""
        return [*(pattern.loose for pattern in self.patterns), *self.marks]


def compile_database(patterns: PatternSet) -> Any:
    """Compile one database of a pattern set. CPU-bound: about a second for a few hundred patterns."""
    expressions = patterns.expressions
    flags = [_flags(expression) for expression in expressions]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[expression.encode() for expression in expressions],
        ids=list(range(len(expressions))),
        flags=flags,
    )
    return database


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
    """A compiled database and the patterns it was compiled from.

    One scan at a time, because hyperscan's scratch space is not shared: threads wait for each other.
    """

    def __init__(self, patterns: PatternSet, database: Any) -> None:
        """Take the patterns in the order in which they were compiled."""
        self._patterns = patterns.patterns
        self._database = database
        self._lock = threading.Lock()

    def scan(self, text: str, encoded: bytes) -> Located:
        """Everything that the patterns find.

        Args:
            text: the text to match, without surrogates.
            encoded: the same in UTF-8.
        """
        ends = self._ends(encoded)
        if not ends:
            return _NOTHING
        first_mark = len(self._patterns)
        hits = {index: ends[index] for index in sorted(ends) if index < first_mark}
        if hits and len(text) != len(encoded):
            place = in_characters(encoded, (end for where in hits.values() for end in where))
            hits = {index: [place[end] for end in where] for index, where in hits.items()}
        matches: list[Match] = []
        for index, where in hits.items():
            matches += islice(_confirm(self._patterns[index], text, where), MOST_MATCHES)
        marks = {index - first_mark: where for index, where in ends.items() if index >= first_mark}
        return Located(matches, marks)

    def _ends(self, encoded: bytes) -> dict[int, list[int]]:
        ends: dict[int, list[int]] = {}
        first_mark = len(self._patterns)

        def on_match(index: int, _start: int, end: int, _flags: int, _context: object) -> None:
            known = ends.get(index)
            if known is None:
                ends[index] = [end]
            elif index >= first_mark or len(known) < MOST_ENDS:
                known.append(end)

        with self._lock:
            self._database.scan(encoded, match_event_handler=on_match)
        return ends


def _confirm(pattern: Pattern, text: str, ends: list[int]) -> Iterator[Match]:
    """Match the expression itself in the windows before the reported ends; overlapping windows are one."""
    done = 0
    for start, stop in _merged(_window(pattern, text, end) for end in sorted(ends)):
        for match in pattern.compiled.finditer(text, max(start, done), stop):
            yield Match(pattern.rule, match)
            done = match.end()


def _window(pattern: Pattern, text: str, end: int) -> tuple[int, int]:
    """Where a match may stand whose located part ends here. Before an anchor it stays within the anchor's sentence."""
    start = max(0, end - pattern.width)
    if pattern.rule.anchor:
        start = max(start, *(text.rfind(mark, start, end) + 1 for mark in SENTENCE_ENDS))
    return start, min(len(text), end + (pattern.rule.reach or _AFTER))


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
