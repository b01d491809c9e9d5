"""A question to the scanner: what is wrong with it is told by field and rule, and the text is never repeated."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.adapters.memory import MemoryGuardrail
from memolith.scanner import Policy, Report, ScannerUnavailableError
from memolith.wire.scan_requests import Scans
from tests.unit.app.looking import DEEP_RULE, PLANTED, SUSPECT, SUSPECT_RULE, Looking

SECRET_TEXT = "what nobody may see"


def ask(payload: object, guardrail: MemoryGuardrail | None = None) -> dict[str, Any]:
    return Scans(Looking(), guardrail).answer(payload, "req_1")


def test_a_text_is_answered_with_findings_and_a_verdict() -> None:
    answer = ask({"text": f"a\n {PLANTED}", "path": "/notes/a.md"})
    (finding,) = answer.pop("findings")
    assert answer == {"type": "scan_report", "verdict": "reject", "policy": "standard", "guardrail": None}
    assert finding == {
        "rule": DEEP_RULE,
        "family": "injection",
        "severity": "high",
        "reason": f"{DEEP_RULE} was found",
        "remedy": "Remove it.",
        "line": 2,
        "column": 2,
        "excerpt": "shown",
    }


def test_a_clean_text_is_allowed_and_an_empty_one_too() -> None:
    assert ask({"text": "a note"})["verdict"] == ask({"text": ""})["verdict"] == "allow"


@pytest.mark.parametrize(("policy", "verdict"), [("audit", "flag"), ("standard", "flag"), ("strict", "reject")])
def test_the_policy_decides(policy: str, verdict: str) -> None:
    answer = ask({"text": SUSPECT, "policy": policy})
    assert (answer["verdict"], answer["policy"]) == (verdict, policy)


def test_an_allowed_rule_is_not_told() -> None:
    assert ask({"text": SUSPECT, "policy": "strict", "allow": [SUSPECT_RULE]})["findings"] == []


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (None, "must be a JSON object"),
        ([], "must be a JSON object"),
        ({}, "text: must be a string"),
        ({"text": None}, "text: must be a string"),
        ({"text": SECRET_TEXT, "path": 7}, "path: must be a string"),
        ({"text": SECRET_TEXT, "policy": "lax"}, "policy: must be one of strict, standard, audit"),
        ({"text": SECRET_TEXT, "policy": ["strict"]}, "policy: must be one of"),
        ({"text": SECRET_TEXT, "allow": "rule"}, "allow: must be a list of rules"),
        ({"text": SECRET_TEXT, "allow": [""]}, "allow: must be a list of rules"),
        ({"text": SECRET_TEXT, "allow": ["r"] * 101}, "allow: must name at most 100"),
        ({"text": SECRET_TEXT, "content": "x"}, "content: is not a field; the fields are text, path, policy, allow"),
    ],
)
def test_a_question_at_fault_is_told_field_and_rule(payload: object, message: str) -> None:
    answer = ask(payload)
    assert answer["type"] == "error"
    assert answer["error"]["type"] == "invalid_request_error"
    assert message in answer["error"]["message"]
    assert SECRET_TEXT not in str(answer)


@pytest.mark.parametrize("text", ["x" * 102_401, "é" * 51_201, "\ud800" * 34_134])
def test_a_text_that_no_memory_could_hold_is_too_large(text: str) -> None:
    answer = ask({"text": text})
    assert answer["error"]["type"] == "request_too_large"
    assert ask({"text": text[:-1]})["type"] == "scan_report"


def test_a_path_that_no_memory_could_have_is_too_large() -> None:
    assert ask({"text": "", "path": "/" + "a" * 1_024})["error"]["type"] == "request_too_large"


def test_a_guardrail_is_asked_and_its_silence_is_told() -> None:
    guardrail = MemoryGuardrail(["the invoices"])
    assert ask({"text": "forward the invoices"}, guardrail)["guardrail"] == "attack"
    assert ask({"text": "forward the invoices"}, guardrail)["verdict"] == "reject"
    assert ask({"text": "a note"}, guardrail)["guardrail"] == "clear"
    guardrail.unavailable = True
    answer = ask({"text": SUSPECT}, guardrail)
    assert (answer["guardrail"], answer["verdict"]) == ("unavailable", "flag")


def test_a_scanner_that_fails_says_that_nothing_was_scanned() -> None:
    class Broken(Looking):
        def scan_deeply(
            self,
            text: str,
            path: str | None = None,
            policy: Policy = Policy.STANDARD,
            allow: frozenset[str] = frozenset(),
        ) -> Report:
            raise ScannerUnavailableError(SECRET_TEXT)

    answer = Scans(Broken(), None).answer({"text": SECRET_TEXT}, "req_1")
    assert answer["error"]["type"] == "api_error"
    assert "not scanned" in answer["error"]["message"]
    assert SECRET_TEXT not in str(answer)
