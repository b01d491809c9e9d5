"""The scanner: one text in, one report out; no file, no network, no clock.

In order: size and path; characters (`memolith.scanner.unicode_policy`); secrets (`memolith.scanner.secrets`); language,
that is injection, personas and exfiltration, over the folded copy and over every other reading of the text
(`memolith.scanner.language`); weighing (`memolith.scanner.scoring`); the policy's verdict.

    scanner = Scanner.load(Path("scanner.hsdb"))     # once a process, at init
    report = scanner.scan(text, path="/notes/a.md", policy=Policy.STANDARD)
    if report.verdict is Verdict.REJECT: ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from memolith.scanner import language, meaning, path_policy, secrets, signs, unicode_policy
from memolith.scanner.betterleaks_engine import BetterleaksEngine
from memolith.scanner.budget import Budget, Meter, cpu_of_this_thread
from memolith.scanner.case_folding import CaseFolder, distinct
from memolith.scanner.database import Matchers, UnusableDatabaseError, compile_matchers, load_matchers
from memolith.scanner.deep import DeepLook, hidden_emphasis
from memolith.scanner.engine import Located
from memolith.scanner.excerpts import Spot, excerpt, show
from memolith.scanner.findings import Family, Finding, Policy, Report, Severity, judge
from memolith.scanner.meaning import MeaningLook, MeaningModel, Plausible
from memolith.scanner.misspelling import misspellings
from memolith.scanner.pieces import PIECES_SECONDS, Kept, keep
from memolith.scanner.redaction import Redacted, redact
from memolith.scanner.scoring import TOGETHER, Hit, told_once, weigh
from memolith.scanner.unfolding import Unfolder

MAX_SCANNED_CHARACTERS = 1_000_000
"""A longer text is refused unread: the API's own limit is a tenth of it."""

LENGTH = "limit-length"
"""The rule about a text that is too long to be read."""

UNFINISHED = "limit-not-fully-scanned"
"""The rule about a text of which a part was not read, because reading it took too long."""

SCAN_SECONDS, DEEP_SECONDS = 0.1, 0.9
"""CPU that the parts of a scan may take whose cost a text can choose; twenty times what an ordinary text takes."""

REDACTION_SECONDS = 1.0
"""CPU that finding every secret of one text may take; only texts that have some ask for it."""

LANGUAGE_SHARE = 0.6
"""Of a scan's seconds, those for rules about language; secrets have the rest, and what was not needed."""

MEANING_SHARE = 0.8
"""Of what is left of a deeper look's seconds, those for meanings. What is unread then is no finding: a long text has
always passages that no model is shown."""

SLICE, SLICE_OVERLAP = 12_000, 1_000
"""Characters that a deeper look reads at a time when it could not read the whole at once."""

