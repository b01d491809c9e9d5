"""Guards that act in one schedule in millions: each test is that schedule, and fails without its guard.

No draw of the simulation has met them often enough to rely on. What each test takes out of the product to fail stands
in `GUARDS`, so that a guard which is gone, or which nothing needs any more, is noticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.memory import MemoryIndex, MemoryQueue
from memolith.app.commit import forwarding, log_steps, parts, rename
from memolith.app.commit.forwarding import Forwarding
from memolith.app.epochs import fence
from memolith.app.epochs.parts import EpochParts
from memolith.app.homes.snapshot_builder import EpochSnapshotBuilder
from memolith.app.index import row_transactions
from memolith.app.index.parts import IndexParts
from memolith.app.indexer import rebuild
from memolith.app.indexer.rebuild import BatchProjector, Rebuild
from memolith.app.kernel.peer_messages import encode_placed
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import ConditionalPut
from memolith.app.log.store_log import StoreLog
from memolith.app.replication import watermark
from memolith.core import decide
from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from memolith.core.limits import LEASE_US
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.object_keys import parse_key
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.store_record import StoreState
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import PathRow
from memolith.core.rows.control import CompletenessRow, ControlRow
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import PlacedRecord, to_record
from memolith.ports.index import Change
from memolith.wire.rpc import peerwriter_calls
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import Stage

PUT = "objects.put_if_absent"


def put_row(stage: Stage, region: str, key: RowKey, row: Attributes | None) -> None:
    """Somebody repairs, or loses, one row of a region."""
    database = stage.cloud.sites[region].database
    with database.lock:
        database.put(database.table(key.table, 1), key, None if row is None else dict(row))


def entries(stage: Stage, region: str = HOME) -> list[Entry]:
    found = []
    for text in stage.keys(region):
        key = parse_key(text)
        assert isinstance(key, LogKey)
        found.append(Entry.from_metadata(key, stage.cloud.buckets.versions(region, text)[-1].object.metadata))
    return found


# ---- folding --------------------------------------------------------------------------------------------------------


def a_repair_of_a_listing_leans_on_rows_that_change_meanwhile() -> None:
    """A row of the listing is lost; its repair read the memory at its old path, from which it is renamed meanwhile."""
    stage = Stage()
    memory = stage.create("/b", "one")
    put_row(stage, HOME, PathRow.key(stage.store, "/b"), None)
    (created,) = entries(stage)
    region = stage.cloud.sites[HOME].region
    repair = stage.actor(
        lambda: IndexParts.of(region).projector.fold(region.view(), [ResolvedEntry(created)], paths_too=True)
    )
    repair.until("index.commit")
    stage.update(memory.id, path="/c")
    repair.finish()
    rows = stage.cloud.rows(HOME, "paths").values()
    assert {row["path"]: row["memory_id"] for row in rows if "memory_id" in row} == {"/c": memory.id}


# ---- the lease ------------------------------------------------------------------------------------------------------


def a_home_with_incomplete_tables_has_handed_its_store_on() -> None:
    """The row says that the store is here; the log of its records goes on. A redaction is passed on to it."""
    stage = Stage()
    memory = stage.create("/a", "one")
    stage.update(memory.id, "two")
    stage.cloud.deliver()
    site = stage.cloud.sites[HOME]
    control = ControlRow(serving=1, complete=False).to_attributes()
    put_row(stage, HOME, ControlRow.KEY, control)
    row = StoreRow.from_attributes(stage.cloud.rows(HOME, "stores")[stage.store, "record"])
    record = replace(to_record(row, "user:mover"), state=StoreState.MOVING, version_id=site.region.new_id("memver"))
    assert StoreLog(site.region).put(PlacedRecord(Slot.parse(row.slot).following, record))
    with pytest.raises((OutcomeUnknown, Unavailable)):
        stage.redact(memory.version_id, region=AWAY)


# ---- watermarks -----------------------------------------------------------------------------------------------------


def a_reconciler_reads_the_marks_just_before_another_puts_them() -> None:
    """A batch of reads is not one moment: no marks, and a row, are not yet tables that were emptied."""
    stage = Stage()
    site, torn = stage.cloud.sites[AWAY], list[bool]()
    for key in (CompletenessRow.key(1), *watermark._MARKS):
        put_row(stage, AWAY, key, None)
    read = Region.read

    def in_two_halves(self: Region, index: Any, keys: Iterable[RowKey]) -> Mapping[RowKey, Attributes]:
        wanted = list(keys)
        marks = [key for key in wanted if key in watermark._MARKS]
        if self.name != AWAY or torn or not marks:
            return read(self, index, wanted)
        torn.append(True)
        first = read(self, index, marks)
        site.reconciling.tick()
        return {**first, **read(self, index, [key for key in wanted if key not in marks])}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Region, "read", in_two_halves)
        site.reconciling.tick()
    assert torn
    control = MemoryIndex(site.database).read([ControlRow.KEY])[ControlRow.KEY]
    assert ControlRow.from_attributes(control).complete


# ---- the put --------------------------------------------------------------------------------------------------------


def an_invocation_that_runs_twice_meets_its_own_version_at_another_place() -> None:
    """Of one id, in one slot, and not the same write: it follows another version, so it is somebody else's slot."""
    stage = Stage()
    memory = stage.create("/a", "one")
    stage.update(memory.id, "two")
    site = stage.cloud.sites[HOME]
    second = max(entries(stage), key=lambda entry: entry.generation)
    rival = replace(second, generation=second.generation + 1)
    assert IndexParts.of(site.region).logs.entry(second.key) == second
    assert ConditionalPut(site.region, IndexParts.of(site.region).logs).take(second, b"two") == second
    assert ConditionalPut(site.region, IndexParts.of(site.region).logs).take(rival, b"two") is None


