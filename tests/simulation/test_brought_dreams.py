"""Dreams whose records a move has brought into the new home's bucket, whose events come there later.

docs/pipelines.md: a dream comes to its one end. Promise 36: a planned move loses nothing. Promise 47: each dream counts
as done once.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.app.api.dreams import DreamRequest
from memolith.app.log.conditional_put import put_if_absent
from memolith.app.pipelines.run_log import RunLog
from memolith.core.errors import InvalidRequest
from memolith.core.object_keys import RunKey
from memolith.core.objects.run_record import UPDATE_EXISTING, DreamStatus, RunRecord
from memolith.core.rows.dreams import DreamRow
from memolith.core.rows.identity import StoreRow
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage

MOVES = [(HOME, AWAY), (AWAY, HOME)]
"""Of two records of one number that of the greater region's name stands: from it, and to it."""


def _begun(stage: MovingStage, home: str) -> RunRecord:
    """A dream of the store that waits, which every region shows; `home` is the store's."""
    stage.move(home)
    stage.deliver()
    request = DreamRequest(stage.store, (), "slow", behavior=UPDATE_EXISTING)
    dream = stage.memolith(home).dreams.create(stage.call(), request)
    stage.deliver()
    return dream


def _put(stage: MovingStage, home: str, status: DreamStatus, *, late: bool = False) -> None:
    """A worker at the home puts the next record of the only dream; a `late` one began before the last move."""
    region = stage.cloud.sites[home].region
    runs, view, key = RunLog(region), region.view([StoreRow.key(stage.store)]), StoreRow.key(stage.store)
    store = StoreRow.from_attributes(view.rows[key])
    [record] = runs.open_everywhere(view, 2)
    following = replace(record, sequence=record.sequence + 1, status=status, ended_at=region.clock.now_us())
    assert runs.put(view, replace(store, epochs=store.epochs[: -1 if late else None]), following)


def _statuses(stage: MovingStage, run_id: str) -> dict[str, DreamStatus]:
    stage.at_rest()
    return {one: stage.memolith(one).dreams.retrieve(stage.call(), run_id).status for one in (HOME, AWAY, THIRD)}


def _moved(last: str, next_home: str) -> tuple[MovingStage, RunRecord]:
    """A dream that waits, whose store's home has moved on since every region heard of it."""
    stage = MovingStage()
    dream = _begun(stage, last)
    stage.move(next_home)
    return stage, dream


def _archived_at(stage: MovingStage, run_id: str) -> set[int | None]:
    return {stage.memolith(one).dreams.retrieve(stage.call(), run_id).archived_at for one in (HOME, AWAY, THIRD)}


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("asked_at", [HOME, AWAY, THIRD])
@pytest.mark.parametrize(("last", "next_home"), MOVES)
def test_a_dream_that_ended_at_the_last_home_is_not_canceled_at_the_next(
    last: str, next_home: str, asked_at: str, steps: int
) -> None:
    stage = MovingStage()
    dream = _begun(stage, last)
    for status in [DreamStatus.RUNNING, DreamStatus.COMPLETED][-steps:]:
        _put(stage, last, status)
    stage.bring_unindexed(next_home)
    stage.move(next_home)
    with pytest.raises(InvalidRequest, match="completed already"):
        stage.memolith(asked_at).dreams.cancel(stage.call(), dream.run_id)
    assert set(_statuses(stage, dream.run_id).values()) == {DreamStatus.COMPLETED}


@pytest.mark.parametrize(("last", "next_home"), MOVES)
def test_a_dream_that_runs_since_the_last_home_began_it_stays_canceled_at_the_next(last: str, next_home: str) -> None:
    stage = MovingStage()
    dream = _begun(stage, last)
    _put(stage, last, DreamStatus.RUNNING)
    stage.bring_unindexed(next_home)
    stage.move(next_home)
    canceled = stage.memolith(next_home).dreams.cancel(stage.call(), dream.run_id)
    assert (canceled.status, canceled.sequence) == (DreamStatus.CANCELED, 3)
    assert set(_statuses(stage, dream.run_id).values()) == {DreamStatus.CANCELED}


@pytest.mark.parametrize("asked_at", [HOME, AWAY, THIRD])
@pytest.mark.parametrize(("last", "next_home"), MOVES)
def test_a_dream_that_ended_at_the_last_home_is_archived_at_the_next(last: str, next_home: str, asked_at: str) -> None:
    stage = MovingStage()
    dream = _begun(stage, last)
    _put(stage, last, DreamStatus.COMPLETED)
    stage.bring_unindexed(next_home)
    stage.move(next_home)
    archived = stage.memolith(asked_at).dreams.archive(stage.call(), dream.run_id)
    assert (archived.status, archived.archived_at is not None) == (DreamStatus.COMPLETED, True)
    assert set(_statuses(stage, dream.run_id).values()) == {DreamStatus.COMPLETED}
    assert _archived_at(stage, dream.run_id) == {archived.archived_at}


def test_a_dream_of_a_store_that_never_moved_is_canceled_without_a_look_at_other_homes() -> None:
    stage = MovingStage()
    dream = _begun(stage, HOME)
    cancelation = stage.actor(lambda: stage.memolith().dreams.cancel(stage.call(), dream.run_id))
    assert cancelation.finish().status is DreamStatus.CANCELED
    assert [one for one in cancelation.trail if one.startswith("objects.list")] == []


