"""Ours: nothing enters unread. Every text is scanned at its store's home, before anything is put."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from memolith.app.kernel.results import UNSET, ScanPolicy, VersionFilter
from memolith.app.safety.write_gate import Unscanning
from memolith.core.errors import InvalidRequest, PermissionDenied, Unavailable
from memolith.core.objects.store_record import StoreRecord
from memolith.scanner import Family, Finding, Policy, Redacted, Report, Severity, Verdict
from memolith.scanner.pieces import Kept
from tests.support.cloud import Cloud

Judge = Callable[[str, str | None], Verdict]


class Scripted:
    """A scanner that judges by a function, and remembers what it read."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.read: list[tuple[str, str | None]] = []
        self.under: list[tuple[Policy, frozenset[str]]] = []

    def redact_each(self, texts: Sequence[str]) -> Sequence[Kept]:
        return [Kept(text) for text in texts]

    def knows(self, rule_id: str) -> bool:
        return rule_id == "test-rule"

    def redact(self, text: str, allow: frozenset[str] = frozenset()) -> Redacted:
        return Redacted(text, ())

    def scan(
        self, text: str, path: str | None = None, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()
    ) -> Report:
        self.read.append((text, path))
        self.under.append((policy, allow))
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
    store = cloud.sites["us-east-1"].memolith.stores.create(call, name="n", description="", metadata={})
    cloud.deliver()
    before = cloud.buckets.page("us-east-1", "", None, 1000)
    with pytest.raises(InvalidRequest) as refused:
        cloud.sites[landing].memolith.memories.create(call, store.id, path="/a", content="bad", full=False)
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
    memolith, call = cloud.sites["us-east-1"].memolith, cloud.call(cloud.key())
    store = memolith.stores.create(call, name="n", description="", metadata={})
    memory = memolith.memories.create(call, store.id, path="/a", content="odd", full=False)
    assert memory.flags == ("test-rule",)
    memolith.memories.update(
        call, store.id, memory.id, content=None, path="/b", expected_content_sha256=None, full=False
    )
    memolith.memories.update(
        call, store.id, memory.id, content="fine", path=None, expected_content_sha256=None, full=False
    )
    filter = VersionFilter(memory_id=memory.id)
    versions = memolith.versions.page(call, store.id, filter, limit=10, after=None, full=False).items
    assert [version.flags for version in versions] == [(), ("test-rule",), ("test-rule",)]


def test_a_new_path_is_scanned_too_and_a_deletion_is_not() -> None:
    scanner = Scripted(by_word)
    cloud = Cloud(scanner=scanner)
    memolith, call = cloud.sites["us-east-1"].memolith, cloud.call(cloud.key())
    store = memolith.stores.create(call, name="n", description="", metadata={})
    memory = memolith.memories.create(call, store.id, path="/a", content="text", full=False)
    with pytest.raises(InvalidRequest, match="path"):
        memolith.memories.update(
            call, store.id, memory.id, content=None, path="/bad", expected_content_sha256=None, full=False
        )
    memolith.memories.delete(call, store.id, memory.id, expected_content_sha256=None)
    assert scanner.read == [("text", "/a"), ("", "/bad")]


def test_a_function_without_a_scanner_writes_nothing() -> None:
    cloud = Cloud(scanner=Unscanning())
    memolith, call = cloud.sites["us-east-1"].memolith, cloud.call(cloud.key())
    store = memolith.stores.create(call, name="n", description="", metadata={})
    with pytest.raises(Unavailable):
        memolith.memories.create(call, store.id, path="/a", content="text", full=False)


# ---- policies -------------------------------------------------------------------------------------------------------


