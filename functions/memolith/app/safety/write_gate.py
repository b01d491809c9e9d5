"""Nothing enters unread: every text is scanned before it is committed, where its store's writes are decided."""

from __future__ import annotations

from dataclasses import asdict
from typing import Protocol

from memolith.core.commands import Command, DeleteMemory
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.objects.entry import kept_flags
from memolith.core.objects.store_record import SCAN_POLICY_DEFAULT
from memolith.core.rows.identity import StoreRow
from memolith.scanner import Finding, Policy, Report, Severity, Verdict

QUOTED_RULE = "store-quoted-secret"
REPEATED_RULE = "store-repeated-phrase"
GUARDRAIL_RULE = "guardrail-prompt-attack"
STORE_RULES = frozenset({QUOTED_RULE, REPEATED_RULE, GUARDRAIL_RULE})
"""Rules of the second look (`app.safety.deep_scan`), which no text shows by itself; an allow-list may name them too."""


class TextScanner(Protocol):
    """What a scan is asked for; `memolith.scanner.Scanner` is the real one."""

    def scan(
        self, text: str, path: str | None = None, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()
    ) -> Report:
        """Return every finding in a text and its path, and the verdict. Pure; milliseconds for 100 KB."""

    def knows(self, rule_id: str) -> bool:
        """Tell whether there may be findings of this rule, so that an allow-list can name it."""


class Unscanning:
    """For a function that must not write: it lets nothing through."""

    def scan(
        self, text: str, path: str | None = None, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()
    ) -> Report:
        """Raise Unavailable."""
        raise Unavailable("this function does not scan, so it does not write")

    def knows(self, rule_id: str) -> bool:
        """Raise Unavailable."""
        raise Unavailable("this function does not scan, so it changes no policy")


class LettingAllThrough:
    """For tests of everything but the scanner."""

    def scan(
        self, text: str, path: str | None = None, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()
    ) -> Report:
        return Report(Verdict.ALLOW, (), policy)

    def knows(self, rule_id: str) -> bool:
        return True


def admit(scanner: TextScanner, store: StoreRow, command: Command) -> tuple[str, ...]:
    """Scan a command; return the rules to note on the new version. None for a deletion, which has no text.

    Raises:
        InvalidRequest: the text or the path is rejected; `findings` say why, never the secret itself.
    """
    if isinstance(command, DeleteMemory):
        return ()
    policy, allow = policy_of(store)
    report = scanner.scan(command.content or "", command.path, policy, allow)
    if report.verdict is Verdict.REJECT:
        findings = report.rejecting
        field = "path" if all(finding.line == 0 for finding in findings) else "content"
        rules = ", ".join(dict.fromkeys(finding.rule for finding in findings))
        raise InvalidRequest(
            field, f"refused by the safety scanner ({rules})", findings=tuple(map(finding_to_json, findings))
        )
    if report.verdict is Verdict.FLAG:
        return kept_flags(finding.rule for finding in report.findings if finding.severity is not Severity.LOW)
    return ()


def policy_of(store: StoreRow) -> tuple[Policy, frozenset[str]]:
    """Return how a store has its texts scanned: its policy, and the rules whose findings do not count."""
    return Policy(store.scan_policy or SCAN_POLICY_DEFAULT), frozenset(store.scan_allow or ())


def finding_to_json(finding: Finding) -> dict[str, object]:
    """Render a finding as the API does."""
    fields = asdict(finding)
    del fields["weight"]
    return {name: str(value) if isinstance(value, str) else value for name, value in fields.items()}
