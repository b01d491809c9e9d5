"""Exact schedules of a rebuild that dies and is begun again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest

from memolith.adapters.layered import Crash
from memolith.adapters.memory import ManualClock, MemoryQueue, MemoryTables
from memolith.app.indexer import rebuild_pages
from memolith.app.indexer.rebuild import BatchProjector, Rebuild
from memolith.core.errors import Busy, Unavailable
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from memolith.core.rows.content import VersionRow
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from tests.simulation.moving_stage import THIRD, MovingStage
from tests.simulation.stage import AWAY, HOME, PUT, Stage
from tests.simulation.take_overs import logged
from tests.support.rebuilds import Operator


class Meanwhile(ManualClock):
    """A clock whose pauses are when the scenario goes on."""

    def __init__(self, turns: list[Callable[[], None]]) -> None:
        super().__init__()
        self._turns = turns
        self._idle = 0

    def pause(self, seconds: float) -> None:
        if self._turns:
            self._turns.pop(0)()
        else:
            self._idle += 1
            assert self._idle < 20, "it waits for what nobody does"


class Rebuilt:
    """A region with an operator, and a queue of batches that the scenario folds as it likes."""

    def __init__(self, stage: Stage, region: str = HOME) -> None:
        self.stage = stage
        self.site = stage.cloud.sites[region]
        self.queue = MemoryQueue()

    def run(self, *turns: Callable[[], None]) -> int:
        self.site.region.clock = Meanwhile(list(turns))
        tables = MemoryTables(self.site.database)
        return Rebuild(self.site.region, self.site.indexing, tables, self.queue, 60.0).run(lambda progress: None)

    def take(self) -> list[Mapping[str, Any]]:
        return [json.loads(message)["rebuild"] for message in self.queue.take(100)]

    def fold(self, batch: Mapping[str, Any]) -> None:
        BatchProjector(self.site.region, self.site.indexing).fold(batch)

    def fold_all(self) -> None:
        for batch in self.take():
            self.fold(batch)


def nothing() -> None:
    """A pause in which nobody does anything."""


def die() -> None:
    raise Crash


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(rebuild_pages, "KEYS_PER_BATCH", 2)
    stage = Stage()
    for path in ("/a", "/b", "/c", "/d"):
        stage.create(path)
    stage.cloud.deliver()
    return stage


def test_batches_of_a_run_that_died_do_not_stand_for_those_of_the_next(stage: Stage) -> None:
    """Keys that came in between shift every batch: one number names other keys in the next run."""
    before = stage.listed()
    rebuilt = Rebuilt(stage)
    with pytest.raises(Crash):
        rebuilt.run(nothing, die)
    first, *others = rebuilt.take()
    for batch in others:
        rebuilt.fold(batch)
    for _ in range(2):
        stage.cloud.key()
    batches: list[Mapping[str, Any]] = []

    def fold_those_that_were_not_done() -> None:
        batches.extend(rebuilt.take())
        for batch in (batches[0], batches[-1]):
            rebuilt.fold(batch)

    def fold_the_rest() -> None:
        assert not stage.cloud.sites[HOME].region.view().complete
        rebuilt.fold(first)
        for batch in batches:
            rebuilt.fold(batch)

    rebuilt.run(nothing, fold_those_that_were_not_done, fold_the_rest)
    assert stage.listed() == before


def test_a_run_that_died_after_the_switch_leaves_no_tables_behind(stage: Stage) -> None:
    before = stage.listed()
    rebuilt = Rebuilt(stage)
    with pytest.raises(Crash):
        rebuilt.run(nothing, rebuilt.fold_all, die)
    assert rebuilt.run() == 2
    with pytest.raises(Exception, match="no table memories of generation 1"):
        rebuilt.site.database.table("memories", 1)
    assert stage.listed() == before


def test_a_batch_of_a_generation_that_is_gone_is_nothing(stage: Stage) -> None:
    rebuilt = Rebuilt(stage)
    kept: list[Mapping[str, Any]] = []

    def fold_and_keep() -> None:
        kept.extend(rebuilt.take())
        for batch in kept:
            rebuilt.fold(batch)

    rebuilt.run(nothing, fold_and_keep)
    rebuilt.run(nothing, rebuilt.fold_all)
    for batch in kept:
        rebuilt.fold(batch)
    assert len(stage.listed()) == 4


def test_an_operator_who_is_overtaken_by_another_is_told(stage: Stage) -> None:
    rebuilt = Rebuilt(stage)
    other = Rebuilt(stage)

    def overtake() -> None:
        other.run(nothing, other.fold_all)
        rebuilt.site.region.clock = Meanwhile([])

    with pytest.raises(Busy):
        rebuilt.run(nothing, overtake)


def test_what_comes_late_to_a_new_home_whose_tables_are_being_rebuilt_is_replayed_once_they_serve() -> None:
    """Nothing has been written since, so that it belongs into the history; no other event leads back to it."""
    stage = MovingStage()
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.move(AWAY)
    stage.deliver()
    stage.update(memory.id, "two", region=AWAY)
    stage.hold_back()
    with stage.dead(AWAY):
        stage.fail_over(HOME, old=AWAY)
    stage.wipe(HOME)
    stage.come_late()
    Operator(stage.cloud, MemoryQueue()).run()
    assert stage.contents(HOME) == {"/a": "two"}
    stage.at_rest()


def test_a_batch_that_brings_the_record_of_a_later_epoch_leaves_no_version_out() -> None:
    """It began with the record of a home that lost: by that one's snapshot an older version is late, which counts."""
    stage = MovingStage()
    memory = stage.create("/a", "one")
    version = stage.key_of(memory.version_id)
    stage.hold_back()
    stage.reach(AWAY, version)
    with stage.dead(HOME):
        stage.fail_over(THIRD)
        stage.fail_over(AWAY)
    stage.deliver()
    site = stage.cloud.sites[HOME]
    control = ControlRow(serving=1, complete=False, building=2, run="run").to_attributes()
    site.region.index.commit([Change(ControlRow.KEY, None, control, unconditional=True)])
    site.database.make(2)
    projector = BatchProjector(site.region, site.indexing)
    records = {region: [key for key in stage.all_keys(HOME) if f"{region}/store/" in key] for region in (THIRD, AWAY)}
    projector.fold({"generation": 2, "run": "run", "batch": "0", "keys": records[THIRD]})
    batch = {"generation": 2, "run": "run", "batch": "1", "keys": [*records[AWAY], version]}
    for _ in range(2):  # as a queue does: what fails comes again
        with suppress(Unavailable):
            projector.fold(batch)
            break
    assert VersionRow.key(stage.store, memory.version_id) in site.region.index.at(2).read(
        [VersionRow.key(stage.store, memory.version_id)]
    )


def test_a_rebuild_that_lacks_what_ended_half_a_rename_knows_no_abort_and_a_writer_there_finds_the_slot_taken() -> None:
    """The end comes later, and is the other half of another rename: no event leads from it to the first."""
    stage = MovingStage()
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, after=True).die()
    stage.update(memory.id, path="/c")
    half, _, end = logged(stage)
    stage.held = [event for event in stage.cloud.pending if event.key == end]
    stage.cloud.pending[:] = [event for event in stage.cloud.pending if event.key != end]
    stage.deliver()
    half_key = parse_key(half)
    assert isinstance(half_key, LogKey)
    row = half_key.store_id, half_key.path_hash
    assert stage.cloud.rows(AWAY, "logs")[row]["voided"] == str(half_key.slot)
    rebuilt = Rebuilt(stage, AWAY)
    generation = rebuilt.run(nothing, rebuilt.fold_all)
    stage.come_late(end)
    assert row not in rebuilt.site.database.table("logs", generation).order.rows
    stage.move(AWAY)
    created = stage.create("/b", region=AWAY)
    stage.deliver()
    for region in stage.cloud.regions:
        assert stage.listed(region) == {"/b": created.id, "/c": memory.id}