def test_a_slot_that_holds_the_same_write_is_ours_as_it_stands_there() -> None:
    """Who finished a rename for its writer says less of the second region: what is projected is what is in the log."""
    stage = Stage()
    memory = stage.create("/a", "one")
    stage.update(memory.id, "two")
    region = stage.cloud.sites[HOME].region
    stored = max(entries(stage), key=lambda entry: entry.generation)
    mine = replace(stored, second=AWAY)
    assert mine != stored
    assert ConditionalPut(region, IndexParts.of(region).logs).take(mine, b"two") == stored


# ---- forwarding -----------------------------------------------------------------------------------------------------


def a_region_that_is_behind_says_that_the_home_is_elsewhere() -> None:
    """It is the home by a record that it has not folded yet. Nobody asks it again: nothing has changed by then."""
    stage = Stage()
    region = stage.cloud.sites[AWAY].region
    row = StoreRow.from_attributes(stage.cloud.rows(AWAY, "stores")[stage.store, "record"])
    behind = {"elsewhere": encode_placed(PlacedRecord(Slot.parse(row.slot), to_record(row, "user:mover")))}
    asked = list[str]()

    class Behind:
        def call(self, region: str, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
            asked.append(region)
            return behind

    parts = EpochParts.of(region)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(region, "peers", Behind())
        with pytest.raises(Unavailable):
            forwarding = Forwarding(region, parts)
            forwarding.reach(region.view(), row, {"call": "write"})
    assert asked == [HOME]


# ---- a rebuild ------------------------------------------------------------------------------------------------------


def a_version_whose_writer_died_is_built_on_after_a_rebuild() -> None:
    """No event of it comes. It is in the new tables without having been journaled: the next checkpoint names it."""
    stage = Stage()
    memory = stage.create("/a", "one")
    stage.cloud.deliver()
    site = stage.cloud.sites[HOME]
    for _ in range(3):
        stage.cloud.clock.pause(60.0)
        site.reconciling.tick()
    dead = stage.actor(lambda: stage.update(memory.id, "two")).until(PUT, after=True)
    dead.die()
    stage.cloud.pending.clear()
    (orphan,) = [entry for entry in entries(stage) if entry.generation == 2]
    queue = MemoryQueue()
    folder = BatchProjector(site.region, site.indexing)

    def work(progress: object) -> None:
        for message in queue.take(100):
            folder.fold(json.loads(message)["rebuild"])

    Rebuild(site.region, site.indexing, stage.cloud.tables(HOME), queue, 0).run(work)
    stage.update(memory.id, "three")
    for _ in range(4):
        stage.cloud.clock.pause(60.0)
        site.reconciling.tick()
    page = stage.cloud.buckets.page(HOME, f"{HOME}/checkpoint/", None, 1000)
    bodies = [stage.cloud.buckets.versions(HOME, key)[-1].object.body for key in page.keys]
    assert any(str(orphan.key).encode() in body for body in bodies), (
        "no checkpoint names what acknowledged text follows"
    )


# ---- homes ----------------------------------------------------------------------------------------------------------


def a_home_is_failed_over_while_it_is_handed_on() -> None:
    """Both have the same number. Whoever is told to fail over is the home, whatever the names of the regions are."""
    for mover, taker in ((THIRD, AWAY), (AWAY, THIRD)):
        stage = MovingStage()
        stage.create("/a", "one")
        stage.deliver()
        stage.move(mover)
        stage.hold_back()
        stage.fail_over(taker)
        stage.at_rest(divergent=None)
        assert [stage.home(region) for region in stage.cloud.regions] == [taker] * 3


def a_home_is_handed_on_in_the_middle_of_a_rename() -> None:
    """Its renamer has died between the two halves. Whoever takes the store over has the rename finished first."""
    stage = MovingStage()
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, occurrence=2).die()
    stage.hold_back()
    stage.move(AWAY)
    stage.at_rest()
    assert stage.listed(AWAY) == {"/b": memory.id}


