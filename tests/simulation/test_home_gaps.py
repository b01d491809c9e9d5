"""Fail-overs to a region whose copies came in no order: it holds what followed, and not what it followed from.

Objects are replicated each by itself. A region that takes a home over may have the creation that took a path and not
the departure that had made it free, or a deletion at the end of a rename and not its beginning. Each test is one such
gap, which a seed of the simulation met first; the schedules of `test_home_scenarios` have none.
"""

from __future__ import annotations

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.homes.snapshot_progress import SnapshotProgress
from memolith.core.errors import NotFound, PathConflict, Unavailable
from memolith.core.log_position import LogKey
from memolith.core.object_keys import LOCAL_PREFIX, RedactionKey, parse_key
from memolith.core.objects.entry import Entry
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged, take_over
from tests.simulation.test_home_scenarios import PUT, PUTS


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def entry_at(stage: MovingStage, key: str) -> Entry:
    parsed, stored = parse_key(key), stage.cloud.buckets.current(HOME, key)
    assert isinstance(parsed, LogKey) and stored is not None
    return Entry.from_metadata(parsed, stored.metadata)


# ---- renames of which some is missing -------------------------------------------------------------------------------


def test_a_rename_whose_end_is_missing_below_what_took_its_path_stands_apart(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    moved = stage.update(memory.id, path="/b").version_id
    other = stage.create("/a", "other")
    moved_in, _, created = logged(stage)
    take_over(stage, moved_in, created)
    assert stage.listed(AWAY) == {"/a": other.id}
    stage.at_rest(divergent=[moved])
    assert stage.listed(THIRD) == {"/a": other.id}
    with pytest.raises(NotFound):
        stage.read(memory.id, THIRD)
    assert [version.id for version in stage.history_of(memory.id, THIRD)] == [memory.version_id]


@pytest.mark.parametrize("newest_too", [False, True])
def test_an_order_that_comes_after_a_fail_over_shows_no_memory_that_left_its_path_apart(
    stage: MovingStage, newest_too: bool
) -> None:
    """Neither as what it was after the version that the order erases, nor as a blank of that."""
    memory = stage.create("/a", "SECRET")
    second = stage.update(memory.id, "two")
    stage.deliver()
    moved = stage.update(memory.id, path="/b").version_id
    other = stage.create("/a", "other")
    moved_in, _, created = logged(stage)
    if newest_too:
        stage.redact(second.version_id)
    stage.redact(memory.version_id)
    order = str(RedactionKey(HOME, stage.store, memory.version_id))
    rest = [event.key for event in stage.cloud.pending if event.key != order]
    take_over(stage, moved_in, created)
    stage.come_late(*rest)
    stage.come_late(order)
    for region in (HOME, AWAY, THIRD):
        assert stage.listed(region) == {"/a": other.id}
        with pytest.raises(NotFound):
            stage.read(memory.id, region)
    stage.at_rest(divergent=[moved])


@pytest.mark.parametrize("updated", [False, True])
def test_half_a_rename_that_comes_after_a_fail_over_shows_no_memory_that_was_deleted_where_it_went(
    stage: MovingStage, updated: bool
) -> None:
    """The other half is read in the lost home's bucket; neither it nor the deletion has come."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, path="/b")
    if updated:
        stage.update(memory.id, "two")
    stage.delete(memory.id)
    moved_in, *rest = logged(stage)
    take_over(stage, moved_in, *rest)
    stage.deliver()
    stage.reach(THIRD, moved_in)
    assert stage.home(THIRD) == AWAY
    assert stage.listed(THIRD) == {}
    with pytest.raises(NotFound):
        stage.read(memory.id, THIRD)
    stage.at_rest()


@pytest.mark.parametrize("how", ["moved", "failed over"])
def test_an_erasure_of_what_a_new_home_has_followed_leaves_the_memory_readable_elsewhere(
    stage: MovingStage, how: str
) -> None:
    """What followed stands in the log of the next epoch, in the bucket of the new home, and has not come yet."""
    memory = stage.create("/a", "SECRET")
    stage.deliver()
    if how == "moved":
        stage.move(AWAY)
    else:
        take_over(stage)
    stage.deliver()
    followed = stage.key_of(stage.update(memory.id, "two", region=AWAY).version_id, AWAY)
    stage.redact(memory.version_id, region=AWAY)
    stage.reach(THIRD, *(event.key for event in stage.cloud.pending if event.key != followed))
    assert stage.read(memory.id, THIRD).content == "two"
    stage.at_rest()


def test_a_deletion_at_the_end_of_a_rename_ends_the_memory_at_its_source_too(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, path="/b")
    stage.delete(memory.id)
    moved_in, _, deleted = logged(stage)
    take_over(stage, moved_in, deleted)
    assert stage.listed(AWAY) == {}
    again = stage.create("/a", "again", region=AWAY)
    stage.at_rest()
    assert stage.listed(THIRD) == {"/a": again.id}


def test_a_rename_of_an_epoch_that_is_not_known_yet_counts_though_its_end_comes_while_it_is_folded(
    stage: MovingStage,
) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    take_over(stage)
    stage.hold_back()
    stage.update(memory.id, path="/b", region=AWAY)
    moved_in, moved_out = logged(stage)
    stage.hold_back()
    folding = stage.actor(lambda: stage.reach(THIRD, moved_in)).until("objects.head", occurrence=2, after=True)
    stage.reach(THIRD, moved_out)
    folding.finish()
    stage.at_rest(divergent=[])
    assert stage.listed(THIRD) == {"/b": memory.id}


@pytest.mark.parametrize("begun_first", [True, False])
def test_a_rename_counts_as_soon_as_what_followed_at_its_destination_has_come_whichever_came_first(
    stage: MovingStage, begun_first: bool
) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    renamed = stage.update(memory.id, path="/b").version_id
    changed = stage.update(memory.id, "two").version_id
    moved_in, _, followed = logged(stage)
    take_over(stage, followed)
    for key in (moved_in, followed) if begun_first else (followed, moved_in):
        stage.come_late(key)
    history = [version.id for version in stage.history_of(memory.id, THIRD)]
    assert history == [changed, renamed, memory.version_id]
    stage.at_rest(divergent=[])
    assert stage.listed(THIRD) == {"/b": memory.id}


@pytest.mark.parametrize("record_first", [True, False])
def test_a_rebuild_has_a_rename_whose_end_is_lost_by_what_followed_it_whenever_it_meets_the_epochs_record(
    stage: MovingStage, record_first: bool
) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    renamed = stage.update(memory.id, path="/b").version_id
    changed = stage.update(memory.id, "two").version_id
    moved_in, end, followed = logged(stage)
    for event in [one for one in stage.cloud.pending if one.key in (moved_in, followed)]:
        stage.cloud.buckets.replicate(event, AWAY)
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.deliver()
        for key in (moved_in, followed):
            stage.index(key, AWAY)
    assert [version.id for version in stage.history_of(memory.id, AWAY)] == [changed, renamed, memory.version_id]
    keys = [key for key in stage.all_keys(AWAY) if not key.startswith(LOCAL_PREFIX)]
    assert end not in keys
    stage.assert_rebuilt_the_same(AWAY, sorted(keys, key=lambda key: ("/log/" in key) == record_first))


def test_a_rename_that_a_region_holds_whole_stays_in_its_history_before_what_followed_has_come_there(
    stage: MovingStage,
) -> None:
    """`THIRD` was told of the rename, and holds both its halves; `AWAY` holds only what followed at the destination."""
    memory = stage.create("/a", "one")
    stage.deliver()
    renamed = stage.update(memory.id, path="/b", region=THIRD).version_id
    changed = stage.update(memory.id, "two").version_id
    moved_in, moved_out, followed = logged(stage)
    take_over(stage, followed)
    stage.reach(THIRD, moved_in, moved_out)
    stage.deliver()
    history = [version.id for version in stage.history_of(memory.id, THIRD)]
    assert history == [changed, renamed, memory.version_id]
    assert stage.divergent(THIRD) == []
    stage.at_rest(divergent=[])


def test_a_rename_that_an_earlier_cut_names_counts_where_the_next_home_lacks_what_was_before_it(
    stage: MovingStage,
) -> None:
    """`AWAY` held the whole rename. `THIRD`, which takes over from it, has the end alone, and the cut that names it."""
    memory = stage.create("/b", "one")
    stage.deliver()
    two = stage.update(memory.id, "two").version_id
    renamed = stage.update(memory.id, path="/a").version_id
    _, end, _ = logged(stage)
    stage.hold_back()
    stage.reach(AWAY)
    stage.reach(THIRD, end)
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.deliver()
        with stage.dead(AWAY):
            stage.fail_over(THIRD, old=AWAY)
    stage.at_rest(divergent=[two])
    for region in stage.cloud.regions:
        assert [version.id for version in stage.history_of(memory.id, region)] == [renamed, memory.version_id]
        assert (stage.read(memory.id, region).path, stage.read(memory.id, region).content) == ("/a", "two")
    stage.move(HOME)
    stage.update(memory.id, "three")
    stage.at_rest(divergent=[two])
    assert renamed in [version.id for version in stage.history_of(memory.id, HOME)]


@pytest.mark.parametrize("calls", [1, 2])
def test_a_memory_that_was_about_to_go_on_is_where_it_was_about_to_go_on_from(stage: MovingStage, calls: int) -> None:
    """Also where a call before this one had read those entries, and stopped."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, path="/b")
    further = stage.update(memory.id, path="/c").version_id
    to_b, _, _, from_b = logged(stage)
    if calls == 2:
        progress = SnapshotProgress(stage.cloud.sites[AWAY].region)
        progress.keep(stage.store, [entry_at(stage, to_b), entry_at(stage, from_b)])
    take_over(stage, to_b, from_b)
    assert stage.listed(AWAY) == {"/b": memory.id}
    stage.at_rest(divergent=[further])
    assert stage.listed(THIRD) == {"/b": memory.id}


@pytest.mark.parametrize("to", [HOME, THIRD])
def test_half_a_rename_of_an_epoch_that_is_over_keeps_no_store_where_it_is(stage: MovingStage, to: str) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    moved = stage.update(memory.id, path="/b").version_id
    take_over(stage, logged(stage)[0])
    stage.deliver()
    stage.move(to)
    stage.at_rest(divergent=[moved])


def test_the_text_of_a_rename_that_nobody_can_end_any_more_goes(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.actor(lambda: stage.update(memory.id, "never committed", path="/b")).until(PUT, after=True).die()
    half = logged(stage)[0]
    take_over(stage, half)
    stage.deliver()
    stage.at_rest()
    for region in stage.cloud.regions:
        stored = stage.cloud.buckets.current(region, half)
        assert stored is not None and stored.body == b"", region
    assert stage.listed(THIRD) == {"/a": memory.id}


@pytest.mark.parametrize("how", ["moved", "failed over"])
def test_the_text_of_a_refused_rename_goes_though_its_home_changed_while_the_writer_was_asked(
    stage: MovingStage, how: str
) -> None:
    """Its event came while the rename could still be completed. The new home begins with both entries: no sweep sees
    the first half as late, and no other event leads back to it.
    """
    memory = stage.create("/a", "one")
    stage.deliver()
    renamer = stage.actor(lambda: stage.update(memory.id, "REFUSED", path="/b")).until(PUT, after=True)
    indexer = stage.actor(lambda: stage.cloud.deliver_one(0)).until("peers.call", "peerwriter")
    stage.delete(memory.id)
    renamer.fails(NotFound)
    if how == "moved":
        stage.move(AWAY)
    else:
        take_over(stage, *logged(stage))
    stage.deliver()
    assert stage.home(HOME) == AWAY
    indexer.finish()
    stage.at_rest()
    assert [stage.found("REFUSED", region) for region in stage.cloud.regions] == [[], [], []]
    assert stage.listed(THIRD) == {}


# ---- paths and their ancestors --------------------------------------------------------------------------------------


def test_a_home_that_comes_back_knows_its_paths_before_it_takes_or_adopts_anything(stage: MovingStage) -> None:
    """It had given up a memory that its successor did not know; that one's own cut has never come here."""
    memory = stage.create("/a", "one")
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        below = stage.create("/a/b", "two", region=AWAY)
    records = [event.key for event in stage.cloud.pending if "/store/" in event.key]
    stage.hold_back()
    stage.reach(HOME, *records)
    assert stage.listed(HOME) == {}
    with stage.dead(AWAY):
        operator = stage.actor(lambda: stage.fail_over(HOME, old=AWAY))
        operator.until(PUT, occurrence=PUTS, after=True).until("index.commit", after=True)
        with pytest.raises(PathConflict):
            stage.create("/a/c", "three")
        operator.finish()
    stage.at_rest(divergent=[below.version_id])
    assert stage.listed(THIRD) == {"/a": memory.id}


# ---- attempts of one rename -----------------------------------------------------------------------------------------


def test_a_renames_second_attempt_does_not_follow_its_first_which_never_counted(stage: MovingStage) -> None:
    """A rival took the generation of the first attempt, so that the second one's is the next after that."""
    memory = stage.create("/b", "one")
    stage.deliver()
    renamer = stage.actor(lambda: stage.update(memory.id, "renamed", path="/a")).until(PUT, occurrence=2)
    rival = stage.update(memory.id, "rival")
    renamed = renamer.finish()
    attempts = [key for key in logged(stage) if stage.hash_of("/a") in key]
    assert len(attempts) == 2
    take_over(stage, *attempts)
    assert stage.listed(AWAY) == {"/b": memory.id}
    stage.at_rest(divergent=[renamed.version_id])
    assert [version.id for version in stage.history_of(memory.id, THIRD)] == [rival.version_id, memory.version_id]


def test_a_renames_first_attempt_stays_void_below_what_followed_its_second(stage: MovingStage) -> None:
    """Its source slot is the rival's, and above the cut, as the second attempt's is."""
    memory = stage.create("/b", "one")
    stage.deliver()
    renamer = stage.actor(lambda: stage.update(memory.id, "renamed", path="/a")).until(PUT, occurrence=2)
    rival = stage.update(memory.id, "rival").version_id
    renamed = renamer.finish().version_id
    changed = stage.update(memory.id, "two").version_id
    take_over(stage, logged(stage)[-1])
    stage.at_rest(divergent=[rival])
    for region in stage.cloud.regions:
        history = [version.id for version in stage.history_of(memory.id, region)]
        assert history == [changed, renamed, memory.version_id]


# ---- what a region learns of erasures that are not its own -----------------------------------------------------------


def test_what_another_region_retired_and_told_of_is_retired_here_too(stage: MovingStage) -> None:
    """The eraser of the region that wrote it comes late, and finds by its own rows what is to be erased.

    It does not answer while the call that was told is under way.
    """
    memory = stage.create("/secret")
    policy = {"days": 1, "versions": 1}
    stage.memolith().stores.update(stage.call(), stage.store, name="s", description="", metadata={}, retention=policy)
    stage.delete(memory.id)
    stage.deliver()
    stage.move(AWAY)
    stage.deliver()
    stage.clock.advance(3 * 24 * 3600)
    stage.cloud.peers.call(AWAY, "eraser", {"call": "sweep"})
    told = stage.actor(lambda: stage.update(memory.id, "two", region=HOME))
    with pytest.raises((NotFound, Unavailable)):
        told.struck_by(Strike(Fault.REFUSED, "peers.call", subject="eraser")).finish()
    for region in (HOME, THIRD):
        stage.cloud.peers.call(region, "eraser", {"call": "sweep"})
    stage.deliver()
    assert [stage.searched("/secret", region) for region in stage.cloud.regions] == [[], [], []]
    stage.at_rest()
