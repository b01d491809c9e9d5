"""Two regions' objects of an earlier release, folded, rebuilt, read and continued by this one."""

from __future__ import annotations

import pytest

from memolith.adapters.memory import ManualClock, MemoryQueue
from memolith.app.kernel.results import Version
from memolith.app.operations.audit import make_audit
from memolith.core.errors import NotFound
from memolith.core.object_keys import parse_key
from memolith.core.rows.identity import StoreRow
from memolith.core.trust import UNKNOWN, name_of
from tests.support.cloud import Cloud
from tests.support.earlier import LAPTOP, TWO_REGIONS, Earlier
from tests.support.rebuilds import Operator
from tests.unit.app.scene import AWAY, HOME, INDEXED, Scene

EARLIER = Earlier.load(TWO_REGIONS)
IDS = EARLIER.ids


def put_all(cloud: Cloud) -> None:
    """Each object is put into the bucket of the region that wrote it, and copied from there."""
    for stored in EARLIER.objects:
        cloud.buckets.put(stored.key.partition("/")[0], stored, only_if_absent=True)


@pytest.fixture
def scene() -> Scene:
    """This release's regions, in which the earlier one's objects arrive; `store` is the earlier one's."""
    scene = Scene(seed=1)
    assert isinstance(scene.clock, ManualClock)
    scene.clock.advance(3_600)
    put_all(scene.cloud)
    scene.deliver()
    scene.store = IDS["store"]
    return scene


def test_the_earlier_objects_are_of_every_kind_that_a_region_writes() -> None:
    kinds = {type(parse_key(one.key)).__name__ for one in (*EARLIER.objects, *Earlier.load(LAPTOP).objects)}
    assert kinds == {
        "ApiKeyKey",
        "CheckpointKey",
        "CutKey",
        "LogKey",
        "RedactionKey",
        "SessionKey",
        "StoreKey",
        "VerdictKey",
    }


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_memories_of_an_earlier_release_are_read_in_each_region(scene: Scene, region: str) -> None:
    assert scene.read(IDS["plan"], at=region).content == "third plan: after the move"
    assert scene.paths(at=region) == ["/freed.md", "/held.md", "/new.md", "/notes/ideas.md", "/plan.md", "/red.md"]
    assert scene.history(IDS["plan"], at=region) == ["modified", "modified", "created"]
    with pytest.raises(NotFound):
        scene.read(IDS["gone"], at=region)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_redaction_and_a_verdict_of_an_earlier_release_hold_in_each_region(scene: Scene, region: str) -> None:
    redacted: Version = scene.version(IDS["redacted"], at=region)
    assert (redacted.content, redacted.redacted_at is None) == (None, False)
    reader = scene.cloud.key("read")
    scene.deliver()
    held = scene.read(IDS["held"], at=region, key=reader)
    assert held.content is None
    assert held.withheld is not None


def test_the_store_of_an_earlier_release_is_at_home_where_it_was_moved_and_takes_writes_there(scene: Scene) -> None:
    row = StoreRow.from_attributes(scene.cloud.rows(AWAY, "stores")[scene.store, "record"])
    assert (row.home, len(row.epochs)) == (AWAY, 2)
    scene.update(IDS["plan"], "fourth plan", at=HOME)
    scene.create("/later.md", "of this release", at=AWAY)
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.read(IDS["plan"], at=region).content == "fourth plan"
        assert "/later.md" in scene.paths(at=region)


def test_both_regions_make_the_same_rows_of_an_earlier_releases_objects(scene: Scene) -> None:
    for table in INDEXED:
        assert scene.cloud.rows(HOME, table) == scene.cloud.rows(AWAY, table), table


def test_a_rebuild_makes_the_rows_of_an_earlier_releases_objects_again(scene: Scene) -> None:
    before = {table: scene.cloud.rows(HOME, table) for table in INDEXED}
    Operator(scene.cloud, MemoryQueue()).run()
    scene.read(IDS["plan"])  # a region notices with its next call which generation serves
    assert {table: scene.cloud.rows(HOME, table) for table in INDEXED} == before


def test_a_home_moves_on_from_the_epoch_that_an_earlier_release_began(scene: Scene) -> None:
    moved = scene.cloud.peers.call(HOME, "reconciler", {"call": "homes.move", "store_id": scene.store})
    assert moved["state"] == "moved", moved
    scene.deliver()
    assert scene.read(IDS["plan"], at=HOME).content == "third plan: after the move"
    scene.update(IDS["new"], "after the second move", at=HOME)
    assert scene.read(IDS["new"], at=HOME).content == "after the second move"


def test_checkpoints_of_an_earlier_release_are_confirmed_before_a_watermark_moves(scene: Scene) -> None:
    assert isinstance(scene.clock, ManualClock)
    for _ in range(3):
        scene.clock.advance(61)
        for region in (HOME, AWAY):
            assert scene.cloud.sites[region].reconciling.tick().failures == []
        scene.deliver()
    assert scene.at(AWAY).memories.retrieve(scene.call(), scene.store, IDS["plan"], full=True).content is not None


@pytest.mark.parametrize("home", [HOME, AWAY])
def test_what_an_earlier_release_wrote_is_unsealed_in_an_audit_and_of_unknown_trust(scene: Scene, home: str) -> None:
    assert {name_of(scene.read(IDS[name], at=home).trust) for name in ("plan", "red")} == {UNKNOWN}
    region, sealing = scene.cloud.sites[home].region, scene.cloud.sealing_of(home)
    report = make_audit(region, sealing).run(home)
    assert (report.findings, report.unsealed > 0) == ([], True)
    assert report.unsealed + report.erased == report.looked_at
