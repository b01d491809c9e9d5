"""The replicator against a real endpoint: what it keeps of S3's promises, and that each setting does what it says."""

from __future__ import annotations

import base64
import hashlib
import time

import pytest

from scripts.local_cloud.replication.replicator import Replicator
from scripts.local_cloud.replication.settings import Settings
from tests.local_cloud.conftest import Pair, until


def test_a_copy_carries_body_metadata_type_and_checksum_and_fires_the_destinations_event(pair: Pair) -> None:
    pair.replicate()
    digest = base64.b64encode(hashlib.sha256(b"text").digest()).decode()
    pair.put(
        "us-east-1/log/a b", b"text", Metadata={"path": "L25vdGVz"}, ContentType="text/plain", ChecksumSHA256=digest
    )

    until(lambda: pair.listed() == ["us-east-1/log/a b"], "the copy is there")
    found = pair.clients.s3("eu-west-1").get_object(
        Bucket=pair.buckets["eu-west-1"], Key="us-east-1/log/a b", ChecksumMode="ENABLED"
    )
    assert found["Body"].read() == b"text"
    assert found["Metadata"] == {"path": "L25vdGVz"}
    assert found["ContentType"] == "text/plain"
    assert found["ChecksumSHA256"] == digest
    until(lambda: pair.arrivals() == ["us-east-1/log/a+b"], "the destination's event")


def test_only_the_prefix_that_a_rule_names_is_copied(pair: Pair) -> None:
    pair.replicate()
    pair.put("local/lock")
    pair.put("eu-west-1/log/put-here-by-somebody")
    pair.put("us-east-1/log/a")
    until(lambda: pair.listed() == ["us-east-1/log/a"], "the one key under the prefix")


def test_a_copy_is_never_copied_onward(pair: Pair) -> None:
    pair.replicate()
    pair.put("us-east-1/log/a")
    pair.put("eu-west-1/log/b", region="eu-west-1")
    both = ["eu-west-1/log/b", "us-east-1/log/a"]
    until(lambda: pair.listed("eu-west-1") == both and pair.listed("us-east-1") == both, "each copied to the other")
    pair.put("us-east-1/log/c")
    until(lambda: len(pair.listed("eu-west-1")) == 3, "a later object")
    assert pair.versions("us-east-1/log/a", "us-east-1") == 1
    assert pair.versions("eu-west-1/log/b", "eu-west-1") == 1


def test_a_disabled_rule_copies_nothing(pair: Pair) -> None:
    pair.put_rules(
        "us-east-1", [("us-east-1/off/", "eu-west-1", "Disabled"), ("us-east-1/on/", "eu-west-1", "Enabled")]
    )
    pair.replicate()
    pair.put("us-east-1/off/a")
    pair.put("us-east-1/on/a")
    until(lambda: pair.listed() == ["us-east-1/on/a"], "the enabled rule's object alone")


def test_an_overwrite_is_copied_as_a_new_version_and_a_deletion_is_not_copied(pair: Pair) -> None:
    pair.replicate()
    pair.put("us-east-1/log/a", b"secret")
    until(lambda: pair.listed() == ["us-east-1/log/a"], "the first version")
    pair.put("us-east-1/log/a", b"")
    until(lambda: pair.body("us-east-1/log/a") == b"", "the blank")
    assert pair.versions("us-east-1/log/a") == 2

    pair.clients.s3("us-east-1").delete_object(Bucket=pair.buckets["us-east-1"], Key="us-east-1/log/a")
    pair.put("us-east-1/log/b")
    until(lambda: "us-east-1/log/b" in pair.listed(), "an object put after the deletion")
    assert "us-east-1/log/a" in pair.listed()


def test_a_version_erased_before_its_turn_is_not_copied(pair: Pair) -> None:
    replicator = pair.replicate(Settings(pause=frozenset({("us-east-1", "eu-west-1")})))
    erased = pair.put("us-east-1/log/a", b"secret")
    pair.put("us-east-1/log/a", b"")
    until(lambda: _pending(replicator) == 2, "both versions are owed")
    pair.clients.s3("us-east-1").delete_object(
        Bucket=pair.buckets["us-east-1"], Key="us-east-1/log/a", VersionId=erased
    )
    replicator.use(Settings())
    until(lambda: _pending(replicator) == 0, "everything is settled")
    assert pair.body("us-east-1/log/a") == b""
    assert pair.versions("us-east-1/log/a") == 1


@pytest.mark.slow
def test_what_the_destination_blanked_itself_is_not_brought_back_by_a_replicator_that_lost_its_ledger(
    pair: Pair,
) -> None:
    first = pair.replicate()
    pair.put("us-east-1/log/a", b"secret")
    until(lambda: pair.listed() == ["us-east-1/log/a"], "the copy")
    first.stop()
    pair.put("us-east-1/log/a", b"", region="eu-west-1")
    pair.replicate(ledger="another")
    pair.put("us-east-1/log/b")
    until(lambda: "us-east-1/log/b" in pair.listed(), "the second replicator works")
    assert pair.body("us-east-1/log/a") == b""


@pytest.mark.slow
def test_what_was_put_while_nothing_ran_is_copied_afterwards_and_only_once(pair: Pair) -> None:
    first = pair.replicate()
    pair.put("us-east-1/log/a")
    until(lambda: pair.listed() == ["us-east-1/log/a"], "the first copy")
    first.stop()
    pair.put("us-east-1/log/b")
    pair.replicate()
    until(lambda: pair.listed() == ["us-east-1/log/a", "us-east-1/log/b"], "the object put in between")
    assert pair.versions("us-east-1/log/a") == 1


