"""Two histories of one home, and a home that was put back: the other region has seen the true one, and says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters import jwk
from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import MemoryErasableObjects
from memolith.adapters.saved_keys import SavedKeys
from memolith.app.operations.audit import make_audit
from memolith.app.operations.audit_report import AuditReport
from memolith.core.audit import Flaw
from memolith.core.merkle import Frontier
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import Checkpoint, Named, grown, sha256_of
from memolith.core.objects.witness import Witness, witness_key, witness_prefix
from memolith.core.rows.control import CompletenessRow
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene

MINUTE_S = 60.0


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    for _ in range(2):
        minute(scene)
    return scene


def minute(scene: Scene) -> None:
    scene.clock.pause(MINUTE_S)
    for region in (HOME, AWAY):
        scene.cloud.sites[region].reconciling.tick()
    scene.deliver()


def witnessed(scene: Scene, period: int) -> Witness | None:
    """What the other region keeps of the home's checkpoint."""
    objects = scene.cloud.sites[AWAY].region.objects
    key = witness_key(HOME, period)
    return Witness.from_json(objects.get(key).body) if key in objects.list(witness_prefix(HOME)).keys else None


def last(scene: Scene) -> tuple[Checkpoint, bytes]:
    """The home's last checkpoint that names something."""
    objects = scene.cloud.sites[HOME].region.objects
    bodies = [objects.get(key).body for key in objects.list(f"{HOME}/checkpoint/").keys]
    return [(one, body) for body in bodies if (one := Checkpoint.from_json(body)).names][-1]


def folded(scene: Scene) -> int:
    """How far the other region follows the home."""
    region = scene.cloud.sites[AWAY].region
    key = CompletenessRow.key(region.index.generation)
    return int(CompletenessRow.from_attributes(region.index.read([key])[key]).folded[HOME].partition("/")[0])


def audited(scene: Scene) -> AuditReport:
    return make_audit(scene.cloud.sites[HOME].region, scene.cloud.sealing_of(HOME)).run(HOME)


def written(scene: Scene, path: str) -> None:
    scene.create(path)
    for _ in range(3):
        minute(scene)


def overwrite(scene: Scene, region: str, key: str, body: bytes) -> None:
    MemoryErasableObjects(scene.cloud.buckets, region).erase(key, body, {})


def rewritten(scene: Scene, checkpoint: Checkpoint) -> Checkpoint:
    """Another history by whoever has the home's key: a name less, a new root, a true signature."""
    names = checkpoint.names[:-1]
    other = replace(checkpoint, names=names, count=len(names), root=grown(Frontier(), names).root.hex())
    return replace(other, seal=scene.cloud.sealing_of(HOME).sign(other.statement))


def test_a_region_keeps_what_it_saw_of_a_checkpoint_that_names_something(scene: Scene) -> None:
    written(scene, "/a")
    checkpoint, body = last(scene)
    seen = witnessed(scene, checkpoint.period)
    assert seen is not None
    assert (seen.sha256, seen.signed) == (sha256_of(body), True)
    assert witnessed(scene, checkpoint.period + 1) is None, "nothing was written then"
    assert audited(scene).findings == []


def test_a_home_that_was_put_back_is_caught_by_what_the_other_region_saw(scene: Scene) -> None:
    written(scene, "/a")
    checkpoint, _ = last(scene)
    erasable = MemoryErasableObjects(scene.cloud.buckets, HOME)
    for period in range(checkpoint.period, checkpoint.period + 4):
        erasable.remove(str(CheckpointKey(HOME, period)))
    for name in checkpoint.names:
        erasable.remove(name.key)
    (finding,) = audited(scene).findings
    assert (finding.flaw, finding.period) == (Flaw.ROLLED_BACK, checkpoint.period)
    assert AWAY in finding.detail


