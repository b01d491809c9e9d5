"""A store of more paths than one call can look at changes its home all the same, in as many calls as it takes; ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call, CallCounts
from memolith.app.homes.snapshot_progress import SnapshotProgress
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.operations import operator
from memolith.core.object_keys import parse_key
from memolith.core.rows.base import RowKey
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change
from tests.unit.app.failing import fail_over
from tests.unit.app.scene import AWAY, HOME, Scene

THIRD = "ap-south-1"
T = TypeVar("T")
PATHS = 40


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A store with renames and deletions; of its paths one call looks at four, and keeps three in a part."""
    monkeypatch.setattr("memolith.app.homes.snapshot_builder.HEADS_AT_ONCE", 4)
    monkeypatch.setattr("memolith.app.homes.snapshot_builder.ENTRIES_PER_PART", 3)
    monkeypatch.setattr("memolith.app.homes.snapshot_progress.ENTRIES_PER_PART", 3)
    monkeypatch.setattr("memolith.app.homes.service.MOVE_BUDGET_S", 0.001)
    scene = Scene(regions=(HOME, AWAY, THIRD))
    for number in range(PATHS):
        memory = scene.create(f"/{number:02d}", str(number))
        if number % 5 == 1:
            scene.update(memory, path=f"/renamed/{number:02d}")
        if number % 5 == 2:
            scene.delete(memory)
    scene.deliver()
    return scene


class Slow:
    """Every call of a bucket takes a millisecond: more than a step has."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.counts = CallCounts()

    def __call__(self, call: Call, act: Callable[[], T]) -> T:
        if call.name == "objects.head":
            self._scene.clock.advance(0.001)
        return self.counts(call, act)


def kept(scene: Scene) -> int:
    return len(SnapshotProgress(scene.cloud.sites[AWAY].region).load(scene.store))


def test_a_large_store_is_moved_step_by_step_and_writes_go_on_meanwhile(scene: Scene) -> None:
    before, memory = scene.paths(), scene.page().items[0]
    slow, states = Slow(scene), list[str]()
    with scene.intercepted_by(slow):
        for number, step in enumerate(operator.move(scene.cloud.sites[AWAY].region, scene.store)):
            states.append(step.state)
            if step.state == "copying" and number < 6:
                scene.update(memory.id, f"written meanwhile {number}")  # type: ignore[union-attr]  # a memory, and no folder
    assert len(states) > 8 and set(states[:-1]) == {"copying"} and states[-1] == "moved"
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.paths(at=region) == before
        assert scene.read(memory.id, at=region).content == "written meanwhile 5"  # type: ignore[union-attr]  # a memory, and no folder
    assert kept(scene) == 0


def test_what_was_looked_at_is_not_looked_at_again(scene: Scene) -> None:
    paths = {key.path_hash for text in scene.log_keys() if (key := parse_key(text))}  # type: ignore[union-attr]  # the log has no other keys
    slow = Slow(scene)
    with scene.intercepted_by(slow):
        assert [*operator.move(scene.cloud.sites[AWAY].region, scene.store)][-1].state == "moved"
    assert slow.counts.calls["objects.head"] <= 2 * len(paths)


def test_a_large_store_is_failed_over_step_by_step(scene: Scene) -> None:
    before = scene.paths()
    with scene.intercepted_by(Slow(scene)):
        states = [step.state for step in operator.fail_over(scene.cloud.sites[AWAY].region, scene.store, HOME)]
    assert len(states) > 8 and set(states[:-1]) == {"copying"} and states[-1] == "moved"
    scene.create("/new", "text", at=AWAY)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.paths(at=region) == sorted([*before, "/new"])
    assert kept(scene) == 0


def test_a_process_keeps_only_so_much_of_large_cuts(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memolith.app.log.epoch_snapshot.NAMES_KEPT", 12)
    assert fail_over(scene)["state"] == "moved"
    scene.deliver()
    snapshots = EpochSnapshots(scene.cloud.sites[AWAY].region)
    store = StoreRow.from_attributes(scene.cloud.rows(AWAY, "stores")[scene.store, "record"])
    assert len(snapshots.tails(store)) > 12
    assert 0 < sum(cut.size for cut in snapshots._kept.values()) <= 12
    assert scene.cloud.rows(AWAY, "memories") == scene.cloud.rows(HOME, "memories")


def test_what_was_kept_twice_counts_once_and_nothing_stays_in_the_end(scene: Scene) -> None:
    surveyed = SnapshotProgress(scene.cloud.sites[AWAY].region)
    entries = scene.entries(AWAY)
    surveyed.keep(scene.store, entries)
    surveyed.keep(scene.store, entries)
    assert surveyed.load(scene.store).keys() == {entry.key for entry in entries}
    assert fail_over(scene)["state"] == "moved"
    scene.deliver()
    assert scene.cloud.rows(AWAY, "memories") == scene.cloud.rows(HOME, "memories")
    assert kept(scene) == 0


def test_what_an_earlier_release_kept_is_read_again(scene: Scene) -> None:
    """It kept of no entry which version came before it."""
    region = scene.cloud.sites[AWAY].region
    entries = scene.entries(AWAY)
    SnapshotProgress(region).keep(scene.store, entries[:1])
    [(key, attributes)] = [
        (RowKey("control", *key), row) for key, row in scene.cloud.rows(AWAY, "control").items() if "entries" in row
    ]
    earlier = {name: value for name, value in attributes.items() if name != "parents"}
    region.index.commit([Change(key, attributes, earlier)])
    assert kept(scene) == 0
    assert fail_over(scene)["state"] == "moved"
    scene.deliver()
    assert scene.cloud.rows(AWAY, "memories") == scene.cloud.rows(HOME, "memories")
    assert key[1:] not in scene.cloud.rows(AWAY, "control")
