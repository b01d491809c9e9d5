"""Processes that are killed, rows that vanish, a home that has moved: what the log holds is what is so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.adapters.memory import MemoryIndex
from memolith.app.epochs.parts import EpochParts
from memolith.core.errors import PathConflict, Unavailable
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.object_keys import parse_key
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.store_record import StoreRecord
from memolith.core.rows.content import LogRow, MemoryRow, PathRow
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import PlacedRecord, to_record
from memolith.ports.index import Change
from tests.simulation.stage import AWAY, HOME, Stage

PUT = "objects.put_if_absent"
PAST_A_CLAIM_S = 6.0


@pytest.fixture
def stage() -> Stage:
    return Stage()


# ---- killed ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [HOME, AWAY])
def test_a_writer_killed_right_after_its_put_leaves_a_memory_that_events_alone_bring_everywhere(
    stage: Stage, where: str
) -> None:
    stage.actor(lambda: stage.create("/a", "kept", region=where)).until(PUT, after=True).die()
    assert stage.listed(HOME) == stage.listed(AWAY) == {}
    stage.cloud.deliver()
    (memory_id,) = stage.listed(HOME).values()
    assert stage.listed(AWAY) == {"/a": memory_id}
    for region in (HOME, AWAY):
        assert stage.read(memory_id, region).content == "kept"
        assert len(stage.history(memory_id, region)) == 1


@pytest.mark.parametrize("with_content", [True, False])
@pytest.mark.parametrize(("puts", "after"), [(1, False), (1, True), (2, False), (2, True)])
def test_a_renamer_killed_anywhere_leaves_one_id_at_one_path_in_every_answer(
    stage: Stage, puts: int, after: bool, with_content: bool
) -> None:
    memory = stage.create("/a", "one")
    stage.cloud.deliver()
    text = "two" if with_content else None
    stage.actor(lambda: stage.update(memory.id, text, path="/b")).until(PUT, occurrence=puts, after=after).die()
    while stage.cloud.pending:
        stage.assert_one_path(memory.id)
        stage.cloud.deliver_one(0)
    stage.assert_one_path(memory.id)
    path = "/a" if (puts, after) == (1, False) else "/b"
    assert stage.listed(HOME) == stage.listed(AWAY) == {path: memory.id}
    assert stage.read(memory.id, AWAY).content == ("two" if with_content and path == "/b" else "one")
    stage.clock.advance(PAST_A_CLAIM_S)
    assert stage.create("/b" if path == "/a" else "/a").id != memory.id


def test_a_renamer_killed_half_way_is_finished_by_whoever_comes_to_either_path(stage: Stage) -> None:
    memory = stage.create("/a")
    stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, after=True).die()
    stage.clock.advance(PAST_A_CLAIM_S)
    refusal = stage.actor(lambda: stage.create("/b")).fails(PathConflict)
    assert isinstance(refusal, PathConflict) and refusal.conflicting_memory_id == memory.id
    assert stage.listed() == {"/b": memory.id}


def test_every_port_call_of_a_write_may_be_its_last() -> None:
    """Whatever is left then, the log decides, every region comes to agree, and the path can be written again."""
    for number in range(1, 60):
        stage = Stage()
        memory = stage.create("/a", "one")
        mover = stage.actor(lambda stage=stage, id=memory.id: stage.update(id, "two", path="/b"))  # type: ignore[misc]  # a lambda with a default has no type
        for _ in range(number):
            if not mover.done:
                mover.step()
        if mover.done:
            return
        mover.die()
        stage.cloud.deliver()
        stage.assert_one_path(memory.id)
        assert stage.cloud.rows(HOME, "memories") == stage.cloud.rows(AWAY, "memories")
        stage.clock.advance(PAST_A_CLAIM_S)
        stage.update(memory.id, "three", path="/c")
        assert stage.listed() == {"/c": memory.id}
        stage.create("/b")
    raise AssertionError("a rename of more than sixty port calls")


# ---- rows behind the writer's back ----------------------------------------------------------------------------------


def forget(stage: Stage, path: str, memory_id: str, *kinds: str, region: str = HOME) -> None:
    """Removes rows as if they had never been."""
    site = stage.cloud.sites[region]
    keys = {
        "paths": PathRow.key(stage.store, path),
        "memories": MemoryRow.key(stage.store, memory_id),
        "logs": LogRow.key(stage.store, stage.hash_of(path)),
    }
    index = MemoryIndex(site.database)
    for kind in kinds:
        attributes = index.read([keys[kind]]).get(keys[kind])
        index.commit([Change(keys[kind], attributes, None)])


def logged(stage: Stage, path: str, region: str = HOME) -> list[Entry]:
    """A path's log as the bucket has it."""
    found = []
    for key in stage.keys(region):
        name, stored = parse_key(key), stage.cloud.buckets.current(region, key)
        assert isinstance(name, LogKey) and stored is not None
        if name.path_hash == stage.hash_of(path):
            found.append(Entry.from_metadata(name, stored.metadata))
    return sorted(found, key=lambda entry: entry.slot)


