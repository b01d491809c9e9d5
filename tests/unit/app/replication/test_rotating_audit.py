"""The hourly share of an audit: what is rewritten is found without a reader, and nothing that is right rings."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters import jwk
from memolith.adapters.layered import Call, Fault, Strike
from memolith.adapters.memory import MemoryErasableObjects
from memolith.app.replication import rotating_audit
from memolith.app.replication.service import make_reconciler
from memolith.core.object_keys import CheckpointKey
from tests.unit.app.scene import HOME, Scene

T = TypeVar("T")
MINUTE_S, HOUR_S = 60.0, 3_600.0


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    for number in range(3):
        scene.create(f"/{number}", f"text {number}")
        tick(scene)
    return scene


def tick(scene: Scene, after_s: float = MINUTE_S) -> None:
    scene.deliver()
    scene.clock.pause(after_s)
    assert scene.cloud.sites[HOME].reconciling.tick().failures == []
    scene.deliver()


def broken(scene: Scene) -> int:
    return scene.cloud.metrics.total("integrity_broken")


def alter(scene: Scene, key: str) -> None:
    stored = scene.cloud.sites[HOME].region.objects.get(key)
    body = stored.body.replace(b"text", b"TEXT")
    MemoryErasableObjects(scene.cloud.buckets, HOME).erase(key, body, stored.metadata)


def read_in(scene: Scene, run: Callable[[], object]) -> list[str]:
    """The versions that are read meanwhile."""
    seen: list[str] = []

    def watch(call: Call, act: Callable[[], T]) -> T:
        seen.extend(key for key in call.subjects if call.name == "objects.get" and "/log/" in key)
        return act()

    with scene.intercepted_by(watch):
        run()
    return seen


def test_an_altered_version_rings_within_an_hour_and_is_named_in_the_log(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    key = scene.log_keys()[1]
    alter(scene, key)
    tick(scene)
    assert broken(scene) == 0, "the hour is not over"
    with caplog.at_level(logging.ERROR):
        tick(scene, HOUR_S)
    assert broken(scene) == 1
    [record] = [one for one in caplog.records if one.message == "an object is not what was acknowledged"]
    assert vars(record)["key"] == key


def test_what_a_replaced_key_signed_does_not_ring_and_is_told_once_for_each_key(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.cloud.seal_keys[HOME] = jwk.made(b"n" * 32)
    with caplog.at_level(logging.WARNING):
        tick(scene, HOUR_S)
    assert (broken(scene), scene.cloud.metrics.total("seal_key_unknown")) == (0, 1)
    [record] = [
        one for one in caplog.records if one.message == "checkpoints are signed by a key that is not known here"
    ]
    assert (vars(record)["key"], vars(record)["checkpoints"]) == (str(CheckpointKey(HOME, 1)), 3)


def test_a_checkpoint_that_was_taken_away_rings(scene: Scene) -> None:
    MemoryErasableObjects(scene.cloud.buckets, HOME).remove(str(CheckpointKey(HOME, 2)))
    tick(scene, HOUR_S)
    assert broken(scene) == 1


def test_within_the_hour_nothing_is_read_and_then_each_version_once(scene: Scene) -> None:
    assert read_in(scene, lambda: tick(scene)) == []
    assert sorted(read_in(scene, lambda: tick(scene, HOUR_S))) == sorted(scene.log_keys())
    assert read_in(scene, lambda: tick(scene)) == []


@pytest.mark.parametrize("of_the_same_process", [True, False])
def test_a_share_is_audited_once_a_clock_that_was_ahead_is_set_right(scene: Scene, of_the_same_process: bool) -> None:
    tick(scene, 48 * HOUR_S)
    if not of_the_same_process:
        site = scene.cloud.sites[HOME]
        site.reconciling = make_reconciler(site.region, scene.cloud.sealing_of(HOME))
    scene.clock.advance(-48 * HOUR_S)
    assert sorted(read_in(scene, lambda: tick(scene))) == sorted(scene.log_keys())
    assert read_in(scene, lambda: tick(scene)) == []


def test_shares_go_on_where_the_one_before_ended_and_begin_again_at_the_end(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotating_audit, "VERSIONS_MAX", 2)
    monkeypatch.setattr(rotating_audit, "PERIODS_MAX", 2)
    for number in range(3):
        scene.create(f"/more/{number}", f"text {number}")
    tick(scene)
    seen: list[str] = []
    for _ in range(12):
        found = read_in(scene, lambda: tick(scene, HOUR_S))
        assert len(found) <= 2
        seen += found
    keys = scene.log_keys()
    assert set(seen) == set(keys)
    assert max(map(seen.count, keys)) - min(map(seen.count, keys)) <= 1


def test_a_share_that_is_broken_off_is_looked_at_again(scene: Scene) -> None:
    scene.deliver()
    scene.clock.pause(HOUR_S)
    alter(scene, scene.log_keys()[1])
    with scene.struck_by(Strike(Fault.REFUSED, "objects.get", subject=scene.log_keys()[0])):
        scene.cloud.sites[HOME].reconciling.tick()
    tick(scene, HOUR_S)
    assert broken(scene) == 1


def test_nothing_that_was_erased_renamed_or_deleted_by_right_rings(scene: Scene) -> None:
    memory = scene.create("/a", "first")
    old = scene.update(memory, "second", path="/b")
    scene.update(memory, path="/c")
    tick(scene)
    scene.redact(memory.version_id)
    scene.redact(old.version_id)
    scene.delete(memory)
    other = scene.create_store().id
    scene.create("/x", "gone with its store", store=other)
    tick(scene)
    scene.at(HOME).stores.delete(scene.call(), other)
    tick(scene)
    for _ in range(3):
        assert read_in(scene, lambda: tick(scene, HOUR_S))
    assert broken(scene) == 0
