"""A period of the journal is split as far as its writers need: whatever they log in any shard, its checkpoint names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memolith.adapters.memory import MemoryIndex
from memolith.core.errors import OutcomeUnknown
from memolith.core.rows.journal import (
    SHARDS_MAX,
    SHARDS_MIN,
    WRITES_PER_SHARD,
    JournalRow,
    JournalStateRow,
    PeriodRow,
    next_shards,
    shards_for,
    split_further,
)
from memolith.ports.index import Change
from tests.unit.app.replication.test_watermark import empty, named, settle, tick, until
from tests.unit.app.scene import HOME, Scene


def state_of(scene: Scene) -> JournalStateRow:
    return JournalStateRow.from_attributes(scene.cloud.rows(HOME, "journal")[HOME, "state"])


def logged_in(scene: Scene) -> set[int]:
    """The shards of the open period that have a row."""
    period = JournalRow.partition(HOME, state_of(scene).open, 0)[:-1]
    rows = scene.cloud.rows(HOME, "journal").items()
    return {int(pk.removeprefix(period)) for (pk, _), row in rows if "object_key" in row and pk.startswith(period)}


@contextmanager
def held(scene: Scene, *shards: int) -> Iterator[None]:
    """Other transactions hold these shards of the open period all the while."""
    database, period = scene.cloud.sites[HOME].database, state_of(scene).open
    keys = [PeriodRow.key(HOME, period, shard) for shard in shards]
    places = {(database.table("journal", 0), key.pk, key.sk) for key in keys}
    database.held |= places
    try:
        yield
    finally:
        database.held -= places


def test_a_writer_that_meets_another_logs_in_another_shard_of_the_same_period(scene: Scene) -> None:
    settle(scene)
    scene.create("/first")
    (usual,) = logged_in(scene)
    scene2 = Scene()
    settle(scene2)
    with held(scene2, usual):
        scene2.create("/first")
    assert usual not in logged_in(scene2)
    assert state_of(scene2).shards is None, "one meeting is no reason to split"
    settle(scene2)
    assert {str(entry.key) for entry in scene2.entries()} <= named(scene2)


def test_writers_that_meet_others_everywhere_split_the_period_and_its_checkpoint_names_them(scene: Scene) -> None:
    settle(scene)
    with held(scene, *range(SHARDS_MIN)):
        for number in range(5):
            scene.create(f"/{number}")
    assert (state_of(scene).shards or 0) > SHARDS_MIN
    assert min(logged_in(scene)) >= SHARDS_MIN
    assert scene.cloud.metrics.total("journal_split") == 1
    told_us = scene.clock.now_us()
    settle(scene)
    assert {str(entry.key) for entry in scene.entries()} <= named(scene)
    assert (until(scene) or 0) > told_us


def test_a_period_is_split_at_most_as_far_as_one_transaction_can_open(scene: Scene) -> None:
    settle(scene)
    with held(scene, *range(SHARDS_MIN)):
        scene.create("/a")
    with held(scene, *range(split_further(SHARDS_MIN))):
        scene.create("/b")
    assert state_of(scene).shards == SHARDS_MAX
    settle(scene)
    assert {str(entry.key) for entry in scene.entries()} <= named(scene)


def test_a_reconciler_that_read_before_a_split_opens_the_next_period_the_next_time(scene: Scene) -> None:
    settle(scene)
    site = scene.cloud.sites[HOME]
    before = state_of(scene)
    with held(scene, *range(SHARDS_MIN)):
        scene.create("/a")
    index, read = site.region.index, site.region.index.read
    stale = [True]

    def reading(keys: Any) -> Any:
        found = dict(read(keys))
        if stale and JournalStateRow.key(HOME) in found:
            stale.clear()
            found[JournalStateRow.key(HOME)] = before.to_attributes()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "read", reading)
        tick(scene, HOME)
    assert not stale and state_of(scene).open == before.open
    settle(scene)
    assert {str(entry.key) for entry in scene.entries()} <= named(scene)


def test_a_writer_with_an_old_hint_of_more_shards_than_there_are_looks_again(scene: Scene) -> None:
    """The hint names shards that the period does not have: nothing is put where nobody would read it."""
    settle(scene)
    control = scene.cloud.rows(HOME, "control")
    (key, row), *_ = [(key, row) for key, row in control.items() if key[1].startswith("completeness")]
    database = scene.cloud.sites[HOME].database
    with database.lock:
        table = database.table("control", 1)
        database.put(table, type(JournalStateRow.key(HOME))("control", *key), {**row, "shards": SHARDS_MAX})
    for number in range(12):
        scene.create(f"/{number}")
    assert max(logged_in(scene)) < SHARDS_MIN
    settle(scene)
    assert {str(entry.key) for entry in scene.entries()} <= named(scene)


def test_shards_of_a_log_whose_state_was_lost_are_closed_to_writers_that_know_of_them(scene: Scene) -> None:
    settle(scene)
    with held(scene, *range(SHARDS_MIN)):
        scene.create("/a")
    state = state_of(scene)
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    index.commit([Change(JournalStateRow.key(HOME), None, None, unconditional=True)])
    scene.cloud.sites[HOME].reconciling.tick()
    again = state_of(scene)
    keys = [PeriodRow.key(HOME, again.open, shard) for shard in range(SHARDS_MIN, SHARDS_MAX)]
    assert again.open == state.open, "the number is used again, or this test shows nothing"
    assert index.read(keys) == {}


def test_a_new_log_whose_period_an_earlier_reconciler_closes_takes_writes_after_the_next_turn(scene: Scene) -> None:
    """A log is lost while its reconciler closes a period, and the next log begins with that period's number."""
    settle(scene)
    site = scene.cloud.sites[HOME]
    closing = state_of(scene).open
    index, commit = site.region.index, site.region.index.commit
    lost: list[int] = []

    def committing(changes: Any) -> Any:
        closes = [change for change in changes if change.after is not None and change.after.get("open") is False]
        if closes and not lost:
            lost.append(closing)
            empty(scene, "journal")
            scene.cloud.sites[HOME].reconciling.tick()
            lost.append(state_of(scene).open)
        commit(changes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "commit", committing)
        tick(scene, HOME)
    assert lost == [closing, closing], "the number is used again, or this test shows nothing"
    with pytest.raises(OutcomeUnknown):
        scene.create("/a")
    settle(scene)
    scene.create("/b")
    told_us = scene.clock.now_us()
    settle(scene)
    assert {str(entry.key) for entry in scene.entries()} <= named(scene)
    assert (until(scene) or 0) > told_us


