"""A path and its ancestor are never both memories, and two memories are never at one path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Crash, Fault, Strike
from memolith.app.kernel.results import Memory, MemoryPrefix
from memolith.core.errors import Busy, NotFound, PathConflict
from memolith.core.limits import CLAIM_LIFETIME_US, CLOCKS_APART_US
from memolith.core.objects.entry import Operation
from memolith.core.rows.content import PathRow
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")
PUT, COMMIT = "objects.put_if_absent", "index.commit"


DAY_S = 24 * 3600


def claimed(scene: Scene) -> list[PathRow]:
    rows = [PathRow.from_attributes(row) for row in scene.cloud.rows(HOME, "paths").values()]
    return [row for row in rows if row.claim_id is not None]


# ---- who is in the way ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/a/b", "/a", "/a/b/c", "/a/b/c/d"])
def test_a_path_is_refused_that_is_held_or_lies_above_or_below_a_memory(scene: Scene, path: str) -> None:
    held = scene.create("/a/b", "held")
    with pytest.raises(PathConflict) as refusal:
        scene.create(path, "mine")
    assert (refusal.value.conflicting_path, refusal.value.conflicting_memory_id) == ("/a/b", held.id)
    assert scene.paths() == ["/a/b"]
    assert len(scene.log_keys()) == 1
    assert claimed(scene) == []


@pytest.mark.parametrize("path", ["/a/b", "/a", "/a/b/c"])
def test_a_rename_is_refused_that_ends_on_or_above_or_below_a_memory(scene: Scene, path: str) -> None:
    held, mine = scene.create("/a/b", "held"), scene.create("/m", "mine")
    with pytest.raises(PathConflict) as refusal:
        scene.update(mine, path=path)
    assert refusal.value.conflicting_memory_id == held.id
    assert scene.paths() == ["/a/b", "/m"]
    assert scene.history(mine) == ["created"]
    assert claimed(scene) == []


@pytest.mark.parametrize("neighbour", ["/a-b", "/ab", "/a.b/c", "/A"])
def test_paths_that_only_look_alike_are_no_neighbours(scene: Scene, neighbour: str) -> None:
    scene.create("/a")
    scene.create(neighbour)
    assert scene.paths() == sorted(["/a", neighbour])


@pytest.mark.parametrize(("there", "wanted"), [("/a", "/a/b"), ("/a/b", "/a"), ("/a/b/c", "/a")])
def test_a_memory_does_not_stand_in_its_own_way(scene: Scene, there: str, wanted: str) -> None:
    made = scene.create(there, "kept")
    assert scene.update(made, path=wanted).path == wanted
    assert scene.paths() == [wanted]


def test_a_path_is_free_again_once_its_memory_has_left_or_died(scene: Scene) -> None:
    one = scene.create("/a", "one")
    scene.update(one, path="/b")
    two = scene.create("/a", "two")
    scene.delete(two)
    three = scene.create("/a", "three")
    assert scene.paths() == ["/a", "/b"]
    assert scene.read(three).content == "three" and scene.read(one).content == "one"
    assert {entry.slot.sequence for entry in scene.entries() if entry.path == "/a"} == {1, 3, 4, 5}


def test_a_memory_comes_back_to_a_path_that_it_left(scene: Scene) -> None:
    made = scene.create("/a", "kept")
    for path in ("/b", "/a", "/c", "/a"):
        scene.update(made, path=path)
        assert scene.paths() == [path]
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.paths(at=region) == ["/a"]
        assert scene.history(made, at=region) == ["modified"] * 4 + ["created"]


# ---- claims ---------------------------------------------------------------------------------------------------------


def test_a_claim_goes_when_its_memory_comes(scene: Scene) -> None:
    seen: list[list[str]] = []

    def look(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == PUT:
            seen.append([row.path for row in claimed(scene)])
        return act()

    with scene.intercepted_by(look):
        scene.create("/a/b")
    assert seen == [["/a/b"]]
    assert claimed(scene) == []


def test_a_claim_is_no_memory_in_any_listing(scene: Scene) -> None:
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, PUT)):
        scene.create("/a/b")
    scene.create("/c")
    assert [row.path for row in claimed(scene)] == ["/a/b"]
    assert scene.paths() == ["/c"]
    assert [item for item in scene.page(depth=1).items if isinstance(item, MemoryPrefix)] == []


def test_others_yield_to_a_claim_until_it_has_expired_and_then_take_its_slot(scene: Scene) -> None:
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, PUT)):
        scene.create("/a/b")
    with pytest.raises(Busy):
        scene.create("/a")
    assert scene.log_keys() == []
    scene.clock.advance(CLAIM_LIFETIME_US / 1_000_000)
    assert scene.create("/a").path == "/a"
    assert scene.paths() == ["/a"]
    assert sorted(entry.operation for entry in scene.entries()) == [Operation.CREATED, Operation.VOID]
    assert claimed(scene) == []


@pytest.mark.parametrize("path", ["/n", "/n/below"])
def test_a_creator_that_died_with_its_clock_a_day_ahead_blocks_nobody_for_a_day(scene: Scene, path: str) -> None:
    scene.clock.advance(DAY_S)
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, PUT)):
        scene.create("/n")
    scene.clock.advance(-DAY_S)
    assert scene.create(path).path == path
    assert claimed(scene) == []


def test_a_creator_that_lives_and_whose_clock_is_a_day_ahead_loses_an_attempt_at_most(scene: Scene) -> None:
    """Somebody takes its claim for one of no end, breaks it, and makes what lies below: never both."""
    met: list[bool] = []

    def behind(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == PUT and not met:
            met.append(True)
            scene.clock.advance(-DAY_S)
            scene.create("/n/below", "descendant")
        return act()

    scene.clock.advance(DAY_S)
    with scene.intercepted_by(behind), pytest.raises(PathConflict):
        scene.create("/n", "ancestor")
    assert scene.paths() == ["/n/below"]


def test_a_claim_by_a_clock_that_is_a_little_ahead_is_waited_for(scene: Scene) -> None:
    scene.clock.advance(CLOCKS_APART_US / 1_000_000)
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, PUT)):
        scene.create("/n")
    scene.clock.advance(-CLOCKS_APART_US / 1_000_000)
    with pytest.raises(Busy):
        scene.create("/n/below")
    assert scene.log_keys() == []


def test_a_creator_that_stalls_past_its_claim_loses_its_slot_and_is_told_who_won(scene: Scene) -> None:
    """Between its look and its put somebody else comes, waits the claim out, breaks it, and makes the ancestor."""
    won: list[Memory] = []
    stalled: list[bool] = []

    def stall(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == PUT and not stalled:
            stalled.append(True)
            scene.clock.advance(CLAIM_LIFETIME_US / 1_000_000 + 1)
            won.append(scene.create("/a", "ancestor"))
        return act()

    with scene.intercepted_by(stall), pytest.raises(PathConflict) as refusal:
        scene.create("/a/b", "descendant")
    assert refusal.value.conflicting_memory_id == won[0].id
    assert scene.paths() == ["/a"]


def test_a_creator_that_stalled_after_its_put_keeps_its_memory(scene: Scene) -> None:
    """The put is the commit: who breaks the claim finds the slot taken, folds it and yields for good."""
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, PUT)):
        scene.create("/a/b", "descendant")
    scene.drop_events()
    scene.clock.advance(CLAIM_LIFETIME_US / 1_000_000 + 1)
    with pytest.raises(PathConflict) as refusal:
        scene.create("/a", "ancestor")
    assert refusal.value.conflicting_path == "/a/b"
    assert scene.paths() == ["/a/b"]


def test_a_creator_is_never_refused_for_a_memory_that_left_meanwhile(scene: Scene) -> None:
    """The index still lists the memory; its log says that it has gone."""
    made = scene.create("/a")
    restore = scene.remember_index()
    scene.update(made, path="/z")
    restore()
    assert scene.create("/a/b").path == "/a/b"
    assert scene.paths() == ["/a/b", "/z"]


def test_a_creator_finds_the_tail_of_a_log_of_which_the_index_knows_nothing(scene: Scene) -> None:
    restore = scene.remember_index()
    made = scene.create("/a", "first")
    for number in range(9):
        scene.update(made, f"text {number}")
    restore()
    with pytest.raises(PathConflict) as refusal:
        scene.create("/a", "mine")
    assert refusal.value.conflicting_memory_id == made.id
    assert scene.read(made).content == "text 8"
    assert scene.history(made) == ["modified"] * 9 + ["created"]


def test_a_creator_goes_on_after_the_tombstone_of_which_the_index_knows_nothing(scene: Scene) -> None:
    restore = scene.remember_index()
    old = scene.create("/a", "old")
    scene.delete(old)
    restore()
    new = scene.create("/a", "new")
    assert scene.read(new).content == "new"
    with pytest.raises(NotFound):
        scene.read(old)
    assert sorted(entry.slot.sequence for entry in scene.entries()) == [1, 2, 3]


def test_a_claim_that_somebody_else_made_first_is_waited_for(scene: Scene) -> None:
    """Contended claims begin again; the loser sees the winner's memory."""
    done: list[bool] = []

    def race(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == COMMIT and not done:
            done.append(True)
            scene.create("/a", "winner")
        return act()

    with scene.intercepted_by(race), pytest.raises(PathConflict):
        scene.create("/a", "loser")
    assert scene.paths() == ["/a"]


def test_a_rename_onto_a_claimed_path_waits_and_a_withdrawn_claim_is_no_obstacle(scene: Scene) -> None:
    made = scene.create("/m")
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, PUT)):
        scene.create("/a/b")
    with pytest.raises(Busy):
        scene.update(made, path="/a")
    scene.clock.advance(CLAIM_LIFETIME_US / 1_000_000)
    assert scene.update(made, path="/a").path == "/a"


