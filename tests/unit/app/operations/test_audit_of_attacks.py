"""What an audit calls attacks on a home's bucket: by what was acknowledged, whatever else was altered as well."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from memolith.adapters.memory import MemoryErasableObjects
from memolith.app.kernel.results import StoreToAttach
from memolith.app.operations.audit import make_audit
from memolith.app.operations.audit_report import AuditReport
from memolith.core.audit import Flaw
from memolith.core.merkle import Frontier
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import Checkpoint, grown, sha256_of
from memolith.core.objects.session_record import SessionRecord
from memolith.core.rows.identity import SessionRow
from memolith.core.sealing import SIGNED_EVERY
from memolith.core.trust import DOCUMENT, USER
from tests.unit.app.operations.sealed_home import audited, flaws, key_of, overwrite, sealed
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    sealed(scene)
    return scene


def metadata_of(scene: Scene, key: str) -> dict[str, str]:
    return dict(scene.cloud.sites[HOME].region.objects.head(key).metadata)


def fitting(metadata: Mapping[str, str], body: bytes) -> dict[str, str]:
    """What metadata says once its hash and size are those of another text."""
    return {**metadata, "sha": hashlib.sha256(body).hexdigest(), "size": str(len(body))}


def found(report: AuditReport) -> dict[str, Flaw]:
    return {finding.key: finding.flaw for finding in report.findings}


def test_one_false_text_in_two_stores_is_altered_in_both_and_replayed_in_neither(scene: Scene) -> None:
    """One of them has its hash recomputed, so that the other's text seems to stand elsewhere."""
    other = scene.create_store("others").id
    first, second = scene.create("/a", "the same"), scene.create("/a", "the same", store=other)
    sealed(scene)
    naive, fitted = (key_of(scene, one.version_id) for one in (first, second))
    false = b"the same  [TAMPERED]"
    overwrite(scene, naive, false, metadata_of(scene, naive))
    overwrite(scene, fitted, false, fitting(metadata_of(scene, fitted), false))
    assert found(audited(scene)) == {naive: Flaw.ALTERED, fitted: Flaw.ALTERED}


def test_two_versions_that_were_swapped_between_stores_are_replayed(scene: Scene) -> None:
    other = scene.create_store("others").id
    first, second = scene.create("/a", "one"), scene.create("/a", "two", store=other)
    sealed(scene)
    one, two = (key_of(scene, made.version_id) for made in (first, second))
    kept = metadata_of(scene, one)
    overwrite(scene, one, b"two", metadata_of(scene, two))
    overwrite(scene, two, b"one", kept)
    assert found(audited(scene)) == {one: Flaw.REPLAYED, two: Flaw.REPLAYED}


def test_a_text_that_was_moved_on_before_it_was_altered_itself_is_rolled_back(scene: Scene) -> None:
    """The only genuine copy of the older text is gone; what was acknowledged there still says what it was."""
    memory = scene.create("/a", "older")
    newer = scene.update(memory, "newer")
    sealed(scene)
    old, new = key_of(scene, memory.version_id), key_of(scene, newer.version_id)
    overwrite(scene, new, b"older", metadata_of(scene, old))
    overwrite(scene, old, b"x", fitting(metadata_of(scene, old), b"x"))
    assert found(audited(scene)) == {old: Flaw.ALTERED, new: Flaw.ROLLED_BACK}


def test_a_checkpoint_that_another_region_saw_is_rolled_back_though_that_region_saw_a_later_one(scene: Scene) -> None:
    """As when a home is put back, and goes on sealing from tables that still know the hash of what is gone."""
    for path in ("/a", "/b"):
        scene.create(path)
        sealed(scene)
        scene.cloud.sites[AWAY].reconciling.tick()
    gone = str(CheckpointKey(HOME, 2))
    assert Checkpoint.from_json(scene.cloud.sites[HOME].region.objects.get(gone).body).names
    MemoryErasableObjects(scene.cloud.buckets, HOME).remove(gone)
    report = audited(scene)
    details = {finding.flaw: finding.detail for finding in report.findings if finding.key == gone}
    assert details.keys() == {Flaw.CHECKPOINT_MISSING, Flaw.ROLLED_BACK}
    assert AWAY in details[Flaw.ROLLED_BACK]
    region = scene.cloud.sites[HOME].region
    later = make_audit(region, scene.cloud.sealing_of(HOME)).run(HOME, None, 3)
    assert Flaw.ROLLED_BACK not in flaws(later), "an audit from a later period on does not look for what was before"


def test_a_session_record_that_is_altered_so_that_its_class_rises_is_named(scene: Scene) -> None:
    """The tables keep the class that was shown first; made anew from what stands there, they would not."""
    attached = [StoreToAttach(scene.store, "read_write", "")]
    made = scene.at(HOME).sessions.create(scene.call(), attached, title=None, metadata={}, token_lifetime_s=3_600)
    record = made.record
    scene.at(HOME).session_trust.lower(record.workspace_id, record.session_id, DOCUMENT)
    sealed(scene)
    assert audited(scene).findings == []
    (key,) = scene.cloud.sites[HOME].region.objects.list(f"{HOME}/session/{record.workspace_id}/").keys[-1:]
    shown = SessionRecord.from_json(scene.cloud.sites[HOME].region.objects.get(key).body)
    assert shown.trust == DOCUMENT
    overwrite(scene, key, replace(shown, trust=USER).to_json())
    scene.deliver()
    scene.cloud.sites[HOME].indexing.object_arrived(key)
    row = SessionRow.key(record.workspace_id, record.session_id)
    stands = SessionRow.from_attributes(scene.cloud.sites[HOME].region.index.read([row])[row])
    assert (stands.trust, found(audited(scene))) == (DOCUMENT, {key: Flaw.ALTERED})


