"""What a home's checkpoints seal: each object that it acknowledged, as it was put, and every checkpoint before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from memolith.app.replication import checkpoints
from memolith.core.log_position import LogKey
from memolith.core.merkle import Frontier
from memolith.core.object_keys import CheckpointKey, parse_key
from memolith.core.objects.checkpoint import Checkpoint, Named, grown, part_from_json, sha256_of
from memolith.core.objects.entry import Entry, Operation
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.journal import JournalRow, JournalStateRow
from memolith.core.sealing import SEALED_METADATA, opening_of, record_digest
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene

MINUTE_S = 60.0


@pytest.fixture
def scene() -> Scene:
    return Scene()


def ticked(scene: Scene, times: int = 1) -> None:
    for _ in range(times):
        scene.clock.pause(MINUTE_S)
        assert scene.cloud.sites[HOME].reconciling.tick().failures == []


def published(scene: Scene) -> dict[int, tuple[Checkpoint, bytes]]:
    """The home's checkpoints, by period, each with the bytes of its object."""
    objects = scene.cloud.sites[HOME].region.objects
    keys = [key for key in objects.list(f"{HOME}/checkpoint/").keys if isinstance(parse_key(key), CheckpointKey)]
    bodies = [objects.get(key).body for key in keys]
    return {one.period: (one, body) for one, body in ((Checkpoint.from_json(body), body) for body in bodies)}


def names_of(scene: Scene, checkpoint: Checkpoint) -> list[Named]:
    objects = scene.cloud.sites[HOME].region.objects
    parts = [part_from_json(objects.get(str(checkpoint.part_key(at))).body) for at in range(checkpoint.parts)]
    return [*checkpoint.names, *(name for part in parts for name in part)]


def salt_of(scene: Scene) -> str:
    return StoreRow.from_attributes(scene.cloud.rows(HOME, "stores")[scene.store, "record"]).salt


def digest_of_stored(scene: Scene, key: str) -> str:
    found = scene.cloud.sites[HOME].region.objects.head(key)
    return opening_of(key, found.metadata, salt_of(scene)).digest


def test_every_version_that_is_acknowledged_is_sealed_as_it_stands_in_the_bucket(scene: Scene) -> None:
    memory = scene.create("/a", "first")
    scene.update(memory, "second")
    scene.update(memory, path="/b")
    scene.update(memory, "third", path="/c")
    scene.delete(memory)
    ticked(scene)
    named = {name.key: name for checkpoint, _ in published(scene).values() for name in checkpoint.names}
    entries = {key: name for key, name in named.items() if isinstance(parse_key(key), LogKey)}
    assert len(entries) == 7
    assert {key: name.digest for key, name in entries.items()} == {key: digest_of_stored(scene, key) for key in entries}


def test_what_the_event_of_a_dead_writers_object_brings_is_sealed_too(scene: Scene) -> None:
    memory = scene.create("/a", "first")
    scene.deliver()
    ticked(scene)
    region = scene.cloud.sites[HOME].region
    key = next(key for key in scene.journaled() if memory.version_id and isinstance(parse_key(key), LogKey))
    stored = region.objects.get(key)
    ours = parse_key(key)
    assert isinstance(ours, LogKey)
    following = replace(ours, slot=ours.slot.following)
    told = Entry.from_metadata(ours, stored.metadata)
    orphan = replace(
        told,
        key=following,
        operation=Operation.MODIFIED,
        version_id="memver_01m80gqgrfyn8361t51thggc0z",
        generation=told.generation + 1,
        parent_version_id=told.version_id,
    )
    region.objects.put_if_absent(str(following), stored.body, orphan.to_metadata())
    scene.deliver()
    ticked(scene)
    last = published(scene)[max(published(scene))][0]
    digests = {name.key: name.digest for name in last.names}
    assert digests[str(following)] == digest_of_stored(scene, str(following))


def test_each_checkpoint_has_the_root_of_its_names_and_the_hash_of_the_one_before(scene: Scene) -> None:
    for number in range(4):
        scene.create(f"/{number}")
        ticked(scene)
    found = published(scene)
    assert len(found) >= 4
    for period, (checkpoint, _) in found.items():
        assert checkpoint.root == grown(Frontier(), checkpoint.names).root.hex()
        assert checkpoint.count == len(checkpoint.names)
        before = found.get(period - 1)
        assert checkpoint.previous == (None if before is None else sha256_of(before[1]))


