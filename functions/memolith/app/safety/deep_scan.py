"""The second look: every committed version once more, off the write path, with time for more than the writer has.

A version is read in its home region, scanned with the slower and broader rules under its store's policy, and compared
with what verdicts on other memories of the store have left behind (`core.fingerprints`). If a guardrail is set up, it
is asked too. What is found becomes a verdict; of a version that nothing is found in, nothing is put.

It reads, and puts verdicts. It deletes nothing, and no verdict leads to another look: only entries of logs do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Protocol

from memolith.app.index.parts import IndexParts
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region, View
from memolith.app.log.log_reader import LogReader
from memolith.app.log.store_log import StoreLog
from memolith.app.log.verified_reads import verified_entry
from memolith.app.safety.sightings import REPEATED_IN, Sightings
from memolith.app.safety.store_findings import quotation, repeated
from memolith.app.safety.verdicts import SCANNER, Verdicts
from memolith.app.safety.write_gate import (
    GUARDRAIL_RULE,
    STORE_RULES,
    finding_to_json,
    policy_of,
    secrets_of,
)
from memolith.core.errors import MemolithError, Unavailable
from memolith.core.fingerprints import (
    Fingerprint,
    Kind,
    digest_of,
    offset_of,
    phrase_at,
    secret_at,
    secrets_in,
)
from memolith.core.integrity import Acknowledged, damage_of
from memolith.core.log_position import LogKey
from memolith.core.object_keys import own_log_key, parse_key
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.store_record import StoreState
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.identity import StoreRow
from memolith.ports import errors as port_errors
from memolith.ports.guardrail import Confidence, Guardrail, Opinion
from memolith.scanner import Family, Finding, Policy, Report, Severity, Verdict
from memolith.scanner.findings import judge

FINGERPRINTS_MAX = 8
"""Of one verdict: each is a row that every region keeps."""

ASKING_US = 15_000_000
"""For how long after its objects are read a batch begins questions to the guardrail. One that hangs would take the time
of every version: none got its rules' verdict, and no function lived to count the silence."""

_PHRASES = frozenset({Family.INJECTION, Family.PERSONA, Family.EXFILTRATION})


class DeepScanner(Protocol):
    """What the second look asks of the scanner; `memolith.scanner.Scanner` is the real one."""

    def scan_deeply(
        self, text: str, path: str | None = None, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()
    ) -> Report:
        """Scan as `Scanner.scan` does, with the rules that are too slow or too eager for the write path. Pure."""


class DeepScanResult(StrEnum):
    """What became of one look."""

    NOTHING_TO_READ = "nothing_to_read"
    """No content, or none any more; not this region's; void; or its store is gone."""
    ALLOWED = "allowed"
    FLAGGED = "flagged"
    WITHHELD = "withheld"


@dataclass(frozen=True, slots=True)
class _Subject:
    """A version that is to be looked at: its entry, its text, its store, and what the store says of scans."""

    entry: Entry
    text: str
    store: StoreRow
    policy: Policy
    allow: frozenset[str]
    content_hmac: str

    @property
    def salt(self) -> bytes:
        return bytes.fromhex(self.store.salt)


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """What a batch of looks has read together.

    Attributes:
        found: each version's entry and text, or why it could not be read.
        view: the tables, with the record of each store that has a text among them.
        asks_until: until when the guardrail is asked about one of them.
    """

    found: Mapping[LogKey, tuple[Entry | None, str] | MemolithError | ValueError]
    view: View
    asks_until: int


