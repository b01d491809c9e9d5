"""Homes that change twice at once: each race steered by hand. What comes late is in `test_adoptions`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

import pytest

from memolith.core import decide, fold
from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from memolith.core.rows.content import LogRow
from memolith.core.rows.control import ControlRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change
from tests.simulation.late_versions import REGIONS, everywhere, written
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import PUT

Act = Callable[[MovingStage], dict[str, object]]


def puts_of(act: Act) -> list[int]:
    """Which of its puts decide something: of the shards of a cut, which nobody waits for, the first stands for all."""
    stage, _ = written()
    actor = stage.actor(lambda: act(stage))
    actor.finish()
    puts = [line for line in actor.trail if line.startswith(PUT)]
    return [number for number, line in enumerate(puts, 1) if "/cut/" not in line or line.endswith("/000")]


MOVE: Act = lambda stage: stage.operate(AWAY, "homes.move")  # noqa: E731 - a line for each, with its type
FAIL_OVER: Act = lambda stage: stage.operate(AWAY, "homes.fail_over", old=HOME)  # noqa: E731 - a line for each, with its type
MOVE_ELSEWHERE: Act = lambda stage: stage.operate(THIRD, "homes.move")  # noqa: E731 - a line for each, with its type
FAIL_OVER_ELSEWHERE: Act = lambda stage: stage.operate(THIRD, "homes.fail_over", old=HOME)  # noqa: E731 - a line for each, with its type


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(MOVE, MOVE, id="two movers to one place"),
        pytest.param(MOVE, MOVE_ELSEWHERE, id="two movers to two places"),
        pytest.param(MOVE, FAIL_OVER_ELSEWHERE, id="a move and a fail-over"),
        pytest.param(FAIL_OVER, MOVE_ELSEWHERE, id="a fail-over and a move"),
        pytest.param(FAIL_OVER, FAIL_OVER, id="two fail-overs to one place"),
        pytest.param(FAIL_OVER, FAIL_OVER_ELSEWHERE, id="two fail-overs to two places"),
    ],
)
def test_two_who_change_a_home_at_once_leave_one(one: Act, other: Act) -> None:
    """The other does all of its work just before a put of the first, whichever; either may be told to try again."""
    for number in puts_of(one):
        stage, memory_id = written()
        first = stage.actor(lambda stage=stage: one(stage)).until(PUT, occurrence=number)  # type: ignore[misc]  # a lambda with a default has no type
        other(stage)
        for region in REGIONS:
            with suppress(Busy, Unavailable, OutcomeUnknown):
                stage.update(memory_id, f"meanwhile in {region}", region=region)
        first.finish()
        stage.deliver()
        stage.end_what_was_begun()
        for region in REGIONS:
            stage.update(memory_id, f"at last in {region}", region=region)
        stage.at_rest(divergent=None)
        assert everywhere(stage, memory_id) == {f"at last in {THIRD}"}


def test_a_commit_that_comes_after_the_move_was_given_up_commits_nothing() -> None:
    """The mover's call to the old home is still on its way when somebody else decides; then when others decide anew."""
    for again in (False, True):
        stage, memory_id = written()
        commit = stage.actor(lambda stage=stage: MOVE(stage)).until(PUT, "us-east-1/store/", occurrence=3)  # type: ignore[misc]  # a lambda with a default has no type
        assert stage.operate(HOME, "homes.move")["state"] == "at home"
        stage.update(memory_id, "the home writes again")
        if again:
            stage.move(THIRD)
            stage.update(memory_id, "another home writes", region=THIRD)
        assert "error" in commit.finish() or again
        stage.at_rest()
        assert stage.home(THIRD) == (AWAY if again else HOME), "it goes on from where the store is, or is told"


def test_a_mover_that_another_overtakes_projects_the_record_that_was_put() -> None:
    """The region's index is being rebuilt, and the new tables do not have the first record of the new epoch yet."""
    stage, _ = written()
    site = stage.cloud.sites[AWAY]
    control = ControlRow(serving=1, complete=False, building=2, run="run")
    site.region.index.commit([Change(ControlRow.KEY, None, control.to_attributes(), unconditional=True)])
    site.database.make(2)
    slow = stage.actor(lambda: MOVE(stage)).until("peers.call", occurrence=2, after=True)
    stage.move(AWAY)
    site.database.drop(2)
    site.database.make(2)
    slow.finish()
    key = StoreRow.key(stage.store)
    assert site.region.index.at(2).read([key]) == site.region.index.read([key])