ROWS = [("logs",), ("paths",), ("logs", "paths"), ("memories",), ("logs", "memories"), ("logs", "paths", "memories")]


@pytest.mark.parametrize("kinds", ROWS)
@pytest.mark.parametrize("blanked", [False, True])
def test_a_writer_without_its_rows_acknowledges_nothing_that_the_log_does_not_show(
    stage: Stage, kinds: tuple[str, ...], blanked: bool
) -> None:
    memory = stage.create("/a", "one")
    stage.update(memory.id, "two")
    stage.update(memory.id, "three")
    if blanked:
        for version_id in stage.history(memory.id)[1:]:
            stage.redact(version_id)
        stage.cloud.deliver()
    forget(stage, "/a", memory.id, *kinds)
    before = logged(stage, "/a")
    with pytest.raises(PathConflict):
        stage.create("/a", "other")
    updated = stage.update(memory.id, "four")
    assert logged(stage, "/a")[-1].version_id == updated.version_id
    after = logged(stage, "/a")
    assert after[: len(before)] == before
    assert [entry.operation for entry in after[1:]].count(Operation.CREATED) == 0, "the path was never free"
    assert [entry.slot.sequence for entry in after] == list(range(1, len(after) + 1))


def test_an_old_path_whose_rows_are_gone_is_still_known_to_have_been_left(stage: Stage) -> None:
    memory = stage.create("/a")
    stage.update(memory.id, path="/b")
    forget(stage, "/a", memory.id, "logs")
    other = stage.create("/a", "other")
    assert logged(stage, "/a")[-1].version_id == other.version_id
    assert logged(stage, "/a")[-1].slot.sequence == 3
    assert stage.listed() == {"/a": other.id, "/b": memory.id}


# ---- a home that has moved -----------------------------------------------------------------------------------------


def move_home(stage: Stage) -> None:
    stage.cloud.deliver()
    answer = stage.cloud.peers.call(AWAY, "reconciler", {"call": "homes.move", "store_id": stage.store})
    assert answer["state"] == "moved"
    stage.cloud.deliver()


def lose_cut(stage: Stage) -> None:
    """The new home's record has come, and its cut has not."""
    stage.cloud.deliver()
    index = MemoryIndex(stage.cloud.sites[HOME].database)
    row = StoreRow.from_attributes(index.read([StoreRow.key(stage.store)])[StoreRow.key(stage.store)])
    epoch = Epoch(2, AWAY, 2)
    record: StoreRecord = replace(
        to_record(row, "user:mover"),
        home=AWAY,
        epochs=(*row.epochs, str(epoch)),
        cuts=("cut_1",),
        version_id=stage.new_version_id(),
    )
    placed = PlacedRecord(Slot(epoch, 1), record)
    region = stage.cloud.sites[AWAY].region
    EpochParts.of(region).records.put(placed)
    EpochParts.of(region).records.fold(region.view(), placed)


@pytest.mark.parametrize("kinds", [(), ("logs",), ("logs", "paths"), ("logs", "paths", "memories")])
def test_a_writer_of_the_next_epoch_respects_the_cut_with_or_without_its_rows(
    stage: Stage, kinds: tuple[str, ...]
) -> None:
    memory = stage.create("/a", "one")
    stage.update(memory.id, "two")
    move_home(stage)
    forget(stage, "/a", memory.id, *kinds, region=AWAY)
    for region in (AWAY, HOME):
        refusal = stage.actor(lambda region=region: stage.create("/a", region=region)).fails(PathConflict)  # type: ignore[misc]  # a lambda with a default has no type
        assert isinstance(refusal, PathConflict) and refusal.conflicting_memory_id == memory.id
    updated = stage.update(memory.id, "three", region=HOME)
    last = logged(stage, "/a", AWAY)[-1]
    assert (last.version_id, str(last.slot)) == (updated.version_id, f"{Epoch(2, AWAY, 2)}.0000000001")
    stage.cloud.deliver()
    assert stage.read(memory.id, HOME).content == stage.read(memory.id, AWAY).content == "three"
    assert stage.cloud.rows(HOME, "memories") == stage.cloud.rows(AWAY, "memories")


def test_a_path_that_was_left_before_the_cut_is_free_after_it(stage: Stage) -> None:
    memory = stage.create("/a")
    stage.update(memory.id, path="/b")
    move_home(stage)
    forget(stage, "/a", memory.id, "logs", region=AWAY)
    other = stage.create("/a", region=AWAY)
    moved = stage.update(memory.id, path="/c", region=AWAY)
    assert moved.path == "/c"
    stage.cloud.deliver()
    assert stage.listed(HOME) == stage.listed(AWAY) == {"/a": other.id, "/c": memory.id}


def test_without_its_cut_an_epoch_writes_nothing_that_it_cannot_be_sure_of(stage: Stage) -> None:
    memory = stage.create("/a")
    lose_cut(stage)
    forget(stage, "/a", memory.id, "logs", region=AWAY)
    for path in ("/a", "/new"):
        with pytest.raises(Unavailable):
            stage.create(path, region=AWAY)
    with pytest.raises(Unavailable):
        stage.update(memory.id, "two", region=AWAY)
