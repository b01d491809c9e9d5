"""What a scan of many texts came to, and how it is told to people and to programs. No output holds a secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from memolith.clients.cli.scan_inputs import Source
from memolith.scanner import Finding, Policy, Report, Verdict


@dataclass(frozen=True, slots=True)
class Scanned:
    """A source and what was found in it."""

    source: Source
    report: Report


@dataclass(frozen=True, slots=True)
class Unread:
    """A source that holds no text, and why."""

    source: Source
    reason: str


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was asked for, in its order; how it was looked at."""

    scanned: tuple[Scanned, ...]
    unread: tuple[Unread, ...]
    policy: Policy
    deep: bool

    def count(self, verdict: Verdict) -> int:
        """Count the texts that got this verdict."""
        return sum(scanned.report.verdict is verdict for scanned in self.scanned)


def as_text(results: Results) -> str:
    """Write the report for people: each finding and what to do about it, then what was not read, then the sum."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Results) -> Iterator[str]:
    for scanned in results.scanned:
        for finding in scanned.report.findings:
            yield from _told(scanned, finding)
    for unread in results.unread:
        yield f"{_plain(unread.source.name)}: not scanned: {unread.reason}"
    yield (
        f"{len(results.scanned)} scanned under the {results.policy.value} policy{', deeply' if results.deep else ''}: "
        f"{results.count(Verdict.REJECT)} rejected, {results.count(Verdict.FLAG)} flagged, "
        f"{results.count(Verdict.ALLOW)} clean; {len(results.unread)} not scanned"
    )


def _told(scanned: Scanned, finding: Finding) -> Iterator[str]:
    place = f"{_plain(scanned.source.name)}:{finding.line}:{finding.column}"
    word = "rejects" if finding in scanned.report.rejecting else finding.severity.value
    yield f"{place}: {word}: {finding.reason} [{finding.rule}]"
    yield f"    {finding.excerpt}"
    yield f"    {finding.remedy}"


def _plain(name: str) -> str:
    """Make a name safe for a terminal: a file may be named with control characters."""
    return "".join(char if char.isprintable() else f"<U+{ord(char):04X}>" for char in name)


def as_json(results: Results) -> str:
    """Write the report for programs: one object; ``results`` has every text, the clean ones too."""
    told = {
        "policy": results.policy.value,
        "deep": results.deep,
        "summary": {
            "scanned": len(results.scanned),
            "rejected": results.count(Verdict.REJECT),
            "flagged": results.count(Verdict.FLAG),
            "not_scanned": len(results.unread),
        },
        "results": [_result(scanned) for scanned in results.scanned],
        "not_scanned": [{"name": unread.source.name, "reason": unread.reason} for unread in results.unread],
    }
    return json.dumps(told, indent=2) + "\n"


def _result(scanned: Scanned) -> dict[str, Any]:
    report = scanned.report
    findings = [{**asdict(finding), "rejects": finding in report.rejecting} for finding in report.findings]
    return {"name": scanned.source.name, "verdict": report.verdict.value, "findings": findings}
