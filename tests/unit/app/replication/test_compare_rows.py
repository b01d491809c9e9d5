"""The daily comparisons beside that of the listing: rows with each other, and with the other homes' checkpoints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from memolith.adapters.memory import MemoryIndex, MemoryQueue
from memolith.app.index.resumable_scan import EVERY_US, ScanProgress
from memolith.app.replication.compare_checkpoints import CompareCheckpoints
from memolith.app.replication.service import make_comparisons
from memolith.core.log_position import Epoch
from memolith.core.rows.base import Row, RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene

NEVER_US = 1 << 62
TABLES = ("memories", "logs", "paths", "versions")


class Rows:
    """One region's comparison of rows, and the indexer that its queue wakes."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.queue = scene, MemoryQueue()
        self.comparing = make_comparisons(scene.cloud.sites[HOME].region, self.queue).rows

    def run(self, deadline_us: int = NEVER_US) -> ScanProgress:
        walked = self.comparing.run(deadline_us)
        for message in self.queue.take(100):
            key = json.loads(message)["fold_again"]["key"]
            self.scene.cloud.sites[HOME].indexing.object_arrived(key, paths_too=True)
        return walked


def put(scene: Scene, key: RowKey, row: Row | None, at: str = HOME) -> None:
    index = MemoryIndex(scene.cloud.sites[at].database)
    index.commit([Change(key, None, None if row is None else row.to_attributes(), unconditional=True)])


def tables(scene: Scene, at: str = HOME) -> dict[str, object]:
    return {name: scene.cloud.rows(at, name) for name in TABLES}


@pytest.fixture
def scene() -> Scene:
    """A memory that was updated, one that moved away from its path, one that was deleted."""
    scene = Scene()
    scene.update(scene.create("/kept"), "more")
    scene.update(scene.create("/left"), path="/arrived")
    scene.delete(scene.create("/deleted"))
    scene.deliver()
    return scene


def test_rows_that_agree_are_left_alone(scene: Scene) -> None:
    assert Rows(scene).run() == ScanProgress(looked_at=3 + 2 + 4, repaired=0, finished=True)


@pytest.mark.parametrize("path", ["/kept", "/arrived"])
@pytest.mark.parametrize("lost", ["memories", "logs", "paths", "logs and paths"])
def test_a_row_that_is_lost_comes_back(scene: Scene, lost: str, path: str) -> None:
    before = tables(scene)
    memory = next(item for item in scene.page().items if item.path == path)
    row = MemoryRow.from_attributes(scene.cloud.rows(HOME, "memories")[scene.store, memory.id])  # type: ignore[union-attr]  # a memory, and no folder
    keys = {
        "memories": MemoryRow.key(scene.store, row.memory_id),
        "logs": LogRow.key(scene.store, row.path_hash),
        "paths": PathRow.key(scene.store, path),
    }
    for name in lost.split(" and "):
        put(scene, keys[name], None)
    walked = Rows(scene).run()
    assert walked.repaired >= 1 and tables(scene) == before
    assert scene.cloud.metrics.total("reconcile_repaired") == walked.repaired


def test_a_memory_whose_row_went_back_to_where_it_was_is_brought_to_where_it_is(scene: Scene) -> None:
    memory = scene.create("/first")
    scene.deliver()
    stale = MemoryRow.from_attributes(scene.cloud.rows(HOME, "memories")[scene.store, memory.id])
    scene.update(memory, path="/second")
    scene.deliver()
    before = tables(scene)
    put(scene, MemoryRow.key(scene.store, memory.id), stale)
    assert Rows(scene).run().repaired >= 1
    assert tables(scene) == before


def test_a_store_that_is_being_failed_over_does_not_keep_the_others_from_being_compared(scene: Scene) -> None:
    """The region has the record that begins the epoch, and not the one that names its snapshot."""
    other = scene.at(HOME).stores.create(scene.call(), name="other", description="", metadata={}).id
    begun, intact = sorted([scene.store, other])
    for store in (begun, intact):
        scene.at(HOME).memories.create(scene.call(), store, path="/lost", content="x", full=False)
    scene.deliver()
    known = StoreRow.from_attributes(scene.cloud.rows(HOME, "stores")[begun, "record"])
    epochs = [*known.epochs, str(Epoch(2, AWAY))]
    put(scene, StoreRow.key(begun), replace(known, epochs=epochs, state="moving", home=AWAY))
    for store in (begun, intact):
        put(scene, PathRow.key(store, "/lost"), None)
    walked = Rows(scene).run()
    assert walked.finished and walked.repaired == 1
    paths = scene.cloud.rows(HOME, "paths")
    assert (intact, "/lost") in paths and (begun, "/lost") not in paths


@pytest.mark.parametrize("foreign", ["0-x", "zz"])
def test_an_object_among_the_records_of_stores_keeps_no_store_from_being_compared(scene: Scene, foreign: str) -> None:
    before = tables(scene)
    scene.cloud.sites[HOME].region.objects.put_if_absent(f"{HOME}/store/{foreign}", b"", {})
    scene.drop_events()
    put(scene, PathRow.key(scene.store, "/kept"), None)
    walked = Rows(scene).run()
    assert (walked.repaired, walked.finished) == (1, True) and tables(scene) == before


def test_a_comparison_of_rows_goes_on_where_time_ran_out_and_begins_again_after_a_day(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.app.replication.compare_rows.ROWS_PER_PAGE", 2)
    rows = Rows(scene)
    seen = [rows.run(0)]
    while not seen[-1].finished:
        seen.append(rows.run(0))
    assert sum(walked.looked_at for walked in seen) == 9 and len(seen) > 4
    assert rows.run().looked_at == 0
    scene.clock.advance(EVERY_US / 1_000_000)
    assert rows.run().looked_at == 9


def follow(scene: Scene) -> CompareCheckpoints:
    """The other region's comparison, once its watermark has passed what was written at home."""
    for _ in range(4):
        scene.clock.advance(60)
        for site in scene.cloud.sites.values():
            site.reconciling.tick()
        scene.deliver()
    return make_comparisons(scene.cloud.sites[AWAY].region, MemoryQueue()).checkpoints


@pytest.mark.parametrize("fetched", [False, True])
def test_what_a_checkpoint_names_and_the_tables_lost_is_mended_from_here_or_from_its_home(
    scene: Scene, fetched: bool
) -> None:
    follow(scene)
    version = scene.create("/named")
    comparing = follow(scene)
    before = tables(scene, AWAY)
    key = scene.cloud.rows(AWAY, "versions")[scene.store, version.version_id]["position"]
    put(scene, VersionRow.key(scene.store, version.version_id), None, at=AWAY)
    if fetched:
        log_key = f"{HOME}/log/{scene.store}/{key.split('/')[0]}/0001-0.0000000001"
        bucket = scene.cloud.buckets._buckets[AWAY]
        del bucket.versions[log_key]
        bucket.keys.remove(log_key)
    walked = comparing.run(NEVER_US)
    assert (walked.repaired, walked.finished) == (1, True) and walked.looked_at > 1
    assert tables(scene, AWAY) == before
    assert scene.cloud.metrics.total("reconcile_repaired") == 1
    assert comparing.run(NEVER_US).looked_at == 0, "once a day"


def test_the_checkpoints_are_gone_through_in_pieces(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memolith.app.replication.compare_checkpoints.PERIODS_PER_PAGE", 1)
    comparing = follow(scene)
    seen = [comparing.run(0)]
    while not seen[-1].finished:
        seen.append(comparing.run(0))
    assert len(seen) > 2 and sum(walked.repaired for walked in seen) == 0
