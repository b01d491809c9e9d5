"""What docs/consistency.md says is not promised, or comes late: each sentence of it as the exact schedule it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.adapters.memory import MemoryQueue, PutEvent
from memolith.app.indexer.rebuild import BatchProjector
from memolith.app.kernel.results import Version, VersionFilter
from memolith.app.replication.watermark import FETCH_AFTER_US
from memolith.core.commands import Command, CreateMemory, UpdateMemory
from memolith.core.decide import sha256_hex
from memolith.core.errors import NotFound, PathConflict, Unavailable
from memolith.core.object_keys import RedactionKey
from memolith.wire.rpc import peerwriter_calls
from tests.simulation.clients import withhold
from tests.simulation.deliveries import ACTOR, copy
from tests.simulation.late_versions import everywhere, late_over_an_erased_head
from tests.simulation.lost_objects import compare, is_here, minutes, until
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import PUT, Stage
from tests.support.rebuilds import Operator


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


@pytest.fixture
def quiet() -> Stage:
    return Stage()


# ---- an erasure that a new home ordered, before the record that tells of the home -----------------------------------


@pytest.mark.parametrize("record", ["never", "before the version", "after it"])
@pytest.mark.parametrize("region", [HOME, THIRD])
def test_a_memory_is_not_found_where_an_order_of_an_unknown_home_came_until_the_version_on_top_has_arrived(
    stage: MovingStage, region: str, record: str
) -> None:
    memory = stage.create("/a", "SECRET")
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    records = [event.key for event in stage.hold_back() if "/store/" in event.key]
    followed = stage.update(memory.id, "two", region=AWAY).version_id
    stage.redact(memory.version_id, region=AWAY)
    stage.hold_back()
    stage.reach(region, str(RedactionKey(AWAY, stage.store, memory.version_id)))
    stage.reach(region, stage.key_of(memory.version_id))  # which the order has blanked there
    if record == "before the version":
        stage.reach(region, *records)
    assert stage.home(region) == (AWAY if record == "before the version" else HOME)
    assert stage.listed(region) == {}
    with pytest.raises(NotFound):
        stage.read(memory.id, region)
    stage.reach(region, stage.key_of(followed, AWAY))
    assert stage.read(memory.id, region).content == "two"
    if record == "after it":
        stage.reach(region, *records)
        assert stage.read(memory.id, region).content == "two"
    stage.at_rest()


# ---- a version that a lost home put, and told nobody of -------------------------------------------------------------


def _put_and_told_nobody(stage: MovingStage) -> tuple[PutEvent, str, int]:
    """What a lost home put before its writer died, with which `AWAY` answers an update that changes nothing: its event
    at home, which has not come, the memory, and when. `THIRD` never receives it; it has what `AWAY` wrote next.
    """
    minutes(stage, 2)
    memory = stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    stage.actor(lambda: stage.update(memory.id, "second")).until(PUT, after=True).die()
    (put,) = [event for event in stage.cloud.pending if "/log/" in event.key]
    stage.cloud.pending.remove(put)
    stage.cloud.buckets.replicate(put, AWAY)
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.hold_back()
        answered, told_us = stage.update(memory.id, "second", region=AWAY), stage.clock.now_us()
        assert stage.key_of(answered.version_id, AWAY) == put.key
        stage.clock.advance(1)
        stage.reach(THIRD, stage.key_of(stage.update(memory.id, "third", region=AWAY).version_id, AWAY))
        minutes(stage, 4)
        assert min(until(stage, THIRD, home) for home in (HOME, AWAY)) <= told_us, "nothing is claimed for a dead home"
    return put, memory.id, told_us


@pytest.mark.parametrize("event", ["comes", "is lost"])
def test_a_region_claims_what_a_new_home_answered_with_some_minutes_before_it_has_what_the_lost_one_told_nobody_of(
    stage: MovingStage, event: str
) -> None:
    """The lost home's next checkpoints do not name it before its event was handled there; if that is lost, a day."""
    put, memory_id, told_us = _put_and_told_nobody(stage)
    minutes(stage, 5)
    assert min(until(stage, THIRD, home) for home in (HOME, AWAY)) > told_us
    assert len(stage.history(memory_id, THIRD)) == 2 and len(stage.history(memory_id, AWAY)) == 3
    if event == "is lost":
        assert compare(stage, THIRD) == [0, 0] and not is_here(stage, put, THIRD)
        assert compare(stage, HOME) == [1, 0], "which sends it to be indexed there"
    stage.index(put.key, HOME)
    minutes(stage, 2)
    stage.clock.advance(FETCH_AFTER_US / 1_000_000)
    minutes(stage, 2)
    assert is_here(stage, put, THIRD)
    assert stage.history(memory_id, THIRD) == stage.history(memory_id, AWAY)
    stage.at_rest()