class DeepScan:
    """Looks at versions of this region's logs, one at a time; what a batch of them needs is read together."""

    def __init__(
        self,
        region: Region,
        logs: LogReader,
        records: StoreLog,
        verdicts: Verdicts,
        scanner: DeepScanner,
        guardrail: Guardrail | None = None,
    ) -> None:
        self._region = region
        self._scanner = scanner
        self._guardrail = guardrail
        self._logs = logs
        self._records = records
        self._verdicts = verdicts

    def read_ahead(self, keys: Sequence[str]) -> ReadAhead:
        """Read what looks at these versions need: their objects at once, and the records of their stores in one read.

        Keys of other things, or of other regions, are left out. What cannot be read is an error of its own look.

        Raises:
            Unavailable: the index does not answer.
        """
        own = (own_log_key(key, self._region.name) for key in keys)
        names = list(dict.fromkeys(name for name in own if name is not None))
        read = self._region.parallel.run([partial(self._attempt, name) for name in names])
        found = dict(zip(names, read, strict=True))
        stores = {name.store_id for name, one in found.items() if isinstance(one, tuple) and one[0] is not None}
        view = self._region.view([StoreRow.key(store_id) for store_id in sorted(stores)])
        return ReadAhead(found, view, self._region.clock.now_us() + ASKING_US)

    def inspect(self, key: str, ahead: ReadAhead | None = None) -> DeepScanResult:
        """Scan one version. Repeatable: a message that comes twice leaves one verdict.

        One GET, one index read and one query for a version in which nothing is found; for any other one what
        `Verdicts.put` costs besides. The query alone, where `ahead` has the rest.

        Raises:
            ValueError: no key of Memolith, or an object that no writer made; it will never be readable.
            Unavailable, OutcomeUnknown, Busy: try again later. The guardrail's silence is among them, and a batch that
                has no time left to ask it; the rules' verdict is stored already then.
            ScannerUnavailableError: the text was not scanned.
        """
        parse_key(key)
        ahead = ahead or self.read_ahead([key])
        name = own_log_key(key, self._region.name)
        found = None if name is None else ahead.found[name]
        if isinstance(found, Exception):
            raise found
        entry, text = found or (None, "")
        if entry is None or not entry.has_content or not self._committed(entry):
            return DeepScanResult.NOTHING_TO_READ
        subject = self._subject(ahead.view, entry, text)
        if subject is None:
            return DeepScanResult.NOTHING_TO_READ
        report = self._scanner.scan_deeply(subject.text, subject.entry.path, subject.policy, subject.allow)
        across = [one for one in self._across(ahead.view, subject, report) if one.rule not in subject.allow]
        report = judge([*report.findings, *across], subject.policy, secrets_of(subject.store))
        opinion, silence = self._ask(ahead, subject, report)
        if opinion is not None:
            report = with_opinion(report, opinion, subject.allow)
        if report.verdict is not Verdict.ALLOW:
            self._verdicts.put(self._record(subject, report))
        if silence is not None:
            raise Unavailable("the guardrail does not answer; the rules' verdict stands, try again") from silence
        return _INSPECTED[report.verdict]

    # ---- what to look at ----------------------------------------------------------------------------------------

    def _attempt(self, key: LogKey) -> tuple[Entry | None, str] | MemolithError | ValueError:
        try:
            return self._read(key)
        except (MemolithError, ValueError) as error:
            return error

    def _read(self, key: LogKey) -> tuple[Entry | None, str]:
        found = find(self._region.objects, str(key))
        if found is None:
            return None, ""
        entry = Entry.from_metadata(key, found.metadata)
        if damage_of(key, found.metadata, found.body, Acknowledged()) is None:
            return entry, found.body.decode()
        return verified_entry(self._region, key, Acknowledged(entry.content_sha256 or "", entry.version_id)) or (
            None,
            "",
        )

    def _subject(self, view: View, entry: Entry, text: str) -> _Subject | None:
        store = self._store(view, entry.key.store_id)
        if store is None or entry.content_sha256 is None:
            return None
        policy, allow = policy_of(store)
        return _Subject(entry, text, store, policy, allow, self._verdicts.hmac(store, entry.content_sha256))

    def _committed(self, entry: Entry) -> bool:
        """Tell whether it is a version, as a `moved_in` is once its other half exists. Before, raises Unavailable."""
        if entry.operation is not Operation.MOVED_IN:
            return True
        resolved = self._logs.resolve(entry)
        if not resolved:
            raise Unavailable("a rename is not finished; try again")
        return resolved[0].is_version

    def _store(self, view: View, store_id: str) -> StoreRow | None:
        attributes = view.rows.get(StoreRow.key(store_id))
        row = self._records.find(store_id) if attributes is None else StoreRow.from_attributes(attributes)
        return None if row is None or row.state == StoreState.DELETED else row

    # ---- what other memories of the store say -------------------------------------------------------------------

    def _across(self, view: View, subject: _Subject, report: Report) -> Iterator[Finding]:
        sightings = Sightings(self._region, view, subject.store.store_id, subject.entry.memory_id)
        yield from _quoted(sightings, subject, report)
        for finding in report.findings:
            if finding.family in _PHRASES and finding.severity is Severity.MEDIUM:
                phrase = phrase_at(subject.text, offset_of(subject.text, finding.line, finding.column))
                if phrase is None:
                    continue
                memories = sightings.of_phrase(digest_of(subject.salt, Kind.PHRASE, phrase))
                if len(memories) + 1 >= REPEATED_IN:
                    yield repeated(finding, len(memories) + 1)
                    return

    # ---- what a model makes of it -------------------------------------------------------------------------------

    def _ask(
        self, ahead: ReadAhead, subject: _Subject, report: Report
    ) -> tuple[Opinion | None, port_errors.Unavailable | None]:
        """Ask the guardrail; return its opinion, or its silence; neither if it is off or the rules withhold anyway."""
        if self._guardrail is None or report.verdict is Verdict.REJECT or GUARDRAIL_RULE in subject.allow:
            return None, None
        if self._region.clock.now_us() > ahead.asks_until:
            return None, port_errors.Unavailable("the guardrail took all the time that a batch has for it")
        try:
            return self._guardrail.ask(subject.text), None
        except port_errors.Unavailable as error:
            self._region.metrics.count("guardrail_unavailable")
            return None, error

    # ---- the verdict --------------------------------------------------------------------------------------------

    def _record(self, subject: _Subject, report: Report) -> VerdictRecord:
        withheld = report.verdict is Verdict.REJECT
        findings = report.rejecting if withheld else _worth_telling(report)
        return VerdictRecord(
            store_id=subject.store.store_id,
            version_id=subject.entry.version_id,
            position=str(subject.entry.ref),
            content_hmac=subject.content_hmac,
            outcome=VerdictOutcome.WITHHOLD if withheld else VerdictOutcome.FLAG,
            decided_at=self._region.clock.now_us(),
            decided_by=SCANNER,
            reason=findings[0].reason,
            findings=tuple(finding_to_json(finding) for finding in findings),
            fingerprints=tuple(map(str, _fingerprints(subject, report))),
        )


