"""Nothing enters unread: every text is scanned before it is committed, where its store's writes are decided."""

from __future__ import annotations

from dataclasses import asdict
from typing import Protocol

from cairn.core.commands import Command, DeleteMemory
from cairn.core.errors import InvalidRequest, Unavailable
from cairn.core.records import kept_flags
from cairn.scanner import Finding, Policy, Report, Severity, Verdict


class TextScanner(Protocol):
    """What a scan is asked for; `cairn.scanner.Scanner` is the real one."""

    def scan(self, text: str, path: str | None = None) -> Report:
        """Every finding in a text and its path, and the verdict. Pure; milliseconds for 100 KB."""


class Unscanning:
    """For a function that must not write: it lets nothing through."""

    def scan(self, text: str, path: str | None = None) -> Report:
        """Raises Unavailable."""
        raise Unavailable("this function does not scan, so it does not write")


class LettingAllThrough:
    """For tests of everything but the scanner."""

    def scan(self, text: str, path: str | None = None) -> Report:
        return Report(Verdict.ALLOW, (), Policy.STANDARD)


def admit(scanner: TextScanner, command: Command) -> tuple[str, ...]:
    """The rules to be noted on the new version; none for a deletion, which brings no text.

    Raises:
        InvalidRequest: the text or the path is rejected; `findings` say why, never the secret itself.
    """
    if isinstance(command, DeleteMemory):
        return ()
    report = scanner.scan(command.content or "", command.path)
    if report.verdict is Verdict.REJECT:
        findings = report.rejecting
        field = "path" if all(finding.line == 0 for finding in findings) else "content"
        rules = ", ".join(dict.fromkeys(finding.rule for finding in findings))
        raise InvalidRequest(field, f"refused by the safety scanner ({rules})", findings=tuple(map(_told, findings)))
    if report.verdict is Verdict.FLAG:
        return kept_flags(finding.rule for finding in report.findings if finding.severity is not Severity.LOW)
    return ()


def _told(finding: Finding) -> dict[str, object]:
    """A finding as the API tells it."""
    fields = asdict(finding)
    del fields["weight"]
    return {name: str(value) if isinstance(value, str) else value for name, value in fields.items()}
