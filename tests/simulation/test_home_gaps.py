"""Fail-overs to a region whose copies came in no order: it holds what followed, and not what it followed from.

Objects are replicated each by itself. A region that takes a home over may have the creation that took a path and not
the departure that had made it free, or a deletion at the end of a rename and not its beginning. Each test is one such
gap, which a seed of the simulation met first; the schedules of `test_home_scenarios` have none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import permutations

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.kernel.results import ReadConsistency
from memolith.core.errors import NotFound, PathConflict, Unavailable
from memolith.core.object_keys import RedactionKey, StoreKey, parse_key
from memolith.core.objects.store_record import StoreRecord
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import PlacedRecord, to_row
from memolith.ports.index import Change
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.test_home_scenarios import PUT, PUTS, everywhere

FOURTH = "us-west-2"


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def logged(stage: MovingStage) -> list[str]:
    """The keys of what was put into logs and is under way, in their order."""
    return [event.key for event in stage.cloud.pending if "/log/" in event.key]


def take_over(stage: MovingStage, *replicated: str) -> None:
    """Of what is under way only these objects have reached `AWAY`; then its home dies, and `AWAY` takes over."""
    stage.hold_back()
    if replicated:
        stage.reach(AWAY, *replicated)
    with stage.dead(HOME):
        stage.fail_over(AWAY)


def taken_over_and_back(stage: MovingStage) -> list[str]:
    """Fail `HOME` over to `AWAY`, and that to `HOME` again; `THIRD` hears of neither. Return what `AWAY` has put."""
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    taken = [event.key for event in stage.cloud.pending if event.region == AWAY]
    stage.hold_back()
    stage.reach(HOME, *taken)
    with stage.dead(AWAY):
        stage.fail_over(HOME, old=AWAY)
        stage.hold_back()
    return taken


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


def test_a_memory_that_was_about_to_go_on_is_where_it_was_about_to_go_on_from(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, path="/b")
    further = stage.update(memory.id, path="/c").version_id
    to_b, _, _, from_b = logged(stage)
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


# ---- stays at a path that another memory has taken since -----------------------------------------------------------


def test_what_a_memory_was_elsewhere_stands_apart_once_its_creation_came_late_and_was_adopted(
    stage: MovingStage,
) -> None:
    """The new home knows of its stay at /d nothing but a number of slots, below the creation that took the path."""
    memory = stage.create("/a", "one")
    there = stage.update(memory.id, path="/d").version_id
    back = stage.update(memory.id, path="/a").version_id
    other = stage.create("/d", "other")
    created, *renamed, taken = logged(stage)
    take_over(stage, taken)
    stage.come_late(created)
    assert stage.listed(AWAY) == {"/a": memory.id, "/d": other.id}
    stage.come_late(*renamed)
    stage.at_rest(divergent=[there, back])
    for region in stage.cloud.regions:
        assert [version.id for version in stage.history_of(memory.id, region)] == [memory.version_id]


def test_what_a_memory_was_elsewhere_stands_apart_though_it_came_before_its_creation_was_adopted(
    stage: MovingStage,
) -> None:
    memory = stage.create("/a", "one")
    there = stage.update(memory.id, path="/d").version_id
    back = stage.update(memory.id, path="/a").version_id
    other = stage.create("/d", "other")
    created, *renamed, taken = logged(stage)
    take_over(stage, taken)
    stage.come_late(*renamed)
    stage.come_late(created)
    stage.at_rest(divergent=[there, back])
    assert stage.listed(THIRD) == {"/a": memory.id, "/d": other.id}


def test_a_stay_at_another_path_of_which_a_fail_over_found_nothing_stands_apart(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    there = stage.update(memory.id, path="/d").version_id
    changed = stage.update(memory.id, "two").version_id
    back = stage.update(memory.id, path="/a").version_id
    other = stage.create("/d", "other")
    *stay, taken = logged(stage)
    take_over(stage, taken)
    assert stage.listed(AWAY) == {"/a": memory.id, "/d": other.id}
    stage.come_late(*stay)
    stage.at_rest(divergent=[there, changed, back])
    assert stage.listed(THIRD) == {"/a": memory.id, "/d": other.id}
    again = stage.update(memory.id, "again", region=AWAY)
    stage.at_rest(divergent=[there, changed, back])
    assert [version.id for version in stage.history_of(memory.id, THIRD)] == [again.version_id, memory.version_id]


def test_a_deletion_at_another_path_of_which_a_fail_over_found_nothing_does_not_delete(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    there = stage.update(memory.id, path="/d").version_id
    stage.delete(memory.id)
    other = stage.create("/d", "other")
    *stay, deleted, taken = logged(stage)
    take_over(stage, taken)
    stage.come_late(*stay, deleted)
    ended = stage.cloud.buckets.current(HOME, deleted)
    assert ended is not None
    stage.at_rest(divergent=[there, ended.metadata["id"]])
    assert stage.listed(THIRD) == {"/a": memory.id, "/d": other.id}


def test_a_late_change_of_a_memory_that_two_fail_overs_left_without_a_head_is_divergent_and_asks_no_more(
    stage: MovingStage,
) -> None:
    """Its creation is the last that the second new home knows of its path: that it went on from there is not known."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, path="/b")
    moved = logged(stage)
    moved_back = stage.update(memory.id, path="/a")
    late = stage.update(memory.id, "two")
    came_back = [key for key in logged(stage) if key not in moved][1:]
    stage.hold_back()
    stage.reach(THIRD, moved[1])
    take_over(stage, *came_back)
    stage.create("/b", region=AWAY)
    made = [event.key for event in stage.hold_back()]
    stage.reach(THIRD, *made)
    with stage.dead(AWAY):
        stage.fail_over(THIRD, old=AWAY)
    stage.at_rest(divergent=[moved_back.version_id, late.version_id])


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