# ---- void entries ---------------------------------------------------------------------------------------------------


def test_a_void_entry_takes_its_slot_and_nothing_else(scene: Scene) -> None:
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, PUT)):
        scene.create("/a/b", "never")
    scene.clock.advance(CLAIM_LIFETIME_US / 1_000_000)
    scene.delete(scene.create("/a", "there"))
    later = scene.create("/a/b", "later")
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.paths(at=region) == ["/a/b"]
        assert len(scene.versions(at=region).items) == 3, "a void entry is no version"
    assert scene.read(later).content == "later"
    void = next(entry for entry in scene.entries() if entry.operation is Operation.VOID)
    assert void.slot.sequence == 1 and void.memory_id == ""


def test_a_rename_that_lost_its_source_tries_again_and_its_void_text_is_erased_everywhere(scene: Scene) -> None:
    """Between the two puts of a rename somebody else writes at the source."""
    made = scene.create("/a", "first")
    scene.deliver()
    raced: list[bool] = []

    def race(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == PUT and not raced:
            result = act()
            raced.append(True)
            scene.update(made, "second")
            return result
        return act()

    with scene.intercepted_by(race):
        moved = scene.update(made, path="/b", full=True)
    assert (moved.path, moved.content) == ("/b", "second")
    scene.deliver()
    for region in (HOME, AWAY):
        arrivals = [entry for entry in scene.entries(region) if entry.operation is Operation.MOVED_IN]
        assert [entry.blank for entry in sorted(arrivals, key=lambda entry: entry.slot)] == [True, False]
        assert scene.paths(at=region) == ["/b"]
        assert scene.history(made, at=region) == ["modified", "modified", "created"]
        void = min(arrivals, key=lambda entry: entry.slot)
        assert [one.object.body for one in scene.cloud.buckets.versions(region, str(void.key))] == [b""]


def test_a_creator_is_not_refused_for_a_memory_that_left_this_very_path_meanwhile(scene: Scene) -> None:
    made = scene.create("/a")
    restore = scene.remember_index()
    scene.update(made, path="/z")
    restore()
    assert scene.create("/a", "new").id != made.id
    assert scene.paths() == ["/a", "/z"]