@pytest.mark.parametrize("late", [1, 2])
@pytest.mark.parametrize(("last", "next_home"), MOVES)
def test_a_dream_that_ended_at_the_next_home_stays_ended_when_late_records_of_the_last_home_come(
    last: str, next_home: str, late: int
) -> None:
    stage, dream = _moved(last, next_home)
    _put(stage, next_home, DreamStatus.COMPLETED)
    for _ in range(late):
        _put(stage, last, DreamStatus.RUNNING, late=True)
    assert set(_statuses(stage, dream.run_id).values()) == {DreamStatus.COMPLETED}


@pytest.mark.parametrize("late", [1, 2, 7])
@pytest.mark.parametrize(("last", "next_home"), MOVES)
def test_a_dream_that_ended_elsewhere_is_archived_where_late_records_have_its_next_numbers(
    last: str, next_home: str, late: int
) -> None:
    stage, dream = _moved(last, next_home)
    _put(stage, next_home, DreamStatus.COMPLETED)
    for _ in range(late):
        _put(stage, last, DreamStatus.RUNNING, late=True)
    stage.at_rest()
    stage.move(last)
    archived = stage.memolith(last).dreams.archive(stage.call(), dream.run_id)
    assert (archived.status, archived.archived_at is not None) == (DreamStatus.COMPLETED, True)
    assert set(_statuses(stage, dream.run_id).values()) == {DreamStatus.COMPLETED}
    assert _archived_at(stage, dream.run_id) == {archived.archived_at}


@pytest.mark.parametrize(("last", "next_home"), MOVES)
def test_a_dream_that_ended_late_at_the_last_home_is_not_canceled_by_the_next_whose_record_has_its_number(
    last: str, next_home: str
) -> None:
    stage, dream = _moved(last, next_home)
    _put(stage, next_home, DreamStatus.RUNNING)
    _put(stage, last, DreamStatus.COMPLETED, late=True)
    stage.bring_unindexed(next_home)
    with pytest.raises(InvalidRequest, match="completed already"):
        stage.memolith(next_home).dreams.cancel(stage.call(), dream.run_id)
    assert set(_statuses(stage, dream.run_id).values()) == {DreamStatus.COMPLETED}


def test_a_dream_whose_end_is_put_and_not_indexed_yet_is_not_canceled_with_the_number_after_it() -> None:
    stage = MovingStage()
    dream = _begun(stage, HOME)
    ended = replace(dream, sequence=2, status=DreamStatus.COMPLETED, ended_at=dream.created_at, home=HOME)
    put_if_absent(stage.cloud.sites[HOME].region, str(ended.key(HOME)), ended.to_json(), {})
    with pytest.raises(InvalidRequest, match="completed already"):
        stage.memolith(HOME).dreams.cancel(stage.call(), dream.run_id)
    assert set(_statuses(stage, dream.run_id).values()) == {DreamStatus.COMPLETED}


@pytest.mark.parametrize(("last", "next_home"), MOVES)
def test_a_dream_that_was_canceled_at_the_next_home_stays_canceled_when_the_last_homes_late_end_comes(
    last: str, next_home: str
) -> None:
    stage, dream = _moved(last, next_home)
    stage.memolith(next_home).dreams.cancel(stage.call(), dream.run_id)
    _put(stage, last, DreamStatus.COMPLETED, late=True)
    assert set(_statuses(stage, dream.run_id).values()) == {DreamStatus.CANCELED}


@pytest.mark.parametrize(("last", "next_home"), MOVES)
def test_a_dream_that_was_archived_at_the_next_home_stays_archived_when_a_late_end_of_a_greater_number_comes(
    last: str, next_home: str
) -> None:
    stage, dream = _moved(last, next_home)
    stage.memolith(next_home).dreams.cancel(stage.call(), dream.run_id)
    archived = stage.memolith(next_home).dreams.archive(stage.call(), dream.run_id)
    for status in (DreamStatus.RUNNING, DreamStatus.RUNNING, DreamStatus.COMPLETED):
        _put(stage, last, status, late=True)
    assert set(_statuses(stage, dream.run_id).values()) == {DreamStatus.CANCELED}
    assert _archived_at(stage, dream.run_id) == {archived.archived_at}


@pytest.mark.parametrize(("last", "next_home"), MOVES)
def test_a_late_record_that_does_not_stand_beside_a_dreams_end_is_not_missing(last: str, next_home: str) -> None:
    """A region whose row did not show it would wait for it, and never claim to be complete past it."""
    stage, dream = _moved(last, next_home)
    _put(stage, next_home, DreamStatus.COMPLETED)
    for _ in range(2):
        _put(stage, last, DreamStatus.RUNNING, late=True)
    stage.at_rest()
    for region in (HOME, AWAY, THIRD):
        key = DreamRow.key(dream.run_id)
        row = DreamRow.from_attributes(stage.cloud.sites[region].region.view([key]).rows[key])
        assert row.parsed.status is DreamStatus.COMPLETED
        for home, shown in ((last, [True, True, True, False]), (next_home, [True, True, False, False])):
            assert [row.shows(RunKey(home, stage.store, dream.run_id, number)) for number in (1, 2, 3, 4)] == shown
