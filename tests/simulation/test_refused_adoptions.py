"""What comes late and is not adopted: half a rename, and who finds its path taken or its memory gone elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from memolith.core import decide
from memolith.core.errors import Busy, PathConflict
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.object_keys import parse_key
from memolith.core.rows.content import LogRow
from tests.simulation.late_versions import everywhere, late, late_over_an_erased_head
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import PUT


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_late_text_does_not_come_back_above_a_memory_that_was_made_while_its_head_was_erased(
    stage: MovingStage,
) -> None:
    """The lost home's order comes between the home's look at the head and its put, and frees the path."""
    memory = stage.create("/a/b", "one")
    stage.deliver()
    stage.update(memory.id, "late")
    (key,) = [event.key for event in stage.hold_back() if "/log/" in event.key]
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.hold_back()
    stage.redact(memory.version_id)
    orders = [event.key for event in stage.cloud.pending]
    adopting = stage.actor(lambda: stage.reach(AWAY, key)).until(PUT, f"{AWAY}/log/")
    stage.hold_back()
    stage.reach(AWAY, *orders)
    creator = stage.actor(lambda: stage.create("/a", "above", region=AWAY))
    with suppress(Busy, PathConflict):
        creator.finish()
    adopting.finish()
    assert sorted(stage.listed(AWAY)) in (["/a"], ["/a/b"])
    stage.come_late()
    stage.deliver()
    assert sorted(stage.listed(AWAY)) in (["/a"], ["/a/b"])
    assert stage.listed(HOME) == stage.listed(AWAY) == stage.listed(THIRD)


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
