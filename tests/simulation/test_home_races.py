"""Homes that change twice at once, and what comes late while it is adopted: each race steered by hand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby

import pytest

from memolith.adapters.memory import PutEvent, StoredVersion
from memolith.app.kernel.results import Memory
from memolith.core import decide, fold
from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.object_keys import parse_key
from memolith.core.rows.content import LogRow
from memolith.core.rows.control import ControlRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage

PUT = "objects.put_if_absent"
REGIONS = (HOME, AWAY, THIRD)
Act = Callable[[MovingStage], dict[str, object]]


def everywhere(stage: MovingStage, memory_id: str) -> set[str | None]:
    return {stage.read(memory_id, region).content for region in REGIONS}


# ---- two at once ----------------------------------------------------------------------------------------------------


def written() -> tuple[MovingStage, str]:
    """A store with a version that its home alone has."""
    stage = MovingStage()
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, "two")
    return stage, memory.id


def puts_of(act: Act) -> list[int]:
    """Which of its puts decide something: of the shards of a cut, which nobody waits for, the first stands for all."""
    stage, _ = written()
    actor = stage.actor(lambda: act(stage))
    actor.finish()
    puts = [line for line in actor.trail if line.startswith(PUT)]
    return [number for number, line in enumerate(puts, 1) if "/cut/" not in line or line.endswith("/000")]


MOVE: Act = lambda stage: stage.operate(AWAY, "homes.move")  # noqa: E731
FAIL_OVER: Act = lambda stage: stage.operate(AWAY, "homes.fail_over", old=HOME)  # noqa: E731
MOVE_ELSEWHERE: Act = lambda stage: stage.operate(THIRD, "homes.move")  # noqa: E731
FAIL_OVER_ELSEWHERE: Act = lambda stage: stage.operate(THIRD, "homes.fail_over", old=HOME)  # noqa: E731


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
        first = stage.actor(lambda stage=stage: one(stage)).until(PUT, occurrence=number)  # type: ignore[misc]
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
        commit = stage.actor(lambda stage=stage: MOVE(stage)).until(PUT, "us-east-1/store/", occurrence=3)  # type: ignore[misc]
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


# ---- what comes late ------------------------------------------------------------------------------------------------


def late(stage: MovingStage, write: Callable[[], object]) -> list[str]:
    """What the old home put last, alone, before it was failed over; nobody else has it yet."""
    stage.deliver()
    write()
    keys = [event.key for event in stage.hold_back() if "/log/" in event.key]
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    return keys


def late_over_an_erased_head(stage: MovingStage) -> tuple[Memory, str]:
    """The last text of the lost home at `/a/b`, and its key: what it followed is erased, and it has come to nobody."""
    memory = stage.create("/a/b", "one")
    stage.deliver()
    followed = stage.update(memory.id, "late")
    (key,) = [event.key for event in stage.hold_back() if "/log/" in event.key]
    stage.redact(memory.version_id)
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    return followed, key


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def test_a_late_version_is_adopted_once_however_often_and_wherever_it_is_met(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    (key,) = late(stage, lambda: stage.update(memory.id, "late"))
    stage.reach(AWAY, key)
    for _ in range(2):
        for region in REGIONS:
            stage.index(key, region)
        stage.deliver()
    stage.update(memory.id, "three", region=THIRD)
    stage.index(key, AWAY)
    stage.at_rest()
    assert len(stage.history(memory.id, THIRD)) == 3
    assert len([key for key in stage.keys(AWAY) if stage.hash_of("/a") in key]) == 4


def test_two_adoptions_at_once_are_one(stage: MovingStage) -> None:
    """Both have decided that it can be; the slot is taken once."""
    memory = stage.create("/a", "one")
    (key,) = late(stage, lambda: stage.update(memory.id, "late"))
    stage.cloud.buckets.arrive(stage.under_way(key), AWAY)
    slow = stage.actor(lambda: stage.index(key, AWAY)).until(PUT)
    stage.index(key, AWAY)
    slow.finish()
    stage.at_rest()
    assert len(stage.history(memory.id, THIRD)) == 2


def test_a_late_memory_that_came_and_went_is_not_created_again_by_a_second_adoption(stage: MovingStage) -> None:
    """The second one read that there is no such memory before the first adopted both, and finds the path free."""
    stage.create("/other", "one")

    def come_and_go() -> None:
        stage.delete(stage.create("/a", "late").id)

    created, deleted = late(stage, come_and_go)
    for key in (created, deleted):
        stage.cloud.buckets.arrive(stage.under_way(key), AWAY)
    slow = stage.actor(lambda: stage.index(created, AWAY)).until("index.read", "paths")
    stage.index(created, AWAY)
    slow.finish()
    own = [key for key in stage.keys(AWAY) if key.startswith(f"{AWAY}/log/") and stage.hash_of("/a") in key]
    assert len(own) == 2
    stage.at_rest()
    assert stage.create("/a", "again", region=AWAY).path == "/a"


@pytest.mark.parametrize("adopted_first", [False, True])
def test_a_write_and_an_adoption_at_once_follow_each_other_or_the_late_one_stands_apart(
    stage: MovingStage, adopted_first: bool
) -> None:
    memory = stage.create("/a", "one")
    (key,) = late(stage, lambda: stage.update(memory.id, "late"))
    (version_id,) = [id for id in stage.acknowledged if id != memory.version_id]
    stage.cloud.buckets.arrive(stage.under_way(key), AWAY)
    adoption: Callable[[], object] = lambda: stage.index(key, AWAY)  # noqa: E731
    write: Callable[[], object] = lambda: stage.update(memory.id, "ours", region=AWAY)  # noqa: E731
    first, then = (adoption, write) if adopted_first else (write, adoption)
    slow = stage.actor(then).until(PUT)
    first()
    slow.finish()
    stage.at_rest(divergent=[] if adopted_first else [version_id])
    assert everywhere(stage, memory.id) == {"ours"}


@pytest.mark.parametrize(
    ("name", "occurrence", "after"),
    [
        pytest.param(PUT, 1, False, id="before it names its epoch"),
        pytest.param(PUT, 1, True, id="once it has"),
        pytest.param("objects.list", 1, False, id="before it lists the logs"),
        pytest.param("objects.list", 1, True, id="once it has listed the old home's"),
        pytest.param(PUT, 2, False, id="before its cut"),
        pytest.param(PUT, 17, True, id="after its cut"),
        pytest.param(PUT, 18, True, id="once writing begins"),
    ],
)
def test_a_version_that_comes_during_a_fail_over_is_in_its_cut_or_adopted_after_it(
    name: str, occurrence: int, after: bool
) -> None:
    stage, memory_id = written()
    (key,) = [event.key for event in stage.hold_back()]
    taking_over = stage.actor(lambda: stage.fail_over(AWAY)).until(name, occurrence=occurrence, after=after)
    stage.reach(AWAY, key)
    taking_over.finish()
    stage.deliver()
    stage.update(memory_id, "three", region=AWAY)
    stage.at_rest()
    assert everywhere(stage, memory_id) == {"three"}
    assert len(stage.history(memory_id, THIRD)) == 3


# ---- what is not adopted --------------------------------------------------------------------------------------------


def test_half_a_late_rename_and_then_the_other_change_nothing(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    moved_in, moved_out = late(stage, lambda: stage.update(memory.id, path="/b"))
    (renamed,) = [id for id in stage.acknowledged if id != memory.version_id]
    for key in (moved_out, moved_in):
        stage.come_late(key)
        assert stage.listed(AWAY) == {"/a": memory.id}
    other = stage.create("/b", "other", region=THIRD)
    stage.at_rest(divergent=[renamed])
    assert stage.listed(HOME) == {"/a": memory.id, "/b": other.id}


def test_what_was_built_on_a_late_rename_stands_apart_with_it(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    before = set(stage.acknowledged)
    late(stage, lambda: stage.update(stage.update(memory.id, path="/b").id, "two"))
    stage.at_rest(divergent=sorted(set(stage.acknowledged) - before))
    assert stage.listed(THIRD) == {"/a": memory.id} and everywhere(stage, memory.id) == {"one"}


@pytest.mark.parametrize("path", ["/a", "/a/b", "/"])
def test_a_late_creation_yields_to_who_is_at_its_path_now_or_above_or_below_it(stage: MovingStage, path: str) -> None:
    there = "/a" if path == "/" else path
    mine = "/a/b" if path == "/" else "/a"
    late(stage, lambda: stage.create(mine, "late"))
    (version_id,) = stage.acknowledged
    ours = stage.create(there, "ours", region=AWAY)
    stage.at_rest(divergent=[version_id])
    assert stage.listed(HOME) == {there: ours.id}
    stage.delete(ours.id, region=THIRD)
    stage.at_rest(divergent=[version_id])


def leave_by_deletion(stage: MovingStage, memory_id: str) -> None:
    stage.delete(memory_id, region=AWAY)


def leave_by_a_rename(stage: MovingStage, memory_id: str) -> None:
    stage.update(memory_id, path="/elsewhere", region=AWAY)


def by_its_event(stage: MovingStage, key: str) -> None:
    stage.index(key, AWAY)


def by_a_rebuild(stage: MovingStage, key: str) -> None:
    """What a rebuild does at its end with the stores whose home has changed."""
    stage.cloud.sites[AWAY].indexing.repair_rows(stage.store, None)


@pytest.mark.parametrize("again", [by_its_event, by_a_rebuild])
@pytest.mark.parametrize("leave", [leave_by_deletion, leave_by_a_rename])
@pytest.mark.parametrize("early", [False, True])
def test_a_late_creation_stands_apart_though_who_took_its_path_since_has_left(
    stage: MovingStage,
    leave: Callable[[MovingStage, str], None],
    early: bool,
    again: Callable[[MovingStage, str], None],
) -> None:
    """Whether its event comes while the path is taken, or only later, and however often it is met."""
    (key,) = late(stage, lambda: stage.create("/a", "late"))
    (version_id,) = stage.acknowledged
    ours = stage.create("/a", "ours", region=AWAY)
    if early:
        stage.come_late(key)
    leave(stage, ours.id)
    stage.come_late()
    again(stage, key)
    stage.at_rest(divergent=[version_id])
    assert "/a" not in stage.listed(AWAY)


@pytest.mark.parametrize("again", [by_its_event, by_a_rebuild])
@pytest.mark.parametrize("leave", [leave_by_deletion, leave_by_a_rename])
@pytest.mark.parametrize("neighbour", ["/a", "/a/b/c"])
def test_a_late_creation_that_was_refused_for_a_neighbour_stands_apart_though_that_has_left(
    stage: MovingStage,
    neighbour: str,
    leave: Callable[[MovingStage, str], None],
    again: Callable[[MovingStage, str], None],
) -> None:
    """In the next home too; its path is free for others, and what is at rest says nothing of the refusal."""
    (key,) = late(stage, lambda: stage.create("/a/b", "late"))
    (version_id,) = stage.acknowledged
    ours = stage.create(neighbour, "ours", region=AWAY)
    stage.come_late(key)
    leave(stage, ours.id)
    again(stage, key)
    assert len(stage.divergent(AWAY)) == 1 and "/a/b" not in stage.listed(AWAY)
    refusals = [one for one in stage.keys(AWAY) if one.startswith(f"{AWAY}/log/") and stage.hash_of("/a/b") in one]
    assert len(refusals) == 1
    stage.at_rest(divergent=[version_id])
    stage.move(THIRD)
    stage.deliver()
    stage.index(key, THIRD)
    stage.at_rest(divergent=[version_id])
    assert stage.create("/a/b", "another", region=THIRD).path == "/a/b"
    stage.at_rest(divergent=[version_id])


def test_a_late_creation_stands_apart_that_came_before_the_deletion_of_the_memory_above_it(stage: MovingStage) -> None:
    """That deletion is adopted from another log, which does not tell which of the two was first."""
    above = stage.create("/a", "one")
    late_ids: list[str] = []

    def replace_by_one_below() -> None:
        stage.delete(above.id)
        late_ids.append(stage.create("/a/b", "late").version_id)

    deleted, created = late(stage, replace_by_one_below)
    stage.come_late(created)
    stage.come_late(deleted)
    assert stage.listed(AWAY) == {}
    stage.index(created, AWAY)
    stage.at_rest(divergent=late_ids)
    assert stage.listed(AWAY) == {}


def test_of_two_who_refuse_a_late_creation_at_once_one_records_it(stage: MovingStage) -> None:
    (key,) = late(stage, lambda: stage.create("/a/b", "late"))
    (version_id,) = stage.acknowledged
    ours = stage.create("/a", "ours", region=AWAY)
    stage.cloud.buckets.arrive(stage.under_way(key), AWAY)
    slow = stage.actor(lambda: stage.index(key, AWAY)).until(PUT)
    stage.index(key, AWAY)
    stage.delete(ours.id, region=AWAY)
    slow.finish()
    stage.at_rest(divergent=[version_id])
    assert stage.listed(AWAY) == {}


@pytest.mark.parametrize("taken", [False, True])
def test_an_abort_that_a_later_cut_names_does_not_tell_whether_a_late_creations_path_was_taken(
    stage: MovingStage, taken: bool
) -> None:
    """The path's row was lost, and is as the cut has it since: it was left in the last slot, which is the abort's."""
    (key,) = late(stage, lambda: stage.create("/a", "late"))
    (version_id,) = stage.acknowledged
    if taken:
        stage.delete(stage.create("/a", "ours", region=AWAY).id, region=AWAY)
    name = parse_key(key)
    assert isinstance(name, LogKey)
    following = replace(name, slot=Slot(Epoch(2, AWAY), 3 if taken else 1))
    void = decide.void(following, stage.new_version_id(), 0)
    stage.cloud.sites[AWAY].region.objects.put_if_absent(str(void.key), b"{}", void.to_metadata())
    stage.deliver()
    stage.move(THIRD)
    stage.deliver()
    log = LogRow.key(stage.store, name.path_hash)
    database = stage.cloud.sites[THIRD].database
    database.put(database.table(log.table, 1), log, None)
    stage.cloud.sites[THIRD].indexing.repair_rows(stage.store, None)
    assert stage.cloud.rows(THIRD, "logs")[log.pk, log.sk]["vacated"] == str(void.slot)
    stage.come_late()
    stage.index(key, THIRD)
    stage.at_rest(divergent=[version_id] if taken else [])
    assert len(stage.listed(THIRD)) == (0 if taken else 1)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_late_creation_follows_what_was_adopted_before_it_in_its_log_and_nothing_after(
    stage: MovingStage, backwards: bool
) -> None:
    """The lost home's log of the path: one memory that came and went, and another that did."""
    stage.create("/other", "one")
    ids: list[str] = []

    def come_and_go() -> None:
        for content in ("first", "second"):
            ids.append(stage.create("/a", content).id)
            stage.delete(ids[-1])

    keys = late(stage, come_and_go)
    stage.reach(AWAY, *(keys[2:] if backwards else keys[:2]))
    stage.come_late()
    for key in keys:
        stage.index(key, AWAY)
    stage.at_rest(divergent=None)
    assert [len(stage.history_of(id, AWAY)) for id in ids] == ([0, 2] if backwards else [2, 2])