@pytest.mark.parametrize("other_home", [False, True], ids=["an older one of its home", "one of another home"])
def test_a_checkpoint_in_the_place_of_another_is_altered_though_its_signature_is_true(
    scene: Scene, other_home: bool
) -> None:
    """The last one, which no later one names; the other region saw what stood there."""
    scene.create("/a")
    sealed(scene)
    for _ in range(3):
        scene.cloud.sites[AWAY].reconciling.tick()
    report = audited(scene)
    assert report.findings == []
    last = str(CheckpointKey(HOME, report.until))
    put = CheckpointKey(AWAY, 1) if other_home else CheckpointKey(HOME, report.until - 1)
    overwrite(scene, last, scene.cloud.sites[AWAY].region.objects.get(str(put)).body)
    found_there = {one.flaw: one.detail for one in audited(scene).findings if one.key == last}
    assert found_there[Flaw.CHECKPOINT_ALTERED] == "it is that of another home or period"
    assert AWAY in found_there[Flaw.ROLLED_BACK]


def test_a_checkpoint_that_is_put_before_its_home_can_rings_and_leaves_nothing_unnamed(scene: Scene) -> None:
    """Its key is known beforehand, and so is the one before it, which it has to name: that takes no signature."""
    objects = scene.cloud.sites[HOME].region.objects
    scene.create("/a")
    sealed(scene)
    last = Checkpoint.from_json(objects.get(str(CheckpointKey(HOME, audited(scene).until))).body)
    made = scene.create("/b")
    forged = replace(stripped(last), period=last.period + 1, previous=sha256_of(objects.get(str(last.key)).body))
    objects.put_if_absent(str(forged.key), forged.to_json(), {})
    sealed(scene)
    assert scene.cloud.metrics.total("integrity_broken") == 1
    sealed(scene)
    after = Checkpoint.from_json(objects.get(str(CheckpointKey(HOME, last.period + 2))).body)
    assert key_of(scene, made.version_id) in {name.key for name in after.names}
    assert found(audited(scene)) == {key_of(scene, made.version_id): Flaw.UNACKNOWLEDGED}


def stripped(checkpoint: Checkpoint) -> Checkpoint:
    """Another checkpoint in its place, by somebody who has no key."""
    root = grown(Frontier(), ()).root.hex()
    return replace(checkpoint, names=(), count=0, root=root, seal=None, previous_statement=None)


def downgraded(checkpoint: Checkpoint) -> Checkpoint:
    """The same, as an earlier release would have put it."""
    return replace(stripped(checkpoint), root=None, previous=None)


def rewrite(scene: Scene, since: int, forge: Callable[[Checkpoint], Checkpoint]) -> None:
    """Put others in the place of all checkpoints from a period on, each naming the one before it."""
    objects, previous = scene.cloud.sites[HOME].region.objects, None
    for key in objects.list(f"{HOME}/checkpoint/").keys:
        checkpoint = Checkpoint.from_json(objects.get(key).body)
        if checkpoint.period >= since:
            forged = forge(checkpoint)
            forged = forged if forged.root is None else replace(forged, previous=previous)
            overwrite(scene, key, forged.to_json())
        previous = sha256_of(objects.get(key).body)


@pytest.mark.parametrize("forge", [stripped, downgraded])
def test_a_home_is_intact_only_as_far_as_a_signature_covers_it(
    scene: Scene, forge: Callable[[Checkpoint], Checkpoint]
) -> None:
    """The last version is taken away, and the checkpoint that named it is made anew without the key."""
    scene.create("/a")
    sealed(scene)
    before = audited(scene)
    made = scene.create("/b")
    sealed(scene)
    after = audited(scene)
    assert (before.signed_until, after.signed_until, after.unsigned) == (before.until, after.until, 0)
    MemoryErasableObjects(scene.cloud.buckets, HOME).remove(key_of(scene, made.version_id))
    rewrite(scene, after.until, forge)
    report = audited(scene)
    assert (report.signed_until, report.sealed_until_us) == (before.signed_until, before.sealed_until_us)


@pytest.mark.parametrize("forge", [stripped, downgraded])
def test_more_than_an_hour_of_checkpoints_without_a_signature_is_a_flaw(
    scene: Scene, forge: Callable[[Checkpoint], Checkpoint]
) -> None:
    scene.create("/a")
    sealed(scene)
    signed = audited(scene).until
    for _ in range(SIGNED_EVERY):
        sealed(scene)
    assert audited(scene).findings == []
    rewrite(scene, signed + 1, forge)
    assert audited(scene).findings == []
    sealed(scene)
    rewrite(scene, signed + 1, forge)
    (finding,) = audited(scene).findings
    assert (finding.flaw, finding.period) == (Flaw.CHECKPOINT_UNSIGNED, signed + 1)
    assert flaws(audited(scene, since=signed + 2)) == [], "an hour of what is read is not over"


def test_a_key_that_does_not_answer_for_a_while_leaves_a_home_intact_to_its_last_signature(scene: Scene) -> None:
    scene.create("/a")
    sealed(scene)
    signed = audited(scene).until
    key = scene.cloud.seal_keys.pop(HOME)
    scene.create("/b")
    sealed(scene)
    scene.cloud.seal_keys[HOME] = key
    report = audited(scene)
    assert (report.findings, report.signed_until, report.unsigned) == ([], signed, 1)
    sealed(scene)
    report = audited(scene)
    assert (report.findings, report.signed_until, report.unsigned) == ([], report.until, 0)