def test_what_is_sealed_and_witnessed_while_an_audit_reads_is_no_flaw(scene: Scene) -> None:
    """On a busy machine a minute passes between the history's end and what the other region saw."""
    written(scene, "/a")
    paths = ["/b"]

    def going_on(call: PortCall, act: Callable[[], Any]) -> Any:
        if call.name == "objects.get" and "/checkpoint/" in call.subjects[0] and paths:
            written(scene, paths.pop())
        return act()

    with scene.intercepted_by(going_on):
        assert audited(scene).findings == []
    assert paths == []


def test_a_home_with_two_histories_is_caught_though_the_second_is_signed_by_its_own_key(scene: Scene) -> None:
    written(scene, "/a")
    checkpoint, _ = last(scene)
    overwrite(scene, HOME, str(CheckpointKey(HOME, checkpoint.period)), rewritten(scene, checkpoint).to_json())
    assert Flaw.FORKED in {finding.flaw for finding in audited(scene).findings}


@pytest.mark.parametrize("other_home", [False, True], ids=["a later one of its home", "one of another home"])
def test_a_region_that_is_rebuilt_does_not_begin_with_a_checkpoint_that_was_put_in_the_place_of_the_first(
    scene: Scene, other_home: bool
) -> None:
    """Every signature is true. The region would say that it is complete without anything of what it passed over."""
    written(scene, "/a")
    region = scene.cloud.sites[AWAY].region
    put = CheckpointKey(AWAY, 3) if other_home else CheckpointKey(HOME, 4)
    overwrite(scene, AWAY, str(CheckpointKey(HOME, 1)), region.objects.get(str(put)).body)
    row_key = CompletenessRow.key(region.index.generation)
    region.index.commit([Change(row_key, region.index.read([row_key])[row_key], None)])
    for _ in range(3):
        minute(scene)
    assert CompletenessRow.from_attributes(region.index.read([row_key])[row_key]).folded.get(HOME) is None
    assert scene.cloud.metrics.total("integrity_broken") >= 1


@pytest.mark.parametrize("second", ["a name less", "names nothing", "not sealed"])
def test_a_region_that_is_rebuilt_meets_its_own_witness_and_folds_no_second_history(scene: Scene, second: str) -> None:
    scene.create("/b")
    written(scene, "/a")
    checkpoint, _ = last(scene)
    key = str(CheckpointKey(HOME, checkpoint.period))
    other = {
        "a name less": rewritten(scene, checkpoint),
        "names nothing": rewritten(scene, replace(checkpoint, names=checkpoint.names[:1])),
        "not sealed": replace(checkpoint, names=(), count=0, root=None, seal=None),
    }[second]
    overwrite(scene, AWAY, key, other.to_json())
    region = scene.cloud.sites[AWAY].region
    row_key = CompletenessRow.key(region.index.generation)
    region.index.commit([Change(row_key, region.index.read([row_key])[row_key], None)])
    for _ in range(3):
        minute(scene)
    assert folded(scene) == checkpoint.period - 1
    assert scene.cloud.metrics.total("integrity_broken") >= 1


def test_witnesses_are_listed_once_a_process_where_nothing_is_folded_again() -> None:
    scene, counted = Scene(), Counter[str]()

    def note(call: PortCall, act: Callable[[], Any]) -> Any:
        if call.name == "objects.list" and call.subjects[0] == witness_prefix(HOME):
            counted[call.origin] += 1
        return act()

    with scene.intercepted_by(note):
        for path in ("/a", "/b", "/c"):
            written(scene, path)
    assert (counted[AWAY], folded(scene) > 6) == (1, True)


@pytest.mark.parametrize("wrong", ["previous", "root", "signature"])
def test_a_checkpoint_that_cannot_be_true_is_not_folded_and_is_counted(scene: Scene, wrong: str) -> None:
    written(scene, "/a")
    at = folded(scene)
    scene.create("/b")
    scene.clock.pause(MINUTE_S)
    scene.cloud.sites[HOME].reconciling.tick()
    scene.deliver()
    key = str(CheckpointKey(HOME, at + 1))
    checkpoint = Checkpoint.from_json(scene.cloud.sites[AWAY].region.objects.get(key).body)
    changed = {
        "previous": replace(checkpoint, previous="0" * 64),
        "root": replace(checkpoint, names=(*checkpoint.names, Named("forged"))),
        "signature": replace(checkpoint, seal=last(scene)[0].seal),
    }[wrong]
    overwrite(scene, AWAY, key, changed.to_json())
    if wrong == "signature":
        seal = last(scene)[0].seal
        assert seal is not None
        others = scene.cloud.sealing_of(AWAY).sign(changed.statement)
        overwrite(scene, AWAY, key, replace(changed, seal=seal._replace(signature=others.signature)).to_json())
    before = scene.cloud.metrics.total("integrity_broken")
    minute(scene)
    assert folded(scene) == at
    assert scene.cloud.metrics.total("integrity_broken") > before


