"""The path of a head that its lost home redacted: when it is free, and that nothing of it is left."""

from __future__ import annotations

from contextlib import suppress
from itertools import permutations
from typing import Any

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.core.errors import MemolithError, Unavailable
from tests.simulation.late_versions import late
from tests.simulation.moving_stage import AWAY, MovingStage
from tests.simulation.stage import PUT, Actor
from tests.simulation.take_overs import logged


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


@pytest.mark.parametrize("turns", [*permutations(["erasure", "creator", "update"])], ids=" ".join)
def test_an_update_does_not_bring_a_memory_back_above_one_that_was_made_while_its_head_was_erased(
    stage: MovingStage, turns: tuple[str, ...]
) -> None:
    """The lost home's order comes between the new home's look at the head and its put, and frees the path.

    The creator comes when the slot of the update was taken, or takes it itself, or finds the update in it.
    """
    memory = stage.create("/a/b", "one")
    stage.deliver()
    late(stage, lambda: stage.update(memory.id, "late"))
    stage.hold_back()
    stage.redact(memory.version_id)
    orders = [event.key for event in stage.cloud.pending]
    updating = stage.actor(lambda: stage.update(memory.id, "two", region=AWAY)).until(PUT, f"{AWAY}/log/")
    stage.hold_back()
    erasing = stage.actor(lambda: stage.reach(AWAY, *orders)).until(PUT, f"{AWAY}/log/")
    creating = stage.actor(lambda: stage.create("/a", "above", region=AWAY))
    actors: dict[str, Actor[Any]] = {"erasure": erasing, "creator": creating, "update": updating}
    for turn in turns:
        with suppress(MemolithError):
            actors[turn].finish()
    there = "/a/b" if turns[0] == "update" else "/a"
    assert set(stage.listed(AWAY)) == {there}
    stage.come_late()
    stage.deliver()
    assert set(stage.listed(AWAY)) == {there}
    assert [row for row in stage.cloud.rows(AWAY, "paths").values() if "claim_id" in row] == []


REFUSALS = {
    "the intent": Strike(Fault.REFUSED, "index.commit", subject="paths"),
    "the abort": Strike(Fault.REFUSED, PUT),
    "its removal": Strike(Fault.REFUSED, "index.commit", subject="paths"),
}


@pytest.mark.parametrize("refused", REFUSALS)
def test_no_row_keeps_the_path_of_an_erased_head_where_a_call_of_its_vacancy_fails(
    stage: MovingStage, refused: str
) -> None:
    memory = stage.create("/secret/path", "one")
    (created,) = logged(stage)
    stage.deliver()
    late(stage, lambda: stage.update(memory.id, path="/elsewhere"))
    stage.hold_back()
    stage.redact(memory.version_id)
    orders = [event.key for event in stage.cloud.pending]
    stage.hold_back()
    (order,) = [key for key in orders if "/redaction/" in key]
    stage.cloud.buckets.arrive(stage.under_way(order), AWAY)
    stage.index(order, AWAY)
    erasing = stage.actor(lambda: stage.index(created, AWAY))
    if refused == "its removal":
        erasing.until(PUT, f"{AWAY}/log/", after=True)
    erasing.struck_by(REFUSALS[refused]).fails(Unavailable)
    stage.come_late()
    stage.deliver()
    assert "/secret/path" not in repr(stage.cloud.rows(AWAY, "paths"))
    assert stage.listed(AWAY) == {}
