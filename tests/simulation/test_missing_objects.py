"""Objects that never arrive: what a region does not have it fetches, and until then it does not claim to have it.

S3 may give up on a replica. The regions' reconcilers tick here, so that checkpoints are published and followed; nothing
that a scenario takes off the wire is ever sent again.
"""

from __future__ import annotations

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.epochs.parts import EpochParts
from memolith.app.indexer.service import make_indexer
from memolith.app.replication.missing_objects import MissingObjects
from memolith.app.replication.watermark import FETCH_AFTER_US
from memolith.core.errors import PathConflict
from memolith.core.objects.checkpoint import Named
from memolith.core.rows.control import CompletenessRow
from memolith.ports.index import Change
from memolith.wire.rpc import indexer_calls, keys_calls
from tests.simulation.lost_objects import (
    assert_waited_for_and_fetched,
    compare,
    is_here,
    lose,
    minutes,
    until,
)
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import WORKSPACE
from tests.simulation.test_home_scenarios import PUT

# ---- what a region acknowledged for another home --------------------------------------------------------------------


@pytest.fixture
def stage() -> MovingStage:
    stage = MovingStage()
    minutes(stage, 2)
    return stage


@pytest.mark.parametrize("change", ["update", "rename", "create", "delete"])
def test_a_region_that_answered_a_write_has_its_object_or_waits_for_it(stage: MovingStage, change: str) -> None:
    """The row was made from the home's answer, in the instant of the call; S3 never copies the object."""
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    if change == "update":
        stage.update(memory.id, "second", region=AWAY)
    elif change == "rename":
        stage.update(memory.id, path="/b", region=AWAY)
    elif change == "create":
        stage.create("/c", "second", region=AWAY)
    else:
        stage.delete(memory.id, region=AWAY)
    told_us = stage.clock.now_us()
    assert_waited_for_and_fetched(stage, lose(stage, "/log/"), told_us, others=[THIRD])
    listed = stage.listed(AWAY)
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    assert stage.listed(AWAY) == listed
    stage.at_rest()


def test_half_of_a_rename_that_was_read_in_its_homes_bucket_is_waited_for(stage: MovingStage) -> None:
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    stage.update(memory.id, path="/b")
    told_us = stage.clock.now_us()
    moved_in, moved_out = [event for event in stage.cloud.pending if "/log/" in event.key]
    stage.cloud.pending.remove(moved_out)
    stage.deliver()
    assert stage.listed(AWAY) == {"/b": memory.id}
    assert is_here(stage, moved_in) and not is_here(stage, moved_out)
    assert_waited_for_and_fetched(stage, [moved_out], told_us)
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    assert stage.listed(AWAY) == {"/b": memory.id}


def test_half_a_rename_that_its_event_alone_projected_is_waited_for(stage: MovingStage) -> None:
    """The mover died between its puts, the helper before its transaction; what was acknowledged next follows it."""
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, occurrence=2).die()
    (moved_in,) = [event.key for event in stage.cloud.pending]
    stage.actor(lambda: stage.index(moved_in), Strike(Fault.REFUSED, "index.commit")).finish()
    lost = lose(stage, "/log/")
    assert len(lost) == 2, "the helper had put the other half"
    stage.update(memory.id, "second")
    assert_waited_for_and_fetched(stage, lost, stage.clock.now_us(), others=[THIRD])
    stage.at_rest()


def test_the_end_of_a_late_rename_that_never_came_to_the_new_home_is_fetched(stage: MovingStage) -> None:
    """The new home knows the rename from the answer to a call, and has its first half; it is divergent."""
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    renamed = stage.update(memory.id, path="/b", region=AWAY)
    end = [event.key for event in stage.cloud.pending if "/log/" in event.key][-1]
    (lost,) = lose(stage, end)
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.come_late()
    minutes(stage, 4)
    stage.clock.advance(FETCH_AFTER_US / 1_000_000)
    minutes(stage, 3)
    assert is_here(stage, lost)
    stage.at_rest(divergent=[renamed.version_id])