def an_abort(stage: MovingStage, deletion: LogKey) -> None:
    void = decide.void(replace(deletion, slot=deletion.slot.following), stage.new_version_id(), 0)
    stage.cloud.sites[HOME].region.objects.put_if_absent(str(void.key), b"{}", void.to_metadata())
    stage.index(str(void.key), HOME)


def a_stay_that_stands_apart(stage: MovingStage, deletion: LogKey) -> None:
    passing = stage.create("/passing", "text")
    stage.update(passing.id, path="/a")
    stage.delete(passing.id)


@pytest.mark.parametrize("between", [an_abort, a_stay_that_stands_apart])
def test_a_late_creation_is_looked_at_again_once_the_path_is_left_whatever_stands_between(
    stage: MovingStage, between: Callable[[MovingStage, LogKey], None]
) -> None:
    """It came before the deletion did, so that its path was taken."""
    memory = stage.create("/a", "one")
    ids: list[str] = []

    def leave_and_come() -> None:
        stage.delete(memory.id)
        (deletion,) = [
            key for key in map(parse_key, stage.keys()) if isinstance(key, LogKey) and key.slot.sequence == 2
        ]
        between(stage, deletion)
        ids.append(stage.create("/a", "late").id)

    keys = [key for key in late(stage, leave_and_come) if stage.hash_of("/a") in key]
    stage.reach(AWAY, keys[-1])
    assert stage.listed(AWAY) == {"/a": memory.id}
    stage.come_late()
    assert stage.listed(AWAY)["/a"] == ids[0]
    stage.at_rest(divergent=None)


