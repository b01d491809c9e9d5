"""Counts are what AWS would bill."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import (
    CallCounts,
    InterceptedErasableObjects,
    InterceptedIndex,
    InterceptedObjects,
    InterceptedPeers,
    InterceptedQueue,
)
from memolith.adapters.memory import (
    MemoryBuckets,
    MemoryDatabase,
    MemoryErasableObjects,
    MemoryIndex,
    MemoryObjects,
    MemoryPeers,
    MemoryQueue,
)
from memolith.core.rows.base import RowKey
from memolith.ports.errors import ObjectExists
from memolith.ports.index import Change, Query

HOME, FAR = "us-east-1", "eu-west-1"
ONE, TWO = RowKey("paths", "s", "/a"), RowKey("memories", "s", "m")


def test_a_read_elsewhere_is_counted_as_remote() -> None:
    counts = CallCounts()
    buckets = MemoryBuckets([HOME, FAR])
    MemoryObjects(buckets, FAR).put_if_absent("k", b"", {})
    objects = InterceptedObjects(MemoryObjects(buckets, HOME), HOME, counts)
    objects.get("k", FAR)
    objects.list("", region=HOME)
    assert counts.requests == {"s3.GetObject": 1, "s3.GetObject.remote": 1, "s3.ListObjectsV2": 1}


def test_a_refused_put_is_billed_like_any_other() -> None:
    counts = CallCounts()
    objects = InterceptedObjects(MemoryObjects(MemoryBuckets([HOME]), HOME), HOME, counts)
    objects.put_if_absent("k", b"", {})
    with pytest.raises(ObjectExists):
        objects.put_if_absent("k", b"", {})
    assert counts.requests["s3.PutObject"] == counts.calls["objects.put_if_absent"] == 2


def test_an_erasure_counts_each_version_it_deleted() -> None:
    counts = CallCounts()
    buckets = MemoryBuckets([HOME])
    MemoryObjects(buckets, HOME).put_if_absent("k", b"text", {})
    InterceptedErasableObjects(MemoryErasableObjects(buckets, HOME), HOME, counts).erase("k", b"", {})
    names = ("s3.HeadObject", "s3.PutObject", "s3.ListObjectVersions", "s3.DeleteObject")
    assert counts.requests == dict.fromkeys(names, 1)


def test_rows_alone_and_rows_in_transactions_are_told_apart_because_they_cost_differently() -> None:
    counts = CallCounts()
    index = InterceptedIndex(MemoryIndex(MemoryDatabase()), HOME, counts)
    index.commit([Change(ONE, None, {"a": 1})])
    index.commit([Change(ONE, {"a": 1}, {"a": 2}), Change(TWO, None, {"a": 1})])
    index.commit([])
    index.read([ONE, TWO, RowKey("logs", "s", "none")])
    index.query(Query("paths", "s"))
    assert counts.requests == {
        "dynamodb.single_write": 1,
        "dynamodb.TransactWriteItems": 1,
        "dynamodb.BatchGetItem": 1,
        "dynamodb.Query": 1,
    }
    assert {name: counts.rows[name] for name in ("written", "transacted", "transacted.paths", "read", "found")} == {
        "written": 1,
        "transacted": 2,
        "transacted.paths": 1,
        "read": 3,
        "found": 1,
    }


def test_messages_are_sent_by_tens_and_peers_are_invoked() -> None:
    counts = CallCounts()
    InterceptedQueue(MemoryQueue(), HOME, counts).send([str(number) for number in range(21)])
    peers = MemoryPeers()
    peers.register(FAR, "writer", lambda payload: payload)
    InterceptedPeers(peers, HOME, counts).call(FAR, "writer", {})
    assert counts.requests == {"sqs.SendMessageBatch": 3, "lambda.Invoke": 1, "lambda.Invoke.remote": 1}


def test_clearing_leaves_nothing() -> None:
    counts = CallCounts()
    InterceptedQueue(MemoryQueue(), HOME, counts).send(["a"])
    counts.clear()
    assert not counts.calls and not counts.requests and not counts.rows
