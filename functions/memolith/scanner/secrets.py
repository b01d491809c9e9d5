"""Secrets: an engine that brings its own rules, behind one small interface, and what it is shown.

The engine's cost grows with the text, and nearly all of a memory cannot hold a secret. So one hyperscan pass finds the
lines that could (a long run of token characters with a digit, a word like ``token`` before ``=`` and something with a
digit, a key block, a URL with a password), and only these are shown to the engine. A generic guess ("something named
password has a value") is kept only if the value looks like one and not like a placeholder.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from memolith.scanner.budget import Budget
from memolith.scanner.engine import Match
from memolith.scanner.excerpts import Spot
from memolith.scanner.findings import RANK, Family, Severity
from memolith.scanner.split_secrets import BROKEN, find_split


class ScannerUnavailableError(RuntimeError):
    """A part of the scanner does not work; nothing may be written unscanned. Raised at load, or instead of a report."""


@dataclass(frozen=True, slots=True)
class SecretMatch:
    """One secret that an engine found in what it was shown.

    Attributes:
        rule: the engine's own rule id.
        description: the engine's own words.
        confidence: ``high``, ``medium`` or ``low``.
        value: the secret. Never leaves this package.
        full: the whole match, the name before the value included.
    """

    rule: str
    description: str
    confidence: str
    value: str
    full: str


class SecretEngine(Protocol):
    """Finds secrets in a text. Pure: no file, no network."""

    def find(self, text: str) -> Sequence[SecretMatch]:
        """Every secret in the text.

        Raises:
            ScannerUnavailableError: the engine failed; the text was not scanned.
        """
        ...


_RUN_CHAR = r"[A-Za-z0-9_+/=~.-]"
_RUN = 18
CANDIDATES: tuple[str, ...] = (
    rf"(?:^|[^A-Za-z0-9_+/=~.-]){_RUN_CHAR}{{{_RUN}}}",
    r"(?i)(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api|key|auth|cred(?:ential)?s?|private|access|bearer|dsn|sas)"
    r"[\"'`\]) _.a-z-]{0,24}[=:][=>\"'`\s]{0,4}[^\s\"'`=:(){}<>;,]{0,60}[0-9]",
    r"-----BEGIN[A-Z ]{0,40}PRIVATE KEY",
    r"://[^\s:@/]{0,64}:[^\s/]{1,64}@",
    r"(?i)\bcurl\b",
    BROKEN,
)
"""Where a secret could be. The first reports one end a run; the others may report several, which costs little."""

_CURL = 4
_BREAK = 5
_KEY_BLOCK = 2
_KEY_BLOCK_END = re.compile(rb"-----END[A-Z ]{0,40}-----")
_KEY_BLOCK_LIMIT = 8_000
_BETWEEN_TOKENS = re.compile(rb"[\s,;'\"()\[\]{}<>&]")
_RUN_WITH_DIGIT = re.compile(rb"[A-Za-z_+/=~.-]*[0-9]")


def windows(encoded: bytes, ends: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
    """Yield the lines that could hold a secret, as ranges of bytes, in order; of equal ones the first.

    Args:
        encoded: the text as written, in UTF-8.
        ends: for each of `CANDIDATES`, the positions at which a match ends, in bytes.
    """
    hits = sorted((end, kind) for kind, of_kind in ends.items() for end in of_kind)
    done = unclosed = 0
    seen: set[bytes] = set()
    for end, kind in hits:
        if end < done or (kind == 0 and not _RUN_WITH_DIGIT.match(encoded, end - _RUN)):
            continue
        start = max(encoded.rfind(b"\n", 0, end - 1) + 1, done)
        stop = _line_end(encoded, end)
        if kind == _KEY_BLOCK and end >= unclosed:
            closing = _KEY_BLOCK_END.search(encoded, end, end + _KEY_BLOCK_LIMIT)
            stop = _line_end(encoded, closing.end()) if closing else stop
            unclosed = 0 if closing else end + _KEY_BLOCK_LIMIT
        elif kind == _CURL:
            stop = _command_end(encoded, start, stop)
        done = stop
        if encoded[start:stop] not in seen:
            seen.add(encoded[start:stop])
            yield start, stop


def _command_end(encoded: bytes, start: int, stop: int) -> int:
    """Where a command ends whose first line is given, if its lines are continued by a backslash.

    It ends before a line that it already holds: that starts it anew, and whoever repeats it is read once.
    """
    lines = {encoded[start:stop]}
    while encoded[stop - 3 : stop].rstrip(b"\r\n").endswith(b"\\"):
        start, stop = stop, _line_end(encoded, stop)
        if encoded[start:stop] in lines:
            return start
        lines.add(encoded[start:stop])
    return stop


def _line_end(encoded: bytes, position: int) -> int:
    end = encoded.find(b"\n", position)
    return len(encoded) if end < 0 else end + 1


GENERIC = frozenset({"generic-api-key", "generic-password", "generic-credential-uri"})
"""Rules of the engine that go by the name before a value, not by the value's form."""