def policed(scanner: Scripted) -> tuple[Cloud, str, str]:
    """A deployment, an admin's key, and a strict store that lets one rule pass."""
    cloud = Cloud(scanner=scanner)
    key = cloud.key()
    policy = {"policy": "strict", "allow": ["test-rule"]}
    memolith, call = cloud.sites["us-east-1"].memolith, cloud.call(key)
    store = memolith.stores.create(call, name="n", description="", metadata={}, scan_policy=policy)
    cloud.deliver()
    return cloud, key, store.id


@pytest.mark.parametrize("landing", ["us-east-1", "eu-west-1"])
def test_a_write_is_scanned_under_its_stores_policy_wherever_it_lands(landing: str) -> None:
    scanner = Scripted(by_word)
    cloud, key, store_id = policed(scanner)
    cloud.sites[landing].memolith.memories.create(cloud.call(key), store_id, path="/a", content="text", full=False)
    assert scanner.under == [(Policy.STRICT, frozenset({"test-rule"}))]


@pytest.mark.parametrize("landing", ["us-east-1", "eu-west-1"])
def test_what_an_update_does_not_mention_of_the_policy_stays(landing: str) -> None:
    cloud, key, store_id = policed(Scripted(by_word))
    memolith, call = cloud.sites[landing].memolith, cloud.call(key)

    def update(change: object) -> ScanPolicy:
        return memolith.stores.update(
            call, store_id, name=UNSET, description=UNSET, metadata=UNSET, scan_policy=change
        ).scan_policy

    assert update({"policy": "audit"}) == ScanPolicy("audit", ("test-rule",))
    assert update({"allow": []}) == ScanPolicy("audit", ())
    cloud.deliver()
    before = memolith.stores.retrieve(call, store_id)
    assert update({"policy": "audit", "allow": []}) == ScanPolicy("audit", ())
    assert memolith.stores.retrieve(call, store_id) == before, "what is so already makes no new record"
    assert update({"policy": "standard"}) == ScanPolicy()
    cloud.deliver()
    for site in cloud.sites.values():
        assert site.memolith.stores.retrieve(call, store_id).scan_policy == ScanPolicy()


def test_a_rule_that_no_finding_can_be_of_is_refused_by_name() -> None:
    cloud, key, store_id = policed(Scripted(by_word))
    memolith, call = cloud.sites["us-east-1"].memolith, cloud.call(key)
    policy = {"allow": ["test-rule", "no-such-rule"]}
    with pytest.raises(InvalidRequest, match=r"scan_policy\.allow: .*no-such-rule"):
        memolith.stores.create(call, name="n", description="", metadata={}, scan_policy=policy)
    with pytest.raises(InvalidRequest, match=r"scan_policy\.allow: .*no-such-rule"):
        memolith.stores.update(call, store_id, name=UNSET, description=UNSET, metadata=UNSET, scan_policy=policy)


def test_below_admin_nobody_sets_a_policy() -> None:
    cloud, _, store_id = policed(Scripted(by_word))
    call = cloud.call(cloud.key("write"))
    with pytest.raises(PermissionDenied):
        cloud.sites["us-east-1"].memolith.stores.update(
            call, store_id, name=UNSET, description=UNSET, metadata=UNSET, scan_policy={"policy": "audit"}
        )


def test_a_record_without_a_policy_is_read_as_the_default_and_the_default_is_not_written() -> None:
    """What was written before stores had policies, and what readers of that time can read."""
    cloud = Cloud()
    memolith, call = cloud.sites["us-east-1"].memolith, cloud.call(cloud.key())
    store_id = memolith.stores.create(call, name="n", description="", metadata={}).id
    [key] = [key for key in cloud.buckets.page("us-east-1", "us-east-1/store/", None, 9).keys if store_id in key]
    stored = cloud.buckets.current("us-east-1", key)
    assert stored is not None
    assert b"scan_" not in stored.body
    record = StoreRecord.from_json(stored.body)
    assert (record.scan_policy, record.scan_allow) == ("standard", ())
    assert "scan_policy" not in cloud.rows("us-east-1", "stores")[store_id, "record"]
