"""Exact schedules, each of which broke a draft of the design, or the code, once."""

from __future__ import annotations

import pytest

from cairn.adapters.layered import Fault, Strike
from cairn.core.errors import OutcomeUnknown, Unavailable
from tests.simulation.stage import AWAY, HOME, Stage

PUT = "objects.put_if_absent"


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
