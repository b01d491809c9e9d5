"""What an audit calls attacks on a home's bucket: by what was acknowledged, whatever else was altered as well."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest

from memolith.adapters.memory import MemoryErasableObjects
from memolith.app.operations.audit import make_audit
from memolith.app.operations.audit_report import AuditReport
from memolith.core.audit import Flaw
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import Checkpoint
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
