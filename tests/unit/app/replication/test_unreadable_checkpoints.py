"""A checkpoint, a part or a witness that cannot be read: it rings, and stops nothing but what is built on it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import MemoryErasableObjects, MemoryObjects, MemoryQueue
from memolith.app.replication import checkpoints as periods
from memolith.app.replication.service import make_comparisons
from memolith.core.object_keys import CheckpointKey, CheckpointPartKey, parse_key
from memolith.core.objects.checkpoint import Checkpoint, part_from_json, sha256_of
from memolith.core.objects.witness import witness_key
from memolith.core.rows.control import CompletenessRow
from memolith.core.rows.journal import JournalStateRow
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")
THIRD = "ap-south-1"
NEVER_US = 1 << 62
UNREADABLE = [
    pytest.param(b"", id="empty"),
    pytest.param(b"[" * 100_000, id="nested too deeply"),
    pytest.param(b'{"schema": 99}', id="of another schema"),
    pytest.param(b'{"schema": "1", "home": "us-east-1"}', id="without most fields"),
    pytest.param(b'{"schema": "1", "home": "us-east-1", "period": 1e400}', id="with an infinite period"),
]


@pytest.fixture
def scene() -> Scene:
    scene = Scene(regions=(HOME, AWAY, THIRD))
    tick(scene, times=2)
    return scene


def tick(scene: Scene, *regions: str, times: int = 1) -> None:
    """A minute passes, each region's reconciler gets all its work done, and what it put arrives."""
    for _ in range(times):
        scene.clock.advance(61)
        for region in regions or scene.cloud.regions:
            assert scene.cloud.sites[region].reconciling.tick().failures == []
        scene.deliver()


def state(scene: Scene) -> JournalStateRow:
    return JournalStateRow.from_attributes(scene.cloud.rows(HOME, "journal")[HOME, "state"])


def folded(scene: Scene, home: str) -> int:
    """How far the region AWAY follows a home."""
    region = scene.cloud.sites[AWAY].region
    key = CompletenessRow.key(region.index.generation)
    return int(CompletenessRow.from_attributes(region.index.read([key])[key]).folded[home].partition("/")[0])


def broken(scene: Scene) -> int:
    return scene.cloud.metrics.total("integrity_broken")


def overwrite(scene: Scene, region: str, key: str, body: bytes) -> None:
    MemoryErasableObjects(scene.cloud.buckets, region).erase(key, body, {})


def put_locally(scene: Scene, region: str, key: str, body: bytes) -> None:
    """Into one bucket, and on no wire."""
    MemoryObjects(scene.cloud.buckets, region).put_if_absent(key, body, {})
    scene.cloud.pending[:] = [event for event in scene.cloud.pending if event.key != key]


