"""The scanner: one text in, one report out; no file, no network, no clock.

In order: size and path; characters (`cairn.scanner.unicode_policy`); secrets (`cairn.scanner.secrets`); language, that
is injection, personas and exfiltration, over the folded copy and over every other reading of the text
(`cairn.scanner.folding`, `cairn.scanner.disguises`); weighing; the policy's verdict.

    scanner = Scanner.load(Path("scanner.hsdb"))     # once a process, at init
    report = scanner.scan(text, path="/notes/a.md", policy=Policy.STANDARD)
    if report.verdict is Verdict.REJECT: ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cairn.scanner import path_policy, unicode_policy
from cairn.scanner.checks import CHECKS
from cairn.scanner.database import Matchers, UnusableDatabaseError, compile_matchers, load_matchers
from cairn.scanner.disguises import Reading, decoded, reading_of, reading_of_pieces, respelled
from cairn.scanner.engine import Match
from cairn.scanner.findings import Family, Finding, Policy, Report, Severity, judge
from cairn.scanner.folding import Folded, Folder, distinct
from cairn.scanner.secrets import CANDIDATES, BetterleaksEngine, SecretEngine, find_spots
from cairn.scanner.spots import Spot, excerpt, show
from cairn.scanner.weighing import Hit, weigh

MAX_SCANNED_CHARACTERS = 1_000_000
"""A longer text is refused unread: the API's own limit is a tenth of it."""

