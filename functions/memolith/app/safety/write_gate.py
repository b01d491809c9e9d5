"""Nothing enters unread: every text is scanned before it is committed, where its store's writes are decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from memolith.core.commands import Command, DeleteMemory
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.objects.entry import kept_flags
from memolith.core.objects.store_record import SCAN_POLICY_DEFAULT, SCAN_SECRETS_DEFAULT
from memolith.core.rows.identity import StoreRow
from memolith.scanner import Finding, Policy, Redacted, RedactedSecret, Report, Secrets, Severity, Verdict
from memolith.scanner.findings import judge
from memolith.scanner.pieces import Kept

QUOTED_RULE = "store-quoted-secret"
REPEATED_RULE = "store-repeated-phrase"
GUARDRAIL_RULE = "guardrail-prompt-attack"
STORE_RULES = frozenset({QUOTED_RULE, REPEATED_RULE, GUARDRAIL_RULE})
"""Rules of the second look (`app.safety.deep_scan`), which no text shows by itself; an allow-list may name them too."""

REDACTED_FLAG = "secret-redacted"
"""Stands on a version whose text is not what its writer sent: secrets were taken out of it."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A text that may be stored: as it was given, or without its secrets; and the rules to note on its version."""

    text: str
    flags: tuple[str, ...] = ()
    redacted: tuple[RedactedSecret, ...] = ()


class TextScanner(Protocol):
    """What a scan is asked for; `memolith.scanner.Scanner` is the real one."""

    def scan(
        self, text: str, path: str | None = None, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()
    ) -> Report:
        """Return every finding in a text and its path, and the verdict. Pure; milliseconds for 100 KB."""

    def redact(self, text: str, allow: frozenset[str] = frozenset()) -> Redacted:
        """Return a text without its secrets. Pure; milliseconds for every twenty of them."""

    def redact_each(self, texts: Sequence[str]) -> Sequence[Kept]:
        """Return texts that are kept whatever they hold, without the secrets in them. Pure; a second for a megabyte."""

    def knows(self, rule_id: str) -> bool:
        """Tell whether there may be findings of this rule, so that an allow-list can name it."""


class Unscanning:
    """For a function that must not write: it lets nothing through."""

    def scan(
        self, text: str, path: str | None = None, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()
    ) -> Report:
        """Raise Unavailable."""
        raise Unavailable("this function does not scan, so it does not write")

    def redact(self, text: str, allow: frozenset[str] = frozenset()) -> Redacted:
        """Raise Unavailable."""
        raise Unavailable("this function does not scan, so it does not write")

    def redact_each(self, texts: Sequence[str]) -> Sequence[Kept]:
        """Raise Unavailable."""
        raise Unavailable("this function does not scan, so it keeps no transcript")

    def knows(self, rule_id: str) -> bool:
        """Raise Unavailable."""
        raise Unavailable("this function does not scan, so it changes no policy")


class LettingAllThrough:
    """For tests of everything but the scanner."""

    def scan(
        self, text: str, path: str | None = None, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()
    ) -> Report:
        return Report(Verdict.ALLOW, (), policy)

    def redact(self, text: str, allow: frozenset[str] = frozenset()) -> Redacted:
        return Redacted(text, ())

    def redact_each(self, texts: Sequence[str]) -> Sequence[Kept]:
        return [Kept(text) for text in texts]

    def knows(self, rule_id: str) -> bool:
        return True


def admit(scanner: TextScanner, store: StoreRow, command: Command) -> tuple[Command, Admitted]:
    """Scan a command; return it as it may be committed. A deletion, which has no text, is not scanned.

    Raises:
        InvalidRequest: the text or the path is rejected; `findings` say why, never the secret itself.
    """
    if isinstance(command, DeleteMemory):
        return command, Admitted("")
    report, admitted = read(scanner, store, command.content or "", command.path)
    if report.verdict is Verdict.REJECT:
        findings = report.rejecting
        field = "path" if all(finding.line == 0 for finding in findings) else "content"
        rules = ", ".join(dict.fromkeys(finding.rule for finding in findings))
        raise InvalidRequest(
            field, f"refused by the safety scanner ({rules})", findings=tuple(map(finding_to_json, findings))
        )
    return (replace(command, content=admitted.text) if admitted.redacted else command), admitted


def read(scanner: TextScanner, store: StoreRow, text: str, path: str | None) -> tuple[Report, Admitted]:
    """Scan a text as its store has it scanned; return what was found, and what is to be stored unless it is rejected.

    Where secrets are to be redacted, the report is that of the text without them: it is what will be stored. If it
    still has a secret that could be taken out of no place, that rejects it.
    """
    policy, allow = policy_of(store)
    secrets = secrets_of(store)
    report = scanner.scan(text, path, policy, allow)
    redacted: tuple[RedactedSecret, ...] = ()
    if secrets is Secrets.REDACT and report.secret:
        without = scanner.redact(text, allow)
        text, redacted = without.text, without.secrets
        report = scanner.scan(text, path, policy, allow)
        if report.secret:
            report = judge(_with_secrets_as_high(report), Policy.STANDARD)
    elif secrets is Secrets.FLAG:
        report = judge(report.findings, policy, secrets)
    flags = [REDACTED_FLAG] if redacted else []
    if report.verdict is not Verdict.ALLOW:
        flags += [finding.rule for finding in report.findings if finding.severity is not Severity.LOW]
    return report, Admitted(text, kept_flags(flags), redacted)


def _with_secrets_as_high(report: Report) -> list[Finding]:
    """Return a report's findings, those of secrets as ones that reject, whatever the store's policy."""
    return [replace(one, severity=Severity.HIGH) if one in report.secret else one for one in report.findings]


def policy_of(store: StoreRow) -> tuple[Policy, frozenset[str]]:
    """Return how a store has its texts scanned: its policy, and the rules whose findings do not count."""
    return Policy(store.scan_policy or SCAN_POLICY_DEFAULT), frozenset(store.scan_allow or ())


def secrets_of(store: StoreRow) -> Secrets:
    """Return what a store has done with a write that has a secret in it."""
    return Secrets(store.scan_secrets or SCAN_SECRETS_DEFAULT)


def finding_to_json(finding: Finding) -> dict[str, object]:
    """Render a finding as the API does."""
    fields = asdict(finding)
    del fields["weight"]
    return {name: str(value) if isinstance(value, str) else value for name, value in fields.items()}