@pytest.mark.parametrize(("content", "path", "puts"), [("second", None, 1), (None, "/b", 2)])
def test_a_late_version_whose_writer_died_is_fetched_by_the_new_home_too(
    stage: MovingStage, content: str | None, path: str | None, puts: int
) -> None:
    """Nobody acknowledged it, and its home heard of the failover before its event: the home logs it all the same."""
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    writer = stage.actor(lambda: stage.update(memory.id, content, path=path))
    writer.until(PUT, occurrence=puts, after=True).die()
    put = stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.deliver()
    stage.held.clear()
    stage.cloud.pending += put
    lost = lose(stage, "/log/")
    assert lost == put and stage.home(HOME) == AWAY
    minutes(stage, 4)
    stage.clock.advance(FETCH_AFTER_US / 1_000_000)
    minutes(stage, 3)
    assert all(is_here(stage, event) for event in lost)
    stage.at_rest(divergent=stage.divergent(THIRD))


def test_once_its_object_has_come_the_row_is_that_of_any_other_region(stage: MovingStage) -> None:
    memory = stage.create("/a", "first", region=AWAY)
    stage.update(memory.id, path="/b", region=AWAY)
    rows = stage.cloud.rows(AWAY, "versions").values()
    assert [row["unseen"] for row in rows] == [["entry"], ["departure", "entry"]]
    stage.deliver()
    assert stage.cloud.rows(AWAY, "versions") == stage.cloud.rows(THIRD, "versions")
    stage.index(stage.key_of(memory.version_id), AWAY)
    stage.at_rest()


@pytest.mark.parametrize("renamed", [False, True])
def test_a_version_that_a_failover_began_with_and_that_never_came_is_brought_to_the_third_region(
    stage: MovingStage, renamed: bool
) -> None:
    """Its row there was made from the new home's bucket, before the old home had sealed a checkpoint that names it."""
    memory = stage.create("/a", "first")
    if renamed:
        stage.deliver()
        stage.update(memory.id, path="/b")
    lost = lose(stage, "/log/", region=THIRD)
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.deliver()
    newest = max(stage.cloud.rows(THIRD, "versions").values(), key=lambda row: row["generation"])
    assert newest["unseen"] == (["departure", "entry"] if renamed else ["entry"])
    minutes(stage, 2)
    stage.clock.advance(FETCH_AFTER_US / 1_000_000)
    minutes(stage, 3)
    assert all(is_here(stage, event, THIRD) for event in lost)
    stage.at_rest()


def test_a_region_that_lacks_what_a_new_home_answers_with_tells_of_the_store_what_it_has_of_who_put_it(
    stage: MovingStage,
) -> None:
    """The new home's checkpoints do not name what it did not put; what it put next came before its record."""
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    stage.update(memory.id, "second")
    lost = lose(stage, "/log/", region=THIRD)
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    answered, told_us = stage.update(memory.id, "second", region=AWAY), stage.clock.now_us()
    newest = stage.update(memory.id, "third", region=AWAY)
    stage.reach(THIRD, stage.key_of(newest.version_id, AWAY))
    minutes(stage, 4)
    assert answered.version_id not in stage.history(memory.id, THIRD)
    assert until(stage, THIRD, AWAY) > told_us >= _complete_until(stage, THIRD)
    stage.clock.advance(FETCH_AFTER_US / 1_000_000)
    minutes(stage, 3)
    assert _complete_until(stage, THIRD) > told_us and is_here(stage, lost[0], THIRD)
    assert answered.version_id in stage.history(memory.id, THIRD)
    stage.at_rest()


def _complete_until(stage: MovingStage, region: str) -> int:
    """Up to when a region tells a reader of the store that it has everything; as a process just started says it."""
    here, call = stage.cloud.sites[region].region, stage.call()
    here.completeness.clear()
    stage.memolith(region).stores.retrieve(call, stage.store)
    return call.complete_until or 0