STRONG = 8.0
"""Rules of fewer points are not looked for in respelled readings, where words come about by accident."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Status:
    """How the scanner started.

    Attributes:
        prebuilt: whether the prebuilt database was used.
        problem: why not, in words for an operator; empty if it was.
        rules: how many rules are loaded, the secret engine's own left out.
    """

    prebuilt: bool
    problem: str
    rules: int


class Scanner:
    """Scans texts and paths. Immutable after `load` but for memos; safe to share between threads."""

    def __init__(self, matchers: Matchers, engine: SecretEngine, status: Status) -> None:
        """Compose a scanner; everyone but a test calls `load`."""
        self.status = status
        self._matchers = matchers
        self._secrets = engine
        self._folder = Folder(matchers.confusables)

    @classmethod
    def load(cls, database_path: Path | None = None) -> Scanner:
        """Load everything that a scan needs: once a process, at init.

        Args:
            database_path: the file that `build_database` wrote. If it is None or not usable here, the rules are
                compiled instead (about a second), and `status.problem` says why.

        Raises:
            ScannerUnavailableError: the secret engine or hyperscan does not work; nothing may be written unscanned.
            RuleError: a rule file is wrong.
        """
        problem = "no prebuilt database was given"
        matchers = None
        if database_path is not None:
            try:
                matchers, problem = load_matchers(database_path), ""
            except UnusableDatabaseError as error:
                problem = str(error)
        prebuilt = matchers is not None
        matchers = matchers or compile_matchers()
        return cls(matchers, BetterleaksEngine(), Status(prebuilt, problem, len(matchers.rules)))

    def scan(
        self,
        text: str,
        path: str | None = None,
        policy: Policy = Policy.STANDARD,
        allow: frozenset[str] = frozenset(),
    ) -> Report:
        """Scan one text, and the path it is to be written to.

        Args:
            text: any string; lone surrogates are a finding.
            path: the memory's path, scanned too unless None.
            policy: what to make of the findings.
            allow: ids of rules whose findings are dropped, before they are weighed.

        Returns:
            Every finding and the verdict. Pure: the same call gives the same report. 100 KB take about 5 ms.

        Raises:
            ScannerUnavailableError: the secret engine failed, so the text counts as not scanned.
        """
        findings = [] if path is None else list(self._path_findings(path))
        if len(text) > MAX_SCANNED_CHARACTERS:
            findings.append(_too_long(len(text)))
        else:
            findings += self._text_findings(text, allow)
        return judge([finding for finding in findings if finding.rule not in allow], policy)

    def scan_path(self, path: str, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()) -> Report:
        """Scan a path alone. Microseconds."""
        return judge([finding for finding in self._path_findings(path) if finding.rule not in allow], policy)

    def _path_findings(self, path: str) -> Iterator[Finding]:
        for rule_id in path_policy.hits(path):
            rule = path_policy.BY_ID[rule_id]
            shown = excerpt(path, 0, len(path), ())
            yield Finding(rule.id, Family.PATH, Severity.HIGH, rule.reason, path_policy.REMEDY, 0, 0, shown)

    def _text_findings(self, text: str, allow: frozenset[str]) -> list[Finding]:
        whole = _without_surrogates(text)
        encoded = whole.encode()
        present = distinct(encoded)
        located = self._matchers.written.scan(whole, encoded)
        split = len(CANDIDATES)
        candidates = {mark: ends for mark, ends in located.marks.items() if mark < split}
        encodings = {mark - split: ends for mark, ends in located.marks.items() if mark >= split}
        lone = "\ud800" if whole is not text else ""
        spots = [
            *unicode_policy.find_spots(text, present + lone, self._folder.skeleton),
            *_distinct([*find_spots(whole, encoded, candidates, self._secrets), *_own_secrets(located.matches)]),
        ]
        return show([*spots, *self._language_spots(whole, encoded, present, encodings, allow)], text)

    def _language_spots(
        self, text: str, encoded: bytes, present: str, encodings: dict[int, list[int]], allow: frozenset[str]
    ) -> list[Spot]:
        """What rules about language say of the text in every way to read it."""
        folded = self._folder.fold(text, present)
        plain = reading_of(folded)
        located = self._matchers.folded.scan(plain.text, plain.encoded)
        hits = list(_hits(plain, located.matches, 0.0))
        others = [
            *((reading, 0.0) for reading in self._decoded(folded, encoded, encodings)),
            *((reading, STRONG) for reading in respelled(folded, plain.encoded, located.marks)),
        ]
        for reading, least_weight in others:
            hits += _hits(reading, self._matchers.folded.scan(reading.text, reading.encoded).matches, least_weight)
        return weigh([hit for hit in hits if hit.rule.id not in allow], text, located.terms)

    def _decoded(self, folded: Folded, encoded: bytes, encodings: dict[int, list[int]]) -> Iterator[Reading]:
        """The text with its look-alike letters as Latin ones, and what stands in it encoded; mostly neither."""
        unmasked = self._folder.unmask(folded)
        if unmasked is not None:
            yield reading_of(unmasked, "look-alike letters")
        pieces = list(decoded(encoded, encodings))
        for how in dict.fromkeys(piece.how for piece in pieces):
            yield reading_of_pieces([piece for piece in pieces if piece.how == how], encoded, self._fold)

    def _fold(self, text: str) -> Folded:
        return self._folder.fold(text, distinct(text.encode()))


def _hits(reading: Reading, matches: Iterable[Match], least_weight: float) -> Iterator[Hit]:
    for match in matches:
        if match.rule.weight >= least_weight and CHECKS[match.rule.check](match.found):
            yield Hit(match.rule, *reading.origin(*match.found.span()), reading.how)


def _without_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def _own_secrets(matches: Iterable[Match]) -> Iterator[Spot]:
    for match in matches:
        if CHECKS[match.rule.check](match.found):
            start, end = match.found.span(match.found.lastindex or 0)
            severity = Severity.HIGH if match.rule.weight >= STRONG else Severity.MEDIUM
            yield Spot(match.rule.id, Family.SECRET, severity, match.rule.reason, match.rule.remedy, start, end)


_RANK = {Severity.HIGH: 0, Severity.MEDIUM: 1, Severity.LOW: 2}


def _distinct(spots: Iterable[Spot]) -> list[Spot]:
    """Of spots that overlap, the most severe one, and of these the first found."""
    kept: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: _RANK[spot.severity]):
        if all(spot.end <= other.start or other.end <= spot.start for other in kept):
            kept.append(spot)
    return kept


def _too_long(length: int) -> Finding:
    return Finding(
        "limit-length", Family.LIMIT, Severity.HIGH,
        f"{length:,} characters are more than the scanner reads at once ({MAX_SCANNED_CHARACTERS:,})",
        "Split the text.", 1, 1, "",
    )  # fmt: skip