def test_a_late_version_of_a_memory_that_was_renamed_or_deleted_since_stands_apart(stage: MovingStage) -> None:
    renamed, deleted = stage.create("/a", "one"), stage.create("/b", "one")
    before = set(stage.acknowledged)
    late(stage, lambda: (stage.update(renamed.id, "late"), stage.update(deleted.id, "late")))
    lost = set(stage.acknowledged) - before
    stage.update(renamed.id, path="/c", region=AWAY)
    stage.delete(deleted.id, region=AWAY)
    stage.at_rest(divergent=sorted(lost))
    assert stage.listed(THIRD) == {"/c": renamed.id} and everywhere(stage, renamed.id) == {"one"}


def test_a_late_text_of_an_erased_memory_stands_apart_where_an_ancestor_has_come_since(stage: MovingStage) -> None:
    """The lost home redacted what had been followed; without what followed, the memory has no text and no path."""
    followed, key = late_over_an_erased_head(stage)
    ours = stage.create("/a", "ours", region=AWAY)
    stage.come_late(key)
    stage.at_rest(divergent=[followed.version_id])
    assert stage.listed(THIRD) == {"/a": ours.id}


@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("again", [by_its_event, by_a_rebuild])
@pytest.mark.parametrize("leave", [leave_by_deletion, leave_by_a_rename])
@pytest.mark.parametrize("neighbour", ["/a", "/a/b/c"])
def test_a_late_text_of_an_erased_memory_that_was_refused_for_a_neighbour_stands_apart_though_that_has_left(
    stage: MovingStage,
    neighbour: str,
    leave: Callable[[MovingStage, str], None],
    again: Callable[[MovingStage, str], None],
    taken: bool,
) -> None:
    """In the next home too, and though another memory has come to its path and left it since."""
    followed, key = late_over_an_erased_head(stage)
    ours = stage.create(neighbour, "ours", region=AWAY)
    stage.come_late(key)
    leave(stage, ours.id)
    again(stage, key)
    if taken:
        stage.delete(stage.create("/a/b", "another", region=AWAY).id, region=AWAY)
        again(stage, key)
    assert stage.divergent(AWAY) == [followed.version_id] and "/a/b" not in stage.listed(AWAY)
    logs = [one for one in stage.keys(AWAY) if one.startswith(f"{AWAY}/log/") and stage.hash_of("/a/b") in one]
    assert len(logs) == (3 if taken else 1), "the refusal, and the other's creation and deletion"
    stage.at_rest(divergent=[followed.version_id])
    stage.move(THIRD)
    stage.deliver()
    stage.index(key, THIRD)
    stage.at_rest(divergent=[followed.version_id])


