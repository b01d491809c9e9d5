"""A region that was removed is added again, with an empty bucket: its checkpoints go on where they had ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import MemoryQueue
from memolith.app.replication.region_backfill import RegionBackfill
from memolith.core.object_keys import CheckpointKey, parse_key
from memolith.core.objects.checkpoint import Checkpoint, sha256_of
from memolith.core.rows.journal import JournalStateRow
from memolith.ports import errors as port_errors
from tests.support.rebuilds import Operator
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")
BACK, STAYS = HOME, (AWAY, "ap-south-1")


def tick(scene: Scene, *regions: str, times: int = 3) -> None:
    """Minutes pass, and what the reconcilers put arrives."""
    for _ in range(times):
        scene.clock.advance(61)
        for region in regions or scene.cloud.regions:
            scene.cloud.sites[region].reconciling.tick()
        scene.deliver()


def published(scene: Scene, bucket: str) -> dict[int, bytes]:
    """The checkpoints of the region that returned, as a bucket has them, by their periods."""
    keys = [parse_key(key) for key, _ in scene.objects(bucket) if key.startswith(f"{BACK}/checkpoint/")]
    bodies = dict(scene.objects(bucket))
    return {key.period: bodies[str(key)] for key in keys if isinstance(key, CheckpointKey)}


def open_period(scene: Scene) -> int | None:
    row = scene.cloud.rows(BACK, "journal").get((BACK, "state"))
    return None if row is None else JournalStateRow.from_attributes(row).open


def until(scene: Scene, at: str) -> int:
    """Up to when a region has all that the one that returned acknowledged; 0 if it does not know."""
    site = scene.cloud.sites[at]
    site.region.completeness.clear()
    return site.region.view().complete_until_of([BACK]) or 0


@pytest.fixture
def scene() -> Scene:
    """Three regions, of which one was removed after its store had moved and all it had put had arrived."""
    scene = Scene(regions=(BACK, *STAYS))
    scene.create("/a")
    scene.deliver()
    moved = scene.cloud.peers.call(AWAY, "reconciler", {"call": "homes.move", "store_id": scene.store})
    assert moved["state"] == "moved", moved
    scene.deliver()
    tick(scene, times=20)
    scene.cloud.remove(BACK)
    tick(scene)
    return scene


def fill(scene: Scene) -> None:
    """What an operator does of a region that joins: copies what the others have, and has its tables built."""
    RegionBackfill(scene.cloud.sites[BACK].region, STAYS).run(lambda progress: None)
    scene.deliver()
    Operator(scene.cloud, MemoryQueue()).run()
    scene.cloud.sites[BACK].region.view()


@pytest.mark.parametrize("ticks_before_it_is_filled", [0, 3])
def test_the_watermark_of_a_region_that_returned_with_an_empty_bucket_goes_on(
    scene: Scene, ticks_before_it_is_filled: int
) -> None:
    scene.cloud.bring_back(BACK)
    tick(scene, times=ticks_before_it_is_filled)
    fill(scene)
    returned_us = scene.clock.now_us()
    tick(scene, times=4)
    assert [until(scene, at) > returned_us for at in STAYS] == [True, True]
    assert scene.cloud.metrics.total("integrity_broken") == 0


def test_a_region_that_returned_puts_no_checkpoint_in_the_place_of_an_earlier_one(scene: Scene) -> None:
    before = published(scene, AWAY)
    scene.cloud.bring_back(BACK)
    assert open_period(scene) == max(before) + 1
    tick(scene)
    put = published(scene, BACK)
    assert put[max(before)] == before[max(before)], "the one that the next one follows stands in its bucket"
    assert sorted(put)[1:] == [max(before) + 1, max(before) + 2, max(before) + 3]
    assert Checkpoint.from_json(put[max(before) + 1]).previous == sha256_of(before[max(before)])


def test_a_region_that_returned_goes_on_after_what_any_one_of_the_others_has(scene: Scene) -> None:
    """The last copy has come to one of them alone, and an earlier one never came to that."""
    before = published(scene, AWAY)
    last = max(before)
    scene.cloud.buckets.damage(STAYS[0], str(CheckpointKey(BACK, last)), None)
    scene.cloud.buckets.damage(STAYS[1], str(CheckpointKey(BACK, last - 1)), None)
    scene.cloud.bring_back(BACK)
    assert open_period(scene) == last + 1


@pytest.mark.parametrize("silent", STAYS)
def test_while_another_region_does_not_answer_one_that_returned_opens_no_period_and_does_the_rest(
    scene: Scene, silent: str
) -> None:
    before = published(scene, AWAY)

    def down(call: PortCall, act: Callable[[], T]) -> T:
        if silent in (call.target, call.origin):
            raise port_errors.Unavailable("down on purpose")
        return act()

    with scene.intercepted_by(down):
        scene.cloud.bring_back(BACK, scene.switch)
        ticked = scene.cloud.sites[BACK].reconciling.tick()
    assert (ticked.period, ticked.failures, open_period(scene)) == (None, ["Unavailable"], None)
    tick(scene, BACK, times=1)
    assert open_period(scene) == max(before) + 1
