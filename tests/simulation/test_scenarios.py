"""Exact schedules, each of which broke a draft of the design: what went wrong there must not go wrong here.

Each section below is one schedule. Elsewhere are:

- expired_claim, with hundreds of creators: `test_crowds`.
- erased_text_survives, each late original by itself: `test_found`.
- watermark_before_ack: `tests/unit/app/replication/test_watermark`,
  test_a_fold_that_meets_a_closed_period_goes_into_the_open_one and
  test_a_write_in_flight_while_its_period_is_published_is_not_claimed_before_it_is_there.
- movers and writers that die at every port call, and a cut that a writer respects: `test_crashes`.
- index_reads_during_rename, with tables wiped and made anew: `test_rebuild_scenarios`.

Schedules in which a home moves or is failed over (a split rename, a frozen lease, a dying mover, two regions and a cut,
and what of the others needs two homes) are in `test_home_scenarios`.
"""

from __future__ import annotations

import itertools

import pytest

from memolith.adapters.limits import check_object
from memolith.adapters.memory import MemoryDatabase, MemoryIndex
from memolith.app.indexer.service import make_indexer
from memolith.app.kernel.region import View
from memolith.core.commands import UpdateMemory, to_payload
from memolith.core.decide import sha256_hex
from memolith.core.errors import NotFound, PathConflict, PreconditionFailed, Unavailable
from memolith.wire.rpc import peerwriter_calls
from tests.simulation.stage import AWAY, HOME, WORKSPACE, Stage
from tests.support.cloud import Cloud

PUT = "objects.put_if_absent"
PAST_A_CLAIM_S = 6.0


@pytest.fixture
def stage() -> Stage:
    return Stage()


# ---- expired_claim --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [("/n", "/n/t"), ("/n/t", "/n")])
@pytest.mark.parametrize("after", [True, False])
def test_a_creator_that_stalls_past_its_claim_does_not_put(stage: Stage, first: str, second: str, after: bool) -> None:
    stalled = stage.actor(lambda: stage.create(first)).until("index.query", after=after)
    stage.clock.advance(PAST_A_CLAIM_S)
    there = stage.create(second)
    refusal = stalled.fails(PathConflict)
    assert isinstance(refusal, PathConflict) and refusal.conflicting_memory_id == there.id
    stage.cloud.deliver()
    assert stage.listed(HOME) == stage.listed(AWAY) == {second: there.id}


def test_a_put_that_was_given_up_and_lands_late_finds_its_slot_taken(stage: Stage) -> None:
    """The claim is broken between the look and the put, however late the put arrives."""
    stalled = stage.actor(lambda: stage.create("/n")).until(PUT)
    stage.clock.advance(PAST_A_CLAIM_S)
    there = stage.create("/n/t")
    stalled.fails(PathConflict)
    stage.cloud.deliver()
    assert stage.listed(AWAY) == {"/n/t": there.id}


def test_a_claim_that_has_not_expired_is_waited_for(stage: Stage) -> None:
    creator = stage.actor(lambda: stage.create("/n")).until(PUT)
    other = stage.actor(lambda: stage.create("/n/t")).until("index.query", occurrence=2)
    memory = creator.finish()
    refusal = other.fails(PathConflict)
    assert isinstance(refusal, PathConflict) and refusal.conflicting_memory_id == memory.id


# ---- index_reads_during_rename --------------------------------------------------------------------------------------


def test_a_reader_sees_one_id_at_one_path_at_every_step_of_a_rename(stage: Stage) -> None:
    memory = stage.create("/a")
    stage.cloud.deliver()
    mover = stage.actor(lambda: stage.update(memory.id, path="/b"))
    for step in range(1, 40):
        if mover.done:
            break
        mover.step()
        for region in (HOME, AWAY):
            listed = stage.listed(region)
            assert list(listed.values()) == [memory.id], f"step {step} in {region}"
            assert listed == {stage.read(memory.id, region).path: memory.id}
    assert mover.done and stage.listed(HOME) == {"/b": memory.id}
    stage.cloud.deliver()
    assert stage.listed(AWAY) == {"/b": memory.id}


def test_whoever_meets_a_committed_rename_leaves_no_index_behind_that_denies_it(stage: Stage) -> None:
    memory = stage.create("/a")
    mover = stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, occurrence=2, after=True)
    assert stage.listed() == {"/a": memory.id}
    other = stage.create("/a", "other")
    assert stage.listed() == {"/a": other.id, "/b": memory.id}
    assert stage.read(memory.id).path == "/b"
    mover.finish()
    assert stage.listed() == {"/a": other.id, "/b": memory.id}


