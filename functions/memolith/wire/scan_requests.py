"""A question to the scanner: one text, and perhaps its path, in; findings and a verdict out. JSON both ways.

    {"text": "…", "path": "/notes/a.md", "policy": "strict", "allow": ["secret-jwt"]}
    {"type": "scan_report", "verdict": "reject", "policy": "strict", "guardrail": null, "findings": [{"rule": …}]}

Who may ask, IAM says: the function is invoked directly. Nothing is kept of a text that is asked about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memolith.app.safety.deep_scan import DeepScanner, with_opinion
from memolith.app.safety.write_gate import finding_to_json
from memolith.core.errors import InvalidRequest, MemolithError, Unavailable
from memolith.core.limits import CONTENT_MAX_BYTES, PATH_MAX_BYTES
from memolith.ports import errors as port_errors
from memolith.ports.guardrail import Guardrail
from memolith.scanner import Policy, Report, ScannerUnavailableError
from memolith.wire.errors import failure_of

FIELDS = ("text", "path", "policy", "allow")
ALLOWED_RULES_MAX = 100
RULE_MAX_CHARS = 100


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, checked."""

    text: str
    path: str | None
    policy: Policy
    allow: frozenset[str]


class Scans:
    """Answers questions."""

    def __init__(self, scanner: DeepScanner, guardrail: Guardrail | None) -> None:
        self._scanner = scanner
        self._guardrail = guardrail

    def answer(self, payload: object, request_id: str) -> dict[str, Any]:
        """Answer with the report, or the API's error envelope. Takes milliseconds, and the guardrail's time if set."""
        try:
            return self._report(parse(payload))
        except MemolithError as error:
            return failure_of(error, writes=False).body(request_id)

    def _report(self, question: Question) -> dict[str, Any]:
        try:
            report = self._scanner.scan_deeply(question.text, question.path, question.policy, question.allow)
        except ScannerUnavailableError as error:
            raise Unavailable("the scanner does not work; the text was not scanned") from error
        report, guardrail = self._second_opinion(question, report)
        return {
            "type": "scan_report",
            "verdict": report.verdict.value,
            "policy": report.policy.value,
            "guardrail": guardrail,
            "findings": [finding_to_json(finding) for finding in report.findings],
        }

    def _second_opinion(self, question: Question, report: Report) -> tuple[Report, str | None]:
        """Add the guardrail's finding to the report; return also its opinion: None where it is off."""
        if self._guardrail is None:
            return report, None
        try:
            opinion = self._guardrail.ask(question.text)
        except port_errors.Unavailable:
            return report, "unavailable"
        return with_opinion(report, opinion, question.allow), "attack" if opinion.blocked else "clear"


def parse(payload: object) -> Question:
    """Parse the question in a payload.

    Raises:
        InvalidRequest: naming the field and the rule; the message never repeats the text.
    """
    if not isinstance(payload, Mapping):
        raise InvalidRequest("", "must be a JSON object")
    for name in payload:
        if name not in FIELDS:
            raise InvalidRequest(str(name)[:RULE_MAX_CHARS], f"is not a field; the fields are {', '.join(FIELDS)}")
    text, path = payload.get("text"), payload.get("path")
    if not isinstance(text, str):
        raise InvalidRequest("text", "must be a string")
    _fits("text", text, CONTENT_MAX_BYTES)
    if path is not None:
        if not isinstance(path, str):
            raise InvalidRequest("path", "must be a string")
        _fits("path", path, PATH_MAX_BYTES)
    return Question(text, path, _policy(payload.get("policy", Policy.STANDARD.value)), _allow(payload.get("allow", [])))


def _fits(field: str, text: str, limit_bytes: int) -> None:
    """Check a text's size. Lone surrogates, which the scanner finds, count as the three bytes that they would take."""
    if len(text.encode("utf-8", "surrogatepass")) > limit_bytes:
        raise InvalidRequest(field, f"must be at most {limit_bytes:,} bytes of UTF-8", too_large=True)


def _policy(value: object) -> Policy:
    names = [policy.value for policy in Policy]
    if not isinstance(value, str) or value not in names:
        raise InvalidRequest("policy", f"must be one of {', '.join(names)}")
    return Policy(value)


def _allow(value: object) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) and 0 < len(one) <= RULE_MAX_CHARS for one in value):
        raise InvalidRequest("allow", "must be a list of rules, as findings name them")
    if len(value) > ALLOWED_RULES_MAX:
        raise InvalidRequest("allow", f"must name at most {ALLOWED_RULES_MAX} rules")
    return frozenset(value)
