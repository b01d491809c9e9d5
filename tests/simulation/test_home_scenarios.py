"""Exact schedules with two homes, each of which broke a draft of the design; mover and fail-over are the real ones.

Each section is one schedule. A scenario that ends with `at_rest` has found every acknowledged version in every region,
in the history or listed as divergent; one memory at one path; the same rows in every region, and the same again when
they are made anew from each bucket. `test_home_defects` takes away what each is about, and has to see it fail. Movers
that die are in `test_home_crashes`, two changes at once in `test_home_races`, late arrivals in `test_adoptions`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import permutations

import pytest

from memolith.adapters.limits import check_object
from memolith.app.kernel.results import ReadConsistency
from memolith.core.commands import UpdateMemory, to_payload
from memolith.core.errors import OutcomeUnknown, Unavailable
from memolith.core.objects.epoch_cut import Cut
from memolith.core.objects.store_record import StoreRecord, StoreState
from memolith.wire.rpc import peerwriter_calls
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import WORKSPACE

PUT = "objects.put_if_absent"
PUTS = 1 + Cut.SHARDS + 1
"""Of a fail-over: the record that begins it, the cut, the record from which on writes are taken."""


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def everywhere(stage: MovingStage, memory_id: str) -> set[str | None]:
    return {stage.read(memory_id, region).content for region in stage.cloud.regions}


# ---- failover_splits_a_rename ---------------------------------------------------------------------------------------


def renamed(stage: MovingStage, *replicated: str, update: bool = False) -> tuple[str, str]:
    """A rename of which these objects have reached `AWAY`, and then its home dies: (memory_id, its last version)."""
    memory = stage.create("/a", "one")
    stage.deliver()
    last = stage.update(memory.id, path="/b").version_id
    keys = dict(zip(("moved_in", "moved_out"), [e.key for e in stage.cloud.pending if "/log/" in e.key], strict=True))
    if update:
        last = stage.update(memory.id, "two").version_id
        keys["update"] = stage.cloud.pending[-1].key
    stage.hold_back()
    stage.reach(AWAY, *(keys[name] for name in replicated))
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    return memory.id, last


@pytest.mark.parametrize("half", ["moved_in", "moved_out"])
def test_half_a_rename_that_was_replicated_leaves_its_memory_at_its_source(stage: MovingStage, half: str) -> None:
    memory_id, moved = renamed(stage, half)
    assert stage.listed(AWAY) == {"/a": memory_id}
    stage.at_rest(divergent=[moved])
    assert stage.listed(THIRD) == {"/a": memory_id} and stage.read(memory_id, HOME).content == "one"
    stage.update(memory_id, "two", path="/b", region=HOME)
    stage.at_rest(divergent=[moved])


def test_a_rename_that_was_written_on_is_at_its_destination_without_its_second_half(stage: MovingStage) -> None:
    memory_id, _ = renamed(stage, "moved_in", "update", update=True)
    assert stage.listed(AWAY) == {"/b": memory_id} and stage.read(memory_id, AWAY).content == "two"
    other = stage.create("/a", "other", region=AWAY)
    stage.at_rest()
    assert stage.listed(THIRD) == {"/a": other.id, "/b": memory_id}


@pytest.mark.parametrize("backwards", [False, True])
def test_late_updates_are_adopted_to_the_last_in_whichever_order_they_come(stage: MovingStage, backwards: bool) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, "two")
    stage.update(memory.id, "three")
    late = [event.key for event in stage.hold_back()]
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    for key in reversed(late) if backwards else late:
        stage.come_late(key)
    stage.at_rest()
    assert everywhere(stage, memory.id) == {"three"}


def test_what_the_losing_home_of_an_epoch_wrote_is_late_in_that_epoch_and_in_the_next(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.fail_over(THIRD)
    rival = stage.update(memory.id, "rival", region=THIRD)
    stage.hold_back()
    stage.fail_over(AWAY)
    stage.update(memory.id, "ours", region=AWAY)
    stage.reach(THIRD)
    stage.at_rest(divergent=[rival.version_id])
    stage.move(THIRD)
    stage.at_rest(divergent=[rival.version_id])
    assert stage.read(memory.id, THIRD).content == "ours"


# ---- fold_is_a_join -------------------------------------------------------------------------------------------------


def test_a_region_that_hears_of_epochs_in_their_order_keeps_what_it_knew_of_the_last(stage: MovingStage) -> None:
    """It has passed on a write, and so has rows of an epoch whose predecessor's record comes only now."""
    stage.fail_over(AWAY)
    stage.move(HOME)
    memory = stage.create("/a", region=THIRD)
    assert stage.listed(THIRD) == {"/a": memory.id}
    records = [event.key for event in stage.cloud.pending if "/store/" in event.key and not event.replica]
    for key in records:
        stage.reach(THIRD, key)
        assert stage.listed(THIRD) == {"/a": memory.id}
    stage.at_rest()