@pytest.mark.parametrize("taken", [False, True])
def test_a_late_text_of_an_erased_memory_is_seen_at_its_path_again(stage: MovingStage, taken: bool) -> None:
    """Also where another memory has been at the path in between, and has left it."""
    followed, key = late_over_an_erased_head(stage)
    assert stage.listed(AWAY) == {}
    if taken:
        stage.delete(stage.create("/a/b", "ours", region=AWAY).id, region=AWAY)
    stage.come_late(key)
    stage.at_rest()
    assert stage.listed(THIRD) == {"/a/b": followed.id} and everywhere(stage, followed.id) == {"late"}


def test_a_late_change_follows_a_creation_that_was_adopted_though_the_index_does_not_know_it(
    stage: MovingStage,
) -> None:
    """Who adopted the creation died before the fold. Its original is erased since, so that it is not adopted again."""
    before: list[str] = []

    def create_and_change() -> None:
        memory = stage.create("/a", "one")
        before.append(memory.version_id)
        stage.update(memory.id, "late")

    created, changed = late(stage, create_and_change)
    stage.cloud.buckets.arrive(stage.under_way(created), AWAY)
    stage.actor(lambda: stage.index(created, AWAY)).until(PUT, f"{AWAY}/log/", after=True).die()
    stage.redact(before[0])
    (order,) = [event for event in stage.hold_back() if "/redaction/" in event.key]
    stage.reach(AWAY, order.key)
    stage.index(created, AWAY)
    assert stage.listed(AWAY) == {}
    stage.cloud.buckets.arrive(stage.under_way(changed), AWAY)
    stage.index(changed, AWAY)
    assert stage.contents(AWAY) == {"/a": "late"}
    stage.at_rest()