@pytest.mark.parametrize("body", UNREADABLE)
def test_a_checkpoint_that_cannot_be_read_stops_the_watermark_of_its_home_alone(
    scene: Scene, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    period, before = state(scene).open, folded(scene, THIRD)
    tick(scene, HOME)
    overwrite(scene, AWAY, str(CheckpointKey(HOME, period)), body)
    with caplog.at_level(logging.ERROR):
        tick(scene, times=3)
    assert (folded(scene, HOME), folded(scene, THIRD)) == (period - 1, before + 3)
    assert broken(scene) > 0
    (key,) = {record.__dict__.get("key") for record in caplog.records}
    assert key == str(CheckpointKey(HOME, period))


def test_a_part_that_cannot_be_read_stops_the_watermark_of_its_home_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(periods, "NAMES_PER_PART", 2)
    for number in range(3):
        scene.create(f"/{number}")
    period, before = state(scene).open, folded(scene, THIRD)
    tick(scene, HOME)
    overwrite(scene, AWAY, str(CheckpointPartKey(HOME, period, state(scene).run, 0)), b"no list of names")
    tick(scene, times=3)
    assert (folded(scene, HOME), folded(scene, THIRD)) == (period - 1, before + 3)
    assert broken(scene) > 0


def test_a_witness_that_cannot_be_read_stops_the_watermark_of_its_home_alone(scene: Scene) -> None:
    scene.create("/a")
    period, before = state(scene).open, folded(scene, THIRD)
    put_locally(scene, AWAY, witness_key(HOME, period), b"no witness")
    tick(scene, times=3)
    assert (folded(scene, HOME), folded(scene, THIRD)) == (period - 1, before + 3)
    assert broken(scene) > 0


@pytest.mark.parametrize("body", UNREADABLE)
def test_a_home_goes_on_after_what_cannot_be_read_in_the_place_of_its_checkpoint(scene: Scene, body: bytes) -> None:
    scene.create("/a")
    period = state(scene).open
    put_locally(scene, HOME, str(CheckpointKey(HOME, period)), body)
    tick(scene, times=3)
    assert (state(scene).open, broken(scene)) == (period + 3, 1)
    objects = scene.cloud.sites[HOME].region.objects
    following = Checkpoint.from_json(objects.get(str(CheckpointKey(HOME, period + 1))).body)
    assert (following.listed, following.previous) == (True, sha256_of(body))
    assert {name.key for name in following.names} >= set(scene.log_keys())


@pytest.mark.parametrize("body", [b"no list of names", b"{}", b"[1]"])
def test_parts_from_a_listing_begin_again_under_another_run_where_one_cannot_be_read(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    scene.create("/a")
    names = scene.log_keys()
    planted = plant(scene, monkeypatch, body)
    assert broken(scene) == 1
    checkpoint = Checkpoint.from_json(
        scene.cloud.sites[HOME].region.objects.get(str(CheckpointKey(HOME, planted.period))).body
    )
    assert (checkpoint.run == planted.run, checkpoint.listed) == (False, True)
    assert named(scene, checkpoint) >= set(names)


def test_a_part_from_a_listing_that_names_nothing_leaves_nothing_out(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.create("/a")
    names = scene.log_keys()
    planted = plant(scene, monkeypatch, b"[]")
    objects = scene.cloud.sites[HOME].region.objects
    checkpoint = Checkpoint.from_json(objects.get(str(CheckpointKey(HOME, planted.period))).body)
    assert checkpoint.run == planted.run
    assert named(scene, checkpoint) >= set(names)


def plant(scene: Scene, monkeypatch: pytest.MonkeyPatch, body: bytes) -> CheckpointPartKey:
    """A period is published from a listing in parts, and something else stands where the first of them is to be."""
    monkeypatch.setattr(periods, "NAMES_PER_PART", 2)
    before = state(scene)
    listed = replace(before, listed=True)
    change = Change(JournalStateRow.key(HOME), before.to_attributes(), listed.to_attributes())
    scene.cloud.sites[HOME].region.index.commit([change])
    part = CheckpointPartKey(HOME, before.open, before.run, 0)
    put_locally(scene, HOME, str(part), body)
    tick(scene, HOME)
    return part


def named(scene: Scene, checkpoint: Checkpoint) -> set[str]:
    objects = scene.cloud.sites[HOME].region.objects
    parts = [part_from_json(objects.get(str(checkpoint.part_key(n))).body) for n in range(checkpoint.parts)]
    return {name.key for names in (checkpoint.names, *parts) for name in names}


@pytest.mark.parametrize("part", [False, True])
def test_a_checkpoint_that_cannot_be_read_any_more_ends_no_comparison_with_the_checkpoints(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, part: bool, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(periods, "NAMES_PER_PART", 2)
    for number in range(3):
        scene.create(f"/{number}")
    tick(scene, times=2)
    keys = [key for key, _ in scene.objects(AWAY) if key.startswith(f"{HOME}/checkpoint/")]
    kind = CheckpointPartKey if part else CheckpointKey
    key = next(key for key in keys if isinstance(parse_key(key), kind))
    overwrite(scene, AWAY, key, b"no checkpoint")
    before = broken(scene)
    with caplog.at_level(logging.ERROR):
        walked = make_comparisons(scene.cloud.sites[AWAY].region, MemoryQueue()).checkpoints.run(NEVER_US)
    assert walked.finished and walked.looked_at > 0
    assert broken(scene) == before + 1
    assert [record.__dict__.get("key") for record in caplog.records] == [key]


def test_what_one_part_of_a_tick_cannot_read_is_reported_and_stops_no_other_part(scene: Scene) -> None:
    def unreadable(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "index.commit" and call.origin == HOME and any("journal" in one for one in call.subjects):
            raise ValueError("an object that cannot be read")
        return act()

    before = scene.cloud.rows(HOME, "control")
    scene.clock.advance(61)
    with scene.intercepted_by(unreadable):
        ticked = scene.cloud.sites[HOME].reconciling.tick()
    assert ticked.failures == ["ValueError"]
    assert scene.cloud.metrics.total("reconcile_failed") == 1
    assert scene.cloud.rows(HOME, "control") != before, "the watermark's part was done"
