"""Retention: what nobody has to keep goes, in every region, and never a head."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.adapters.memory import MemoryIndex
from memolith.app.index.projector import Projector
from memolith.app.index.row_transactions import RowTransactions
from memolith.app.kernel.results import Memory
from memolith.core.errors import InvalidRequest, PermissionDenied, Unavailable
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.retention import Retention
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.control import ControlRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene

DAY_S = 24 * 3600
INCOMPLETE = Change(ControlRow.KEY, None, ControlRow(serving=1, complete=False).to_attributes(), unconditional=True)


def sweep(scene: Scene, region: str = HOME, deliver: bool = True) -> int:
    """The schedule wakes a region's eraser; how many versions it blanked."""
    answer = scene.cloud.peers.call(region, "eraser", {"call": "sweep"})
    if deliver:
        scene.deliver()
    return int(answer["blanked"])


def retain(scene: Scene, days: int | None = None, versions: int | None = None, *, at: str = HOME) -> None:
    scene.at(at).stores.update(
        scene.call(), scene.store, name="n", description="", metadata={}, retention={"days": days, "versions": versions}
    )
    scene.deliver()


def texts(scene: Scene, region: str = HOME) -> list[str]:
    """What every S3 version of every log object holds."""
    keys = scene.log_keys(region)
    bodies = [version.object.body for key in keys for version in scene.cloud.buckets.versions(region, key)]
    return sorted(body.decode() for body in bodies if body and not body.startswith(b"{"))


def written(scene: Scene, count: int, path: str = "/a") -> Memory:
    """A memory with so many versions, one a day: ``v1``, ``v2``, ..."""
    memory = scene.create(path, "v1")
    for number in range(2, count + 1):
        scene.clock.advance(DAY_S)
        memory = scene.update(memory, f"v{number}")
    scene.deliver()
    return memory


def test_by_default_thirty_days_and_the_last_ten_are_kept(scene: Scene) -> None:
    memory = written(scene, 12)
    scene.clock.advance(29 * DAY_S)
    assert sweep(scene) == 2, "v1 was superseded 39 days ago, v2 38"
    assert texts(scene) == sorted(f"v{number}" for number in range(3, 13))
    scene.clock.advance(1_000 * DAY_S)
    assert sweep(scene) == 0, "the last ten of a live memory stay however old"
    assert scene.read(memory).content == "v12"


def test_a_version_is_kept_until_it_was_superseded_for_so_long_not_until_it_is_so_old(scene: Scene) -> None:
    retain(scene, days=30, versions=1)
    memory = scene.create("/a", "v1")
    scene.clock.advance(100 * DAY_S)
    scene.update(memory, "v2")
    scene.deliver()
    scene.clock.advance(29 * DAY_S)
    assert sweep(scene) == 0
    scene.clock.advance(1 * DAY_S)
    assert sweep(scene) == 1
    assert texts(scene) == texts(scene, AWAY) == ["v2"]


def test_what_is_due_goes_within_a_day_after_a_clock_that_was_ahead_is_set_right(scene: Scene) -> None:
    retain(scene, days=1, versions=1)
    scene.clock.advance(400 * DAY_S)
    assert sweep(scene) == 0
    scene.clock.advance(-400 * DAY_S)
    written(scene, 4)
    scene.clock.advance(DAY_S)
    assert sweep(scene) > 0
    assert "v1" not in texts(scene)


def test_one_that_was_superseded_long_ago_goes_though_the_memory_was_written_just_now(scene: Scene) -> None:
    retain(scene, days=5, versions=1)
    memory = written(scene, 3)
    scene.clock.advance(4 * DAY_S)
    scene.update(memory, "v4")
    scene.deliver()
    assert sweep(scene) == 1
    assert texts(scene) == ["v2", "v3", "v4"]


def test_a_deleted_memory_goes_altogether_and_its_tombstone_stays_without_a_path(scene: Scene) -> None:
    memory = written(scene, 3, path="/private")
    scene.delete(memory)
    scene.deliver()
    scene.clock.advance(29 * DAY_S)
    sweep(scene)
    assert scene.version(memory.version_id).path == "/private"
    scene.clock.advance(1 * DAY_S + 1)
    sweep(scene)
    for region in (HOME, AWAY):
        assert scene.history(memory, at=region) == ["deleted", "modified", "modified", "created"]
        assert [version.path for version in scene.versions(memory_id=memory.id, at=region).items] == [None] * 4
        assert "/private" not in repr(scene.cloud.sites[region].database.everything())
        assert all(entry.blank for entry in scene.entries(region))
    assert scene.create("/private", "new").path == "/private", "the path is free, the slots are taken"


