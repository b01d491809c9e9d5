"""Ours: nothing enters unread. Every text is scanned at its store's home, before anything is put."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cairn.app.answers import VersionFilter
from cairn.app.scanning import Unscanning
from cairn.core.errors import InvalidRequest, Unavailable
from cairn.scanner import Family, Finding, Policy, Report, Severity, Verdict
from tests.support.cloud import Cloud

Judge = Callable[[str, str | None], Verdict]


class Scripted:
    """A scanner that judges by a function, and remembers what it read."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.read: list[tuple[str, str | None]] = []

    def scan(self, text: str, path: str | None = None) -> Report:
        self.read.append((text, path))
        verdict = self._judge(text, path)
        severity = Severity.HIGH if verdict is Verdict.REJECT else Severity.MEDIUM
        line, column = (0, 0) if "bad" in (path or "") else (2, 3)
        finding = Finding(
            "test-rule", Family.INJECTION, severity, "a reason", "a remedy", line, column, "an excerpt", 9.0
        )
        return Report(verdict, () if verdict is Verdict.ALLOW else (finding,), Policy.STANDARD)


def by_word(text: str, path: str | None) -> Verdict:
    if "bad" in text or "bad" in (path or ""):
        return Verdict.REJECT
    return Verdict.FLAG if "odd" in text else Verdict.ALLOW


@pytest.mark.parametrize("landing", ["us-east-1", "eu-west-1"])
def test_a_rejected_text_is_refused_with_its_findings_and_leaves_nothing_in_the_log(landing: str) -> None:
    cloud = Cloud(scanner=Scripted(by_word))
    call = cloud.call(cloud.key())
    store = cloud.sites["us-east-1"].cairn.create_store(call, name="n", description="", metadata={})
    cloud.deliver()
    before = cloud.buckets.page("us-east-1", "", None, 1000)
    with pytest.raises(InvalidRequest) as refused:
        cloud.sites[landing].cairn.create_memory(call, store.id, path="/a", content="bad", full=False)
    [finding] = refused.value.findings
    assert finding == {
        "rule": "test-rule",
        "family": "injection",
        "severity": "high",
        "reason": "a reason",
        "remedy": "a remedy",
        "line": 2,
        "column": 3,
        "excerpt": "an excerpt",
    }
    assert cloud.buckets.page("us-east-1", "", None, 1000) == before


def test_a_flag_stands_on_the_version_and_stays_with_the_text_when_it_is_renamed() -> None:
    cloud = Cloud(scanner=Scripted(by_word))
    cairn, call = cloud.sites["us-east-1"].cairn, cloud.call(cloud.key())
    store = cairn.create_store(call, name="n", description="", metadata={})
    memory = cairn.create_memory(call, store.id, path="/a", content="odd", full=False)
    assert memory.flags == ("test-rule",)
    cairn.update_memory(call, store.id, memory.id, content=None, path="/b", expected_content_sha256=None, full=False)
    cairn.update_memory(call, store.id, memory.id, content="fine", path=None, expected_content_sha256=None, full=False)
    filter = VersionFilter(memory_id=memory.id)
    versions = cairn.list_versions(call, store.id, filter, limit=10, after=None, full=False).items
    assert [version.flags for version in versions] == [(), ("test-rule",), ("test-rule",)]


def test_a_new_path_is_scanned_too_and_a_deletion_is_not() -> None:
    scanner = Scripted(by_word)
    cloud = Cloud(scanner=scanner)
    cairn, call = cloud.sites["us-east-1"].cairn, cloud.call(cloud.key())
    store = cairn.create_store(call, name="n", description="", metadata={})
    memory = cairn.create_memory(call, store.id, path="/a", content="text", full=False)
    with pytest.raises(InvalidRequest, match="path"):
        cairn.update_memory(
            call, store.id, memory.id, content=None, path="/bad", expected_content_sha256=None, full=False
        )
    cairn.delete_memory(call, store.id, memory.id, expected_content_sha256=None)
    assert scanner.read == [("text", "/a"), ("", "/bad")]


def test_a_function_without_a_scanner_writes_nothing() -> None:
    cloud = Cloud(scanner=Unscanning())
    cairn, call = cloud.sites["us-east-1"].cairn, cloud.call(cloud.key())
    store = cairn.create_store(call, name="n", description="", metadata={})
    with pytest.raises(Unavailable):
        cairn.create_memory(call, store.id, path="/a", content="text", full=False)
