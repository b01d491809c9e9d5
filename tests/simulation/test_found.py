"""What the simulation found, each as the exact schedule that broke the code once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.kernel.results import ReadConsistency, VersionFilter
from memolith.core import fold
from memolith.core.errors import NotFound, OutcomeUnknown, Unavailable
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.ports.index import Change
from tests.simulation.stage import AWAY, HOME, PUT, Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


# ---- what is told of a write that was committed ------------------------------------------------------------------


def test_a_write_committed_at_home_and_not_indexed_where_it_landed_is_unknown_not_undone(stage: Stage) -> None:
    creator = stage.actor(lambda: stage.create("/a", region=AWAY)).until("peers.call", after=True)
    strikes = [Strike(Fault.REFUSED, "index.read"), Strike(Fault.REFUSED, "index.commit")]
    creator.struck_by(*strikes).fails(OutcomeUnknown)
    assert "/a" in stage.listed(HOME)


def test_a_rename_that_stops_after_its_first_half_is_unknown_since_others_finish_it(stage: Stage) -> None:
    memory = stage.create("/a")
    mover = stage.actor(lambda: stage.update(memory.id, path="/b"), Strike(Fault.REFUSED, PUT, occurrence=2))
    mover.fails(OutcomeUnknown)
    stage.cloud.deliver()
    assert stage.listed(HOME) == stage.listed(AWAY) == {"/b": memory.id}


def test_a_rename_whose_content_cannot_be_read_for_its_answer_is_not_told_to_be_undone(stage: Stage) -> None:
    memory = stage.create("/a")
    mover = stage.actor(
        lambda: stage.update(memory.id, path="/b", full=True), Strike(Fault.REFUSED, "objects.get", occurrence=2)
    )
    mover.fails(OutcomeUnknown)
    assert stage.listed(HOME) == {"/b": memory.id}


def test_a_write_refused_before_its_put_did_nothing(stage: Stage) -> None:
    creator = stage.actor(lambda: stage.create("/a"), Strike(Fault.REFUSED, PUT))
    creator.fails(Unavailable)
    assert stage.keys() == []


# ---- what a region shows of its own writes ----------------------------------------------------------------------


def test_own_versions_are_listed_beyond_one_that_has_not_arrived_while_the_global_index_lags() -> None:
    stage = Stage(lagging=True)
    memory = stage.create("/a", "one", region=AWAY)
    stage.update(memory.id, "two")
    third = stage.update(memory.id, "three", region=AWAY)
    assert stage.history(memory.id, AWAY) == [third.version_id, memory.version_id]
    stage.cloud.deliver()
    assert len(stage.history(memory.id, AWAY)) == 3


# ---- what overtakes what --------------------------------------------------------------------------------------------


def test_an_erasure_that_overtakes_the_next_version_leaves_the_memory_readable(stage: Stage) -> None:
    memory = stage.create("/a", "SECRET")
    stage.cloud.deliver()
    moved = stage.update(memory.id, "clean", path="/b")
    stage.redact(memory.version_id)
    (order,) = [event.key for event in stage.cloud.pending if "/redaction/" in event.key]
    (blank,) = [event.key for event in stage.cloud.pending if event.key == stage.key_of(memory.version_id)]
    for key in (blank, order):
        stage.copy(key)
        stage.index(key, AWAY)
        assert stage.read(memory.id, AWAY).content == "clean"
        assert stage.listed(AWAY) == {"/b": memory.id}
    assert stage.read(memory.id, AWAY).version_id == moved.version_id
    stage.cloud.deliver()
    assert stage.cloud.rows(HOME, "memories") == stage.cloud.rows(AWAY, "memories")


def test_an_order_that_arrives_alone_leaves_the_memory_readable_too(stage: Stage) -> None:
    memory = stage.create("/a", "SECRET")
    stage.cloud.deliver()
    stage.update(memory.id, "clean")
    stage.redact(memory.version_id)
    (order,) = [event.key for event in stage.cloud.pending if "/redaction/" in event.key]
    stage.copy(order)
    stage.index(order, AWAY)
    assert stage.read(memory.id, AWAY).content == "clean"
    assert stage.found("SECRET", AWAY) == []


@pytest.mark.parametrize("path", [None, "/b"])
def test_a_blank_that_is_the_first_to_come_of_a_memory_shows_what_followed(stage: Stage, path: str | None) -> None:
    """A read that demands the erased version is not told that its memory, which is alive, does not exist."""
    memory = stage.create("/a", "SECRET")
    moved = stage.update(memory.id, "clean", path=path)
    stage.redact(memory.version_id)
    blank = stage.key_of(memory.version_id)
    stage.copy(blank)
    stage.index(blank, AWAY)
    demanding = replace(stage.call(), demand=ReadConsistency(min_version=memory.version_id))
    shown = stage.memolith(AWAY).memories.retrieve(demanding, stage.store, memory.id, full=True)
    assert (shown.version_id, shown.content) == (moved.version_id, "clean")
    assert stage.listed(AWAY) == {path or "/a": memory.id}
    stage.cloud.deliver()
    assert stage.cloud.rows(HOME, "memories") == stage.cloud.rows(AWAY, "memories")


@pytest.mark.parametrize("listing", [False, True])
@pytest.mark.parametrize("path", [None, "/b"])
def test_a_blank_that_is_not_indexed_yet_leaves_no_live_memory_without_text(
    stage: Stage, path: str | None, listing: bool
) -> None:
    """Its object is here and its event is not: whoever reads then finds out that the head is behind."""
    memory = stage.create("/a", "SECRET")
    stage.cloud.deliver()
    moved = stage.update(memory.id, "clean", path=path)
    stage.redact(memory.version_id)
    stage.copy(stage.key_of(memory.version_id))
    if listing:
        expected = {} if path else {"/a": "clean"}
        assert stage.contents(AWAY) == expected, "one that has moved meanwhile is on no page twice"
    read = stage.read(memory.id, AWAY)
    assert (read.content, read.version_id) == ("clean", moved.version_id)
    assert stage.listed(AWAY) == {path or "/a": memory.id}, "what was shown is not taken back"
    assert stage.history(memory.id, AWAY)[0] == moved.version_id


def test_a_blank_of_a_version_in_between_does_not_end_a_memory(stage: Stage) -> None:
    """The region knows the first version; of the second the blank alone has come, of the third nothing."""
    memory = stage.create("/a", "one")
    stage.cloud.deliver()
    second = stage.update(memory.id, "two")
    stage.update(memory.id, "three")
    stage.redact(second.version_id)
    blank = stage.key_of(second.version_id)
    stage.copy(blank)
    stage.index(blank, AWAY)
    assert stage.read(memory.id, AWAY).content == "three"
    assert stage.listed(AWAY) == {"/a": memory.id}


def test_the_end_of_a_rename_whose_beginning_is_blank_leaves_no_live_memory_without_text(stage: Stage) -> None:
    """Both halves are here, the first as its blank; the event of the second is the first to be handled."""
    memory = stage.create("/a", "one")
    stage.cloud.deliver()
    moved = stage.update(memory.id, "one", path="/b")
    stage.update(memory.id, "two")
    stage.redact(moved.version_id)
    (end,) = {*stage.keys()} - {stage.key_of(version_id) for version_id in stage.history(memory.id)}
    for key in (stage.key_of(moved.version_id), end):
        stage.copy(key)
    stage.index(end, AWAY)
    assert stage.read(memory.id, AWAY).content == "two"
    assert stage.listed(AWAY) == {"/b": memory.id}


def test_at_no_step_of_catching_up_with_erasures_is_a_live_memory_missing(stage: Stage) -> None:
    memory = stage.create("/a", "one")
    stage.cloud.deliver()
    for text in ("two", "three", "four"):
        stage.update(memory.id, text)
    for version_id in stage.history(memory.id)[1:]:
        stage.redact(version_id)
    blank = stage.key_of(memory.version_id)
    stage.copy(blank)
    indexer = stage.actor(lambda: stage.index(blank, AWAY))
    while not indexer.done:
        indexer.step()
        assert stage.listed(AWAY) == {"/a": memory.id}, indexer.trail[-1]
    assert stage.read(memory.id, AWAY).content == "four"


def test_a_memory_whose_head_is_erased_while_it_is_read_at_home_is_in_order_as_it_is_now(stage: Stage) -> None:
    memory = stage.create("/a", "SECRET")
    reader = stage.actor(lambda: stage.read(memory.id)).until("objects.get")
    stage.update(memory.id, "clean")
    stage.redact(memory.version_id)
    stage.cloud.deliver()
    assert reader.finish().content == "clean"


def test_a_memory_that_is_deleted_and_erased_while_it_is_read_is_not_found(stage: Stage) -> None:
    memory = stage.create("/a", "SECRET")
    reader = stage.actor(lambda: stage.read(memory.id)).until("objects.get")
    stage.delete(memory.id)
    stage.redact(memory.version_id)
    stage.cloud.deliver()
    reader.fails(NotFound)


def test_an_original_that_arrives_while_retention_blanks_its_version_elsewhere_goes_as_well(stage: Stage) -> None:
    """Its event is handled between the blank of the object and that of the row, which is not blank yet."""
    memory = stage.create("/a", "SECRET")
    key = stage.key_of(memory.version_id)
    original = stage.under_way(key)
    stage.update(memory.id, "clean")
    policy = {"days": 1, "versions": 1}
    stage.memolith().stores.update(stage.call(), stage.store, name="s", description="", metadata={}, retention=policy)
    stage.cloud.deliver()
    stage.clock.advance(3 * 24 * 3600)
    eraser = stage.actor(lambda: stage.cloud.peers.call(AWAY, "eraser", {"call": "sweep"}))
    eraser.until("erasable.erase", after=True)
    stage.arrive(original)
    stage.index(key, AWAY)
    eraser.until("erasable.versions")
    assert stage.found("SECRET", AWAY) == [], "it does not wait for the daily look at older S3 versions"
    eraser.finish()


def test_a_late_original_of_a_redacted_deletion_is_erased_with_its_path(stage: Stage) -> None:
    memory = stage.create("/secret")
    stage.delete(memory.id)
    (_, tombstone) = stage.keys()
    original = stage.under_way(tombstone)
    stage.redact(stage.history(memory.id)[0])
    stage.cloud.deliver()
    stage.arrive(original)
    stage.cloud.deliver()
    versions = stage.cloud.buckets.versions(AWAY, tombstone)
    assert ["path" in version.object.metadata for version in versions] == [False]


def test_a_memory_that_its_home_has_not_indexed_is_not_said_to_be_gone(stage: Stage) -> None:
    creator = stage.actor(lambda: stage.create("/a")).until(PUT, after=True)
    (key,) = stage.keys()
    stage.copy(key)
    stage.index(key, AWAY)
    (memory_id,) = stage.listed(AWAY).values()
    stage.actor(lambda: stage.update(memory_id, "y", region=AWAY)).fails(Unavailable)
    creator.finish()
    stage.update(memory_id, "y", region=AWAY)


def test_what_was_redacted_is_not_shown_by_a_global_index_that_lags() -> None:
    stage = Stage(lagging=True)
    memory = stage.create("/a", "SECRET")
    stage.update(memory.id, "clean")
    stage.cloud.sites[HOME].database.settle()
    stage.redact(memory.version_id)
    page = stage.memolith().versions.page(
        stage.call(), stage.store, VersionFilter(memory_id=memory.id), limit=10, after=None, full=True
    )
    assert [(version.path, version.content) for version in page.items] == [("/a", "clean"), (None, None)]


def test_a_version_that_a_failover_found_late_leaves_a_history_though_the_global_index_lags() -> None:
    """Its row is in no order any more: a page once showed it all the same, out of order."""
    stage = Stage(lagging=True)
    memory = stage.create("/a")
    late = stage.update(memory.id, "y")
    stage.update(memory.id, "z")
    site = stage.cloud.sites[HOME]
    site.database.settle()
    view = site.region.view()
    key = VersionRow.key(stage.store, late.version_id)
    before = view.index.read([key])[key]
    row = fold.late_version(VersionRow.from_attributes(before))
    view.index.commit([Change(key, before, row.to_attributes())])
    page = stage.memolith().versions.page(stage.call(), stage.store, VersionFilter(), limit=10, after=None, full=False)
    assert [version.operation for version in page.items] == ["modified", "created"]


def test_a_history_goes_by_its_head_where_the_global_index_knows_only_another_version_of_that_generation() -> None:
    """A failover leaves two versions of a generation: the late one was indexed, the one that counts not yet."""
    stage = Stage(lagging=True)
    memory = stage.create("/a")
    late = stage.update(memory.id, "late")
    site = stage.cloud.sites[HOME]
    site.database.settle()
    view = site.region.view()
    keys = [VersionRow.key(stage.store, late.version_id), MemoryRow.key(stage.store, memory.id)]
    version, head = (view.index.read(keys)[key] for key in keys)
    ours = {**version, "version_id": stage.new_version_id()}
    changes = [
        Change(VersionRow.key(stage.store, ours["version_id"]), None, ours),
        Change(keys[1], head, {**head, "version_id": ours["version_id"]}),
    ]
    view.index.commit(changes)
    page = stage.memolith().versions.page(
        stage.call(), stage.store, VersionFilter(memory_id=memory.id), limit=10, after=None, full=False
    )
    assert [one.id for one in page.items] == [ours["version_id"], memory.version_id]
