"""What a cut names or passes over, shown before it is made, before any event of it comes, and when it comes again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import pytest

from memolith.app.kernel.results import ReadConsistency
from memolith.core.errors import NotFound, PathConflict, Unavailable
from memolith.core.rows.content import VersionRow
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged, take_over
from tests.simulation.test_home_scenarios import PUT, PUTS, everywhere

FOURTH = "us-west-2"


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


# ---- what a cut passes over -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("order", list(permutations(["original", "copy", "anew"])))
def test_a_deletion_that_a_cut_passes_over_is_late_at_its_last_copy_in_whichever_order_they_come(
    order: tuple[str, ...],
) -> None:
    """A home that lost its epoch replayed it. The accepted one found it, without its memory, and began that anew."""
    stage = MovingStage(regions=(HOME, AWAY, THIRD, FOURTH))
    memory = stage.create("/a", "one")
    stage.update(memory.id, path="/b")
    stage.update(memory.id, "two")
    stage.delete(memory.id)
    created, moved_in, _, changed, deleted = logged(stage)
    (deletion,) = [event for event in stage.hold_back() if event.key == deleted]
    stage.reach(THIRD, moved_in, changed)
    with stage.dead(HOME, AWAY):
        stage.fail_over(THIRD)
    stage.hold_back()
    stage.reach(THIRD, deleted)
    (copy,) = logged(stage)
    stage.hold_back()
    stage.reach(AWAY, moved_in, changed)
    stage.cloud.buckets.replicate(deletion, AWAY)
    with stage.dead(HOME, THIRD):
        stage.fail_over(AWAY)
        stage.reach(AWAY, created)
    (anew,) = [key for key in logged(stage) if key.startswith(f"{AWAY}/")]
    told = [event.key for event in stage.hold_back() if event.key.startswith(f"{AWAY}/") and event.key != anew]
    stage.reach(FOURTH, moved_in, changed, *told)
    keys = {"original": deleted, "copy": copy, "anew": anew}
    for name in order:
        stage.reach(FOURTH, keys[name])
    rows = map(VersionRow.from_attributes, stage.cloud.rows(FOURTH, "versions").values())
    (late,) = [row for row in rows if row.operation == "deleted"]
    assert late.memory_key is None and str(late.ref.key_in(stage.store)) == copy
    stage.at_rest(divergent=None, gaps=True)
    assert stage.listed(FOURTH) == {"/a": memory.id} and everywhere(stage, memory.id) == {"one"}


# ---- what a region knows before its cut is made ---------------------------------------------------------------------


def test_a_version_that_a_fail_over_under_way_will_find_is_not_said_to_be_unknown(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    version = stage.update(memory.id, "two").version_id
    (copy,) = [event for event in stage.hold_back() if "/log/" in event.key]
    stage.cloud.buckets.replicate(copy, AWAY)
    demanding = replace(stage.call(), demand=ReadConsistency(min_version=version))
    with stage.dead(HOME):
        over = stage.actor(lambda: stage.fail_over(AWAY)).until(PUT, occurrence=2)
        with pytest.raises(Unavailable):
            stage.memolith(AWAY).memories.retrieve(demanding, stage.store, memory.id, full=True)
        over.finish()
        stage.index(copy.key, AWAY)
        shown = stage.memolith(AWAY).memories.retrieve(demanding, stage.store, memory.id, full=True)
    assert shown.version_id == version


# ---- copies of which no event has told -------------------------------------------------------------------------------


def reach_untold(stage: MovingStage) -> None:
    """All that is under way has reached the bucket of `AWAY`, and no event of it comes."""
    for event in stage.hold_back():
        stage.cloud.buckets.replicate(event, AWAY)
    stage.hold_back()


def take_over_untold(stage: MovingStage) -> None:
    """All that is under way has reached `AWAY`, which no event has told of it; then `AWAY` takes over."""
    reach_untold(stage)
    with stage.dead(HOME):
        stage.fail_over(AWAY)


def test_a_home_that_takes_writes_shows_what_its_cut_names_before_any_event_of_it_comes(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    second = stage.update(memory.id, "two")
    reach_untold(stage)
    with stage.dead(HOME):
        over = stage.actor(lambda: stage.fail_over(AWAY)).until("objects.put_if_absent", occurrence=PUTS, after=True)
        while stage.state(AWAY) == "moving":
            over.until("index.commit", after=True)
        assert stage.read(memory.id, AWAY).version_id == second.version_id
        over.finish()
    stage.at_rest()


def test_a_version_that_a_cut_names_is_in_its_memorys_history_before_its_event_comes(stage: MovingStage) -> None:
    """An update that changes nothing answers with it, and a read may demand it."""
    memory = stage.create("/a", "one")
    take_over_untold(stage)
    assert stage.update(memory.id, path="/a", region=AWAY).version_id == memory.version_id
    assert [version.id for version in stage.history_of(memory.id, AWAY)] == [memory.version_id]
    stage.at_rest()


def test_a_memory_that_a_cut_knows_to_be_deleted_is_not_shown_again_when_its_creation_comes(stage: MovingStage) -> None:
    """The event of the creation comes before the deletion's, and a reader looks in the middle of its projection."""
    memory = stage.create("/a", "one")
    stage.delete(memory.id)
    created, deleted = [event for event in stage.hold_back() if "/log/" in event.key]
    stage.cloud.buckets.replicate(deleted, AWAY)
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.cloud.buckets.replicate(created, AWAY)
    indexer = stage.actor(lambda: stage.index(created.key, AWAY)).until("index.commit", after=True)
    with pytest.raises(NotFound):
        stage.read(memory.id, AWAY)
    assert stage.listed(AWAY) == {}
    indexer.finish()
    stage.at_rest()