@pytest.mark.parametrize("order", list(permutations(["late", "cut", "first", "second"])))
def test_a_late_version_and_what_tells_that_it_is_late_may_come_in_any_order(order: tuple[str, ...]) -> None:
    stage = MovingStage()
    memory = stage.create("/a", "one")
    stage.deliver()
    lost = stage.update(memory.id, "theirs")
    keys = {"late": [event.key for event in stage.hold_back()]}
    stage.fail_over(AWAY)
    ours = stage.update(memory.id, "ours", region=AWAY)
    put = [event.key for event in stage.hold_back()]
    records = [key for key in put if "/store/" in key]
    keys |= {"cut": [key for key in put if "/cut/" in key], "first": records[:1], "second": records[1:]}
    stage.reach(THIRD, stage.key_of(ours.version_id, AWAY))
    for name in order:
        stage.reach(THIRD, *keys[name])
    stage.come_late()
    assert stage.read(memory.id, THIRD).version_id == ours.version_id
    assert stage.divergent(THIRD) == stage.divergent(AWAY) == [lost.version_id]


# ---- frozen_lease_clock ---------------------------------------------------------------------------------------------


def test_a_writer_that_stalls_while_the_home_moves_acknowledges_nothing(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stalled = stage.actor(lambda: stage.update(memory.id, "stalled")).until(PUT)
    stage.move(AWAY)
    stage.update(memory.id, "new home", region=AWAY)
    stalled.fails(OutcomeUnknown)
    stage.at_rest(divergent=None)
    assert everywhere(stage, memory.id) == {"new home"}


@pytest.mark.parametrize("answer", ["a refusal", "that nothing changed", "a read"])
def test_a_call_that_stalls_while_the_home_moves_is_not_answered_as_the_homes(stage: MovingStage, answer: str) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    read = stage.call()
    answers: dict[str, Callable[[], object]] = {
        "a refusal": lambda: stage.update(memory.id, "x", expected="0" * 64),
        "that nothing changed": lambda: stage.update(memory.id, "one"),
        "a read": lambda: stage.memolith().memories.retrieve(
            replace(read, demand=ReadConsistency(home=True)), stage.store, memory.id, full=True
        ),
    }
    stalled = stage.actor(answers[answer]).until("objects.head", after=True)
    stage.move(AWAY)
    stage.update(memory.id, "new home", region=AWAY)
    stalled.fails(Unavailable)
    stage.at_rest()


def test_a_process_that_was_frozen_between_two_calls_writes_nothing_as_the_home_it_was(stage: MovingStage) -> None:
    """Its ticks stood still, so that a lease it had kept would run on."""
    memory = stage.create("/a", "one")
    stage.deliver()
    frozen = stage.memolith()
    stage.clock.ticks_us = lambda: 0  # type: ignore[method-assign]  # the test's own takes its place
    stage.update(memory.id, "two")
    stage.move(AWAY)
    before = stage.keys(HOME)
    frozen.memories.update(
        stage.call(), stage.store, memory.id, content="three", path=None, expected_content_sha256=None, full=False
    )
    assert stage.keys(HOME) == before
    assert stage.read(memory.id, AWAY).content == "three"
    stage.at_rest()


# ---- mover_dies -----------------------------------------------------------------------------------------------------


def test_a_region_that_dies_while_it_takes_over_is_failed_over_in_its_turn(stage: MovingStage) -> None:
    """Its epoch never came to a cut: no entry is ever judged by it."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.actor(lambda: stage.fail_over(AWAY)).until(PUT, occurrence=4).die()
    stage.deliver()
    with stage.dead(HOME, AWAY):
        stage.fail_over(THIRD, old=AWAY)
        stage.update(memory.id, "two", region=THIRD)
    stage.at_rest()
    stage.update(memory.id, "three", region=HOME)
    stage.move(AWAY)
    stage.at_rest()
    assert everywhere(stage, memory.id) == {"three"}


@pytest.mark.parametrize("moved", [True, False])
def test_a_home_that_dies_before_its_cut_has_come_anywhere_is_failed_over_all_the_same(
    stage: MovingStage, moved: bool
) -> None:
    """Its epoch is left out, and what it had acknowledged comes late."""
    memory, other = stage.create("/a", "one"), stage.create("/b", "one")
    stage.deliver()
    if moved:
        stage.move(AWAY)
    else:
        stage.fail_over(AWAY)
    stage.update(memory.id, "two", region=AWAY)
    late = stage.update(other.id, "late", region=AWAY)
    stage.reach(THIRD, *[event.key for event in stage.hold_back() if "/store/" in event.key])
    assert stage.home(THIRD) == AWAY
    with stage.dead(AWAY, HOME):
        stage.fail_over(THIRD, old=AWAY)
        stage.update(other.id, "ours", region=THIRD)
        assert stage.read(memory.id, THIRD).content == "one"
    stage.at_rest(divergent=[late.version_id])
    assert everywhere(stage, memory.id) == {"two"} and everywhere(stage, other.id) == {"ours"}


def test_a_mover_that_comes_back_meets_no_cut_of_its_former_self(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.actor(lambda: stage.move(AWAY)).until("peers.call", occurrence=2).die()
    assert any("/cut/" in key for key in stage.all_keys(AWAY))
    assert stage.operate(HOME, "homes.move")["state"] == "at home"
    stage.update(memory.id, "an hour later")
    fresh = stage.create("/b", region=THIRD)
    stage.move(AWAY)
    assert stage.listed(AWAY) == {"/a": memory.id, "/b": fresh.id}
    stage.update(memory.id, "new home", region=AWAY)
    stage.at_rest()


@pytest.mark.parametrize("given_up", ["before the commit", "after the commit", "after the beginning"])
def test_giving_up_a_move_and_committing_it_leave_one_home_that_writes(stage: MovingStage, given_up: str) -> None:
    """No put spans two regions: what decides is the old home's next record, and nothing has been replicated yet."""
    memory = stage.create("/a", "one")
    stage.deliver()
    mover = stage.actor(lambda: stage.operate(AWAY, "homes.move"))
    mover.until(PUT, "us-east-1/store/", occurrence=3, after=given_up == "after the commit")
    if given_up == "after the beginning":
        mover.finish()
    decided = StoreRecord.from_json(stage.operate(HOME, "homes.give_up")["record"].encode()).state
    assert decided == (StoreState.ACTIVE if given_up == "before the commit" else StoreState.MOVED)
    if not mover.done:
        mover.finish()
    before = {*stage.keys(HOME), *stage.keys(AWAY)}
    for region in (HOME, AWAY):
        with suppress(Unavailable):
            stage.update(memory.id, f"in {region}", region=region)
    put = {*stage.keys(HOME), *stage.keys(AWAY)} - before
    assert len({key.partition("/")[0] for key in put}) == 1
    stage.at_rest()


# ---- two_regions_and_a_cut ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", range(1, 13))
def test_a_write_that_is_acknowledged_in_two_regions_is_in_the_cut_of_a_fail_over_to_the_second(steps: int) -> None:
    stage = MovingStage(two_regions=True)
    memory = stage.create("/a", "one")
    writer = stage.actor(lambda: stage.update(memory.id, "two"))
    for _ in range(steps):
        if not writer.done:
            writer.step()
    stage.hold_back()
    stage.fail_over(AWAY)
    stage.update(memory.id, "ours", region=AWAY)
    if not writer.done:
        with suppress(OutcomeUnknown, Unavailable):
            writer.finish()
    stage.at_rest(divergent=None)
    assert not set(stage.divergent()) & set(stage.acknowledged)


def test_a_write_that_is_acknowledged_in_the_middle_of_a_fail_over_is_in_its_cut() -> None:
    for puts in (1, 2, 9, PUTS - 1, PUTS):
        stage = MovingStage(two_regions=True)
        memory = stage.create("/a", "one")
        stage.hold_back()
        over = stage.actor(lambda stage=stage: stage.fail_over(AWAY)).until(PUT, occurrence=puts)  # type: ignore[misc]  # a lambda with a default has no type
        with suppress(OutcomeUnknown):
            stage.update(memory.id, "two")
        if puts < PUTS:
            over.until(PUT, occurrence=PUTS - puts, after=True)
        over.until("index.commit", after=True)
        stage.update(memory.id, "ours", region=AWAY)
        over.finish()
        stage.at_rest(divergent=None)
        assert not set(stage.divergent()) & set(stage.acknowledged)


# ---- two fail-overs at once -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("adopted_here_too", [True, False])
def test_what_a_losing_home_had_adopted_is_in_the_history_once(stage: MovingStage, adopted_here_too: bool) -> None:
    """The accepted home has it as well: by its cut, or as an adoption of its own."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, "two")
    (late,) = [event.key for event in stage.hold_back()]
    stage.fail_over(THIRD)
    stage.reach(THIRD, late)
    assert stage.read(memory.id, THIRD).content == "two"
    stage.hold_back()
    if adopted_here_too:
        stage.fail_over(AWAY)
        stage.reach(AWAY, late)
    else:
        stage.reach(AWAY, late)
        stage.fail_over(AWAY)
    stage.update(memory.id, "three", region=AWAY)
    stage.at_rest()
    assert everywhere(stage, memory.id) == {"three"}
    assert len(stage.history(memory.id, HOME)) == 3


def test_a_write_in_two_regions_brings_the_cut_that_a_fail_over_needs() -> None:
    """Even where the home has only just changed, and nothing of that has been replicated, nor indexed there."""
    stage = MovingStage(two_regions=True)
    memory, other = stage.create("/a", "one"), stage.create("/b", "one")
    stage.deliver()
    stage.move(THIRD)
    stage.update(memory.id, "two", region=THIRD)
    stage.hold_back()
    with stage.dead(THIRD):
        stage.fail_over(AWAY, old=THIRD)
        stage.update(memory.id, "three", region=AWAY)
        stage.update(other.id, "two", region=AWAY)
    stage.at_rest()
    assert everywhere(stage, memory.id) == {"three"}


# ---- expired_claim, forwarded_call_repeats, metadata_of_a_blank, with two homes -------------------------------------


def test_a_creator_that_stalls_past_its_homes_term_does_not_come_between_a_path_and_its_ancestor(
    stage: MovingStage,
) -> None:
    stalled = stage.actor(lambda: stage.create("/n")).until(PUT)
    stage.move(AWAY)
    there = stage.create("/n/t", region=AWAY)
    stalled.fails(OutcomeUnknown)
    stage.at_rest(divergent=None)
    assert stage.listed(THIRD) == {"/n/t": there.id} and len(stage.divergent()) == 1


def test_an_invocation_that_is_repeated_after_the_home_has_moved_does_nothing_again(stage: MovingStage) -> None:
    memory = stage.create("/a", "a")
    command = UpdateMemory(stage.store, memory.id, stage.new_version_id(), "api_key:apikey_x", content="x")
    invocation = {"call": "write", "workspace_id": WORKSPACE, **to_payload(command)}
    first = peerwriter_calls(stage.memolith())(invocation)
    stage.move(AWAY)
    stage.update(memory.id, "y", region=AWAY)
    assert "elsewhere" in peerwriter_calls(stage.memolith(HOME))(invocation)
    again = peerwriter_calls(stage.memolith(AWAY))(invocation)
    assert again["memory"]["version_id"] == first["memory"]["version_id"] == command.version_id
    stage.at_rest()
    assert everywhere(stage, memory.id) == {"y"} and len(stage.history(memory.id)) == 3


def test_the_longest_path_fits_into_metadata_as_an_adoption_too() -> None:
    stage = MovingStage((HOME, "ap-northeast-1", "ap-southeast-2"))
    longest = f"/{'a' * 1023}"
    memory = stage.create(longest, "one")
    stage.hold_back()
    stage.fail_over("ap-southeast-2")
    stage.come_late()
    for key in stage.keys(HOME):
        for version in stage.cloud.buckets.versions(HOME, key):
            check_object(key, version.object.metadata)
    assert stage.listed("ap-northeast-1") == {longest: memory.id}
    assert any("/log/" in key and key.startswith("ap-southeast-2") for key in stage.keys(HOME))
