"""Replies get lost: one's own success is recognised, what may have happened is told as that, nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call, CallCounts, Crash, Fault, Faulty, ScriptedFaults, Strike
from memolith.app.kernel.results import Memory
from memolith.core.errors import Busy, OutcomeUnknown, PathConflict, Unavailable
from memolith.core.objects.entry import Operation
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")
PUT, COMMIT, HEAD = "objects.put_if_absent", "index.commit", "objects.head"


# ---- the put --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.LOST_REQUEST, Fault.CONTENDED])
def test_a_put_in_doubt_is_settled_by_reading_its_slot(scene: Scene, fault: Fault) -> None:
    made = scene.create("/a", "first")
    with scene.struck_by(Strike(fault, PUT)):
        changed = scene.update(made, "second", full=True)
    assert changed.content == "second"
    assert scene.history(made) == ["modified", "created"]
    assert len(scene.log_keys()) == 2


def test_a_put_whose_reply_was_lost_and_which_had_lost_the_race_is_decided_again(scene: Scene) -> None:
    made = scene.create("/a", "first")
    restore = scene.remember_index()
    theirs = scene.update(made, "theirs")
    restore()
    with scene.struck_by(Strike(Fault.LOST_REPLY, PUT)):
        mine = scene.update(made, "mine")
    versions = scene.versions(memory_id=made.id).items
    assert [version.id for version in versions] == [mine.version_id, theirs.version_id, made.version_id]


def test_a_slot_that_can_be_neither_put_nor_read_leaves_the_outcome_unknown(scene: Scene) -> None:
    made = scene.create("/a", "first")
    strikes = [Strike(Fault.LOST_REPLY, PUT), Strike(Fault.REFUSED, HEAD)]
    with scene.struck_by(*strikes), pytest.raises(OutcomeUnknown, match="read before"):
        scene.update(made, "second")
    assert scene.update(made, "second").content_sha256 != made.content_sha256, "it was there all the while"
    assert scene.history(made) == ["modified", "created"]


def test_a_committed_write_that_cannot_be_indexed_names_the_cause(scene: Scene) -> None:
    made = scene.create("/a", "first")

    def full(call: Call, act: Callable[[], T]) -> T:
        if call.name == COMMIT:
            raise Unavailable("the index did not answer", cause="no space left on the disk of index.sqlite")
        return act()

    with scene.intercepted_by(full), pytest.raises(OutcomeUnknown) as told:
        scene.update(made, "second")
    where = f"region={HOME}, object=versions,memories,journal"
    cause = f"{where}, cause=no space left on the disk of index.sqlite"
    assert told.value.message == f"the write was committed, but is not indexed yet ({cause}); read before trying again"
    scene.deliver()
    assert scene.read(made).content == "second"


def test_a_put_refused_at_once_has_done_nothing(scene: Scene) -> None:
    made = scene.create("/a", "first")
    with scene.struck_by(Strike(Fault.REFUSED, PUT)), pytest.raises(Unavailable):
        scene.update(made, "second")
    assert scene.history(made) == ["created"]


def test_a_put_refused_after_one_in_doubt_is_not_told_as_undone(scene: Scene) -> None:
    made = scene.create("/a", "first")
    strikes = [Strike(Fault.LOST_REQUEST, PUT), Strike(Fault.REFUSED, PUT, occurrence=2)]
    with scene.struck_by(*strikes), pytest.raises(OutcomeUnknown):
        scene.update(made, "second")


def test_attempts_that_stay_undecided_end(scene: Scene) -> None:
    made = scene.create("/a", "first")
    strikes = [Strike(Fault.CONTENDED, PUT, occurrence=number) for number in range(1, 7)]
    with scene.struck_by(*strikes), pytest.raises(Busy):
        scene.update(made, "second")
    strikes = [Strike(Fault.LOST_REQUEST, PUT, occurrence=number) for number in range(1, 7)]
    with scene.struck_by(*strikes), pytest.raises(OutcomeUnknown):
        scene.update(made, "second")


# ---- the index ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.LOST_REQUEST, Fault.CONTENDED])
def test_a_transaction_in_doubt_is_looked_at_and_journalled_once(scene: Scene, fault: Fault) -> None:
    made = scene.create("/a", "first")
    before = len(scene.journaled())
    with scene.struck_by(Strike(fault, COMMIT)):
        scene.update(made, "second")
    assert scene.history(made) == ["modified", "created"]
    assert len(scene.journaled()) == before + 1


def test_a_committed_write_that_is_not_indexed_is_told_as_unknown_and_mended_by_its_event(scene: Scene) -> None:
    made = scene.create("/a", "first")
    with scene.struck_by(Strike(Fault.REFUSED, COMMIT)), pytest.raises(OutcomeUnknown, match="committed"):
        scene.update(made, "second")
    assert scene.read(made).content == "first"
    scene.deliver()
    assert scene.read(made).content == "second"


def test_a_read_that_fails_before_the_put_has_done_nothing(scene: Scene) -> None:
    with scene.struck_by(Strike(Fault.REFUSED, "index.read")), pytest.raises(Unavailable):
        scene.create("/a")
    assert scene.log_keys() == []


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.LOST_REQUEST])
def test_a_claim_in_doubt_is_looked_at_and_does_not_stand_in_its_own_way(scene: Scene, fault: Fault) -> None:
    with scene.struck_by(Strike(fault, COMMIT)):
        scene.create("/a")
    assert scene.paths() == ["/a"]
    assert sum(scene.clock.paused_s) < 1


# ---- renames --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("occurrence", [1, 2])
@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.LOST_REQUEST, Fault.CONTENDED])
def test_each_put_of_a_rename_may_be_in_doubt(scene: Scene, fault: Fault, occurrence: int) -> None:
    made = scene.create("/a", "kept")
    with scene.struck_by(Strike(fault, PUT, occurrence)):
        moved = scene.update(made, path="/b", full=True)
    assert (moved.path, moved.content) == ("/b", "kept")
    assert scene.paths() == ["/b"]
    assert scene.history(made) == ["modified", "created"]


@pytest.mark.parametrize("occurrence", [1, 2])
@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
def test_a_rename_that_dies_between_its_puts_leaves_one_memory_at_one_path(
    scene: Scene, fault: Fault, occurrence: int
) -> None:
    made = scene.create("/a", "kept")
    with pytest.raises(Crash), scene.struck_by(Strike(fault, PUT, occurrence)):
        scene.update(made, path="/b")
    scene.deliver()
    half_done = fault is Fault.CRASH_BEFORE and occurrence == 1
    assert scene.paths() == (["/a"] if half_done else ["/b"])
    assert scene.read(made).content == "kept"


def renamed_by_half(scene: Scene) -> Memory:
    """A memory whose renamer died between its two puts; nobody has heard of it yet."""
    made = scene.create("/a", "kept")
    scene.deliver()
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, PUT, 2)):
        scene.update(made, path="/b")
    scene.clock.advance(60)
    return made


def test_half_a_rename_is_finished_by_whoever_wants_its_destination(scene: Scene) -> None:
    made = renamed_by_half(scene)
    with pytest.raises(PathConflict) as refusal:
        scene.create("/b")
    assert refusal.value.conflicting_memory_id == made.id
    assert scene.read(made).path == "/b"
    assert scene.paths() == ["/b"]


def test_half_a_rename_never_was_once_its_source_has_a_newer_version(scene: Scene) -> None:
    made = renamed_by_half(scene)
    changed = scene.update(made, "changed")
    assert (changed.path, scene.paths()) == ("/a", ["/a"])
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.paths(at=region) == ["/a"]
        assert scene.read(made, at=region).content == "changed"
        arrival = next(entry for entry in scene.entries(region) if entry.operation is Operation.MOVED_IN)
        assert arrival.blank, "what never arrived keeps no text"
    assert scene.create("/b").path == "/b"


# ---- records --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.LOST_REQUEST, Fault.CONTENDED])
def test_a_stores_record_in_doubt_is_settled_by_reading_its_slot(scene: Scene, fault: Fault) -> None:
    with scene.struck_by(Strike(fault, PUT)):
        made = scene.create_store("other")
    assert [store.id for store in scene.stores().items].count(made.id) == 1
    with scene.struck_by(Strike(fault, PUT)):
        archived = scene.at(HOME).stores.archive(scene.call(), made.id)
    assert archived.archived_at is not None


def test_a_record_refused_after_a_put_in_doubt_is_not_told_as_unwritten(scene: Scene) -> None:
    strikes = [Strike(Fault.LOST_REQUEST, PUT), Strike(Fault.REFUSED, PUT, occurrence=2)]
    with scene.struck_by(*strikes), pytest.raises(OutcomeUnknown):
        scene.at(HOME).stores.archive(scene.call(), scene.store)


def test_a_record_that_can_be_neither_put_nor_read_leaves_the_outcome_unknown(scene: Scene) -> None:
    strikes = [Strike(Fault.LOST_REPLY, PUT), Strike(Fault.REFUSED, "objects.get", occurrence=2)]
    with scene.struck_by(*strikes), pytest.raises(OutcomeUnknown):
        scene.at(HOME).stores.archive(scene.call(), scene.store)


def test_a_record_that_is_written_and_not_indexed_is_told_as_unknown(scene: Scene) -> None:
    with scene.struck_by(Strike(Fault.REFUSED, COMMIT)), pytest.raises(OutcomeUnknown):
        scene.create_store("other")
    scene.deliver()
    assert {store.name for store in scene.stores().items} == {"other", "notes"}


# ---- nothing is asked for in vain -----------------------------------------------------------------------------------


def test_a_lost_reply_costs_one_look_and_no_second_put(scene: Scene) -> None:
    made = scene.create("/a", "first")
    counts = CallCounts()
    faults = Faulty(ScriptedFaults(Strike(Fault.LOST_REPLY, PUT)))
    with scene.intercepted_by(lambda call, act: counts(call, lambda: faults(call, act))):
        scene.update(made, "second")
    assert (counts.requests["s3.PutObject"], counts.requests["s3.HeadObject"]) == (1, 1)
