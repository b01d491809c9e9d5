"""What a scan says: findings, a report, and the policy that turns the one into the other's verdict.

Words. A *finding* is one hit of one rule, shown so that its reader can tell a false alarm from a real one and knows
what to change; it never holds a secret. A *report* is every finding of one text and the *verdict* over them:
``allow``, ``flag`` (the write goes through, the findings stand on its version) or ``reject`` (nothing is written).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum


class Severity(StrEnum):
    """How much one finding says by itself."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Verdict(StrEnum):
    """What happens to the write."""

    ALLOW = "allow"
    FLAG = "flag"
    REJECT = "reject"


class Family(StrEnum):
    """The kinds of rule; one rule file each, except for `UNICODE`, `PATH` and `SECRET`, which are partly code."""

    LIMIT = "limit"
    PATH = "path"
    UNICODE = "unicode"
    SECRET = "secret"  # noqa: S105 - the name of a family
    INJECTION = "injection"
    PERSONA = "persona"
    EXFILTRATION = "exfiltration"


@dataclass(frozen=True, slots=True)
class Finding:
    """One hit of one rule.

    Attributes:
        rule: the rule's id, as it is named in an allow-list.
        family: the kind of rule.
        severity: of this hit, after its context was weighed (a quoted phrase weighs less than a spoken one).
        reason: one line, without the text that was found.
        remedy: what the writer can change.
        line: 1-based line of the text as written, 0 for a finding about the path.
        column: 1-based column in code points.
        excerpt: what stands there, redacted: invisible characters named, secrets masked; at most 80 characters.
        weight: the points it added to its family's score.
    """

    rule: str
    family: Family
    severity: Severity
    reason: str
    remedy: str
    line: int
    column: int
    excerpt: str
    weight: float = 0.0


class Secrets(StrEnum):
    """What happens to a write with a secret in it: a store's choice, beside its policy."""

    REFUSE = "refuse"
    REDACT = "redact"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class RedactedSecret:
    """One secret that was taken out of a text: what kind it was, and where it stood, 1-based; never what it was."""

    kind: str
    line: int
    column: int


class Policy(Enum):
    """A store's choice. The findings are the same under each; only the verdict differs.

    ``strict`` rejects every secret and every injection that is more than a hint; ``standard`` rejects what is clear
    and flags the rest; ``audit`` never rejects content (a path or a text that cannot be stored is rejected elsewhere).
    """

    STRICT = "strict"
    STANDARD = "standard"
    AUDIT = "audit"

    def rejects(self, finding: Finding) -> bool:
        """Whether this finding alone rejects the write."""
        if self is Policy.AUDIT:
            return False
        return finding.severity is Severity.HIGH or (self is Policy.STRICT and finding.severity is Severity.MEDIUM)


@dataclass(frozen=True, slots=True)
class Report:
    """Every finding of one scan, the worst first, and the verdict over them."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    policy: Policy
    secrets: Secrets = Secrets.REFUSE

    @property
    def rejecting(self) -> tuple[Finding, ...]:
        """The findings that reject the write as this report was judged; empty unless the verdict is ``reject``."""
        return tuple(finding for finding in self.findings if _rejects(finding, self.policy, self.secrets))

    @property
    def secret(self) -> tuple[Finding, ...]:
        """The findings of secrets that are more than a hint."""
        return tuple(
            finding
            for finding in self.findings
            if finding.family is Family.SECRET and finding.severity is not Severity.LOW
        )

    def __str__(self) -> str:
        lines = [f"{self.verdict.value}: {len(self.findings)} finding(s) under the {self.policy.value} policy"]
        lines += [
            f"  {f.line}:{f.column} {f.rule} ({f.severity.value}): {f.reason} | {f.excerpt} | {f.remedy}"
            for f in self.findings
        ]
        return "\n".join(lines)


RANK = {Severity.HIGH: 0, Severity.MEDIUM: 1, Severity.LOW: 2}
"""The order in which findings are told: the worst first."""


def _rejects(finding: Finding, policy: Policy, secrets: Secrets) -> bool:
    return policy.rejects(finding) and not (secrets is Secrets.FLAG and finding.family is Family.SECRET)


def judge(findings: Iterable[Finding], policy: Policy, secrets: Secrets = Secrets.REFUSE) -> Report:
    """Order the findings and take the verdict: the worst that any one of them asks for.

    A secret asks for no more than a flag where secrets are to be flagged.
    """
    ordered = tuple(sorted(findings, key=lambda f: (RANK[f.severity], -f.weight, f.line, f.column, f.rule)))
    if any(_rejects(finding, policy, secrets) for finding in ordered):
        verdict = Verdict.REJECT
    elif any(finding.severity is not Severity.LOW for finding in ordered):
        verdict = Verdict.FLAG
    else:
        verdict = Verdict.ALLOW
    return Report(verdict, ordered, policy, secrets)