# ---- erasing what came late -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("adopted", [True, False])
def test_a_late_text_is_erased_wherever_it_stands(stage: MovingStage, adopted: bool) -> None:
    """In every copy that was adopted, of two homes even, and in the original that arrives after the order."""
    memory = stage.create("/a", "one")
    (key,) = late(stage, lambda: stage.update(memory.id, "SECRET"))
    (version_id,) = [id for id in stage.acknowledged if id != memory.version_id]
    original = stage.under_way(key)
    if not adopted:
        stage.update(memory.id, "ours", region=AWAY)
    stage.cloud.buckets.arrive(original, AWAY)
    stage.index(key, AWAY)
    stage.update(memory.id, "clean", region=AWAY)
    if adopted:
        stage.redact(version_id, AWAY)
    else:
        stage.memolith(AWAY).divergent.dismiss(stage.call(), stage.store, version_id)
    stage.at_rest()
    stage.arrive(original, THIRD)
    stage.at_rest()
    assert [stage.found("SECRET", region) for region in REGIONS] == [[], [], []]
    assert everywhere(stage, memory.id) == {"clean"}


def test_a_text_that_two_homes_of_one_epoch_adopted_is_erased_in_both(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    second = stage.update(memory.id, "SECRET")
    (key,) = [event.key for event in stage.hold_back()]
    for region in (THIRD, AWAY):
        stage.fail_over(region)
        stage.reach(region, key)
        stage.hold_back()
    stage.update(memory.id, "clean", region=AWAY)
    stage.redact(second.version_id, AWAY)
    stage.at_rest()
    assert [stage.found("SECRET", region) for region in REGIONS] == [[], [], []]


# ---- an order of redaction, and the adoption of what it is about ----------------------------------------------------


@dataclass(frozen=True)
class Lost:
    """What the lost home left on the wire: its secret version as it was, where, and the order to redact it."""

    key: str
    original: StoredVersion
    order: PutEvent


def redacted_by_the_lost_home(stage: MovingStage) -> Lost:
    """`AWAY` took over without a version that its old home then redacted; it has neither the version nor the order."""
    memory = stage.create("/a", "one")
    stage.deliver()
    secret = stage.update(memory.id, "SECRET")
    key = stage.key_of(secret.version_id)
    original = stage.under_way(key)
    stage.update(memory.id, "clean")
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.redact(secret.version_id)
    (order,) = [event for event in stage.hold_back() if "/redaction/" in event.key]
    return Lost(key, original, order)


def copies_of_adopted(stage: MovingStage) -> list[PutEvent]:
    """The events of what `AWAY` has put into its own logs."""
    return [event for event in stage.cloud.pending if event.key.startswith(f"{AWAY}/log/")]


def test_a_version_that_is_adopted_while_the_order_to_redact_it_is_folded_is_erased(stage: MovingStage) -> None:
    """The order's indexer has read that the version is unknown; the adoption and its event fit in before the fold."""
    lost = redacted_by_the_lost_home(stage)
    stage.cloud.buckets.replicate(lost.order, AWAY)
    indexer = stage.actor(lambda: stage.index(lost.order.key, AWAY)).until("index.commit", "versions")
    stage.arrive(lost.original, AWAY)
    stage.index(lost.key, AWAY)
    (adopted,) = copies_of_adopted(stage)
    stage.index(adopted.key, AWAY)
    assert stage.found("SECRET", AWAY) == [adopted.key, lost.key], "it was adopted, and nobody knew of an order"
    indexer.finish()
    assert stage.found("SECRET", AWAY) == []


def test_an_order_that_is_folded_while_its_version_is_adopted_is_carried_out_by_the_one_who_adopts(
    stage: MovingStage,
) -> None:
    """The writer has looked for an order and has not put the copy yet; of the copy no event ever comes."""
    lost = redacted_by_the_lost_home(stage)
    stage.arrive(lost.original, AWAY)
    indexer = stage.actor(lambda: stage.index(lost.key, AWAY)).until(PUT, f"{AWAY}/log/")
    stage.cloud.buckets.replicate(lost.order, AWAY)
    stage.index(lost.order.key, AWAY)
    stage.hold_back()
    indexer.finish()
    assert [event.key for event in copies_of_adopted(stage)], "it was adopted"
    assert stage.found("SECRET", AWAY) == []