def test_the_next_period_is_split_as_the_last_one_asks_and_never_at_once_back_to_the_fewest() -> None:
    state = JournalStateRow(run="run_1", open=2, opened_at=1)
    assert next_shards(state) is None
    assert next_shards(JournalStateRow(run="run_1", open=2, opened_at=1, shards=SHARDS_MAX)) == SHARDS_MAX // 2
    assert next_shards(JournalStateRow(run="run_1", open=2, opened_at=1, shards=16, next_shards=40)) == 40
    assert next_shards(JournalStateRow(run="run_1", open=2, opened_at=1, shards=2 * SHARDS_MIN)) is None


@pytest.mark.parametrize(
    ("writes", "shards"),
    [(0, None), (WRITES_PER_SHARD * SHARDS_MIN, None), (WRITES_PER_SHARD * 20, 20), (10**9, SHARDS_MAX)],
)
def test_a_period_has_as_many_shards_as_its_writes_need(writes: int, shards: int | None) -> None:
    assert shards_for(writes) == shards


def test_a_busy_period_makes_the_next_ones_wide_and_quiet_ones_make_them_narrow_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.core.rows.journal.WRITES_PER_SHARD", 1)
    settle(scene)
    for number in range(20):
        scene.create(f"/{number}")
    tick(scene, HOME, rounds=2)
    wide = state_of(scene).shards
    assert wide is not None and 20 <= wide <= SHARDS_MAX
    tick(scene, HOME, rounds=6)
    assert state_of(scene).shards is None
    settle(scene)
    assert {str(entry.key) for entry in scene.entries()} <= named(scene)