@pytest.mark.slow
def test_what_was_owed_when_it_stopped_is_copied_by_the_next_one(pair: Pair) -> None:
    first = pair.replicate(Settings(lag_ms=60_000))
    pair.put("us-east-1/log/a")
    until(lambda: _pending(first) == 1, "the object is owed")
    first.stop()
    pair.replicate()
    until(lambda: pair.listed() == ["us-east-1/log/a"], "the copy")


@pytest.mark.slow
def test_a_bucket_whose_notifications_are_lost_is_still_copied(pair: Pair) -> None:
    pair.replicate()
    pair.clients.s3("us-east-1").put_bucket_notification_configuration(
        Bucket=pair.buckets["us-east-1"], NotificationConfiguration={}
    )
    pair.put("us-east-1/log/a")
    until(lambda: pair.listed() == ["us-east-1/log/a"], "the copy, found by listing")


def test_the_buckets_own_notifications_stay_beside_the_hook_and_remain_when_it_goes(pair: Pair) -> None:
    def entries() -> list[str]:
        answer = pair.clients.s3("eu-west-1").get_bucket_notification_configuration(Bucket=pair.buckets["eu-west-1"])
        return [entry["Id"] for entry in answer["QueueConfigurations"]]

    replicator = pair.replicate()
    assert entries() == ["app", "local-cloud-replication-eu-west-1/"]
    replicator.remove_hooks()
    assert entries() == ["app"]


def test_without_notifications_it_lists_and_copies_the_same(pair: Pair) -> None:
    replicator = pair.replicate(hooked=False)
    pair.put("us-east-1/log/a")
    until(lambda: pair.listed() == ["us-east-1/log/a"], "the copy")
    assert set(replicator.status()["observes_by"].values()) == {"listing"}


@pytest.mark.slow
@pytest.mark.parametrize("hooked", [True, False])
def test_lag_holds_every_object_back_for_that_long(pair: Pair, hooked: bool) -> None:
    replicator = pair.replicate(Settings(lag_ms=700), hooked=hooked)
    began = time.monotonic()
    pair.put("us-east-1/log/a")
    until(lambda: pair.listed() == ["us-east-1/log/a"], "the copy")
    assert time.monotonic() - began >= 0.69
    until(lambda: bool(replicator.recent()), "the copy is counted")
    assert replicator.recent()[0]["latency_ms"] >= 700


def test_a_lag_taken_back_frees_what_waits_already(pair: Pair) -> None:
    replicator = pair.replicate(Settings(lag_ms=3_600_000))
    pair.put("us-east-1/log/a")
    until(lambda: _pending(replicator) == 1, "the object is owed")
    replicator.use(Settings())
    until(lambda: pair.listed() == ["us-east-1/log/a"], "the copy")


@pytest.mark.slow
def test_duplicate_puts_a_copy_twice_and_fires_two_events(pair: Pair) -> None:
    replicator = pair.replicate(Settings(duplicate=1.0))
    pair.put("us-east-1/log/a")
    until(lambda: pair.versions("us-east-1/log/a") == 2, "two versions")
    arrived: list[str] = []

    def both_arrived() -> bool:
        arrived.extend(pair.arrivals())
        return len(arrived) == 2

    until(both_arrived, "two events")
    assert replicator.recent()[0]["is_duplicate"]


@pytest.mark.slow
def test_reorder_lets_later_objects_arrive_first_and_loses_none(pair: Pair) -> None:
    replicator = pair.replicate(Settings(reorder=0.5))
    keys = [f"us-east-1/log/{number:02}" for number in range(20)]
    for key in keys:
        pair.put(key)
    until(lambda: len(_copied(replicator)) == 20, "twenty copies")
    assert _copied(replicator) != keys
    assert sorted(_copied(replicator)) == keys


def test_a_paused_pair_stands_still_while_the_other_direction_goes_on(pair: Pair) -> None:
    replicator = pair.replicate(Settings(pause=frozenset({("us-east-1", "eu-west-1")})))
    pair.put("us-east-1/log/a")
    pair.put("eu-west-1/log/b", region="eu-west-1")
    until(lambda: "eu-west-1/log/b" in pair.listed("us-east-1"), "the direction that is not paused")
    until(lambda: _pending(replicator) == 1, "the paused one is owed")
    assert pair.listed("eu-west-1") == ["eu-west-1/log/b"]
    replicator.use(Settings())
    until(lambda: "us-east-1/log/a" in pair.listed("eu-west-1"), "the copy after the pause")


def test_a_destination_that_refuses_is_tried_again_until_it_accepts(pair: Pair) -> None:
    replicator = pair.replicate()
    s3 = pair.clients.s3("eu-west-1")
    s3.delete_bucket(Bucket=pair.buckets["eu-west-1"])
    pair.put("us-east-1/log/a")
    until(lambda: replicator.status()["pairs"][0]["failed"] > 0, "a failed copy")
    s3.create_bucket(Bucket=pair.buckets["eu-west-1"], CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    until(lambda: pair.listed() == ["us-east-1/log/a"], "the copy")


def _pending(replicator: Replicator) -> int:
    return sum(pair["pending"] for pair in replicator.status()["pairs"])


def _copied(replicator: Replicator) -> list[str]:
    return [copied["key"] for copied in reversed(replicator.recent(1000))]