_ENGINE_RULE = re.compile(r"secret-[a-z0-9][a-z0-9-]{0,60}")
_RULES_IN_CODE = frozenset(
    {
        *unicode_policy.BY_ID,
        *path_policy.BY_ID,
        *(rule.id for rule in signs.RULES),
        meaning.MEANING.id,
        TOGETHER,
        LENGTH,
        UNFINISHED,
    }
)

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

    def __init__(
        self,
        matchers: Matchers,
        engine: secrets.SecretEngine,
        status: Status,
        meter: Meter = cpu_of_this_thread,
        model: MeaningModel | None = None,
    ) -> None:
        """Compose a scanner; everyone but a test calls `load`."""
        self._meter = meter
        self.status = status
        self._matchers = matchers
        self._secrets = engine
        self._folder = CaseFolder(matchers.confusables)
        unfolder = Unfolder(matchers.lexicon, matchers.signs)
        self._readers = language.Readers(matchers.folded, matchers.signs, self._folder, unfolder)
        self._meaning = None if model is None else MeaningLook(model, Plausible(matchers.signs, self._folder))
        misspellings()  # made here, so that no text's budget pays for them

    @classmethod
    def load(cls, database_path: Path | None = None, model: MeaningModel | None = None) -> Scanner:
        """Load everything that a scan needs: once a process, at init.

        Args:
            database_path: the file that `build_database` wrote. If it is None or not usable here, the rules are
                compiled instead (some fifteen seconds), and `status.problem` says why.
            model: tells orders by their meaning in a deeper look; None to go without.

        Raises:
            ScannerUnavailableError: the secret engine does not work; nothing may be written unscanned.
            RuleError: a rule file is wrong.
        """
        problem = "no prebuilt database was given"
        matchers = None
        if database_path is not None:
            try:
                matchers, problem = load_matchers(database_path), ""
            except UnusableDatabaseError as error:
                problem = str(error)
        return cls.of(matchers or compile_matchers(), problem, model)

    @classmethod
    def of(cls, matchers: Matchers, problem: str = "", model: MeaningModel | None = None) -> Scanner:
        """Return the scanner over matchers that are loaded. `problem`: why they are no prebuilt ones, if they are not.

        Raises:
            ScannerUnavailableError: the secret engine does not work.
        """
        status = Status(not problem, problem, len(matchers.rules))
        return cls(matchers, BetterleaksEngine(), status, model=model)

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
            Every finding and the verdict. Pure, but for a text that is built to take long: of that a part may be left
            unread, which is a finding of its own. 100 KB take about 5 ms, and never more than 150.

        Raises:
            ScannerUnavailableError: the secret engine failed, so the text counts as not scanned.
        """
        return self._report(self._text_findings, text, path, policy, allow)

    def scan_deeply(
        self,
        text: str,
        path: str | None = None,
        policy: Policy = Policy.STANDARD,
        allow: frozenset[str] = frozenset(),
    ) -> Report:
        """Look at a text again, more deeply, off the write path: more rules and more readings.

        Whatever `scan` finds is found here too, so a text that a scan rejects is rejected. It is more often wrong
        than `scan` (`docs/scanner.md` says how often), so its rejection is a reason to withhold a text until a person
        has looked, never to lose it.

        Args:
            text: as for `scan`.
            path: as for `scan`.
            policy: as for `scan`.
            allow: as for `scan`; the deeper rules have ids of their own.

        Returns:
            As for `scan`. 100 KB take about a third of a second, or one with a model, and never more than one and a
            half.

        Raises:
            ScannerUnavailableError: the secret engine failed, so the text counts as not scanned.
            UnusableDatabaseError: the first time, if the deeper rules' part of the database is damaged.
        """
        return self._report(self._deep_findings, text, path, policy, allow)

    def _report(
        self,
        look: Callable[[str, frozenset[str]], list[Finding]],
        text: str,
        path: str | None,
        policy: Policy,
        allow: frozenset[str],
    ) -> Report:
        findings = [] if path is None else list(_path_findings(path))
        if len(text) > MAX_SCANNED_CHARACTERS:
            findings.append(_too_long(len(text)))
        else:
            findings += look(text, allow)
        return judge([finding for finding in findings if finding.rule not in allow], policy)

    def redact(self, text: str, allow: frozenset[str] = frozenset()) -> Redacted:
        """Replace every secret in a text by ``[REDACTED:kind]``.

        Args:
            text: as for `scan`.
            allow: ids of rules whose finds stay.

        Returns:
            The text without them, and what was taken out. Pure. A search of some milliseconds for every twenty places.

        Raises:
            ScannerUnavailableError: the secret engine failed.
        """
        budget = Budget(REDACTION_SECONDS, self._meter)

        def find(text: str) -> list[Spot]:
            return [spot for spot in self._secret_places(text, budget) if spot.rule not in allow]

        return redact(text, find)

    def redact_each(self, texts: Sequence[str]) -> list[Kept]:
        """Take the secrets out of texts that are to be kept whatever they hold (`memolith.scanner.pieces`). Pure.

        A megabyte takes about a second, and never more than five of them; what is left by then is left out.

        Raises:
            ScannerUnavailableError: the secret engine failed, so nothing may be kept.
        """
        budget = Budget(PIECES_SECONDS, self._meter)
        return [keep(text, self._secret_places, budget) for text in texts]

    def _secret_places(self, text: str, budget: Budget) -> list[Spot]:
        """Return where secrets stand in a short text; a search that finds many has an end, and is repeated."""
        whole, encoded = _whole(text)
        own = budget.part(1, noted=False)
        located = self._matchers.written.scan(whole, encoded, own)
        candidates, _ = self._matchers.split_marks(located.marks)
        spots = secrets.find_spots(whole, encoded, candidates, located.matches, self._secrets, own)
        if own.exhausted and not spots:
            budget.exhaust()
        return spots

    def scan_path(self, path: str, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()) -> Report:
        """Scan a path alone. Microseconds."""
        return judge([finding for finding in _path_findings(path) if finding.rule not in allow], policy)

    def knows(self, rule_id: str) -> bool:
        """Whether an allow-list may name a rule: ours, or any of the secret engine's, which does not list its own."""
        ours = {rule.id for rule in self._matchers.rules} | self._matchers.deep_ids | _RULES_IN_CODE
        return rule_id in ours or _ENGINE_RULE.fullmatch(rule_id) is not None

    def explain(self, text: str, deeply: bool = False) -> tuple[Finding, ...]:
        """Every rule that has a hit in the text, the light ones too that a report leaves out. For tests and tuning."""
        look = self._deep_findings if deeply else self._text_findings
        return tuple(look(text, frozenset(), everything=True))

    def _text_findings(self, text: str, allow: frozenset[str], everything: bool = False) -> list[Finding]:
        budget = Budget(SCAN_SECONDS, self._meter)
        seen = self._see(text, budget)
        told = seen.hits if everything else told_once(seen.hits)
        hits = [hit for hit in told if hit.rule.id not in allow]
        weighed = weigh(hits, seen.text, everything=everything)
        spots = [*self._other_spots(seen, budget), *weighed]
        return [*show(spots, text, allow), *_unfinished(budget, "the second look reads on")]

    def _deep_findings(self, text: str, allow: frozenset[str], everything: bool = False) -> list[Finding]:
        deep = self._deep
        budget = Budget(DEEP_SECONDS, self._meter)
        first = budget.part(0.3, noted=False)
        seen = self._see(text, first)
        found = [*seen.hits, *deep.hits(seen.text, seen.encoded, budget.part(0.6))]
        secrets_budget = budget.part(0.3, noted=False)
        others = list(self._other_spots(seen, secrets_budget))
        if first.exhausted or secrets_budget.exhausted:
            for offset, hits, spots in self._slices(seen, budget):
                found += [replace(hit, start=hit.start + offset, end=hit.end + offset) for hit in hits]
                others += [replace(spot, start=spot.start + offset, end=spot.end + offset) for spot in spots]
        if self._meaning is not None:
            found += self._meaning.hits(seen.text, budget.part(MEANING_SHARE, noted=False))
        told = found if everything else told_once(found)
        hits = [hit for hit in told if hit.rule.id not in allow]
        weighed = weigh(hits, seen.text, hidden_emphasis(seen.text), everything)
        return [*show([*others, *weighed], text, allow), *_unfinished(budget, "no look could finish it")]

    def _slices(self, seen: _Seen, budget: Budget) -> Iterator[tuple[int, list[Hit], list[Spot]]]:
        """Yield what the rules of the write path find in each part of a text that was too much at once.

        Every part has its share of the budget, so that no part can take the time of another.
        """
        starts = range(0, len(seen.text), SLICE - SLICE_OVERLAP)
        for done, start in enumerate(starts):
            share = budget.part(1 / (len(starts) - done))
            part = self._see(seen.text[start : start + SLICE], share.part(LANGUAGE_SHARE))
            yield start, part.hits, self._secret_spots(part, share)

    def _see(self, text: str, budget: Budget) -> _Seen:
        whole, encoded = _whole(text)
        present = distinct(encoded) + ("\ud800" if whole is not text else "")
        located = self._matchers.written.scan(whole, encoded, budget)
        candidates, encodings = self._matchers.split_marks(located.marks)
        share = budget.part(LANGUAGE_SHARE)
        hits = language.find_hits(whole, encoded, present, encodings, self._readers, share)
        return _Seen(text, whole, encoded, present, located, candidates, hits)

    def _other_spots(self, seen: _Seen, budget: Budget) -> Iterator[Spot]:
        """Of characters and of secrets."""
        yield from unicode_policy.find_spots(seen.as_given, seen.present, self._folder.skeleton)
        yield from self._secret_spots(seen, budget)

    def _secret_spots(self, seen: _Seen, budget: Budget) -> list[Spot]:
        return secrets.find_spots(seen.text, seen.encoded, seen.candidates, seen.located.matches, self._secrets, budget)

    @cached_property
    def _deep(self) -> DeepLook:
        return DeepLook(self._folder, self._matchers.folded, self._matchers.load_deep(), self._encodings)

    def _encodings(self, text: str, encoded: bytes) -> dict[int, list[int]]:
        budget = Budget(DEEP_SECONDS, self._meter)
        return self._matchers.split_marks(self._matchers.written.scan(text, encoded, budget).marks)[1]