def replace_key(scene: Scene) -> None:
    """A destroyed stack is deployed again: the bucket stays, and another key stands behind the alias."""
    scene.cloud.seal_keys[HOME] = jwk.made(b"n" * 32)


def test_a_checkpoint_that_a_replaced_key_signed_is_folded_and_its_key_is_counted_and_logged_once(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """Two were not folded when the key was replaced. Nobody tells their signatures from somebody else's."""
    written(scene, "/a")
    keys = []
    for path in ("/b", "/c"):
        scene.create(path)
        scene.clock.pause(MINUTE_S)
        scene.cloud.sites[HOME].reconciling.tick()
        keys.append(last(scene)[0].key)
    key_id = next(iter(scene.cloud.sealing_of(HOME).public(HOME)))
    replace_key(scene)
    written(scene, "/d")
    assert folded(scene) >= last(scene)[0].period > keys[1].period
    assert (scene.cloud.metrics.total("integrity_broken"), scene.cloud.metrics.total("seal_key_unknown")) == (0, 1)
    [record] = [one for one in caplog.records if "a key that is not known here" in one.message]
    assert (vars(record)["key"], vars(record)["key_id"]) == (str(keys[0]), key_id)
    seen = [witnessed(scene, period) for period in (keys[0].period, keys[1].period, last(scene)[0].period)]
    assert [one and one.signed for one in seen] == [None, None, True]


def test_a_region_that_is_rebuilt_after_the_key_was_replaced_follows_the_home_to_its_end(scene: Scene) -> None:
    written(scene, "/a")
    at = folded(scene)
    replace_key(scene)
    region = scene.cloud.sites[AWAY].region
    row_key = CompletenessRow.key(region.index.generation)
    region.index.commit([Change(row_key, region.index.read([row_key])[row_key], None)])
    for _ in range(3):
        minute(scene)
    assert folded(scene) == at + 3
    assert scene.cloud.metrics.total("integrity_broken") == 0


def test_what_a_replaced_key_signed_is_altered_in_an_audit_until_the_saved_key_is_trusted(scene: Scene) -> None:
    written(scene, "/a")
    checkpoint, _ = last(scene)
    sealing = scene.cloud.sealing_of(HOME)
    saved = {HOME: sealing.public(HOME)}
    replace_key(scene)
    written(scene, "/b")
    found = {(one.flaw, one.period): one.detail for one in audited(scene).findings}
    assert "--keys has those that were replaced" in found[Flaw.CHECKPOINT_ALTERED, checkpoint.period]
    assert {flaw for flaw, _ in found} == {Flaw.CHECKPOINT_ALTERED}
    assert make_audit(scene.cloud.sites[HOME].region, SavedKeys(sealing, saved)).run(HOME).findings == []


def test_checkpoints_of_an_earlier_release_are_folded_as_ever(scene: Scene) -> None:
    written(scene, "/a")
    at = folded(scene)
    scene.clock.pause(MINUTE_S)
    scene.cloud.sites[HOME].reconciling.tick()
    scene.deliver()
    key = str(CheckpointKey(HOME, at + 1))
    checkpoint = Checkpoint.from_json(scene.cloud.sites[AWAY].region.objects.get(key).body)
    overwrite(scene, AWAY, key, replace(checkpoint, root=None, seal=None, previous=None).to_json())
    minute(scene)
    assert folded(scene) >= at + 1