# ---- a late text over a head that was erased ------------------------------------------------------------------------


def by_its_event(stage: MovingStage, key: str) -> None:
    stage.index(key, AWAY)


def by_a_rebuild(stage: MovingStage, key: str) -> None:
    """What a rebuild does at its end with the stores whose home has changed."""
    stage.cloud.sites[AWAY].indexing.repair_rows(stage.store, None)


@pytest.mark.parametrize("again", [by_its_event, by_a_rebuild])
def test_a_late_text_of_an_erased_memory_comes_back_when_it_is_met_again_once_its_path_was_left(
    stage: MovingStage, again: Callable[[MovingStage, str], None]
) -> None:
    """It stands apart while another memory is at the path, and after that until it is met again."""
    followed, key = late_over_an_erased_head(stage)
    ours = stage.create("/a/b", "ours", region=AWAY)
    stage.come_late(key)
    again(stage, key)
    assert (stage.listed(AWAY), stage.divergent(AWAY)) == ({"/a/b": ours.id}, [followed.version_id])
    stage.delete(ours.id, region=AWAY)
    stage.deliver()
    assert (stage.listed(AWAY), stage.divergent(AWAY)) == ({}, [followed.version_id])
    again(stage, key)
    assert (stage.listed(AWAY), stage.divergent(AWAY)) == ({"/a/b": followed.id}, [])
    stage.at_rest()
    assert everywhere(stage, followed.id) == {"late"}


# ---- a call that was passed on, and comes twice ---------------------------------------------------------------------


def _refused(answer: Mapping[str, Any]) -> str | None:
    """The kind of error that one delivery of a call is answered with, be it decided or raised."""
    error = answer.get("error") or answer["refusal"]
    return None if error is None else str(error["type"])


@pytest.mark.parametrize("why", ["PathConflict", "PreconditionFailed", "InvalidRequest"])
def test_a_copy_that_was_refused_leaves_nothing_by_which_the_other_knows_of_it(quiet: Stage, why: str) -> None:
    """The other goes by the state that it finds, and does the write once: a third one is answered with it."""
    memory, version_id = quiet.create("/a", "a"), quiet.new_version_id()
    command: Command = CreateMemory(quiet.store, version_id.replace("memver", "mem"), version_id, ACTOR, "/a", "mine")
    if why == "PreconditionFailed":
        command = UpdateMemory(quiet.store, memory.id, version_id, ACTOR, "mine", None, sha256_hex("b"))
    elif why == "InvalidRequest":
        command = UpdateMemory(quiet.store, quiet.create("/b", "b").id, version_id, ACTOR, "a")
        (withheld,) = _versions(quiet, memory.id)
        withhold(quiet.memolith(), quiet.store, withheld)
    assert _refused(copy(quiet, command).finish()) == why
    assert version_id not in quiet.history(command.memory_id)
    if why == "PathConflict":
        quiet.delete(memory.id)
    elif why == "PreconditionFailed":
        quiet.update(memory.id, "b")
    else:
        quiet.memolith().quarantine.release(quiet.call(), quiet.store, memory.version_id, reason="fine")
    for rival in ("a rival's", "another's"):
        answer = copy(quiet, command).finish()
        assert _refused(answer) is None and answer["memory"]["version_id"] == version_id
        quiet.update(command.memory_id, rival)
    assert quiet.history(command.memory_id).count(version_id) == 1
    assert quiet.read(command.memory_id).content == "another's"