def test_the_head_of_a_live_memory_is_never_blanked(scene: Scene) -> None:
    retain(scene, days=1, versions=1)
    memories = [scene.create(f"/m{number}", f"text {number}") for number in range(3)]
    scene.update(memories[0], path="/elsewhere")
    scene.deliver()
    for _ in range(5):
        scene.clock.advance(400 * DAY_S)
        for region in (HOME, AWAY):
            sweep(scene, region)
    for region in (HOME, AWAY):
        assert [scene.read(memory, at=region).content for memory in memories] == ["text 0", "text 1", "text 2"]


def test_what_a_region_wrote_it_blanks_first_and_its_blank_is_the_others(scene: Scene) -> None:
    retain(scene, days=2, versions=1)
    written(scene, 4)
    scene.clock.advance(2 * DAY_S)
    assert sweep(scene, AWAY) == 2, "what is three days gone, the other region does not wait for"
    assert sweep(scene, HOME) == 3
    assert texts(scene, AWAY) == ["v4"]


def test_a_region_that_does_not_know_what_superseded_a_version_keeps_it(scene: Scene) -> None:
    retain(scene, days=1, versions=1)
    memory = scene.create("/a", "v1")
    scene.deliver()
    scene.update(memory, "v2")
    scene.drop_events()
    scene.clock.advance(100 * DAY_S)
    assert sweep(scene, AWAY, deliver=False) == 0
    assert texts(scene, AWAY) == ["v1"]
    assert scene.read(memory, at=AWAY).content == "v1"


def test_a_blank_that_comes_before_what_superseded_it_leaves_the_memory_readable(scene: Scene) -> None:
    retain(scene, days=1, versions=1)
    memory = scene.create("/a", "v1")
    scene.deliver()
    scene.update(memory, "v2")
    scene.drop_events()
    scene.clock.advance(2 * DAY_S)
    assert sweep(scene, HOME) == 1
    assert scene.read(memory, at=AWAY).content == "v2"


def test_an_original_that_arrives_after_its_blank_is_erased_on_arrival(scene: Scene) -> None:
    retain(scene, days=1, versions=1)
    memory = scene.create("/a", "v1")
    original = scene.cloud.buckets.versions(HOME, scene.log_keys()[0])[-1]
    scene.update(memory, "v2")
    scene.deliver()
    scene.clock.advance(2 * DAY_S)
    sweep(scene)
    assert texts(scene, AWAY) == ["v2"]
    scene.cloud.buckets.arrive(original, AWAY)
    assert texts(scene, AWAY) == ["v1", "v2"]
    scene.deliver()
    assert texts(scene, AWAY) == ["v2"]


def test_what_a_region_wrote_it_blanks_though_its_new_tables_heard_of_anothers_blank_first(scene: Scene) -> None:
    """A call's answer tells tables that are being rebuilt; then they are filled from this region's own bucket."""
    retain(scene, days=2, versions=1)
    memory = scene.create("/a", "v1")
    first = scene.entries()[0]
    scene.update(memory, "v2")
    scene.deliver()
    site, key = scene.cloud.sites[HOME], VersionRow.key(scene.store, memory.version_id)
    index = MemoryIndex(site.database)
    index.commit([Change(key, index.read([key])[key], None)])
    projector = Projector(site.region, RowTransactions(site.region))
    projector.fold(site.region.view(), [ResolvedEntry(first.blanked())], elsewhere={first.key})
    assert scene.version(memory.version_id).path is None
    site.indexing.object_arrived(str(first.key))
    assert scene.version(memory.version_id).path == "/a"
    scene.clock.advance(3 * DAY_S)
    assert sweep(scene) == 1
    assert texts(scene) == texts(scene, AWAY) == ["v2"]


@pytest.mark.parametrize("text", ["v1", ""])
def test_an_original_that_lands_on_its_blank_is_erased_where_the_tables_know_nothing_of_it(
    scene: Scene, text: str
) -> None:
    """The index has lost its rows, and the pass that would look at the S3 versions again is a day away."""
    retain(scene, days=1, versions=1)
    lost = scene.remember_index(AWAY)
    memory = scene.create("/a", text)
    original = scene.cloud.buckets.versions(HOME, scene.log_keys()[0])[-1]
    scene.update(memory, "v2")
    scene.deliver()
    scene.clock.advance(2 * DAY_S)
    sweep(scene)
    lost()
    scene.cloud.sites[AWAY].region.index.commit([INCOMPLETE])
    scene.cloud.buckets.arrive(original, AWAY)
    scene.deliver()
    assert texts(scene, AWAY) == ["v2"]
    metadata = scene.cloud.buckets.versions(AWAY, original.object.key)[-1].object.metadata
    assert "path" not in metadata


