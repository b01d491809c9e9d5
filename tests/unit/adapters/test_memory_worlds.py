"""What tests and simulations do to the worlds behind the adapters in memory."""

from __future__ import annotations

from memolith.adapters.memory import (
    MemoryBuckets,
    MemoryDatabase,
    MemoryErasableObjects,
    MemoryIndex,
    MemoryObjects,
    PutEvent,
)
from memolith.core.rows.content import VersionRow
from memolith.ports.index import Change, Query

HOME, FAR = "us-east-1", "eu-west-1"
KEY = f"{HOME}/log/memstore_1/0001-0.0000000001"


def watched() -> tuple[MemoryBuckets, list[PutEvent]]:
    buckets = MemoryBuckets([HOME, FAR])
    events: list[PutEvent] = []
    buckets.observers.append(events.append)
    return buckets, events


def test_each_version_that_appears_is_told_once_and_a_refused_put_is_not() -> None:
    buckets, events = watched()
    MemoryObjects(buckets, HOME).put_if_absent(KEY, b"text", {})
    MemoryErasableObjects(buckets, HOME).erase(KEY, b"", {})
    assert [(event.region, event.key, event.replica) for event in events] == [(HOME, KEY, False)] * 2
    assert events[1].version_id == buckets.versions(HOME, KEY)[0].version_id != events[0].version_id


def test_an_observer_may_replicate_and_hears_of_the_copy() -> None:
    buckets, events = watched()
    buckets.observers.append(lambda event: None if event.replica else void(buckets.replicate(event, FAR)))
    MemoryObjects(buckets, HOME).put_if_absent(KEY, b"text", {"id": "1"})
    assert buckets.versions(FAR, KEY) == buckets.versions(HOME, KEY)
    assert [(event.region, event.replica) for event in events] == [(HOME, False), (FAR, True)]


def void(_: object) -> None:
    """For calls whose answer does not matter."""


def test_a_version_is_copied_once_however_often_the_network_tries() -> None:
    buckets, events = watched()
    MemoryObjects(buckets, HOME).put_if_absent(KEY, b"text", {})
    assert buckets.replicate(events[0], FAR)
    assert buckets.replicate(events[0], FAR)
    assert len(buckets.versions(FAR, KEY)) == 1
    assert len(events) == 2


def test_an_original_that_arrives_after_its_blank_is_the_newest_until_it_is_erased() -> None:
    buckets, events = watched()
    MemoryObjects(buckets, HOME).put_if_absent(KEY, b"secret", {})
    MemoryObjects(buckets, FAR).put_if_absent(KEY, b"", {"blank": "1"})
    buckets.replicate(events[0], FAR)
    assert MemoryObjects(buckets, FAR).get(KEY).body == b"secret"
    MemoryErasableObjects(buckets, FAR).erase(KEY, b"", {"blank": "1"})
    assert [version.object.body for version in buckets.versions(FAR, KEY)] == [b""]


def test_what_was_erased_at_its_source_is_not_copied_any_more() -> None:
    buckets, events = watched()
    MemoryObjects(buckets, HOME).put_if_absent(KEY, b"secret", {})
    MemoryErasableObjects(buckets, HOME).erase(KEY, b"", {})
    assert not buckets.replicate(events[0], FAR)
    assert buckets.versions(FAR, KEY) == ()


def test_a_lagging_index_shows_nothing_until_it_is_settled_while_its_table_does() -> None:
    database = MemoryDatabase(lagging=True)
    index = MemoryIndex(database)
    key = VersionRow.key("memstore_1", "memver_1")
    index.commit([Change(key, None, {"time_key": "1"})])
    query = Query("versions", "memstore_1", index="by_time")
    assert index.read([key]) == {key: {"time_key": "1"}}
    assert index.query(query) == []
    database.settle()
    index.commit([Change(key, {"time_key": "1"}, {"time_key": "1", "path": "/new"})])
    (found,) = index.query(query)
    assert found.attributes == {"time_key": "1"}
    database.settle()
    (found,) = index.query(query)
    assert found.attributes == {"time_key": "1", "path": "/new"}
