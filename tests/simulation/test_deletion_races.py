"""Exact schedules of a deleted store that is restored while its deletion is being made final: one of the two wins.

Both are a put in the same slot of the store's log of records, so that there is no third outcome: what is erased was
never restored, and what is restored is whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.core.errors import NotFound, OutcomeUnknown
from tests.simulation.stage import AWAY, HOME, Actor, Stage

WEEK_S = 7 * 24 * 3600.0
PUT = "objects.put_if_absent"
RECORD = "/store/"
ERASES = ("erasable.erase", "erasable.remove", "erasable.delete_older")


@pytest.fixture
def stage() -> Stage:
    """A deleted store with a text, known everywhere, whose time is over."""
    stage = Stage(erase_delay_us=round(WEEK_S * 1_000_000))
    stage.create("/private", "SECRET")
    stage.cloud.deliver()
    stage.memolith().stores.delete(stage.call(), stage.store)
    stage.cloud.deliver()
    stage.clock.advance(WEEK_S)
    return stage


def sweeping(stage: Stage, *strikes: Strike, region: str = HOME) -> Actor[Mapping[str, Any]]:
    """The schedule has woken a region's eraser."""
    return stage.actor(lambda: stage.cloud.peers.call(region, "eraser", {"call": "sweep"}), *strikes)


def restoring(stage: Stage, *strikes: Strike, region: str = HOME) -> Actor[object]:
    """An admin wants the store back."""
    return stage.actor(lambda: stage.memolith(region).stores.restore(stage.call(), stage.store), *strikes)


def settle(stage: Stage) -> None:
    """All that is under way arrives, and every eraser does what is left to do."""
    for _ in range(3):
        stage.cloud.deliver()
        for region in (HOME, AWAY):
            stage.cloud.peers.call(region, "eraser", {"call": "sweep"})
        stage.clock.advance(61)
    stage.cloud.deliver()


def assert_whole(stage: Stage) -> None:
    settle(stage)
    for region in (HOME, AWAY):
        assert stage.contents(region) == {"/private": "SECRET"}


def assert_erased(stage: Stage) -> None:
    settle(stage)
    for region in (HOME, AWAY):
        assert stage.found("SECRET", region) == stage.searched("/private", region) == []
        with pytest.raises(NotFound):
            stage.contents(region)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_restoration_that_is_put_while_the_sweep_is_about_to_put_keeps_everything(stage: Stage, region: str) -> None:
    sweep = sweeping(stage).until(PUT, RECORD)
    restoring(stage, region=region).finish()
    assert sweep.finish()["ended"] == 0
    assert not [line for line in sweep.trail if line.startswith(ERASES)]
    assert_whole(stage)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_restoration_that_finds_the_slot_taken_by_the_final_record_is_told_that_it_came_too_late(
    stage: Stage, region: str
) -> None:
    restorer = restoring(stage, region=region).until(PUT, RECORD)
    assert sweeping(stage).finish()["ended"] == 1
    assert "erasure has begun" in str(restorer.fails(NotFound))
    assert_erased(stage)


def test_a_restoration_between_the_final_record_and_the_first_object_that_goes_comes_too_late(stage: Stage) -> None:
    sweep = sweeping(stage).until(PUT, RECORD, after=True)
    restoring(stage).fails(NotFound)
    sweep.finish()
    assert_erased(stage)


def test_no_object_goes_before_the_final_record_is_there(stage: Stage) -> None:
    sweep = sweeping(stage)
    sweep.until(PUT, RECORD)
    assert not [line for line in sweep.trail if line.startswith(ERASES)]
    sweep.die()
    assert len(stage.found("SECRET", HOME)) == len(stage.found("SECRET", AWAY)) == 1
    restoring(stage).finish()
    assert_whole(stage)


def test_a_final_record_whose_reply_is_lost_is_final(stage: Stage) -> None:
    sweeping(stage, Strike(Fault.LOST_REPLY, PUT)).finish()
    restoring(stage).fails(NotFound)
    assert_erased(stage)


def test_a_restoration_whose_reply_is_lost_is_not_overtaken_by_the_sweep(stage: Stage) -> None:
    """Its caller is told that the outcome is unknown, or that it is done; either way the store is back."""
    restorer = restoring(stage, Strike(Fault.LOST_REPLY, PUT))
    with suppress(OutcomeUnknown):
        restorer.finish()
    sweeping(stage).finish()
    assert_whole(stage)


def test_two_sweeps_at_once_put_one_final_record(stage: Stage) -> None:
    one, other = sweeping(stage).until(PUT, RECORD), sweeping(stage).until(PUT, RECORD)
    assert [one.finish()["ended"], other.finish()["ended"]] == [1, 0]
    assert len([key for key in stage.all_keys() if RECORD in key]) == 3
    assert_erased(stage)


def test_a_store_that_is_restored_and_deleted_again_while_the_sweep_is_about_to_put_waits_anew(stage: Stage) -> None:
    sweep = sweeping(stage).until(PUT, RECORD)
    restoring(stage).finish()
    stage.memolith().stores.delete(stage.call(), stage.store)
    assert sweep.finish()["ended"] == 0
    settle(stage)
    assert len(stage.found("SECRET", HOME)) == len(stage.found("SECRET", AWAY)) == 1
    restoring(stage).finish()
    assert_whole(stage)


def test_the_sweep_of_a_home_that_moves_meanwhile_puts_nothing(stage: Stage) -> None:
    sweep = sweeping(stage).until(PUT, RECORD)
    answer = stage.cloud.peers.call(AWAY, "reconciler", {"call": "homes.move", "store_id": stage.store})
    assert answer["state"] == "moved", answer
    stage.cloud.deliver()
    restoring(stage, region=AWAY).finish()
    assert sweep.finish()["ended"] == 0
    assert_whole(stage)


def test_half_a_rename_that_comes_after_its_stores_deletion_leaves_the_same_rows_in_every_region() -> None:
    """The version that takes the slot of its other half comes last: its event does not lead back to the first half."""
    stage = Stage()
    memory = stage.create("/a", "one")
    stage.cloud.deliver()
    stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, "/log/", occurrence=2).die()
    half = stage.cloud.pending[-1].key
    stage.update(memory.id, "two")
    rest = [event.key for event in stage.cloud.pending if event.key != half and "/log/" in event.key]
    stage.memolith().stores.delete(stage.call(), stage.store)
    record = next(event.key for event in stage.cloud.pending if RECORD in event.key)
    for key in (record, half, *rest):
        stage.index(key, HOME)
        stage.copy(key)
        stage.index(key, AWAY)
    assert stage.cloud.rows(AWAY, "logs") == stage.cloud.rows(HOME, "logs")
