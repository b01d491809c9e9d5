"""The event of a text that its writer has acknowledged is not read again; that of any other object over it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.adapters.layered import CallCounts, Crash, Fault, Strike
from memolith.adapters.memory import MemoryErasableObjects, MemoryQueue, PutEvent
from memolith.app.indexer.indexer import Malformed
from memolith.app.indexer.service import make_indexer
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.control import ControlRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change
from tests.unit.app.scene import HOME, Scene

NOT_READ = {"index.read": 3}


@pytest.fixture
def scene() -> Scene:
    return Scene()


def event_of_update(scene: Scene) -> PutEvent:
    """A memory was made and updated; the event of the update has not come yet."""
    memory = scene.create("/a", "first")
    scene.deliver()
    scene.update(memory, "second")
    return next(event for event in scene.cloud.pending if not event.replica)


def calls_of(scene: Scene, event: PutEvent) -> dict[str, int]:
    counts = CallCounts()
    with scene.intercepted_by(counts):
        scene.cloud.sites[HOME].indexing.object_arrived(event.key, object_version=event.version_id)
    return dict(counts.calls)


def is_read(scene: Scene, event: PutEvent) -> bool:
    return calls_of(scene, event).get("objects.head", 0) > 0


def test_the_event_of_an_acknowledged_text_reads_no_object(scene: Scene) -> None:
    assert calls_of(scene, event_of_update(scene)) == NOT_READ


def test_an_event_that_comes_twice_is_known_twice(scene: Scene) -> None:
    event = event_of_update(scene)
    assert [calls_of(scene, event), calls_of(scene, event)] == [NOT_READ, NOT_READ]


def test_an_object_over_an_acknowledged_one_is_read_and_reported_though_its_body_is_the_same(scene: Scene) -> None:
    event = event_of_update(scene)
    entry = next(one for one in scene.entries() if str(one.key) == event.key)
    forged = replace(entry, trust="u")
    scene.drop_events()
    MemoryErasableObjects(scene.cloud.buckets, HOME).erase(event.key, b"second", forged.to_metadata())
    (over,) = (one for one in scene.cloud.pending if not one.replica)
    with pytest.raises(Malformed, match="changed after it was acknowledged"):
        scene.cloud.sites[HOME].indexing.object_arrived(over.key, object_version=over.version_id)


def test_what_a_writer_put_and_did_not_acknowledge_is_projected_by_its_event(scene: Scene) -> None:
    memory = scene.create("/a", "first")
    scene.deliver()
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, "objects.put_if_absent")):
        scene.update(memory, "second")
    scene.deliver()
    assert scene.read(memory).content == "second"


def test_what_was_put_though_its_reply_was_lost_is_read_by_its_event(scene: Scene) -> None:
    memory = scene.create("/a", "first")
    scene.deliver()
    with scene.struck_by(Strike(Fault.LOST_REPLY, "objects.put_if_absent")):
        scene.update(memory, "second")
    assert is_read(scene, next(event for event in scene.cloud.pending if not event.replica))


def test_the_event_of_a_deletion_is_read(scene: Scene) -> None:
    memory = scene.create("/a", "first")
    scene.deliver()
    scene.delete(memory)
    assert is_read(scene, next(event for event in scene.cloud.pending if not event.replica))


def test_the_event_of_a_text_whose_store_is_being_erased_is_read(scene: Scene) -> None:
    event = event_of_update(scene)
    key, index = StoreRow.key(scene.store), scene.cloud.sites[HOME].region.index
    ended = {**index.read([key])[key], "state": StoreState.DELETED}
    index.commit([Change(key, None, ended, unconditional=True)])
    assert is_read(scene, event)


@pytest.mark.parametrize(
    "control", [ControlRow(serving=1, complete=False), ControlRow(serving=1, complete=True, building=2, run="run_1")]
)
def test_while_tables_are_incomplete_or_others_are_built_every_event_is_read(scene: Scene, control: ControlRow) -> None:
    event = event_of_update(scene)
    scene.cloud.tables(HOME).make(2)
    index = scene.cloud.sites[HOME].region.index
    index.commit([Change(ControlRow.KEY, None, control.to_attributes(), unconditional=True)])
    assert is_read(scene, event)


def test_a_known_event_still_has_its_text_scanned(scene: Scene) -> None:
    event, requested = event_of_update(scene), MemoryQueue()
    indexer = make_indexer(scene.cloud.sites[HOME].region, inspections=requested)
    indexer.object_arrived(event.key, object_version=event.version_id)
    assert [event.key in message for message in requested.messages] == [True]