def test_rows_lose_their_text_though_no_event_is_heard(scene: Scene) -> None:
    retain(scene, days=1, versions=1)
    memory = scene.create("/a", "v1")
    scene.update(memory, "v2", path="/b")
    scene.deliver()
    scene.clock.advance(2 * DAY_S)
    sweep(scene, deliver=False)
    row = scene.cloud.rows(HOME, "versions")[scene.store, memory.version_id]
    assert ("path" in row, row["blank"]) == (False, True)


def test_a_pass_is_begun_once_a_day(scene: Scene) -> None:
    retain(scene, days=1, versions=1)
    memory = scene.create("/a", "v1")
    scene.update(memory, "v2")
    scene.deliver()
    scene.clock.advance(3 * DAY_S)
    assert sweep(scene) == 1
    scene.update(memory, "v3")
    scene.clock.advance(DAY_S - 1)
    assert sweep(scene) == 0
    scene.clock.advance(1)
    assert sweep(scene) == 1


def test_a_pass_that_stops_half_way_goes_on(scene: Scene) -> None:
    retain(scene, days=1, versions=1)
    for number in range(3):
        memory = scene.create(f"/m{number}", f"old {number}")
        scene.update(memory, f"new {number}")
    scene.deliver()
    scene.clock.advance(2 * DAY_S)
    with scene.struck_by(Strike(Fault.REFUSED, "erasable.erase", occurrence=2)), pytest.raises(Exception, match="Unav"):
        sweep(scene)
    sweep(scene)
    assert texts(scene) == ["new 0", "new 1", "new 2"]


def test_one_page_after_the_other_every_version_is_looked_at(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memolith.app.erasure.retention.VERSIONS_PER_PAGE", 2)
    monkeypatch.setattr("memolith.app.erasure.retention.STORES_PER_PAGE", 1)
    retain(scene, days=1, versions=2)
    written(scene, 9)
    scene.create_store("another")
    scene.clock.advance(2 * DAY_S)
    assert sweep(scene) == 7
    assert texts(scene) == ["v8", "v9"]


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_retention_is_set_and_shown_with_the_store_and_what_is_left_out_stays(scene: Scene, at: str) -> None:
    assert scene.at(at).stores.retrieve(scene.call(), scene.store).retention == Retention()
    retain(scene, days=7, at=at)
    retain(scene, versions=3, at=at)
    for region in (HOME, AWAY):
        assert scene.at(region).stores.retrieve(scene.call(), scene.store).retention == Retention(7, 3)


def test_only_an_admin_key_sets_it_and_an_archived_store_keeps_its_own(scene: Scene) -> None:
    writer = scene.call(scene.cloud.key("write"))
    with pytest.raises(PermissionDenied):
        scene.at(HOME).stores.update(
            writer, scene.store, name="n", description="", metadata={}, retention={"days": 1, "versions": 1}
        )
    scene.at(HOME).stores.archive(scene.call(), scene.store)
    with pytest.raises(InvalidRequest, match="archived"):
        retain(scene, days=1)


def test_a_region_whose_tables_do_not_answer_says_so(scene: Scene) -> None:
    with scene.struck_by(Strike(Fault.REFUSED, "index.query")), pytest.raises(Exception, match=Unavailable.__name__):
        sweep(scene)


def test_the_rule_knows_no_version_to_go_that_a_store_keeps() -> None:
    head = MemoryRow(
        store_id="s", memory_id="m", generation=12, version_id="v12", path_hash="h", slot="", arrived="", updated_at=50,
        created_at=0, path="/a",
    )  # fmt: skip
    version = VersionRow(store_id="s", version_id="v", memory_id="m", generation=2)
    retention = Retention(1, 10)
    assert retention.outlived(version, head)
    assert not retention.outlived(replace(version, generation=3), head)
    assert not Retention(1, 1).outlived(replace(version, generation=12), head)
    assert not retention.outlived(replace(version, generation=None), head)
    assert retention.outlived(replace(version, generation=12), replace(head, gone=True, path=None))
    assert Retention.of(StoreRow.from_attributes(STORE)) == Retention(30, 10)
    assert Retention.of(StoreRow.from_attributes({**STORE, "retention_days": 3})) == Retention(3, 10)


STORE = {
    "store_id": "s", "workspace_id": "w", "slot": "", "name": "", "description": "", "metadata": {}, "salt": "",
    "home": HOME, "epochs": [], "created_at": 0, "updated_at": 0, "version_id": "v", "state": "active",
}  # fmt: skip
