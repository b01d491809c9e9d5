"""A store that asks for two regions, and its home is gone: nothing is lost, and nothing comes late. Ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Crash, Fault, Strike
from memolith.ports import errors as port_errors
from tests.unit.app.commit.test_sync_replica import Durable
from tests.unit.app.scene import AWAY, HOME, Scene, T

THIRD = "ap-south-1"


@pytest.fixture
def scene() -> Durable:
    return Durable((HOME, AWAY, THIRD))


def fail_over(scene: Scene, to: str = AWAY, old: str = HOME) -> None:
    """As an operator asks the new home's reconciler."""
    payload = {"call": "homes.fail_over", "store_id": scene.store, "old": old}
    answer = scene.cloud.peers.call(to, "reconciler", payload)
    assert "error" not in answer, answer


class Without:
    """Nothing in this region answers."""

    def __init__(self, region: str) -> None:
        self._region = region

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        if self._region in (call.target, call.origin):
            raise port_errors.Unavailable("gone")
        return act()


def hears(scene: Scene, region: str) -> None:
    """A region indexes what has been put into its bucket."""
    for event in [event for event in scene.cloud.pending if event.region == region]:
        scene.cloud.sites[region].indexing.object_arrived(event.key)


def apart(scene: Scene, region: str) -> list[str]:
    """The versions that stand apart in a region: divergent ones."""
    return [sk for (_, sk) in scene.cloud.rows(region, "versions") if sk.startswith("late#")]


def test_a_fail_over_to_the_second_region_has_everything_that_was_acknowledged(scene: Durable) -> None:
    first = scene.create("/a", "one")
    scene.update(first, "two")
    moved = scene.create("/b", "text")
    scene.update(moved, path="/c")
    scene.delete(scene.create("/d", "gone"))
    undelivered = list(scene.cloud.pending)
    scene.cloud.pending.clear()
    with scene.intercepted_by(Without(HOME)):
        fail_over(scene)
        assert scene.read(first, at=AWAY).content == "two"
        assert scene.paths(at=AWAY) == ["/a", "/c"]
        written = scene.update(first, "three", at=AWAY)
        scene.create("/d", "again", at=AWAY)
    scene.cloud.pending.extend(undelivered)
    scene.deliver()
    for region in scene.cloud.regions:
        assert scene.read(first, at=region).version_id == written.version_id
        assert scene.paths(at=region) == ["/a", "/c", "/d"]
        assert scene.history(first, at=region) == ["modified", "modified", "created"]
        assert apart(scene, region) == []


def test_afterwards_a_region_that_was_not_the_home_is_the_second(scene: Durable) -> None:
    memory = scene.create("/a", "one")
    with scene.intercepted_by(Without(HOME)):
        fail_over(scene)
        scene.update(memory, "two", at=AWAY)
        scene.create("/b", "text", at=AWAY)
    there = scene.cloud.buckets.page(THIRD, f"{AWAY}/log/{scene.store}/", None, 100).keys
    assert len(there) == 2
    hears(scene, THIRD)
    with scene.intercepted_by(Without(AWAY)):
        fail_over(scene, to=THIRD, old=AWAY)
        assert scene.read(memory, at=THIRD).content == "two"
        assert scene.paths(at=THIRD) == ["/a", "/b"]


def test_a_region_that_stands_in_holds_what_a_memory_was_at_its_earlier_paths_once_a_write_is_answered(
    scene: Durable,
) -> None:
    """The memory was renamed and then changed by the old home: its newest entry does not tell of the rename."""
    memory = scene.create("/a", "one")
    memory = scene.update(scene.update(memory, path="/b"), path="/c")
    memory = scene.update(memory, "two")
    scene.cloud.pending.clear()  # nothing of it is ever replicated
    with scene.intercepted_by(Without(HOME)):
        fail_over(scene)
        scene.update(memory, "three", at=AWAY)
    keys = [key for key in scene.cloud.buckets.page(AWAY, "", None, 1000).keys if "/log/" in key]
    held = scene.cloud.buckets.page(THIRD, "", None, 1000).keys
    assert len(keys) == 7 and set(keys) <= set(held)


def test_a_region_that_stands_in_as_the_second_says_when_it_holds_everything(scene: Durable) -> None:
    """Only then a fail-over to it loses nothing either: here a rename that HOME and AWAY had, and THIRD had not."""
    memory = scene.create("/a", "one")
    scene.deliver()
    scene.update(memory, path="/b")
    renamed = [event for event in scene.cloud.pending if event.region == HOME and "/log/" in event.key]
    hears(scene, AWAY)
    scene.cloud.pending.clear()
    assert (is_held(scene, AWAY), is_held(scene, THIRD)) == (True, False), "AWAY is the second region by name"
    with scene.intercepted_by(Without(HOME)):
        fail_over(scene)
    assert not is_held(scene, THIRD), "THIRD has not heard of the fail-over"
    scene.deliver()
    assert not is_held(scene, THIRD), "the cut of the new home is there, and the rename is not"
    scene.create("/c", "text", at=AWAY)
    assert not is_held(scene, THIRD)
    half, other = renamed
    scene.cloud.buckets.replicate(half, THIRD)
    assert not is_held(scene, THIRD), "half a rename"
    scene.cloud.buckets.replicate(other, THIRD)
    assert is_held(scene, THIRD)
    with scene.intercepted_by(Without(AWAY)):
        fail_over(scene, to=THIRD, old=AWAY)
        assert scene.paths(at=THIRD) == ["/b", "/c"]
    assert apart(scene, THIRD) == []


def is_held(scene: Scene, region: str) -> bool:
    """What a region's reconciler tells an operator of the store."""
    answer = scene.cloud.peers.call(region, "reconciler", {"call": "homes.is_held", "store_id": scene.store})
    return bool(answer["held"])


def test_what_was_never_acknowledged_may_stand_apart_and_nothing_else(scene: Durable) -> None:
    memory = scene.create("/a", "one")
    with scene.struck_by(Strike(Fault.CRASH_BEFORE, "objects.put_if_absent", occurrence=2)), pytest.raises(Crash):
        scene.update(memory, "unacknowledged")
    undelivered = list(scene.cloud.pending)
    scene.cloud.pending.clear()
    with scene.intercepted_by(Without(HOME)):
        fail_over(scene)
        kept = scene.update(memory, "two", at=AWAY)
    scene.cloud.pending.extend(undelivered)
    scene.deliver()
    for region in scene.cloud.regions:
        assert scene.read(memory, at=region).version_id == kept.version_id
        assert len(apart(scene, region)) == 1