# ---- records --------------------------------------------------------------------------------------------------------


def test_a_fail_over_that_is_repeated_by_an_old_row_gives_an_epoch_no_second_cut(stage: MovingStage) -> None:
    """The table is behind: a move away from here was begun since, whose record alone is in the bucket."""
    stage.create("/a", "one")
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        with suppress(Unavailable):
            stage.operate(AWAY, "homes.begin", to=THIRD)
        put_back_to_its_first_record(stage, AWAY)
        stage.fail_over(AWAY)
    row = StoreRow.from_attributes(stage.cloud.rows(AWAY, "stores")[stage.store, "record"])
    assert len(row.cuts or ()) == len(row.epochs) - 1 == 1


def test_a_fail_over_takes_nothing_from_an_epoch_of_which_it_knows_the_beginning_alone(stage: MovingStage) -> None:
    """What that epoch wrote is late, and is adopted. A cut once held it, of an epoch that its record does not name."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.fail_over(AWAY)
    stage.deliver()
    stage.fail_over(HOME, old=AWAY)
    rival = stage.update(memory.id, "rival")
    begun = next(event.key for event in stage.cloud.pending if "/store/" in event.key)
    (entry,) = logged(stage)
    stage.hold_back()
    stage.reach(AWAY, begun, entry)
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.at_rest()
    assert stage.read(memory.id, HOME).content == "rival"
    assert rival.version_id in [version.id for version in stage.history_of(memory.id, AWAY)]


def test_a_fail_over_whose_first_record_was_not_indexed_is_finished_by_the_next(stage: MovingStage) -> None:
    """`HOME` was the home two epochs ago: its own row, from then, says that the store is written there."""
    memory = stage.create("/a", "one")
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    for key in [event.key for event in stage.cloud.pending if event.region == AWAY]:
        stage.copy(key, HOME)
    stage.hold_back()
    with stage.dead(AWAY):
        begun = stage.actor(
            lambda: stage.operate(HOME, "homes.fail_over", old=AWAY), Strike(Fault.REFUSED, "index.commit")
        )
        assert begun.finish()["error"]["type"] == "OutcomeUnknown"
        assert (stage.home(HOME), stage.state(HOME)) == (HOME, "active"), "the row is the one of two epochs ago"
        assert stage.operate(HOME, "homes.fail_over", old=AWAY)["state"] == "moved"
        assert (stage.home(HOME), stage.state(HOME)) == (HOME, "active")
        stage.update(memory.id, "two")
        assert stage.operate(HOME, "homes.fail_over", old=AWAY)["state"] == "at home"
    stage.at_rest()
    stage.update(memory.id, "three", region=THIRD)
    assert stage.read(memory.id, THIRD).content == "three"


@pytest.mark.parametrize("deletes", [False, True])
def test_who_was_answered_by_a_later_home_asks_no_earlier_one_whose_record_comes_after_that(
    stage: MovingStage, deletes: bool
) -> None:
    """`THIRD` hears of the first of the two failovers when the home that the second made has answered it."""
    memory = stage.create("/a", "one")
    stage.deliver()
    taken = taken_over_and_back(stage)
    with stage.dead(AWAY):
        stage.update(memory.id, "two", region=THIRD)
        stage.hold_back()
    stage.reach(THIRD, *taken)
    assert stage.home(AWAY) == AWAY, "it has not heard that it was taken over, or this test shows nothing"
    if deletes:
        stage.delete(memory.id, region=THIRD)
    else:
        stage.update(memory.id, "three", region=THIRD)
    stage.at_rest()
    assert stage.listed(HOME) == ({} if deletes else {"/a": memory.id})


def test_a_write_is_answered_though_the_record_of_its_later_home_cannot_be_read(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    stage.deliver()
    taken_over_and_back(stage)
    writing = stage.actor(lambda: stage.update(memory.id, "two", region=THIRD), Strike(Fault.REFUSED, "objects.list"))
    assert writing.finish().content_sha256 == stage.read(memory.id, HOME).content_sha256
    assert stage.home(THIRD) == HOME and stage.read(memory.id, THIRD).content == "two"
    stage.at_rest()


@pytest.mark.parametrize("indexed", [True, False])
def test_a_fail_over_to_a_home_from_which_the_store_is_being_moved_leaves_it_written_there(
    stage: MovingStage, indexed: bool
) -> None:
    """The mover died, or is still on its way: then it is told that the move was given up."""
    memory = stage.create("/a", "one")
    stage.deliver()
    mover = stage.actor(lambda: stage.operate(AWAY, "homes.move")).until(PUT, f"{AWAY}/cut/")
    if not indexed:
        put_back_to_its_first_record(stage, HOME)
    assert stage.operate(HOME, "homes.fail_over", old=AWAY)["state"] == "at home"
    stage.update(memory.id, "two")
    assert mover.finish()["error"]["type"] == "Busy"
    stage.at_rest()
    assert stage.home(THIRD) == HOME and stage.read(memory.id, THIRD).content == "two"


def put_back_to_its_first_record(stage: MovingStage, region: str) -> None:
    """The row of the store as the epoch's first record left it."""
    index = stage.cloud.sites[region].region.index
    key = StoreRow.key(stage.store)
    first = parse_key(next(key for key in sorted(stage.all_keys(region)) if f"{region}/store/{stage.store}/" in key))
    stored = stage.cloud.buckets.current(region, str(first))
    assert isinstance(first, StoreKey) and stored is not None
    row = to_row(PlacedRecord(first.slot, StoreRecord.from_json(stored.body)))
    index.commit([Change(key, index.read([key])[key], row.to_attributes())])


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


