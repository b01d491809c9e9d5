"""Writers that are slow while their home's term ends: what they put, what of it is shown, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from memolith.app.kernel.results import Memory, ReadConsistency
from memolith.core.errors import InvalidRequest, MemolithError, OutcomeUnknown, Unavailable
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import Actor
from tests.simulation.test_home_scenarios import PUT, everywhere


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def about_to_move(stage: MovingStage) -> Actor[None]:
    """A move of the home to `AWAY`, once the old home's term is over and nobody else knows of a later one."""
    return stage.actor(lambda: stage.move(AWAY)).until("peers.call", "reconciler", occurrence=2)


def stalled_past_its_term(stage: MovingStage, write: Callable[[], object]) -> Actor[None]:
    """What is put after the drain, of which nobody was told that it is done; the move that is under way."""
    stalled = stage.actor(write).until(PUT)
    mover = about_to_move(stage)
    stalled.fails(OutcomeUnknown)
    return mover


def fold_as_the_home_moves(stage: MovingStage, mover: Actor[None]) -> None:
    """`AWAY` folds what was put last by a row of the store read before the move, after it has put its rows right."""
    key = stage.keys()[-1]
    stage.copy(key, AWAY)
    indexer = stage.actor(lambda: stage.index(key, AWAY)).until("index.commit")
    mover.until(PUT, f"{AWAY}/store/", after=True).until("index.commit", after=True)
    indexer.finish()


@pytest.mark.parametrize("path", [None, "/b"])
def test_a_writer_that_was_slow_before_its_put_puts_nothing_once_the_home_is_about_to_move(
    stage: MovingStage, path: str | None
) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    slow = stage.actor(lambda: stage.update(memory.id, "slow", path=path)).until("index.read", after=True)
    mover = about_to_move(stage)
    before = stage.keys()
    slow.fails(Unavailable)
    assert stage.keys() == before
    mover.finish()
    stage.at_rest()


