"""Findings that no text shows by itself: what it has in common with other memories of its store."""

from __future__ import annotations

from dataclasses import replace

from memolith.app.safety.write_gate import QUOTED_RULE, REPEATED_RULE
from memolith.scanner import Family, Finding, Severity


def quotation(text: str, position: int, severity: Severity) -> Finding:
    """Find a secret of another memory at this place of a text."""
    line = text.count("\n", 0, position) + 1
    return Finding(
        rule=QUOTED_RULE,
        family=Family.SECRET,
        severity=severity,
        reason="quotes a secret that another memory of this store holds",
        remedy="Remove it here and there, and revoke the secret: it has been read by whoever wrote this.",
        line=line,
        column=position - text.rfind("\n", 0, position),
        excerpt="",
    )


def repeated(finding: Finding, memories: int) -> Finding:
    """Make a finding of one whose phrase stands in so many memories."""
    return replace(
        finding,
        rule=REPEATED_RULE,
        severity=Severity.HIGH,
        reason=f"a phrase that {finding.rule} found stands in at least {memories} memories of this store: it spreads",
        remedy="Look at who wrote them. If the phrase is harmless, release one of them, and it counts no more.",
        excerpt="",
    )