def test_a_caller_is_told_the_refusal_of_one_copy_of_a_call_though_the_other_does_it_since(quiet: Stage) -> None:
    """The first has answered, and its answer is on the way back while the second runs."""
    memory = quiet.create("/a", "a")
    quiet.cloud.deliver()
    home, sent = peerwriter_calls(quiet.memolith()), list[Mapping[str, Any]]()

    def delivered(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        sent.append(payload)
        return home(payload)

    quiet.cloud.peers.register(HOME, "peerwriter", delivered)
    caller = quiet.actor(lambda: quiet.create("/a", "mine", region=AWAY)).until("peers.call", after=True)
    quiet.delete(memory.id)
    assert _refused(home(sent[0])) is None
    caller.fails(PathConflict)
    quiet.cloud.deliver()
    assert quiet.contents(HOME) == quiet.contents(AWAY) == {"/a": "mine"}


def test_a_caller_is_told_that_one_copy_of_a_redaction_did_nothing_though_the_other_does_it_since(quiet: Stage) -> None:
    memory = quiet.create("/a", "SECRET")
    quiet.update(memory.id, "clean")
    quiet.cloud.deliver()
    home, sent = peerwriter_calls(quiet.memolith()), list[Mapping[str, Any]]()

    def delivered(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        sent.append(payload)
        return home(payload)

    quiet.cloud.peers.register(HOME, "peerwriter", delivered)
    refused = Strike(Fault.REFUSED, "index.read", subject="memories")
    caller = quiet.actor(lambda: quiet.redact(memory.version_id, region=AWAY)).until("peers.call")
    caller.struck_by(refused).fails(Unavailable)
    assert quiet.found("SECRET", HOME)
    assert "error" not in home(sent[0])
    assert quiet.found("SECRET", HOME) == []


def _versions(stage: Stage, memory_id: str) -> Sequence[Version]:
    page = stage.memolith().versions.page(
        stage.call(), stage.store, VersionFilter(memory_id=memory_id), limit=9, after=None, full=False
    )
    return page.items


# ---- a divergent version that counts again after another failover ---------------------------------------------------


def test_a_memory_whose_version_was_restored_while_another_fail_over_made_it_count_is_not_found_until_it_is_restored(
    stage: MovingStage,
) -> None:
    """The new home has heard of the one between, and not of what that decided; then the order to erase comes."""
    memory = stage.create("/a", "one")
    stage.deliver()
    late = stage.update(memory.id, "late").version_id
    key = stage.key_of(late)
    original = stage.under_way(key)
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    records = [event.key for event in stage.hold_back() if "/store/" in event.key]
    ours = stage.update(memory.id, "ours", region=AWAY).version_id
    stage.arrive(original, AWAY)
    stage.index(key, AWAY)
    restored = stage.restore(late, AWAY).version_id
    stage.hold_back()
    stage.come_late(*records)
    with stage.dead(AWAY):
        stage.fail_over(HOME, old=AWAY)
    assert stage.contents(HOME) == {"/a": "late"}
    stage.come_late()
    assert [stage.contents(region) for region in stage.cloud.regions] == [{}] * 3
    assert set(stage.divergent(THIRD)) == {ours, restored}
    stage.restore(restored)
    stage.deliver()
    assert [stage.contents(region) for region in stage.cloud.regions] == [{"/a": "late"}] * 3


# ---- tables that are built anew, from what has arrived --------------------------------------------------------------


def test_a_region_whose_tables_were_rebuilt_shows_an_older_version_until_the_newer_one_has_arrived(
    stage: MovingStage,
) -> None:
    """It has shown the newer one as the home answered it: its bucket has not got it yet."""
    memory = stage.create("/a", "one")
    stage.deliver()
    stage.update(memory.id, "two", region=AWAY)
    events = stage.hold_back()
    assert stage.read(memory.id, AWAY).content == "two"
    rebuild(stage, AWAY)
    assert stage.read(memory.id, AWAY).content == "one"
    stage.reach(AWAY, *(event.key for event in events))
    assert stage.read(memory.id, AWAY).content == "two"


def rebuild(stage: MovingStage, region: str) -> None:
    """An operator has a region's tables built from its bucket, and put in the place of those that serve."""
    operator = Operator(stage.cloud, MemoryQueue())
    operator.site = stage.cloud.sites[region]
    operator.folder = BatchProjector(operator.site.region, operator.site.indexing)
    operator.run()


# ---- a path and its ancestor, where the departure from the path came late -------------------------------------------


def test_a_path_and_its_ancestor_both_stay_where_the_departure_from_the_path_came_late(stage: MovingStage) -> None:
    memory = stage.create("/a/b", "one")
    stage.deliver()
    stage.update(memory.id, path="/elsewhere")
    stage.hold_back()
    above = stage.create("/a", "above")
    stage.reach(AWAY, stage.key_of(above.version_id))
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    assert set(stage.listed(AWAY)) == {"/a", "/a/b"}
    stage.come_late()
    stage.deliver()
    assert [set(stage.listed(region)) for region in stage.cloud.regions] == [{"/a", "/a/b"}] * 3
    with pytest.raises(PathConflict):
        stage.create("/a/c", "below", region=AWAY)
    assert stage.update(memory.id, "two", region=AWAY).path == "/a/b"