def a_rename_is_finished_by_somebody_else() -> None:
    """The second half is the same whoever puts it: the renamer finds its own, and does not begin again."""
    stage = Stage()
    memory = stage.create("/a", "one")
    stage.cloud.deliver()
    renamer = stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, occurrence=2)
    (arrival,) = [entry for entry in entries(stage) if entry.operation is Operation.MOVED_IN]
    peerwriter_calls(stage.memolith())({"call": "help", "key": str(arrival.key)})
    renamed = renamer.finish()
    assert "slots_lost" not in str(stage.cloud.metrics.counts), "the renamer took a rename for lost"
    stage.cloud.deliver()
    assert [entry.version_id for entry in entries(stage) if entry.operation is Operation.MOVED_IN] == [
        renamed.version_id
    ]
    assert stage.listed(AWAY) == stage.listed() == {"/b": memory.id}
    assert stage.cloud.rows(HOME, "logs") == stage.cloud.rows(AWAY, "logs")
    assert all(row.get("voided") is None for row in stage.cloud.rows(HOME, "logs").values())


def a_rename_that_was_overtaken_begins_again() -> None:
    """Its second attempt has a version_id of its own: by that, the writer tells it from the first, which is void."""
    stage = Stage()
    memory = stage.create("/a", "one")
    stage.cloud.deliver()
    renamer = stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, occurrence=2)
    updated = stage.update(memory.id, content="two")
    try:
        renamed = renamer.finish()
    except Busy as error:
        pytest.fail(f"the renamer never came through: {error}")
    stage.cloud.deliver()
    assert (renamed.path, renamed.content_sha256) == ("/b", updated.content_sha256)
    assert stage.listed(AWAY) == stage.listed() == {"/b": memory.id}


# ---- each of them fails without its guard ---------------------------------------------------------------------------

Plant = Callable[[pytest.MonkeyPatch], None]


def unchecked(patch: pytest.MonkeyPatch) -> None:
    changes = row_transactions.RowChanges.changes
    patch.setattr(row_transactions.RowChanges, "changes", lambda self, read_also=(): changes(self))