_WEAK = frozenset({"jwt"})
"""Rules whose matches are as often examples or long expired as they are secrets."""

_PLACEHOLDER = re.compile(
    r"(?i)example|sample|dummy|placeholder|change.?me|redacted|your|insert|replace|xxxx|\*{3}|\.{3}|<[^>]*>|\$\{|\{\{|%\(|"
    r"^\$|process\.env|os\.environ|getenv|secrets\.|(?:^|[^a-z])(?:test|fake|mock|todo|none|null|true|false|string|foo|bar)"
    r"(?:[^a-z]|$)|pass(?:word|wd)?\d{0,4}!?$|^secret|p[a@]ssw[o0]rd|^admin|^root|^user|^guest|^default|temporal|postgres"
)
_CODE = re.compile(r"[(){}\[\];]|::|->|=>|^[a-z]+[A-Z][A-Za-z]+$|^[a-z_]+\.[a-z_.]+$")


MOST_MATCHES = 50
"""Of the engine's matches in one text that are looked at; the rest would only repeat that there are secrets."""
BATCH_BYTES = 1_000
"""What the engine is shown at a time: its cost grows faster than what it finds in one batch."""
LONG_LINE = 1_000
"""Bytes from which a line is cut into pieces of `PIECE_BYTES`: a minified file is one line."""
PIECE_BYTES = 600
PIECE_OVERLAP = 80
HIGH_WEIGHT = 8.0

REMEDY = "Remove the secret and keep it in a secret manager; if it is real, revoke it, for it has been written here."


def find_spots(
    text: str,
    encoded: bytes,
    ends: dict[int, list[int]],
    matches: Iterable[Match],
    engine: SecretEngine,
    budget: Budget,
) -> list[Spot]:
    """Return what the engine finds in the lines that could hold a secret, and what our own rules found; no two overlap.

    Args:
        text: as written.
        encoded: the same in UTF-8.
        ends: for each of `CANDIDATES`, the positions at which a match ends, in bytes.
        matches: of our own rules.
        engine: the engine.
        budget: what the engine may cost; what it was not shown is noted there.

    Raises:
        ScannerUnavailableError: the engine failed.
    """
    lines = {kind: of_kind for kind, of_kind in ends.items() if kind != _BREAK}
    breaks = (len(encoded[:end].decode("utf-8", "ignore")) for end in sorted(set(ends.get(_BREAK, ()))))
    has_token, is_token = partial(_has_token, engine), partial(_has_token, engine, whole=True)
    split = find_split(text, breaks, has_token, is_token, budget)
    return _distinct([*_engine_spots(text, encoded, lines, engine, budget), *_own_spots(matches), *split])


def _has_token(engine: SecretEngine, text: str, whole: bool = False) -> bool:
    """Whether a text has a secret by its form alone, and not by a name beside it; or is one, from end to end."""
    return any(
        match.rule not in GENERIC and severity_of(match) is Severity.HIGH and (match.value == text or not whole)
        for match in engine.find(text)
    )


def _engine_spots(
    text: str, encoded: bytes, ends: dict[int, list[int]], engine: SecretEngine, budget: Budget
) -> list[Spot]:
    """Return what the engine finds, a batch at a time: it slows down with each find, so it is stopped at enough."""
    spots: list[Spot] = []
    for batch in _batches(_pieces(encoded, windows(encoded, ends), ends)):
        if budget.spent():
            break
        shown = b"".join(encoded[start:stop] for start, stop in batch).decode("utf-8", "ignore")
        for match in engine.find(shown)[:MOST_MATCHES]:
            severity = severity_of(match)
            if severity is not None and match.value:
                start, end = _place(text, encoded, match, batch)
                spots.append(
                    Spot(f"secret-{match.rule}", Family.SECRET, severity, match.description, REMEDY, start, end)
                )
        if len(spots) >= MOST_MATCHES:
            budget.exhaust()
            break
    return spots


