"""Rows that somebody folded by a record of before, just after an epoch began, are judged once more; ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.app.homes.epoch_sweep import EpochSweep
from memolith.core.errors import Unavailable
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.control import SweepRow
from memolith.ports.index import Change
from tests.support.rebuilds import Killed
from tests.unit.app.failing import fail_over, fail_replays, hold_back
from tests.unit.app.scene import AWAY, HOME, Scene

THIRD = "ap-south-1"
REGIONS = (HOME, AWAY, THIRD)
T = TypeVar("T")


@pytest.fixture
def scene() -> Scene:
    return Scene(regions=REGIONS)


class Stalled:
    """An indexer that has read the store's row, and stands still before it looks at the object: something happens.

    It projects the object then, and is killed before it reads the store's row again.
    """

    def __init__(self, region: str, meanwhile: Callable[[], object]) -> None:
        self._region, self._meanwhile, self._done, self._goes_on = region, meanwhile, False, False

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "objects.head" and call.origin == self._region and not self._done:
            self._done = True
            self._meanwhile()
            self._goes_on = True
        result = act()
        if self._goes_on and call.name == "index.commit":
            raise Killed
        return result


def minutes(scene: Scene, count: int = 4) -> None:
    """Every region's reconciler works, and what it puts arrives."""
    for _ in range(count):
        scene.clock.advance(61)
        for site in scene.cloud.sites.values():
            assert site.reconciling.tick().failures == []
        scene.deliver()


def memory_rows(scene: Scene, region: str) -> dict[tuple[str, str], MemoryRow]:
    return {key: MemoryRow.from_attributes(row) for key, row in scene.cloud.rows(region, "memories").items()}


@pytest.mark.parametrize("region", [AWAY, THIRD])
def test_a_late_entry_that_was_folded_while_its_epoch_ended_is_head_nowhere_in_the_end(
    scene: Scene, region: str
) -> None:
    """The archived store takes nothing up, so that nothing that follows would mend the row by the way.

    Nor would a first checkpoint: that is made from a listing, of which everything is looked at again.
    """
    minutes(scene)
    memory = scene.create("/a", "one")
    scene.deliver()
    lost = scene.update(memory, "late")
    [event] = hold_back(scene)

    def the_home_is_lost() -> None:
        fail_over(scene)
        scene.at(AWAY).stores.archive(scene.call(), scene.store)
        scene.deliver()
        scene.cloud.buckets.replicate(event, region)
        hold_back(scene)

    with scene.intercepted_by(Stalled(region, the_home_is_lost)), pytest.raises(Killed):
        scene.cloud.sites[region].indexing.object_arrived(event.key)
    assert scene.read(memory, at=region).version_id == lost.version_id, "otherwise this tests nothing"
    for other in {AWAY, THIRD} - {region}:
        scene.cloud.buckets.replicate(event, other)
    scene.cloud.sites[HOME].indexing.object_arrived(event.key)
    minutes(scene)
    for where in REGIONS:
        assert scene.read(memory, at=where).content == "one"
        assert memory_rows(scene, where) == memory_rows(scene, HOME)
        [apart] = scene.at(where).divergent.page(scene.call(), scene.store, limit=9, after=None).items
        assert apart.version_id == lost.version_id