def die_as_home(stage: MovingStage, change: Callable[[], None]) -> None:
    """`AWAY` becomes the home and takes writes; who has made it that dies before it goes through any of its rows."""
    mover = stage.actor(change)
    while (stage.home(AWAY), stage.state(AWAY)) != (AWAY, "active"):
        mover.until("index.commit", after=True)
    mover.die()


@pytest.mark.parametrize("moved", [False, True])
def test_a_memory_that_a_cut_knows_to_be_deleted_is_not_shown_where_it_was_shown_before(
    stage: MovingStage, moved: bool
) -> None:
    """The deletion's event has not come."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.delete(memory.id)
    reach_untold(stage)
    assert stage.read(memory.id, AWAY).content == "one"
    with stage.dead(*([] if moved else [HOME])):
        die_as_home(stage, lambda: stage.move(AWAY) if moved else stage.fail_over(AWAY))
        with pytest.raises(NotFound):
            stage.read(memory.id, AWAY)
        assert stage.listed(AWAY) == {}
        before, put_back = [stage.cloud.rows(one, "memories").get((stage.store, memory.id)) for one in (HOME, AWAY)]
        assert before is not None and before["gone"] and put_back is None
        stage.create("/a/b", region=AWAY)
    stage.at_rest()


def test_a_memory_that_a_cut_knows_to_be_deleted_is_not_shown_though_another_is_at_its_path(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.delete(memory.id)
    other = stage.create("/a", "other")
    _, created = logged(stage)
    stage.reach(AWAY, created)
    reach_untold(stage)
    die_as_home(stage, lambda: stage.move(AWAY))
    with pytest.raises(NotFound):
        stage.read(memory.id, AWAY)
    assert stage.listed(AWAY) == {"/a": other.id}
    stage.at_rest()


def test_a_version_that_comes_after_the_listing_of_a_fail_over_may_be_read_for_a_while_and_nothing_is_built_on_it(
    stage: MovingStage,
) -> None:
    """`AWAY` indexed it by the record that it knew then, and its snapshot has nothing of the memory."""
    memory = stage.create("/a", "one")
    stage.update(memory.id, "two")
    _, updated = logged(stage)
    stage.hold_back()
    with stage.dead(HOME):
        over = stage.actor(lambda: stage.fail_over(AWAY)).until("index.query", "memories", after=True)
        stage.reach(AWAY, updated)  # what the rows showed before is put right already
        over.until("index.query")  # the home has its first record, and begins to go through its rows
        stage.create("/b", region=AWAY)
        assert stage.read(memory.id, AWAY).content == "two"
        demanding = replace(stage.call(), demand=ReadConsistency(home=True))
        with pytest.raises(NotFound):
            stage.memolith(AWAY).memories.retrieve(demanding, stage.store, memory.id, full=True)
        with pytest.raises(NotFound):
            stage.update(memory.id, "three", region=AWAY)
        with pytest.raises(NotFound):
            stage.read(memory.id, AWAY)
    stage.at_rest()
    assert stage.read(memory.id, AWAY).content == "two"


def test_a_memory_that_was_written_on_while_its_place_in_a_cut_is_restored_is_listed(stage: MovingStage) -> None:
    """What the cut names is erased, so that only the memory's row still tells which path is to be listed."""
    memory = stage.create("/a", "one")
    stage.deliver()
    late = stage.update(memory.id, path="/b")
    stage.redact(memory.version_id)
    take_over(stage)
    taken = [event.key for event in stage.cloud.pending if event.region == AWAY]
    stage.reach(HOME, *(key for key in taken if "/cut/" in key))
    restored = stage.actor(lambda: stage.reach(HOME, *taken)).until("index.commit", "logs")
    stage.update(memory.id, "two", region=HOME)
    restored.finish()
    assert stage.listed(HOME) == {"/a": memory.id}
    stage.at_rest(divergent=[late.version_id])