# ---- what a home of another chain of terms knew ----------------------------------------------------------------------


def test_what_an_earlier_home_had_adopted_counts_again_once_its_epoch_does(stage: MovingStage) -> None:
    """`AWAY` takes over without knowing of `THIRD`, and counts the late original; `HOME` comes after `THIRD`.

    An event of the original comes again while `AWAY` knows of the last epoch that it begins, and not its snapshot.
    """
    memory = stage.create("/a", "one")
    stage.deliver()
    second = stage.update(memory.id, "two")
    (late,) = [event.key for event in stage.hold_back()]
    with stage.dead(HOME, AWAY):
        stage.fail_over(THIRD)
        stage.reach(THIRD, late)
        third = stage.update(memory.id, "three", region=THIRD)
    taken = [event.key for event in stage.hold_back() if event.region == THIRD]
    stage.reach(AWAY, late)
    with stage.dead(HOME, THIRD):
        stage.fail_over(AWAY)
    stage.hold_back()
    stage.reach(HOME, *taken)
    with stage.dead(AWAY, THIRD):
        stage.fail_over(HOME, old=THIRD)
        begun, *_ = [event.key for event in stage.hold_back() if "/store/" in event.key]
    stage.reach(AWAY, *taken)
    stage.reach(AWAY, begun)
    stage.index(late, AWAY)
    stage.at_rest()
    history = [version.id for version in stage.history_of(memory.id, AWAY)]
    assert history == [third.version_id, second.version_id, memory.version_id]


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