def test_a_sweep_that_has_no_time_goes_on_where_it_stopped(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memolith.app.epochs.store_repair.ROWS_PER_QUERY", 2)
    monkeypatch.setattr("memolith.app.epochs.store_repair.ROWS_PER_READ", 2)
    memories = [scene.create(f"/{number}", "x") for number in range(7)]
    scene.deliver()
    lost = [scene.update(memory, "late") for memory in memories]
    held = hold_back(scene)
    before = scene.remember_index(THIRD)
    fail_over(scene)
    scene.at(AWAY).stores.archive(scene.call(), scene.store)
    scene.cloud.pending.extend(held)
    scene.deliver()
    after = {name: scene.cloud.rows(THIRD, name) for name in ("memories", "logs", "paths")}
    store = scene.cloud.rows(THIRD, "stores")
    before()
    site = scene.cloud.sites[THIRD]
    for (pk, sk), row in store.items():
        site.region.index.commit([Change(RowKey("stores", pk, sk), None, row, unconditional=True)])
    indexing, place, calls = site.indexing, None, 0
    while (place := indexing.repair_rows(scene.store, place, deadline_us=0)) is not None:
        calls += 1
    assert calls > 10
    assert {name: scene.cloud.rows(THIRD, name) for name in ("memories", "logs", "paths")} == after
    listed = scene.at(THIRD).divergent.page(scene.call(), scene.store, limit=9, after=None).items
    assert sorted(one.version_id for one in listed) == sorted(one.version_id for one in lost)


def test_a_sweep_that_was_noted_with_a_clock_that_was_ahead_is_made_a_life_of_calls_after_that_is_seen(
    scene: Scene,
) -> None:
    site = scene.cloud.sites[THIRD]
    sweeps, key = EpochSweep(site.region, site.indexing), SweepRow.key(scene.store)
    ahead = SweepRow(noted_at=scene.clock.now_us() + 30 * 24 * 3_600_000_000)
    site.region.index.commit([Change(key, None, ahead.to_attributes(), unconditional=True)])
    for is_noted in (True, True, False):
        sweeps.run(deadline_us=scene.clock.now_us() + 1_000_000)
        assert bool(site.region.index.read([key])) is is_noted
        scene.clock.advance(31)


def failed_over(scene: Scene) -> list[str]:
    """Two stores that were failed over and are to be swept once more, in the order in which a query has them."""
    stores = sorted([scene.store, scene.create_store("other").id])
    for store_id in stores:
        scene.create("/a", "one", store=store_id)
    scene.deliver()
    for store_id in stores:
        payload = {"call": "homes.fail_over", "store_id": store_id, "old": HOME}
        assert scene.cloud.peers.call(AWAY, "reconciler", payload)["state"] == "moved"
    scene.deliver()
    minutes(scene)  # so that no checkpoint notes them again
    site = scene.cloud.sites[AWAY]
    noted = SweepRow(noted_at=scene.clock.now_us()).to_attributes()
    changes = [Change(SweepRow.key(store_id), None, noted, unconditional=True) for store_id in stores]
    site.region.index.commit(changes)
    return stores


def noted(scene: Scene) -> list[str]:
    """The stores that are still to be swept at the new home."""
    return sorted(sk for pk, sk in scene.cloud.rows(AWAY, "control") if pk == SweepRow.PARTITION)


@pytest.mark.parametrize("page", [1, 100])
def test_a_store_whose_replay_fails_keeps_no_other_from_its_second_sweep(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr("memolith.app.homes.epoch_sweep.STORES_AT_ONCE", page)
    stores = failed_over(scene)
    scene.clock.advance(61)
    with monkeypatch.context() as patch:
        fail_replays(patch, stores[0])
        assert scene.cloud.sites[AWAY].reconciling.tick().failures == ["Unavailable"]
    assert noted(scene) == stores[:1]
    scene.clock.advance(61)
    assert scene.cloud.sites[AWAY].reconciling.tick().failures == []
    assert noted(scene) == []


def test_a_store_whose_replay_takes_all_the_time_and_fails_lets_the_others_go_first_the_next_time(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = failed_over(scene)
    sweeps = EpochSweep(scene.cloud.sites[AWAY].region, scene.cloud.sites[AWAY].indexing)
    fail_replays(monkeypatch, stores[0], lambda: scene.clock.advance(50))
    scene.clock.advance(61)
    for left in (stores, stores[:1]):
        with pytest.raises(Unavailable, match="not replayed"):
            sweeps.run(scene.clock.now_us() + 45_000_000)
        assert noted(scene) == left