def deletion_under_way() -> tuple[MovingStage, str, LogKey, LogKey]:
    """A memory at ``/b`` that its home has deleted, with an abort entry above: no other region has these two yet."""
    stage = MovingStage()
    memory = stage.create("/b", "one")
    stage.deliver()
    stage.delete(memory.id)
    deletion = parse_key(stage.keys()[-1])
    assert isinstance(deletion, LogKey)
    void = decide.void(replace(deletion, slot=deletion.slot.following), stage.new_version_id(), 0)
    stage.cloud.sites[HOME].region.objects.put_if_absent(str(void.key), b"{}", void.to_metadata())
    stage.hold_back()
    return stage, memory.id, deletion, void.key


def test_of_two_fail_overs_to_one_place_the_rows_are_as_the_cut_that_counts_has_them() -> None:
    """A deletion, and a void above it, arrive after the first has surveyed; the second finishes with them."""
    stage, _, deletion, void = deletion_under_way()
    first = stage.actor(lambda: stage.fail_over(AWAY)).until(PUT, f"{AWAY}/cut/")
    stage.reach(AWAY, str(deletion), str(void))
    stage.fail_over(AWAY)
    while not first.done:
        assert stage.listed(AWAY) == {}
        first.step()
    assert stage.listed(AWAY) == {}
    key = LogRow.key(stage.store, deletion.path_hash)
    row = LogRow.from_attributes(stage.cloud.rows(AWAY, "logs")[key.pk, key.sk])
    assert fold.tail_of(row) == str(void.slot)
    stage.create("/b", "again", region=AWAY)
    stage.at_rest()


@pytest.mark.parametrize("other", ["finishes", "dies once it has put the record"])
def test_of_two_fail_overs_to_one_place_both_repair_rows_by_the_snapshot_that_was_put_first(other: str) -> None:
    """A deletion arrives while the first repairs rows; the second, which could know it, puts the record.

    The new home then carries the deletion out again. Repairs by two snapshots would let the memory come back after it
    was gone.
    """
    stage, memory_id, deletion, void = deletion_under_way()
    first = stage.actor(lambda: stage.fail_over(AWAY)).until(PUT, f"{AWAY}/cut/").until("index.query", "memories")
    stage.reach(AWAY, str(deletion), str(void))
    second = stage.actor(lambda: stage.fail_over(AWAY))
    if other == "finishes":
        second.finish()
    else:
        second.until(PUT, f"{AWAY}/store/", after=True).die()
    seen = [stage.listed(AWAY)]
    while not first.done:
        first.step()
        seen.append(stage.listed(AWAY))
    assert [listed for listed, _ in groupby(seen)] == [{"/b": memory_id}, {}][-1 if other == "finishes" else 0 :]
    stage.at_rest()


def test_a_repair_that_began_in_an_ended_epoch_changes_no_row_of_the_next() -> None:
    """A process at the first home clears what the second home never had. That one is lost before all of its snapshot
    has come, so that its epoch does not count, and the store has its memory again.
    """
    stage = MovingStage()
    memory = stage.create("/a", "one")
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    here = [event.key for event in stage.cloud.pending if not event.key.endswith("/000")]
    slow = stage.actor(lambda: stage.reach(HOME, *here)).until("index.commit", "paths")
    with stage.dead(AWAY):
        stage.fail_over(HOME, old=AWAY)
    assert stage.listed(HOME) == {"/a": memory.id}
    slow.finish()
    assert stage.listed(HOME) == {"/a": memory.id}
    stage.come_late()
    stage.at_rest()
    assert stage.listed(THIRD) == {"/a": memory.id}


def test_a_path_that_is_repaired_while_its_memory_is_written_again_is_listed() -> None:
    """The snapshot names a version that is erased by now, so that nothing is at the path until what followed comes.

    That is projected while the row that a late departure has left behind is repaired.
    """
    stage = MovingStage()
    memory = stage.create("/a", "SECRET")
    stage.deliver()
    moved = stage.update(memory.id, path="/b").version_id
    _, moved_out = [event.key for event in stage.hold_back() if "/log/" in event.key]
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    begun = [event.key for event in stage.cloud.pending]
    followed = stage.key_of(stage.update(memory.id, "two", region=AWAY).version_id, AWAY)
    stage.redact(memory.version_id, region=AWAY)
    stage.reach(HOME, *(event.key for event in stage.cloud.pending if event.key not in (*begun, followed)))
    departing = stage.actor(lambda: stage.index(moved_out, HOME)).until("index.read", "logs")
    repairing = stage.actor(lambda: stage.reach(HOME, *begun)).until("index.query", "logs")
    departing.finish()
    repairing.until("index.commit", "logs")
    stage.reach(HOME, followed)
    repairing.finish()
    assert stage.listed(HOME) == {"/a": memory.id}
    stage.at_rest(divergent=[moved])