def test_a_head_is_not_redacted_while_the_tables_vanish_that_say_that_it_is_one() -> None:
    stage = Stage()
    memory = stage.create("/a", "one")
    slow = stage.actor(lambda: stage.redact(memory.version_id)).until("index.read", "memories")
    stage.wipe(HOME)
    slow.fails(Unavailable)
    assert not [key for key in stage.all_keys(HOME) if "/redaction/" in key]


def test_with_its_tables_wiped_a_region_says_that_it_does_not_know_and_never_that_nothing_is_there(
    stage: Stage,
) -> None:
    memory = stage.create("/a")
    mover = stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, occurrence=2, after=True)
    stage.wipe(HOME)
    for ask in (lambda: stage.read(memory.id), stage.listed, lambda: stage.create("/a")):
        with pytest.raises(Unavailable):
            ask()
    mover.finish()
    known = stage.memolith().memories.retrieve(stage.call(), stage.store, memory.id, full=False)
    assert known.path == "/b"
    for ask in (lambda: stage.read(memory.id), stage.listed):
        with pytest.raises(Unavailable):
            ask()


# ---- update_by_stale_id ---------------------------------------------------------------------------------------------


def test_a_memory_is_found_by_id_while_every_global_index_lags() -> None:
    stage = Stage(lagging=True)
    memory = stage.create("/a", "x")
    assert stage.read(memory.id).path == "/a"
    assert stage.history(memory.id) == [memory.version_id]


def test_an_update_by_id_never_writes_the_memory_that_took_its_old_path() -> None:
    stage = Stage(lagging=True)
    first = stage.create("/a", "x")
    stage.update(first.id, path="/b")
    second = stage.create("/a", "x")
    stage.update(first.id, "POISON", expected=sha256_hex("x"))
    assert stage.read(second.id).content == "x"
    assert (stage.read(first.id).path, stage.read(first.id).content) == ("/b", "POISON")


# ---- fold_is_a_join -------------------------------------------------------------------------------------------------


def folded(stage: Stage, keys: tuple[str, ...], region: str = HOME) -> dict[str, object]:
    """The rows that these objects make in this order, in tables of their own."""
    database = MemoryDatabase()
    here = stage.cloud.sites[region].region
    index, here.index = here.index, MemoryIndex(database)
    try:
        view = View(here.index, {}, complete=False, building=None)
        for key in keys:
            make_indexer(here).fold_object(view, key, journal=False)
    finally:
        here.index = index
    return {name: dict(database.table(name, 1).order.rows) for name in ("memories", "logs", "paths", "versions")}


@pytest.mark.slow
def test_a_redacted_deletion_stays_a_deletion_in_whatever_order_its_log_is_read(stage: Stage) -> None:
    memory = stage.create("/a", "one")
    stage.update(memory.id, "two")
    stage.delete(memory.id)
    for version_id in stage.history(memory.id):
        stage.redact(version_id)
    keys = tuple(key for key in stage.all_keys() if "/log/" in key or "/redaction/" in key)
    assert len(keys) == 6
    outcomes = [folded(stage, order) for order in itertools.permutations(keys)]
    assert all(outcome == outcomes[0] for outcome in outcomes)
    stage.cloud.deliver()
    for region in (HOME, AWAY):
        assert stage.listed(region) == {}
        with pytest.raises(NotFound):
            stage.read(memory.id, region)


def test_an_order_before_its_version_and_after_it_make_the_same_row(stage: Stage) -> None:
    memory = stage.create("/a", "SECRET")
    stage.update(memory.id, "clean")
    original = stage.under_way(stage.key_of(memory.version_id))
    stage.redact(memory.version_id)
    stage.cloud.deliver()
    before = dict(stage.cloud.rows(AWAY, "versions"))
    stage.arrive(original)
    stage.cloud.deliver()
    assert dict(stage.cloud.rows(AWAY, "versions")) == before == dict(stage.cloud.rows(HOME, "versions"))
    assert stage.found("SECRET", AWAY) == stage.found("SECRET", HOME) == []


# ---- paths_is_not_a_join --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_listing_is_the_same_in_whatever_order_renames_are_folded(stage: Stage) -> None:
    first = stage.create("/a")
    stage.update(first.id, path="/b")
    stage.update(first.id, path="/c")
    second = stage.create("/a")
    keys = stage.keys()
    outcomes = [folded(stage, order) for order in itertools.permutations(keys)]
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert stage.listed() == {"/c": first.id, "/a": second.id}
    stage.cloud.deliver()
    assert stage.listed(AWAY) == stage.listed(HOME)


