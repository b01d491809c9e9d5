"""Renames that were met half-way, and voids above a live head, each as the exact schedule that broke the code once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.core import decide
from memolith.core.errors import PathConflict, PreconditionFailed, Unavailable
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from tests.simulation.stage import AWAY, HOME, PUT, Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


# ---- renames that were met half-way ---------------------------------------------------------------------------------


def half_rename_overtaken(stage: Stage) -> tuple[str, str, str]:
    """A mover dies after its first put, and an update takes its source slot: (memory_id, void key, update's key)."""
    memory = stage.create("/a", "SECRET")
    stage.cloud.deliver()
    before = set(stage.keys())
    mover = stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, occurrence=2)
    (void,) = set(stage.keys()) - before
    stage.update(memory.id, "clean")
    (update,) = set(stage.keys()) - before - {void}
    mover.die()
    return memory.id, void, update


def test_a_void_that_reaches_a_replica_before_what_voids_it_is_folded_and_erased_there(stage: Stage) -> None:
    _, void, update = half_rename_overtaken(stage)
    stage.copy(void)
    with pytest.raises(Unavailable):
        stage.index(void, AWAY)
    stage.copy(update, AWAY)
    stage.index(update, AWAY)
    stage.index(void, AWAY)
    assert void not in stage.found("SECRET", AWAY)
    stage.cloud.deliver()
    assert stage.cloud.rows(HOME, "logs") == stage.cloud.rows(AWAY, "logs")
    (first,) = set(stage.keys()) - {void, update}
    assert stage.found("SECRET", AWAY) == [first], "which nobody redacted"


def test_the_blank_of_a_void_that_comes_before_what_voids_it_is_folded_too(stage: Stage) -> None:
    _, void, update = half_rename_overtaken(stage)
    stage.index(void, HOME)
    stage.arrive(stage.under_way(void))
    stage.index(void, AWAY)
    stage.copy(update, AWAY)
    stage.index(update, AWAY)
    assert stage.cloud.rows(HOME, "logs") == stage.cloud.rows(AWAY, "logs")


def test_a_late_original_of_a_void_is_erased_by_its_blank_before_what_voids_it_has_come(stage: Stage) -> None:
    _, void, _ = half_rename_overtaken(stage)
    original = stage.under_way(void)
    stage.index(void, HOME)
    stage.copy(void, AWAY)
    stage.index(void, AWAY)
    stage.arrive(original)
    stage.index(void, AWAY)
    assert void not in stage.found("SECRET", AWAY)
    stage.cloud.deliver()
    assert stage.cloud.rows(HOME, "logs") == stage.cloud.rows(AWAY, "logs")


def test_an_original_whose_event_is_handled_while_its_blank_is_followed_to_the_home_is_erased(stage: Stage) -> None:
    """The blank came without the rename's other half, so its indexer asks the home; the row is not blank until then."""
    memory = stage.create("/a", "SECRET")
    stage.cloud.deliver()
    moved = stage.update(memory.id, path="/b")
    moved_in = stage.key_of(moved.version_id)
    [moved_out] = set(stage.keys()) - {moved_in, stage.key_of(memory.version_id)}
    original, departure = stage.under_way(moved_in), stage.under_way(moved_out)
    stage.update(memory.id, "clean")
    stage.redact(moved.version_id)
    stage.arrive(stage.under_way(moved_in))
    follows = stage.actor(lambda: stage.index(moved_in, AWAY)).until("index.commit")
    stage.arrive(departure)
    stage.arrive(original)
    stage.index(moved_in, AWAY)
    follows.finish()
    assert moved_in not in stage.found("SECRET", AWAY)


def test_an_event_whose_help_failed_comes_again(stage: Stage) -> None:
    memory = stage.create("/a")
    stage.cloud.deliver()
    mover = stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, occurrence=2)
    (moved_in,) = [event.key for event in stage.cloud.pending]
    mover.die()
    event = stage.actor(lambda: stage.index(moved_in), Strike(Fault.REFUSED, PUT))
    event.fails(Unavailable)
    stage.cloud.deliver()
    assert stage.listed(HOME) == stage.listed(AWAY) == {"/b": memory.id}


def test_a_redacted_version_whose_rename_arrives_after_the_order_is_erased(stage: Stage) -> None:
    memory = stage.create("/a", "SECRET")
    moved = stage.update(memory.id, path="/b")
    stage.update(memory.id, "clean")
    stage.redact(moved.version_id)
    stage.redact(memory.version_id)
    keys = {event.key: event for event in stage.cloud.pending if not event.replica}
    orders = [key for key in keys if "/redaction/" in key]
    first, moved_in, moved_out, _ = [key for key in keys if "/log/" in key]
    for key in (*orders, moved_in, moved_out, first):
        event = next(event for event in stage.cloud.pending if event.key == key)
        stage.cloud.buckets.replicate(event, AWAY)
        stage.index(key, AWAY)
    assert stage.found("SECRET", AWAY) == []


# ---- voids above a live head ----------------------------------------------------------------------------------------


def test_two_renames_of_one_memory_to_one_path_leave_it_there_and_writable(stage: Stage) -> None:
    memory = stage.create("/a")
    stage.memolith().memories._salts.clear()
    second = stage.actor(lambda: stage.update(memory.id, path="/b")).until("index.read", after=True)
    stage.update(memory.id, path="/b")
    assert second.finish().path == "/b"
    assert stage.update(memory.id, "y").path == "/b"
    assert len(stage.keys()) == 4


def test_a_void_above_a_live_head_does_not_block_its_path(stage: Stage) -> None:
    memory = stage.create("/a")
    head = parse_key(stage.key_of(memory.version_id))
    assert isinstance(head, LogKey)
    void = decide.void(replace(head, slot=head.slot.following), stage.new_version_id(), 0)
    stage.cloud.sites[HOME].region.objects.put_if_absent(str(void.key), b"{}", void.to_metadata())
    stage.actor(lambda: stage.create("/a")).fails(PathConflict)
    stage.actor(lambda: stage.update(memory.id, "y", expected="0" * 64)).fails(PreconditionFailed)
    assert stage.update(memory.id, "x").version_id == memory.version_id
    stage.update(memory.id, "y")
    stage.update(memory.id, path="/b")
    stage.delete(memory.id)
    stage.create("/a")
    stage.create("/b")
