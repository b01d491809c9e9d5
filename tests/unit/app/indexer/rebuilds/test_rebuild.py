"""Every table can be deleted and rebuilt from the bucket of its own region, to the same rows, beside live traffic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.adapters.layered import Crash, Fault, Strike
from memolith.adapters.memory import MemoryIndex, StoredVersion
from memolith.app.index.ack_journal import from_listing
from memolith.app.index.path_claims import Claim, Claims
from memolith.app.kernel.region import View
from memolith.core.errors import Unavailable
from memolith.core.limits import CONTROL_AGE_US
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import Checkpoint, Named
from memolith.core.rows.base import RowKey
from memolith.core.rows.control import ControlRow
from memolith.core.rows.journal import JournalStateRow
from memolith.ports.index import Change
from tests.unit.app.indexer.rebuilds.rebuilding import LONGEST_LIFE_S, Rebuilding, rows
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_the_rows_after_are_the_rows_before_and_those_of_the_other_region(scene: Scene, region: str) -> None:
    before = rows(scene, region)
    rebuilding = Rebuilding(scene, region)
    assert rebuilding.run() == 2
    assert rows(scene, region) == before == rows(scene, AWAY if region == HOME else HOME)
    assert rebuilding.malformed == []


def test_deleted_rows_come_back(scene: Scene) -> None:
    before = rows(scene)
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    scene.cloud.tables(HOME).drop(1)
    scene.cloud.tables(HOME).make(1)
    index.commit([Change(ControlRow.KEY, None, ControlRow(serving=1, complete=False).to_attributes(), True)])
    Rebuilding(scene).run()
    assert rows(scene) == before


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_every_table_comes_back_by_one_run_those_outside_the_generations_too(scene: Scene, region: str) -> None:
    before = rows(scene, region)
    Rebuilding(scene, region).run()
    scene.cloud.tables(region).drop(2)
    for table in ("control", "journal"):
        scene.cloud.sites[region].database.lose(table)
    with pytest.raises(Unavailable):
        scene.paths(at=region)
    Rebuilding(scene, region).run()
    assert rows(scene, region) == before


def test_while_dropped_tables_are_made_anew_every_fold_goes_on(scene: Scene) -> None:
    scene.cloud.tables(HOME).drop(1)
    rebuilding = Rebuilding(scene)
    written: list[str] = []
    rebuilding.meanwhile = lambda: written.append(scene.create_store(f"store {len(written)}").id)
    rebuilding.run()
    scene.deliver()
    assert len(written) > 3
    assert rows(scene) == rows(scene, AWAY)


def test_what_is_written_meanwhile_is_in_it_too(scene: Scene) -> None:
    rebuilding = Rebuilding(scene)
    target = next(item for item in scene.page().items if item.path == "/claimed")
    written: list[str] = []

    def write() -> None:
        scene.update(target.id, f"meanwhile {len(written)}")  # type: ignore[union-attr]  # a memory, and no folder
        written.append(scene.create_store(f"store {len(written)}").id)

    rebuilding.meanwhile = write
    rebuilding.run()
    assert len(written) > 3
    assert scene.read(target.id).content == f"meanwhile {len(written) - 1}"  # type: ignore[union-attr]  # a memory, and no folder
    assert len(scene.history(target.id)) == len(written) + 1  # type: ignore[union-attr]  # a memory, and no folder
    scene.deliver()
    assert rows(scene) == rows(scene, AWAY)


def test_until_the_switch_it_says_that_it_is_not_complete_and_after_it_that_it_is(scene: Scene) -> None:
    rebuilding = Rebuilding(scene)
    told: list[str] = []

    def ask() -> None:
        switched = rebuilding.progress[-1].stage.startswith("switched")
        try:
            scene.paths()
            told.append("complete, switched" if switched else "complete")
        except Unavailable:
            told.append("incomplete")

    rebuilding.meanwhile = ask
    rebuilding.run()
    assert set(told[:-1]) == {"incomplete"} and told[-1] == "complete, switched"
    assert scene.paths()


def test_until_the_switch_creations_and_renames_wait_and_texts_are_written(scene: Scene) -> None:
    memory = scene.create("/before", "before")
    rebuilding = Rebuilding(scene)
    met: list[str] = []

    def write() -> None:
        if rebuilding.progress[-1].stage.startswith("switched"):
            return
        with pytest.raises(Unavailable, match="being rebuilt"):
            scene.create("/new", "other")
        with pytest.raises(Unavailable, match="being rebuilt"):
            scene.update(memory, path="/after")
        met.append(scene.update(memory, f"meanwhile {len(met)}").id)

    rebuilding.meanwhile = write
    rebuilding.run()
    assert len(met) > 1
    assert scene.update(memory, path="/after").path == "/after"
    assert scene.create("/new", "other").path == "/new"


def test_a_look_of_before_the_switch_misses_an_intent_of_after_it_so_that_creations_have_to_wait(scene: Scene) -> None:
    """Why a rebuild says that whole tables are not complete; which of the two looks first does not matter."""
    region, database = scene.cloud.sites[HOME].region, scene.cloud.sites[HOME].database
    database.make(2)
    claims = Claims(region)
    position = LogRef("0" * 64, Slot.parse(f"0001-0.{HOME}.0000000001"))
    before = View(region.index, {}, complete=True, building=2)
    after = View(region.index.at(2), {}, complete=True, building=None)
    claims.make(after, Claim(scene.store, "/notes", "later", position), None)
    assert claims.neighbours(after, "/notes", scene.store, None) == []
    claims.make(before, Claim(scene.store, "/notes/todo.md", "earlier", position), None)
    assert claims.neighbours(before, "/notes/todo.md", scene.store, None) == []


def test_a_rebuild_waits_for_calls_that_know_nothing_of_the_new_tables_yet(scene: Scene) -> None:
    rebuilding = Rebuilding(scene)
    rebuilding.run()
    assert scene.clock.paused_s.count(LONGEST_LIFE_S) == 2, "once before the listing, once before the drop"


def test_the_old_tables_go_and_nothing_of_the_rebuild_is_left(scene: Scene) -> None:
    Rebuilding(scene).run()
    database = scene.cloud.sites[HOME].database
    with pytest.raises(Exception, match="no table memories of generation 1"):
        database.table("memories", 1)
    batches = [key for key in scene.cloud.rows(HOME, "control") if key[0].startswith("rebuild")]
    assert batches == []
    assert scene.cloud.rows(HOME, "control")["control", "index"] == {"serving": 2, "complete": True}


def test_a_rebuild_may_follow_a_rebuild(scene: Scene) -> None:
    before = rows(scene)
    assert [Rebuilding(scene).run() for _ in range(3)] == [2, 3, 4]
    assert rows(scene) == before


def test_a_rebuild_waits_for_calls_that_go_by_what_their_process_remembers(scene: Scene) -> None:
    """Before the listing, for who does not know of the new tables; and before the old ones are dropped."""
    scene.cloud.sites[HOME].region.control_age_us = CONTROL_AGE_US
    rebuilding = Rebuilding(scene)
    paused: list[float] = []
    work = rebuilding._work

    def pause(seconds: float) -> None:
        paused.append(seconds)
        work(seconds)

    rebuilding._work = pause  # type: ignore[method-assign]  # the test's own takes its place
    rebuilding.run()
    assert len([one for one in paused if one >= LONGEST_LIFE_S + CONTROL_AGE_US / 1_000_000]) == 2


def test_after_the_switch_the_homes_next_checkpoint_is_made_from_a_listing(scene: Scene) -> None:
    """A version that only the rebuild folded, its writer being dead, is named before anybody builds on it."""
    site = scene.cloud.sites[HOME]
    first = site.reconciling.tick().period
    assert first is not None and first.number == 2, "a home's very first checkpoint is made from a listing in any case"
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, "objects.put_if_absent")):
        scene.create("/orphan")
    scene.drop_events()
    Rebuilding(scene).run()
    orphan = next(item for item in scene.page().items if item.path == "/orphan")
    scene.update(orphan.id, "built on it")  # type: ignore[union-attr]  # a memory, and no folder
    key = RowKey("versions", scene.store, orphan.version_id)  # type: ignore[union-attr]  # a memory, and no folder
    slot = scene.cloud.rows(HOME, "versions")[key.pk, key.sk]["position"]
    opened = site.reconciling.tick().period
    assert opened is not None
    checkpoint = Checkpoint.from_json(site.region.objects.get(str(CheckpointKey(HOME, opened.number - 1))).body)
    assert checkpoint.listed
    path_hash, _, place = slot.partition("/")
    assert Named(str(LogKey(scene.store, path_hash, Slot.parse(place)))) in checkpoint.names


@pytest.mark.parametrize("put", [0, 1, 2])
def test_a_checkpoint_that_was_under_way_at_the_switch_is_begun_again_from_a_listing(put: int) -> None:
    state = JournalStateRow(run="run_1", open=8, opened_at=1, closing=7, until=1, listed=True, parts=put, cursor="x")
    assert from_listing(state, "run_2") == replace(state, run="run_2", parts=0, cursor=None)


def test_what_cannot_be_read_comes_back_with_its_reason_and_stops_nothing(scene: Scene) -> None:
    before = rows(scene)
    objects = scene.cloud.sites[HOME].region.objects
    objects.put_if_absent(f"{HOME}/log/strange", b"", {})
    objects.put_if_absent(f"{HOME}/store/{scene.store}/0001-0.0000000099", b"{}", {})
    scene.drop_events()
    rebuilding = Rebuilding(scene)
    rebuilding.run()
    assert len(rebuilding.malformed) == 2
    assert any("strange" in str(error) for error in rebuilding.malformed)
    assert rows(scene) == before


def test_what_is_local_is_not_indexed(scene: Scene) -> None:
    scene.cloud.sites[HOME].region.objects.put_if_absent("local/anything", b"", {})
    scene.deliver()
    rebuilding = Rebuilding(scene)
    rebuilding.run()
    assert rebuilding.malformed == []


def test_a_text_that_was_ordered_erased_goes_with_the_rebuild_though_its_event_was_lost(scene: Scene) -> None:
    """Otherwise it would stay until the next daily comparison of the bucket with the tables."""
    memory = scene.create("/redacted", "a secret")
    scene.deliver()
    [original] = [one for one in kept(scene, AWAY) if one.object.body == b"a secret"]
    scene.update(memory, "another text")
    scene.redact(memory.version_id)
    scene.deliver()
    scene.cloud.buckets.arrive(original, AWAY)
    scene.drop_events()
    rebuilding = Rebuilding(scene, AWAY)
    rebuilding.run()
    for message in rebuilding.queue.take(100):
        rebuilding.handle(message)
    assert b"a secret" not in [one.object.body for one in kept(scene, AWAY)]


def kept(scene: Scene, region: str) -> list[StoredVersion]:
    return [one for key in scene.log_keys(region) for one in scene.cloud.buckets.versions(region, key)]
