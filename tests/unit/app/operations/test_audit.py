"""An audit of a home: what is intact, what was erased by right, and what is wrong with the checkpoints themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memolith.adapters.jwk import made
from memolith.adapters.memory import MemoryErasableObjects, MemorySealing
from memolith.adapters.saved_keys import SavedKeys, read_keys
from memolith.app.operations.audit import Instant, make_audit
from memolith.core.audit import Finding, Flaw
from memolith.core.log_position import LogKey
from memolith.core.object_keys import CheckpointKey, parse_key
from memolith.core.objects.checkpoint import Checkpoint
from memolith.core.objects.entry import Entry
from tests.unit.app.operations.sealed_home import audited, flaws, key_of, overwrite, sealed
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    sealed(scene)
    return scene


@pytest.mark.parametrize("durability", ["one_region", "two_regions"])
def test_a_home_with_every_kind_of_write_is_intact(scene: Scene, durability: str) -> None:
    store, call = scene.store, scene.call()
    scene.at(HOME).stores.update(call, store, name="n", description="", metadata={}, durability=durability)
    scene.deliver()
    memory = scene.create("/a", "first")
    scene.update(memory, "second", path="/b")
    scene.update(memory, path="/c")
    scene.delete(memory)
    scene.create("/a", "again")
    scene.create("/away", "elsewhere", at=AWAY)
    sealed(scene)
    report = audited(scene)
    assert (report.findings, report.pending) == ([], 0)
    assert report.looked_at > 8
    assert report.sealed_until_us is not None


def test_a_folder_among_the_checkpoints_of_a_home_ends_no_audit(scene: Scene) -> None:
    scene.create("/a", "first")
    sealed(scene)
    scene.cloud.sites[HOME].region.objects.put_if_absent(f"{HOME}/checkpoint/", b"", {})
    scene.drop_events()
    report = audited(scene)
    assert (report.findings, report.looked_at > 0) == ([], True)


def test_an_audit_from_an_instant_begins_with_the_period_that_can_name_it(scene: Scene) -> None:
    for number in range(4):
        scene.create(f"/{number}")
        sealed(scene)
    half_us = scene.clock.now_us() - 90_000_000
    region = scene.cloud.sites[HOME].region
    report = make_audit(region, scene.cloud.sealing_of(HOME)).run(HOME, None, Instant(half_us))
    assert 1 < report.since < report.until
    assert (report.findings, report.looked_at > 0) == ([], True)
    assert make_audit(region, scene.cloud.sealing_of(HOME)).run(HOME, None, Instant(0)).since == 1


def test_every_checkpoint_is_compared_with_its_copy_in_the_region_that_is_named(scene: Scene) -> None:
    for number in range(3):
        scene.create(f"/{number}")
        sealed(scene)
    region = scene.cloud.sites[HOME].region

    def against() -> list[tuple[Flaw, int]]:
        found = make_audit(region, scene.cloud.sealing_of(HOME)).run(HOME, None, 1, [AWAY]).findings
        return [(one.flaw, one.period) for one in found if AWAY in one.detail]

    assert against() == []
    keys = [str(CheckpointKey(HOME, period)) for period in (1, 2, 3, 4)]
    stored = region.objects.get(keys[1], AWAY)
    other = replace(Checkpoint.from_json(stored.body), until=5).to_json()
    scene.cloud.buckets.damage(AWAY, keys[1], replace(stored, body=other, size_bytes=len(other)))
    assert against() == [(Flaw.FORKED, 2)]
    MemoryErasableObjects(scene.cloud.buckets, HOME).remove(keys[3])
    assert against() == [(Flaw.FORKED, 2), (Flaw.ROLLED_BACK, 4)]
    MemoryErasableObjects(scene.cloud.buckets, AWAY).remove(keys[2])
    assert against() == [(Flaw.FORKED, 2), (Flaw.ROLLED_BACK, 4)], "what has not arrived there is no flaw"


def test_a_signature_by_a_key_that_was_replaced_holds_with_the_key_that_was_saved(scene: Scene, tmp_path: Path) -> None:
    scene.create("/a")
    sealed(scene)
    region, old = scene.cloud.sites[HOME].region, scene.cloud.sealing_of(HOME)
    new = MemorySealing({HOME: made(b"another key".ljust(32))}, HOME)
    wrong = make_audit(region, new).run(HOME).findings
    assert {one.flaw for one in wrong} == {Flaw.CHECKPOINT_ALTERED}
    saved = tmp_path / "keys.json"
    printed = [{**key, "kid": id, "region": HOME} for id, key in old.public(HOME).items()]
    saved.write_text(json.dumps({"keys": printed}))
    assert make_audit(region, SavedKeys(new, read_keys(saved))).run(HOME).findings == []
    saved.write_text(json.dumps({"keys": [{**key, "region": AWAY} for key in printed]}))
    assert make_audit(region, SavedKeys(new, read_keys(saved))).run(HOME).findings == wrong, "of another region"


@pytest.mark.parametrize("text", ["", "[]", '{"keys": 1}', '{"keys": [{"kty": "RSA"}]}', '{"keys": ["x"]}', "{"])
def test_a_file_that_has_no_keys_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(ValueError, match=r"."):
        read_keys(tmp_path / "keys.json")


def test_what_is_not_sealed_yet_is_counted_and_is_no_flaw(scene: Scene) -> None:
    scene.create()
    report = audited(scene)
    assert (report.findings, report.pending) == ([], 1)


def test_a_redacted_version_is_erased_and_one_that_was_blanked_by_hand_is_a_flaw(scene: Scene) -> None:
    memory = scene.create("/a", "a secret")
    scene.update(memory, "no secret")
    other = scene.create("/b", "stays")
    sealed(scene)
    scene.redact(memory.version_id)
    sealed(scene)
    report = audited(scene)
    assert (report.findings, report.erased) == ([], 1)
    key = key_of(scene, other.version_id)
    parsed = parse_key(key)
    assert isinstance(parsed, LogKey)
    entry = Entry.from_metadata(parsed, scene.cloud.sites[HOME].region.objects.head(key).metadata)
    overwrite(scene, key, b"", entry.blanked().to_metadata())
    assert flaws(audited(scene)) == [Flaw.ERASED_WITHOUT_ORDER]


def test_a_deleted_stores_versions_are_erased_with_it(scene: Scene) -> None:
    scene.create()
    sealed(scene)
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    sealed(scene)
    assert audited(scene).findings == []


def test_a_removed_order_of_redaction_is_missing(scene: Scene) -> None:
    memory = scene.create("/a", "first")
    scene.update(memory, "second")
    sealed(scene)
    scene.redact(memory.version_id)
    sealed(scene)
    key = f"{HOME}/redaction/{scene.store}/{memory.version_id}"
    MemoryErasableObjects(scene.cloud.buckets, HOME).remove(key)
    assert (Flaw.MISSING, key) in [(finding.flaw, finding.key) for finding in audited(scene).findings]


def test_a_checkpoint_that_was_rewritten_is_found_by_its_root_its_signature_and_the_next_one(scene: Scene) -> None:
    scene.create()
    sealed(scene)
    sealed(scene)
    objects, period = scene.cloud.sites[HOME].region.objects, 2
    key = str(CheckpointKey(HOME, period))
    checkpoint = Checkpoint.from_json(objects.get(key).body)
    assert checkpoint.names
    overwrite(scene, key, replace(checkpoint, names=checkpoint.names[1:]).to_json())
    details = [one.detail for one in audited(scene).findings if one.flaw is Flaw.CHECKPOINT_ALTERED]
    assert "its names are not those of its root" in details
    assert "the checkpoint before it is not the one that it names" in details
    overwrite(scene, key, replace(checkpoint, until=1).to_json())
    details = [one.detail for one in audited(scene).findings if one.flaw is Flaw.CHECKPOINT_ALTERED]
    assert "its signature is not that of its home's key" in details


def test_a_checkpoint_that_is_gone_is_missing(scene: Scene) -> None:
    scene.create()
    sealed(scene)
    sealed(scene)
    key = str(CheckpointKey(HOME, 2))
    MemoryErasableObjects(scene.cloud.buckets, HOME).remove(key)
    assert Finding(Flaw.CHECKPOINT_MISSING, key, 2) in audited(scene).findings


def test_checkpoints_of_an_earlier_release_are_unsealed_and_their_objects_are_no_flaw(scene: Scene) -> None:
    scene.create()
    sealed(scene)
    objects = scene.cloud.sites[HOME].region.objects
    for key in objects.list(f"{HOME}/checkpoint/").keys:
        fields = json.loads(objects.get(key).body)
        for name in ("root", "previous", "count", "seal"):
            fields.pop(name, None)
        fields["names"] = [name[:2] if name[1:2] != [""] else name[:1] for name in fields["names"]]
        overwrite(scene, key, json.dumps(fields).encode())
    report = audited(scene)
    assert (report.findings, report.sealed_until_us) == ([], None)
    assert report.unsealed == report.looked_at > 0


def test_an_audit_from_a_period_on_reads_only_what_follows(scene: Scene) -> None:
    memory = scene.create("/a")
    sealed(scene)
    key = key_of(scene, memory.version_id)
    overwrite(scene, key, b"x", dict(scene.cloud.sites[HOME].region.objects.head(key).metadata))
    scene.create("/b")
    sealed(scene)
    assert audited(scene).findings != []
    assert audited(scene, since=3).findings == []