# ---- forwarded_call_repeats -----------------------------------------------------------------------------------------


def test_an_invocation_that_is_repeated_answers_what_it_did_and_does_nothing(stage: Stage) -> None:
    memory = stage.create("/a", "a")
    command = UpdateMemory(stage.store, memory.id, stage.new_version_id(), "api_key:apikey_x", content="x")
    invocation = {"call": "write", "workspace_id": WORKSPACE, **to_payload(command)}
    first = peerwriter_calls(stage.memolith())(invocation)
    stage.update(memory.id, "y", expected=sha256_hex("x"))
    again = peerwriter_calls(stage.memolith())(invocation)
    assert again["memory"]["version_id"] == first["memory"]["version_id"] == command.version_id
    assert stage.read(memory.id).content == "y"
    assert len(stage.history(memory.id)) == 3


def test_a_lost_reply_of_another_region_is_unknown_and_never_tried_again_by_itself(stage: Stage) -> None:
    memory = stage.create("/a", "a")
    stage.cloud.deliver()
    update = stage.actor(lambda: stage.update(memory.id, "x", region=AWAY))
    assert update.lost("peers.call")
    assert stage.history(memory.id)[1:] == [memory.version_id]
    with pytest.raises(PreconditionFailed):
        stage.update(memory.id, "z", expected=sha256_hex("a"))


# ---- erased_text_survives -------------------------------------------------------------------------------------------


def test_nothing_is_left_of_a_memory_all_of_whose_older_versions_are_redacted(stage: Stage) -> None:
    """A void copy, a `moved_out`, a version under another path: each could keep the text, or the path."""
    memory = stage.create("/users/alice", "SECRET")
    mover = stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, occurrence=2)
    stage.update(memory.id, "SECRET too")
    mover.die()
    stage.update(memory.id, path="/users/x")
    stage.update(memory.id, "clean")
    for version_id in stage.history(memory.id)[1:]:
        stage.redact(version_id)
    stage.cloud.deliver()
    for region in (HOME, AWAY):
        assert stage.found("SECRET", region) == []
        assert stage.searched("SECRET", region) == stage.searched("/users/alice", region) == []
        assert stage.read(memory.id, region).content == "clean"


# ---- metadata_of_a_blank --------------------------------------------------------------------------------------------


def test_the_longest_paths_of_a_rename_fit_into_metadata_in_the_longest_regions() -> None:
    regions = ("ap-southeast-2", "ap-northeast-1")
    cloud = Cloud(regions)
    call = cloud.call(cloud.key())
    memolith = cloud.sites[regions[0]].memolith
    store = memolith.stores.create(call, name="s", description="", metadata={}).id
    longest = [f"/{letter * 1023}" for letter in "ab"]
    memory = memolith.memories.create(call, store, path=longest[0], content="x", full=False)
    memolith.memories.update(
        call, store, memory.id, content="y", path=longest[1], expected_content_sha256=None, full=False
    )
    memolith.redactions.redact(call, store, memory.version_id)
    cloud.deliver()
    for region in regions:
        for key in cloud.buckets.page(region, "", None, 1000).keys:
            for version in cloud.buckets.versions(region, key):
                check_object(key, version.object.metadata)
    page = cloud.sites[regions[1]].memolith.memories.page(
        call, store, path_prefix=None, depth=0, limit=10, after=None, full=False
    )
    assert [item.path for item in page.items] == [longest[1]]


# ---- rename_retry_takes_its_own_void --------------------------------------------------------------------------------


def test_the_next_attempt_of_a_rename_does_not_take_the_void_of_the_last_for_its_own(stage: Stage) -> None:
    memory = stage.create("/a", "x")
    mover = stage.actor(lambda: stage.update(memory.id, path="/b")).until(PUT, occurrence=2)
    rival = stage.update(memory.id, "y")
    moved = mover.finish()
    assert moved.path == "/b" and moved.version_id != rival.version_id
    assert stage.listed() == {"/b": memory.id}
    assert stage.read(memory.id).content == "y"
    stage.cloud.deliver()
    assert stage.listed(AWAY) == {"/b": memory.id}
    assert len(stage.found("x", AWAY)) == len(stage.found("x", HOME))