@pytest.mark.parametrize("followed", [True, False])
def test_the_end_of_a_rename_of_a_closed_epoch_that_was_read_in_its_homes_bucket_is_waited_for(
    stage: MovingStage, followed: bool
) -> None:
    """The third region has the first half alone, and projects it once it knows that the epoch is over.

    Where nothing followed, the failover began with the rename, and its record projects it.
    """
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    renamed = stage.update(memory.id, path="/b")
    moved_in, moved_out = [event.key for event in stage.cloud.pending if "/log/" in event.key]
    (lost,) = lose(stage, moved_out, region=THIRD)
    (late,) = lose(stage, moved_in, region=THIRD)
    stage.cloud.buckets.replicate(late, THIRD)
    stage.cloud.pending[:] = [event for event in stage.cloud.pending if event.region != THIRD]
    if followed:
        stage.update(memory.id, "second")
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.deliver()
    stage.index(moved_in, THIRD)
    row = stage.cloud.rows(THIRD, "versions")[stage.store, renamed.version_id]
    assert row["unseen"] == ["departure"]
    minutes(stage, 2)
    stage.clock.advance(FETCH_AFTER_US / 1_000_000)
    minutes(stage, 3)
    assert is_here(stage, lost, THIRD)
    stage.at_rest()


def test_an_object_that_came_before_the_answer_is_not_unseen(stage: MovingStage) -> None:
    memory = stage.create("/a", "first")
    stage.deliver()
    caller = stage.actor(lambda: stage.update(memory.id, "second", region=AWAY))
    caller.until("index.read", about="versions", occurrence=2)
    stage.deliver()
    caller.finish()
    assert not [row for row in stage.cloud.rows(AWAY, "versions").values() if "unseen" in row]


def test_an_object_whose_event_alone_was_lost_is_folded_without_a_copy(stage: MovingStage) -> None:
    stage.create("/a", "first", region=AWAY)
    told_us = stage.clock.now_us()
    for event in lose(stage, "/log/"):
        stage.cloud.buckets.replicate(event, AWAY)
    stage.cloud.pending[:] = [event for event in stage.cloud.pending if "/log/" not in event.key]
    minutes(stage, 4)
    assert until(stage, AWAY, HOME) > told_us
    assert stage.cloud.metrics.total("slots_fetched") == 0
    stage.at_rest()


@pytest.mark.parametrize("landing", [HOME, AWAY, THIRD])
def test_a_redaction_is_carried_out_where_its_order_never_arrived_wherever_it_landed(
    stage: MovingStage, landing: str
) -> None:
    memory = stage.create("/a", "SECRET")
    stage.update(memory.id, "clean")
    stage.deliver()
    minutes(stage)
    stage.redact(memory.version_id, landing)
    told_us = stage.clock.now_us()
    [order] = lose(stage, "/redaction/")
    stage.cloud.pending[:] = [
        event for event in stage.cloud.pending if "/log/" not in event.key or event.region != HOME
    ]
    stage.deliver()
    assert stage.found("SECRET", AWAY)
    assert_waited_for_and_fetched(stage, [order], told_us)
    assert not stage.found("SECRET", AWAY)
    assert not [row for row in stage.cloud.rows(AWAY, "versions").values() if "unseen" in row]


def test_an_order_whose_event_alone_was_lost_is_carried_out_where_its_row_was_told(stage: MovingStage) -> None:
    memory = stage.create("/a", "SECRET")
    stage.update(memory.id, "clean")
    stage.deliver()
    minutes(stage)
    stage.redact(memory.version_id, AWAY)
    [order] = lose(stage, "/redaction/")
    stage.cloud.pending[:] = [
        event for event in stage.cloud.pending if "/log/" not in event.key or event.region != HOME
    ]
    stage.cloud.buckets.replicate(order, AWAY)
    stage.cloud.pending[:] = [event for event in stage.cloud.pending if event.key != order.key]
    assert stage.found("SECRET", AWAY)
    minutes(stage, 4)
    assert not stage.found("SECRET", AWAY)


def test_a_record_that_a_region_knows_from_an_answer_is_fetched_too(stage: MovingStage) -> None:
    stage.memolith(AWAY).stores.update(stage.call(), stage.store, name="renamed", description="", metadata={})
    told_us = stage.clock.now_us()
    [record] = lose(stage, "/store/")
    assert_waited_for_and_fetched(stage, [record], told_us)