def test_a_checkpoint_that_names_something_is_signed_by_its_home(scene: Scene) -> None:
    ticked(scene)
    scene.create()
    ticked(scene, times=2)
    found = published(scene)
    checkpoint = next(one for one, _ in found.values() if one.names and not one.listed)
    assert checkpoint.seal is not None
    assert scene.cloud.sealing_of(AWAY).is_signed(HOME, checkpoint.statement, checkpoint.seal)
    changed = replace(checkpoint, until=checkpoint.until + 1)
    assert not scene.cloud.sealing_of(AWAY).is_signed(HOME, changed.statement, checkpoint.seal)
    assert found[max(found)][0].seal is None, "the last one names nothing"


def test_a_checkpoint_is_published_unsigned_where_the_key_does_not_answer(scene: Scene) -> None:
    scene.create()
    del scene.cloud.seal_keys[HOME]
    ticked(scene, times=2)
    checkpoint = next(one for one, _ in published(scene).values() if one.names)
    assert (checkpoint.seal, checkpoint.root is None) == (None, False)
    assert scene.cloud.metrics.total("seal_failed") >= 1


def test_a_long_checkpoint_has_the_root_over_all_its_parts(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "NAMES_PER_PART", 3)
    ticked(scene)
    for number in range(7):
        scene.create(f"/{number}")
    ticked(scene)
    checkpoint = next(one for one, _ in published(scene).values() if one.parts and not one.listed)
    names = names_of(scene, checkpoint)
    assert checkpoint.count == len(names) == 7
    assert checkpoint.root == grown(Frontier(), names).root.hex()


def test_a_checkpoint_from_a_listing_seals_what_is_left_of_the_journal(scene: Scene) -> None:
    memory = scene.create()
    index = scene.cloud.sites[HOME].region.index
    key = JournalStateRow.key(HOME)
    before = index.read([key])[key]
    state = replace(JournalStateRow.from_attributes(before), listed=True)
    index.commit([Change(key, before, state.to_attributes())])
    ticked(scene)
    checkpoint = published(scene)[max(published(scene))][0]
    assert checkpoint.listed
    by_version = {name.version_id: name for name in checkpoint.names}
    assert by_version[memory.version_id].digest == digest_of_stored(scene, by_version[memory.version_id].key)


def test_orders_and_new_keys_are_sealed_by_their_bodies(scene: Scene) -> None:
    memory = scene.create()
    scene.update(memory, "second")
    ticked(scene)
    scene.redact(memory.version_id)
    scene.cloud.key()
    ticked(scene)
    last = published(scene)[max(published(scene))][0]
    records = {name.key: name.digest for name in last.names if "/redaction/" in name.key or "/key/" in name.key}
    bodies: Mapping[str, bytes] = {key: scene.cloud.sites[HOME].region.objects.get(key).body for key in records}
    assert len(records) == 2
    assert records == {key: record_digest(key, body) for key, body in bodies.items()}


def test_every_field_of_an_entry_is_covered_by_the_form_of_its_digest(scene: Scene) -> None:
    memory = scene.create()
    ticked(scene)
    stored = scene.cloud.sites[HOME].region.objects.get(scene.journaled()[-1])
    assert memory.version_id
    assert set(stored.metadata) <= SEALED_METADATA


def test_a_journal_row_of_an_earlier_release_makes_a_name_without_a_digest() -> None:
    row = JournalRow.from_attributes({"object_key": "k", "expires_at": 1, "version_id": "v"})
    assert (
        Named(row.object_key, row.version_id, row.digest).leaf == json.dumps(["k", "v"], separators=(",", ":")).encode()
    )


def test_the_tree_of_another_releases_parts_is_not_taken_for_this_ones() -> None:
    state = JournalStateRow(run="r", open=2, opened_at=1, parts=3, tree=["2", "10000"], previous="5:abc")
    assert state.frontier is None
    assert state.previous_of(6) == "abc"
    assert state.previous_of(7) is None
