"""A scan's results in SARIF 2.1.0, as code-scanning services read them.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0; GitHub, SARIF support for code scanning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from memolith import __version__
from memolith.clients.cli.scan_results import Results, Scanned
from memolith.scanner import Finding, Severity

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SECURITY_SEVERITY = {Severity.HIGH: "8.0", Severity.MEDIUM: "5.0", Severity.LOW: "2.0"}


def sarif(results: Results) -> dict[str, Any]:
    """Make one run: every finding a result, every rule found described, every unread source a notification."""
    found = [(scanned, finding) for scanned in results.scanned for finding in scanned.report.findings]
    rules = {finding.rule: finding for _, finding in reversed(found)}
    order = sorted(rules)
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "memolith scan",
                        "version": __version__,
                        "rules": [_rule(rules[rule]) for rule in order],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _unread(results)}],
                "results": list(_results(found, order)),
                "properties": {"policy": results.policy.value, "deep": results.deep, "scanned": len(results.scanned)},
            }
        ],
    }


def _rule(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.rule,
        "shortDescription": {"text": finding.reason},
        "help": {"text": finding.remedy},
        "defaultConfiguration": {"level": "error" if finding.severity is Severity.HIGH else "warning"},
        "properties": {
            "tags": ["security", finding.family.value],
            "security-severity": _SECURITY_SEVERITY[finding.severity],
        },
    }


def _results(found: Iterable[tuple[Scanned, Finding]], order: Sequence[str]) -> Iterable[dict[str, Any]]:
    for scanned, finding in found:
        yield {
            "ruleId": finding.rule,
            "ruleIndex": order.index(finding.rule),
            "level": _level(scanned, finding),
            "message": {"text": f"{finding.reason}: {finding.excerpt}\n{finding.remedy}"},
            "locations": [{"physicalLocation": _place(scanned, finding)}],
            "partialFingerprints": {"memolithFinding/v1": _fingerprint(scanned, finding)},
            "properties": {"family": finding.family.value, "severity": finding.severity.value},
        }


def _level(scanned: Scanned, finding: Finding) -> str:
    """Return a finding's level: an error is what the policy rejects."""
    if finding in scanned.report.rejecting:
        return "error"
    return "note" if finding.severity is Severity.LOW else "warning"


def _place(scanned: Scanned, finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": scanned.source.uri}}
    if finding.line:
        place["region"] = {"startLine": finding.line, "startColumn": finding.column}
    return place


def _fingerprint(scanned: Scanned, finding: Finding) -> str:
    """Return a fingerprint that stays the same after lines were added above the finding."""
    said = "\0".join((finding.rule, scanned.source.uri, finding.excerpt))
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]


def _unread(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "level": "note",
            "message": {"text": f"not scanned: {unread.reason}"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": unread.source.uri}}}],
        }
        for unread in results.unread
    ]