@dataclass(frozen=True, slots=True)
class _Seen:
    """One text, and what the write path's databases and readings found in it."""

    as_given: str
    text: str
    encoded: bytes
    present: str
    located: Located
    candidates: dict[int, list[int]]
    hits: list[Hit]


def _whole(text: str) -> tuple[str, bytes]:
    """Return the text without lone surrogates, in characters and in UTF-8."""
    try:
        return text, text.encode()
    except UnicodeEncodeError:
        whole = _SURROGATE.sub("\ufffd", text)
        return whole, whole.encode()


def _path_findings(path: str) -> Iterator[Finding]:
    for rule_id in path_policy.hits(path):
        rule = path_policy.BY_ID[rule_id]
        shown = excerpt(path, 0, len(path), ())
        yield Finding(rule.id, Family.PATH, rule.severity, rule.reason, path_policy.REMEDY, 0, 0, shown)


def _unfinished(budget: Budget, then: str) -> Iterator[Finding]:
    if budget.exhausted:
        yield Finding(
            rule=UNFINISHED,
            family=Family.LIMIT,
            severity=Severity.MEDIUM,
            reason=f"a part of the text was not read, because reading it took too long; {then}",
            remedy="Split the text, or remove what it repeats thousands of times.",
            line=1,
            column=1,
            excerpt="",
        )


def _too_long(length: int) -> Finding:
    return Finding(
        rule=LENGTH,
        family=Family.LIMIT,
        severity=Severity.HIGH,
        reason=f"{length:,} characters are more than the scanner reads at once ({MAX_SCANNED_CHARACTERS:,})",
        remedy="Split the text.",
        line=1,
        column=1,
        excerpt="",
    )