def _pieces(encoded: bytes, ranges: Iterable[tuple[int, int]], ends: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
    """Yield the ranges, of which a long one is cut: only the parts of it that hold a candidate, between two words.

    A piece begins a little before the place where the one before it ended, so that a name stays with its value.
    """
    hits = sorted(end for of_kind in ends.values() for end in of_kind)
    for start, stop in ranges:
        if stop - start <= LONG_LINE:
            yield start, stop
            continue
        position = start
        while position < stop:
            cut = _delimiter(encoded, min(position + PIECE_BYTES, stop), stop)
            if bisect_left(hits, position) < bisect_right(hits, cut):
                yield max(start, position - PIECE_OVERLAP), cut
            position = cut


def _delimiter(encoded: bytes, position: int, stop: int) -> int:
    """Return the first place from here at which no token is cut, or the end; a token of no end is cut."""
    limit = min(position + PIECE_BYTES, stop)
    found = _BETWEEN_TOKENS.search(encoded, position, limit)
    return found.end() if found else limit


def _batches(ranges: Iterable[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    batch: list[tuple[int, int]] = []
    size = 0
    for start, stop in ranges:
        if batch and size + stop - start > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append((start, stop))
        size += stop - start
    if batch:
        yield batch


def _own_spots(matches: Iterable[Match]) -> Iterator[Spot]:
    for match in matches:
        rule, found = match.rule, match.found
        if found is None:
            continue
        start, end = found.span(found.lastindex or 0)
        if VALUE_CHECKS[rule.check](found[found.lastindex or 0]):
            severity = Severity.HIGH if rule.weight >= HIGH_WEIGHT else Severity.MEDIUM
            yield Spot(rule.id, Family.SECRET, severity, rule.reason, rule.remedy, start, end)


def _distinct(spots: Iterable[Spot]) -> list[Spot]:
    """Of spots that overlap, the most severe one, and of these the first found."""
    kept: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: RANK[spot.severity]):
        if all(spot.end <= other.start or other.end <= spot.start for other in kept):
            kept.append(spot)
    return kept


def _place(text: str, encoded: bytes, match: SecretMatch, ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Where a match stands; what the engine decoded before it found it stands somewhere in what it was shown."""
    first = len(encoded[: ranges[0][0]].decode("utf-8", "ignore"))
    last = first + len(encoded[ranges[0][0] : ranges[-1][1]].decode("utf-8", "ignore"))
    full = text.find(match.full, first, last) if match.full else -1
    start = text.find(match.value, max(full, first), last)
    return (start, start + len(match.value)) if start >= 0 else (first, last)


def severity_of(match: SecretMatch) -> Severity | None:
    """How much a match of the engine says; None if it is a generic guess about something that is no secret."""
    if match.rule in GENERIC:
        return Severity.MEDIUM if looks_secret(match.value) else None
    return Severity.MEDIUM if match.rule in _WEAK or match.confidence == "low" else Severity.HIGH


def looks_secret(value: str) -> bool:
    """Whether a value could be a chosen or generated secret rather than a placeholder, a word or a piece of code."""
    if len(value) < 8 or _PLACEHOLDER.search(value) or _CODE.search(value):
        return False
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]"))
    return kinds >= 2 and bool(re.search("[0-9]", value)) and entropy(value) >= (2.5 if len(value) < 16 else 3.0)


def looks_password(value: str) -> bool:
    """Whether a value that is named a password looks chosen as one: several kinds of characters, no word, no code."""
    if len(value) < 8 or _PLACEHOLDER.search(value) or _CODE.search(value.rstrip(";")) or value.endswith((":", "/")):
        return False
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9._-]"))
    return kinds >= 3 and bool(re.search("[0-9]", value)) and entropy(value) >= 2.5


def no_placeholder(value: str) -> bool:
    """Whether a value in a vendor's own form is more than that form filled in for show."""
    return not _PLACEHOLDER.search(value) and entropy(value) >= 3.0


VALUE_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "": lambda value: True,
    "looks-secret": looks_secret,
    "looks-password": looks_password,
    "no-placeholder": no_placeholder,
}
"""Tests of a secret's value; a rule of the family names one as its ``check``."""


def entropy(value: str) -> float:
    """Shannon entropy in bits a character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())