def test_a_revocation_that_was_confirmed_before_its_object_came_is_fetched_too(stage: MovingStage) -> None:
    key_id = f"apikey_{stage.api_key.split('-')[3]}"
    keys_calls(stage.memolith().api_keys)({"call": "keys.revoke", "workspace_id": WORKSPACE, "key_id": key_id})
    told_us = stage.clock.now_us()
    [revoked] = lose(stage, "/key/")
    indexer_calls(stage.cloud.sites[AWAY].indexing)({"call": "fold_key", "key": revoked.key})
    assert stage.cloud.rows(AWAY, "keys")[WORKSPACE, key_id]["revoked_at"] is not None
    assert_waited_for_and_fetched(stage, [revoked], told_us)


def test_the_daily_comparisons_see_what_was_never_here(stage: MovingStage) -> None:
    """The watermark had passed it, as that of an earlier release may have."""
    stage.create("/a", "first", region=AWAY)
    [event] = lose(stage, "/log/")
    minutes(stage, 2)
    index, key = stage.cloud.sites[AWAY].region.index, CompletenessRow.key(1)
    row = index.read([key])[key]
    folded = {**row["folded"], HOME: str(int(row["folded"][HOME].partition("/")[0]) + 1)}
    index.commit([Change(key, row, {**row, "folded": folded})])
    assert not is_here(stage, event)
    assert compare(stage, AWAY) == [0, 1]
    assert is_here(stage, event)


# ---- versions that came late, whose objects never come --------------------------------------------------------------


def test_a_lagging_index_keeps_no_late_version_in_the_history() -> None:
    """The rows were made from the old home's answers, and no global index knows them when they are judged."""
    stage = MovingStage((HOME, AWAY), lagging=True)
    memory = stage.create("/a", "first")
    stage.deliver()
    late = [stage.update(memory.id, text, region=AWAY).version_id for text in ("second", "third")]
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        assert stage.read(memory.id, AWAY).version_id == memory.version_id
        assert stage.divergent(AWAY) == sorted(late)
        assert [version.id for version in stage.history_of(memory.id, AWAY)] == [memory.version_id]


def test_a_late_version_behind_one_that_this_region_never_heard_of_is_not_kept_in_the_history() -> None:
    """Its child landed at the old home alone, so that no row leads to it from the head."""
    stage = MovingStage((HOME, AWAY), lagging=True)
    memory = stage.create("/a", "first")
    stage.deliver()
    second = stage.update(memory.id, "second", region=AWAY).version_id
    stage.update(memory.id, "third")
    fourth = stage.update(memory.id, "fourth", region=AWAY).version_id
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.deliver()
        assert stage.divergent(AWAY) == sorted([second, fourth])
        assert [version.id for version in stage.history_of(memory.id, AWAY)] == [memory.version_id]


# ---- departures that come late --------------------------------------------------------------------------------------


def test_a_memory_that_left_its_path_unseen_and_was_deleted_elsewhere_still_holds_its_path() -> None:
    """Another memory followed it where it was deleted: the cut does not find that stay; the deletion is divergent."""
    stage = MovingStage((HOME, AWAY))
    memory = stage.create("/a", "first")
    stage.deliver()
    moved = stage.update(memory.id, path="/d")
    stage.hold_back()
    stage.come_late(stage.key_of(moved.version_id))
    stage.delete(memory.id)
    stage.create("/d", "another")
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        with pytest.raises(PathConflict):
            stage.create("/a", "new", region=AWAY)
        assert stage.read(memory.id, AWAY).version_id == memory.version_id
        assert set(stage.listed(AWAY)) == {"/a", "/d"}
    stage.deliver()
    stage.at_rest(divergent=None)
    assert moved.version_id in stage.divergent(AWAY) and len(stage.divergent(AWAY)) == 2


# ---- names of one record --------------------------------------------------------------------------------------------


def test_a_record_that_is_named_with_a_version_and_without_one_is_looked_for(stage: MovingStage) -> None:
    """Two homes may name one key, of which one tells no version."""
    region = stage.cloud.sites[HOME].region
    parts = EpochParts.of(region)
    key = next(one for one in stage.all_keys() if "/store/" in one)
    objects = MissingObjects(region, make_indexer(region, parts), parts.snapshots)
    assert objects.missing(region.view(), [Named(key, "memver_a"), Named(key, None)]) == []