_INSPECTED = {
    Verdict.ALLOW: DeepScanResult.ALLOWED,
    Verdict.FLAG: DeepScanResult.FLAGGED,
    Verdict.REJECT: DeepScanResult.WITHHELD,
}


def _worth_telling(report: Report) -> Sequence[Finding]:
    return [finding for finding in report.findings if finding.severity is not Severity.LOW]


def _quoted(sightings: Sightings, subject: _Subject, report: Report) -> Iterator[Finding]:
    """Yield the worst secret of another memory that this text contains too, unless the scan itself found it."""
    known = sightings.of_secrets()
    if not known:
        return
    own = {fingerprint.digest for fingerprint in _fingerprints(subject, report)}
    words = {digest_of(subject.salt, Kind.SECRET, value): value for value in secrets_in(subject.text)}
    met = [row for digest, row in known.items() if digest in words and digest not in own]
    met = [row for row in met if not sightings.any_released([row])]
    for row in sorted(met, key=lambda row: (row.severity != Severity.HIGH, row.digest))[:1]:
        position = subject.text.index(words[row.digest])
        yield quotation(subject.text, position, Severity(row.severity))


def _fingerprints(subject: _Subject, report: Report) -> list[Fingerprint]:
    """Return what identifies parts of a text elsewhere: its secrets, and the phrases that rules found."""
    found: dict[tuple[Kind, str], Fingerprint] = {}
    for finding in _worth_telling(report):
        if finding.line == 0 or finding.rule in STORE_RULES:
            continue
        kind = Kind.SECRET if finding.family is Family.SECRET else Kind.PHRASE
        if kind is Kind.PHRASE and finding.family not in _PHRASES:
            continue
        position = offset_of(subject.text, finding.line, finding.column)
        value = secret_at(subject.text, position) if kind is Kind.SECRET else phrase_at(subject.text, position)
        if value is not None:
            digest = digest_of(subject.salt, kind, value)
            one = Fingerprint(kind, digest, subject.entry.memory_id, finding.severity.value)
            found.setdefault((kind, digest), one)
    return list(found.values())[:FINGERPRINTS_MAX]


# ---- what a guardrail makes of it -----------------------------------------------------------------------------------


def with_opinion(report: Report, opinion: Opinion, allow: frozenset[str]) -> Report:
    """Add what a guardrail made of the text to a report, unless its rule is allowed."""
    added = [] if GUARDRAIL_RULE in allow else _of_opinion(opinion)
    return judge([*report.findings, *added], report.policy, report.secrets) if added else report


def _of_opinion(opinion: Opinion) -> list[Finding]:
    """Make findings of an opinion: what a guardrail blocks is high, as a sure rule's; what it suspects is a flag."""
    if not opinion.blocked and opinion.confidence in (Confidence.NONE, Confidence.LOW):
        return []
    severity = Severity.HIGH if opinion.blocked else Severity.MEDIUM
    return [
        Finding(
            rule=GUARDRAIL_RULE,
            family=Family.INJECTION,
            severity=severity,
            reason=f"the guardrail takes the text for a prompt attack (confidence {opinion.confidence})",
            remedy="Say it as a description rather than as an order to whoever reads it.",
            line=1,
            column=1,
            excerpt="",
        )
    ]


def make_deep_scan(region: Region, scanner: DeepScanner, guardrail: Guardrail | None = None) -> DeepScan:
    """Put a region's post-commit scan together. No call."""
    parts = IndexParts.of(region)
    return DeepScan(region, parts.logs, parts.store_log, Verdicts(region), scanner, guardrail)