def test_a_writer_that_was_slow_while_no_home_moved_reads_the_record_again_and_writes(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    slow = stage.actor(lambda: stage.update(memory.id, "slow")).until("index.read", after=True)
    stage.clock.pause(10.0)
    slow.finish()
    stage.at_rest()
    assert everywhere(stage, memory.id) == {"slow"}


@pytest.mark.parametrize("path", [None, "/b"])
def test_what_a_writer_puts_after_its_term_is_in_order_until_the_move_is_known_and_then_adopted_or_apart(
    stage: MovingStage, path: str | None
) -> None:
    """Its put itself took longer than the drain. Nobody was told that it is done."""
    memory = stage.create("/a", "one")
    stage.deliver()
    mover = stalled_past_its_term(stage, lambda: stage.update(memory.id, "stalled", path=path))
    stage.deliver()
    assert everywhere(stage, memory.id) == {"stalled"}, "an entry says nothing of when it was put"
    stage.actor(lambda: read_at_home(stage, memory.id, HOME)).fails(Unavailable)
    (put,) = [id for id in stage.history(memory.id, HOME) if id != memory.version_id]
    mover.finish()
    after = "stalled" if path is None else "one"
    assert read_at_home(stage, memory.id, AWAY).content == after, "adopted by the new home, or no version of it"
    stage.at_rest(divergent=[] if path is None else [put])
    assert everywhere(stage, memory.id) == {after}
    assert stage.listed(THIRD) == {"/a": memory.id}


@pytest.mark.parametrize("write", ["an update", "a deletion"])
def test_a_read_of_the_new_homes_answer_shows_no_late_version_that_was_folded_as_the_home_moved(
    stage: MovingStage, write: str
) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    writes = {"an update": lambda: stage.update(memory.id, "stalled"), "a deletion": lambda: stage.delete(memory.id)}
    mover = stalled_past_its_term(stage, writes[write])
    fold_as_the_home_moves(stage, mover)
    assert read_at_home(stage, memory.id, AWAY).content == "one"
    mover.finish()
    stage.at_rest()


def read_at_home(stage: MovingStage, memory_id: str, region: str) -> Memory:
    """The memory as its home answers."""
    call = replace(stage.call(), demand=ReadConsistency(home=True))
    return stage.memolith(region).memories.retrieve(call, stage.store, memory_id, full=True)


# ---- redactions, which are decided by what is head ------------------------------------------------------------------


def test_what_a_memory_is_without_a_late_version_is_not_redacted_where_that_is_shown_once_the_home_moves(
    stage: MovingStage,
) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    mover = stalled_past_its_term(stage, lambda: stage.update(memory.id, "stalled"))
    assert stage.read(memory.id).content == "stalled"
    stage.actor(lambda: stage.redact(memory.version_id)).fails(Unavailable)
    mover.finish()
    assert stage.contents(AWAY) == {"/a": "one"}
    stage.at_rest()
    assert everywhere(stage, memory.id) == {"stalled"}
    stage.redact(memory.version_id)
    stage.at_rest()


def test_a_redaction_that_was_slow_before_it_asked_what_is_head_orders_nothing_once_the_home_is_about_to_move(
    stage: MovingStage,
) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stalled = stage.actor(lambda: stage.update(memory.id, "stalled")).until(PUT)
    slow = stage.actor(lambda: stage.redact(memory.version_id)).until("index.read", "memories")
    mover = about_to_move(stage)
    stalled.fails(OutcomeUnknown)
    slow.fails(Unavailable)
    mover.finish()
    assert stage.contents(AWAY) == {"/a": "one"}
    stage.at_rest()
    assert everywhere(stage, memory.id) == {"stalled"}


def test_a_dismissal_that_stalls_while_the_home_moves_orders_nothing(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    version_id = stage.update(memory.id, "late").version_id
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.update(memory.id, "two", region=AWAY)
    stage.come_late()
    dismiss = stage.memolith(AWAY).divergent.dismiss
    stalled = stage.actor(lambda: dismiss(stage.call(), stage.store, version_id))
    stalled.until("index.read", "memories", occurrence=2, after=True)
    stage.move(THIRD)
    stalled.fails(Unavailable)
    assert [key for key in stage.all_keys(AWAY) if "/redaction/" in key] == []
    stage.at_rest(divergent=[version_id])


@pytest.mark.parametrize(("late", "refusal"), [(False, InvalidRequest), (True, Unavailable)])
def test_a_new_home_does_not_redact_what_a_memory_is_with_or_without_a_late_version_that_it_folded_as_the_home_moved(
    stage: MovingStage, late: bool, refusal: type[MemolithError]
) -> None:
    """The late version itself may be replayed any moment, and be what the memory is."""
    memory = stage.create("/a", "one")
    stage.deliver()
    mover = stalled_past_its_term(stage, lambda: stage.update(memory.id, "stalled"))
    fold_as_the_home_moves(stage, mover)
    shown = stage.read(memory.id, AWAY)
    assert shown.content == "stalled", "plain reads may show it"
    redacted = shown.version_id if late else memory.version_id
    stage.actor(lambda: stage.redact(redacted, AWAY)).fails(refusal)
    assert stage.read(memory.id, AWAY).content == "one"
    mover.finish()
    stage.at_rest()
    assert everywhere(stage, memory.id) == {"stalled"}


# ---- rows that a writer projects after its term ---------------------------------------------------------------------


@pytest.mark.parametrize("write", ["a creation", "an update", "a deletion"])
def test_what_a_writer_put_and_projects_after_its_term_is_apart_though_its_event_was_handled_before(
    stage: MovingStage, write: str
) -> None:
    """The old home's rows say so by then. The writer's own projection must not show it again."""
    memory = stage.create("/a", "one")
    stage.deliver()
    writes: dict[str, Callable[[], object]] = {
        "a creation": lambda: stage.create("/b", "slow"),
        "an update": lambda: stage.update(memory.id, "slow"),
        "a deletion": lambda: stage.delete(memory.id),
    }
    slow = stage.actor(writes[write]).until(PUT)
    stage.move(AWAY)
    stage.deliver()
    stage.update(memory.id, "two", region=AWAY)
    stage.create("/b", "other", region=AWAY)
    stage.deliver()
    slow.until("index.commit")
    stage.deliver()
    slow.fails(OutcomeUnknown)
    assert everywhere(stage, memory.id) == {"two"}
    assert stage.listed(HOME) == stage.listed(AWAY)
    assert stage.cloud.rows(HOME, "memories") == stage.cloud.rows(AWAY, "memories")
    assert len(stage.divergent(HOME)) == 1