def any_lease(patch: pytest.MonkeyPatch) -> None:
    def is_fresh(self: fence.Fence, view: Any) -> bool:
        now = self._region.clock.ticks_us()
        return view.ticks_us is not None and 0 <= now - view.ticks_us <= LEASE_US

    patch.setattr(fence.Fence, "_is_fresh", is_fresh)


def emptied_at_once(patch: pytest.MonkeyPatch) -> None:
    def declare(self: watermark.Watermark, tables: Any, row: Any) -> None:
        incomplete = replace(ControlRow.from_attributes(tables.control), complete=False).to_attributes()
        self._commit([Change(ControlRow.KEY, tables.control, incomplete)])

    patch.setattr(watermark.Watermark, "_declare_emptied", declare)


def same_id(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Entry, "same_write", lambda self, other: self.version_id == other.version_id)


def any_rank(patch: pytest.MonkeyPatch) -> None:
    class Unranked(Slot):
        @property
        def rank(self) -> Any:
            return Slot.rank.fget(self) if ranks.pop(0) else ((0,), 0)  # type: ignore[attr-defined]  # a property has it

    ranks = [True, False] * 8
    patch.setattr(forwarding, "Slot", Unranked)


def not_listed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rebuild, "from_listing", lambda state, run: state)


def moves_first(patch: pytest.MonkeyPatch) -> None:
    rank = property(lambda epoch: (epoch.number, epoch.attempt != 0, epoch.home, epoch.attempt))
    patch.setattr(Epoch, "rank", rank)


def nothing_pending(patch: pytest.MonkeyPatch) -> None:
    run = EpochSnapshotBuilder.run

    def forgetful(self: EpochSnapshotBuilder, store: StoreRow, ahead: Any = None) -> Any:
        survey = run(self, store, ahead)
        survey.pending.clear()
        return survey

    patch.setattr(EpochSnapshotBuilder, "run", forgetful)


def ones_own_departure(patch: pytest.MonkeyPatch) -> None:
    moved_out = decide.moved_out
    numbers = iter(range(100))
    patch.setattr(
        decide, "moved_out", lambda entry: replace(moved_out(entry), version_id=f"memver_{next(numbers):026d}")
    )


def one_id(patch: pytest.MonkeyPatch) -> None:
    """One version_id for every attempt, in a writer that knows its own entries by it and does not fold void ones."""

    class Amnesiac(log_steps.LogSteps):
        def project_own(self, attempt: Any, settled: Any, known: Any) -> None:
            if not any(one.void for one in settled):
                super().project_own(attempt, settled, known)

    same_id(patch)
    patch.setattr(parts, "LogSteps", Amnesiac)
    patch.setattr(rename, "derived_version_id", lambda version_id, attempt: version_id)


GUARDS: dict[Callable[[], None], Plant] = {
    a_repair_of_a_listing_leans_on_rows_that_change_meanwhile: unchecked,
    a_home_with_incomplete_tables_has_handed_its_store_on: any_lease,
    a_reconciler_reads_the_marks_just_before_another_puts_them: emptied_at_once,
    an_invocation_that_runs_twice_meets_its_own_version_at_another_place: same_id,
    a_region_that_is_behind_says_that_the_home_is_elsewhere: any_rank,
    a_version_whose_writer_died_is_built_on_after_a_rebuild: not_listed,
    a_home_is_failed_over_while_it_is_handed_on: moves_first,
    a_home_is_handed_on_in_the_middle_of_a_rename: nothing_pending,
    a_rename_is_finished_by_somebody_else: ones_own_departure,
    a_rename_that_was_overtaken_begins_again: one_id,
}


@pytest.mark.parametrize("schedule", GUARDS, ids=lambda schedule: schedule.__name__)
def test_a_guard_holds_where(schedule: Callable[[], None]) -> None:
    schedule()


@pytest.mark.parametrize("schedule", GUARDS, ids=lambda schedule: schedule.__name__)
def test_without_its_guard_a_promise_is_broken_where(schedule: Callable[[], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        GUARDS[schedule](patch)
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            schedule()