@pytest.mark.slow
def test_a_memory_with_more_late_versions_than_one_transaction_holds_is_repaired_and_written(
    stage: MovingStage,
) -> None:
    """They came after the new home had listed what it found, and before it knew that it had."""
    memory = stage.create("/a", "one")
    stage.deliver()
    late = [stage.update(memory.id, f"late {number}").version_id for number in range(60)]
    keys = logged(stage)
    stage.hold_back()
    with stage.dead(HOME):
        over = stage.actor(lambda: stage.fail_over(AWAY)).until("index.query", "memories", after=True)
        stage.reach(AWAY, *keys)
        over.until("index.query")
        stage.update(memory.id, "two", region=AWAY)
        over.finish()
    stage.at_rest(divergent=late)
    assert len(stage.history(memory.id, THIRD)) == 2


@pytest.mark.parametrize(
    ("has_read", "slow_s"),
    [
        ("the last record of the lost home", 1.0),
        ("the last record of the lost home", 0.3),
        ("the record that begins the term", 0.0),
    ],
)
def test_no_path_is_hidden_from_a_creator_by_a_late_rename_that_is_projected_once_the_term_has_begun(
    stage: MovingStage, has_read: str, slow_s: float
) -> None:
    """The indexer does not know what the term begins with; its transaction comes after the first write may.

    An indexer that is slow by less than its lease does not read the record again: the fail-over waits for longer.
    """
    memory = stage.create("/a/b", "one")
    stage.deliver()
    stage.update(memory.id, path="/c")
    late = [event for event in stage.hold_back() if "/log/" in event.key]
    projecting = stage.actor(lambda: stage.index(late[0].key, AWAY))
    if has_read == "the last record of the lost home":
        projecting.until("objects.head", late[0].key)
    failing = stage.actor(lambda: stage.fail_over(AWAY))
    with stage.dead(HOME):
        failing.until(PUT, f"{AWAY}/cut/")
        for event in late:
            stage.cloud.buckets.replicate(event, AWAY)
        projecting.until("index.commit", "memories")
        failing.finish()
    stage.deliver()
    stage.clock.advance(slow_s)
    projecting.fails(Unavailable)
    with pytest.raises(PathConflict):
        stage.create("/a", "above", region=AWAY)
    stage.come_late()
    assert set(stage.listed(AWAY)) == {"/a/b"}


def test_a_version_whose_copys_copy_is_late_counts_where_it_was_first_also_in_a_rebuilt_region(
    stage: MovingStage,
) -> None:
    """Two homes that are not accepted replayed it, the second one from the first; its own home's next epoch is."""
    memory = stage.create("/a", "one")
    (original,) = logged(stage)
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    begun = [event.key for event in stage.hold_back()]
    stage.reach(THIRD, *begun)
    stage.reach(AWAY, original)
    (copy,) = logged(stage)
    stage.hold_back()
    with stage.dead(HOME), stage.dead(AWAY):
        stage.fail_over(THIRD, old=AWAY)
    stage.hold_back()
    stage.reach(THIRD, copy)
    stage.hold_back()
    stage.reach(HOME, *(key for key in begun if "/store/" in key))
    with stage.dead(AWAY), stage.dead(THIRD):
        stage.fail_over(HOME, old=AWAY)
    stage.update(memory.id, "two", region=HOME)
    stage.at_rest()
    assert len(stage.history_of(memory.id, AWAY)) == 2
