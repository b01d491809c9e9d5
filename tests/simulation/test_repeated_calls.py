"""Calls that the network repeats: one that runs twice at once is done once, whatever others write in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from memolith.app.kernel.region import Region
from memolith.core.commands import Command, CreateMemory, DeleteMemory, UpdateMemory, to_payload
from memolith.core.decide import sha256_hex
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from memolith.core.objects.entry import Entry
from memolith.wire.rpc import peerwriter_calls
from tests.simulation.deliveries import ACTOR, Torn, change, copy, version_row
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import PUT, WORKSPACE, Stage
from tests.unit.app.scene import Scene


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


# ---- a call that the network repeats --------------------------------------------------------------------------------


@pytest.fixture
def quiet() -> Stage:
    return Stage()


def assert_told(answer: Mapping[str, Any], version_id: str) -> None:
    """The copy's answer is that the write is done, as this version."""
    assert answer.get("error") is None and answer["refusal"] is None, answer
    assert answer["memory"]["version_id"] == version_id


def assert_written_once(stage: Stage, version_id: str) -> None:
    """One object of the version's memory carries its id, for all that is in the bucket."""
    stored = [stage.cloud.buckets.current(HOME, key) for key in stage.keys(HOME)]
    assert [one.metadata["id"] for one in stored if one is not None].count(version_id) == 1


def assert_tables_are_those_of_the_bucket(stage: Stage, version_id: str) -> None:
    key = parse_key(stage.key_of(version_id))
    stored = stage.cloud.buckets.current(HOME, str(key))
    assert isinstance(key, LogKey) and stored is not None
    assert version_row(stage, version_id).created_at == Entry.from_metadata(key, stored.metadata).created_at


@pytest.mark.parametrize("then", ["update", "delete"])
def test_two_copies_that_both_lose_a_slot_write_once(quiet: Stage, then: str) -> None:
    memory = quiet.create("/a", "a")
    if then == "update":
        command: Command = UpdateMemory(quiet.store, memory.id, quiet.new_version_id(), ACTOR, content="mine")
    else:
        command = DeleteMemory(quiet.store, memory.id, quiet.new_version_id(), ACTOR)
    one, other = copy(quiet, command).until(PUT), copy(quiet, command).until(PUT)
    quiet.update(memory.id, "a rival's")
    assert_told(one.finish(), command.version_id)
    if then == "update":
        quiet.update(memory.id, "based on it", expected=sha256_hex("mine"))
    assert_told(other.finish(), command.version_id)
    history = quiet.history(memory.id)
    assert history.count(command.version_id) == 1 and len(history) == (4 if then == "update" else 3)
    assert_written_once(quiet, command.version_id)
    if then == "update":
        assert quiet.read(memory.id).content == "based on it"


def test_a_copy_does_not_undo_what_was_built_on_the_other(quiet: Stage) -> None:
    """Its precondition holds again, and the rows that it began with are from before the other."""
    memory = quiet.create("/a", "a")
    command = UpdateMemory(
        quiet.store, memory.id, quiet.new_version_id(), ACTOR, content="b", expected_content_sha256=sha256_hex("a")
    )
    other = copy(quiet, command).until("index.read", after=True)
    assert_told(copy(quiet, command).finish(), command.version_id)
    quiet.update(memory.id, "a", expected=sha256_hex("b"))
    assert_told(other.finish(), command.version_id)
    assert quiet.read(memory.id).content == "a"
    assert len(quiet.history(memory.id)) == 3


def test_a_copy_that_finds_its_slot_taken_by_the_other_leaves_the_tables_as_the_bucket_has_them(quiet: Stage) -> None:
    memory = quiet.create("/a", "a")
    command = UpdateMemory(quiet.store, memory.id, quiet.new_version_id(), ACTOR, content="mine")
    one = copy(quiet, command).until(PUT)
    quiet.clock.advance(1)
    other = copy(quiet, command).until(PUT)
    assert_told(one.finish(), command.version_id)
    assert_told(other.finish(), command.version_id)
    assert_tables_are_those_of_the_bucket(quiet, command.version_id)
    assert len(quiet.history(memory.id)) == 2


def test_a_copy_that_met_what_the_other_put_does_not_do_it_again_though_the_tables_are_emptied(quiet: Stage) -> None:
    """What older objects leave is in the tables again when it looks for its version's row, and the version is not."""
    memory = quiet.create("/a", "a")
    command = UpdateMemory(quiet.store, memory.id, quiet.new_version_id(), ACTOR, content="mine")
    one = copy(quiet, command).until(PUT)
    quiet.clock.advance(1)
    other = copy(quiet, command).until(PUT)
    assert_told(one.finish(), command.version_id)
    other.until("objects.head", occurrence=3, after=True)
    database = quiet.cloud.sites[HOME].database
    database.drop(1)
    database.make(1)
    for key in quiet.all_keys():
        if key != quiet.key_of(command.version_id):
            quiet.index(key)
    assert_told(other.finish(), command.version_id)
    assert_written_once(quiet, command.version_id)


@pytest.mark.parametrize("cold", [True, False])
@pytest.mark.parametrize("what", ["stays", "is deleted", "makes room for another"])
def test_a_creation_that_runs_twice_makes_one_memory_and_is_never_refused_for_its_own(
    quiet: Stage, what: str, cold: bool
) -> None:
    if not cold:
        quiet.create("/other")
    quiet.memolith().memories._salts.clear()
    if not cold:
        quiet.update(quiet.listed()["/other"], "seen")
    version_id = quiet.new_version_id()
    memory_id = version_id.replace("memver", "mem")
    command = CreateMemory(quiet.store, memory_id, version_id, ACTOR, "/a", "mine")
    other = copy(quiet, command).until("index.read", after=True)
    assert_told(copy(quiet, command).finish(), version_id)
    quiet.clock.advance(1)
    if what != "stays":
        quiet.delete(memory_id)
    at_path = memory_id if what == "stays" else None
    if what == "makes room for another":
        at_path = quiet.create("/a", "another's").id
    assert_told(other.finish(), version_id)
    assert_written_once(quiet, version_id)
    assert quiet.listed().get("/a") == at_path
    assert len(quiet.history(memory_id)) == (1 if what == "stays" else 2)


@pytest.mark.parametrize("stop", [("index.read", 1), (PUT, 1), (PUT, 2)])
def test_a_rename_that_runs_twice_does_not_bring_back_what_was_moved_on(quiet: Stage, stop: tuple[str, int]) -> None:
    memory = quiet.create("/a", "a")
    command = UpdateMemory(quiet.store, memory.id, quiet.new_version_id(), ACTOR, path="/b")
    name, occurrence = stop
    other = copy(quiet, command).until(name, occurrence=occurrence, after=name == "index.read")
    quiet.clock.advance(6)
    answer = copy(quiet, command).finish()
    quiet.update(memory.id, path="/c")
    again = other.finish()
    assert again["refusal"] is None and again["memory"]["version_id"] == answer["memory"]["version_id"]
    assert_written_once(quiet, answer["memory"]["version_id"])
    assert quiet.listed() == {"/c": memory.id}
    assert len(quiet.history(memory.id)) == 3
    quiet.cloud.deliver()
    assert quiet.listed(AWAY) == {"/c": memory.id}


def test_a_rename_that_runs_twice_and_whose_copy_saw_the_destination_left_again_puts_a_void_half(quiet: Stage) -> None:
    """A new process reads the destination's rows on their own, after the memory's: here once the memory has left."""
    memory = quiet.create("/a", "a")
    command = UpdateMemory(quiet.store, memory.id, quiet.new_version_id(), ACTOR, path="/b")
    quiet.memolith().memories._salts.clear()
    other = copy(quiet, command).until("index.read", after=True)
    quiet.clock.advance(6)
    assert_told(copy(quiet, command).finish(), command.version_id)
    quiet.update(memory.id, path="/c")
    assert_told(other.finish(), command.version_id)
    quiet.cloud.deliver()
    for region in (HOME, AWAY):
        assert quiet.listed(region) == {"/c": memory.id}
        assert len(quiet.history(memory.id, region)) == 3
    quiet.redact(command.version_id)
    quiet.cloud.deliver()
    stored = [quiet.cloud.buckets.current(HOME, key) for key in quiet.keys(HOME)]
    bodies = [one.body for one in stored if one is not None and one.metadata["id"] == command.version_id]
    assert len(bodies) == 2 and b"a" not in bodies
    assert quiet.create("/b", "another's").path == "/b"


def test_a_copy_that_found_everything_as_asked_leaves_nothing_by_which_the_other_knows_of_it(quiet: Stage) -> None:
    """As after a refusal, the other copy goes by the state that it finds; it does what it was asked once."""
    memory = quiet.create("/a", "a")
    command = UpdateMemory(quiet.store, memory.id, quiet.new_version_id(), ACTOR, path="/a")
    assert_told(copy(quiet, command).finish(), memory.version_id)
    assert quiet.history(memory.id) == [memory.version_id]
    quiet.update(memory.id, path="/b")
    for _ in range(2):
        assert_told(copy(quiet, command).finish(), command.version_id)
    assert quiet.listed() == {"/a": memory.id}
    assert_written_once(quiet, command.version_id)


@pytest.mark.parametrize("asked", [{"content": "mine"}, {"path": "/b"}, {"content": "mine", "path": "/b"}])
def test_a_copy_whose_version_was_erased_meanwhile_tells_no_memory_without_path_and_text(
    quiet: Stage, asked: dict[str, Any]
) -> None:
    memory = quiet.create("/a", "a")
    command = UpdateMemory(quiet.store, memory.id, quiet.new_version_id(), ACTOR, **asked)
    other = copy(quiet, command).until("index.read")
    assert_told(copy(quiet, command).finish(), command.version_id)
    quiet.update(memory.id, "what followed")
    quiet.redact(command.version_id)
    assert other.finish()["error"]["type"] == "OutcomeUnknown"
    assert quiet.read(memory.id).content == "what followed"


def test_a_copy_of_a_deletion_whose_path_was_erased_meanwhile_is_told_that_it_is_done(quiet: Stage) -> None:
    memory = quiet.create("/a", "a")
    command = DeleteMemory(quiet.store, memory.id, quiet.new_version_id(), ACTOR)
    other = copy(quiet, command).until("index.read")
    assert_told(copy(quiet, command).finish(), command.version_id)
    quiet.redact(command.version_id)
    assert_told(other.finish(), command.version_id)


def test_a_batch_with_an_older_row_of_the_calls_own_version_does_not_have_it_done_twice() -> None:
    scene = Scene()
    memory = scene.create("/a", "a")
    region: Region = scene.cloud.sites[HOME].region
    command = UpdateMemory(scene.store, memory.id, region.new_id("memver"), ACTOR, content="mine")
    invocation = {"call": "write", "workspace_id": WORKSPACE, **to_payload(command)}

    def meanwhile() -> None:
        assert_told(peerwriter_calls(scene.at(HOME))(invocation), command.version_id)
        scene.clock.advance(0.01)
        scene.update(memory, "based on it", expected=sha256_hex("mine"))

    with scene.intercepted_by(Torn(HOME, ("versions",), meanwhile)):
        assert_told(peerwriter_calls(scene.at(HOME))(invocation), command.version_id)
    assert scene.read(memory).content == "based on it"
    assert len(scene.history(memory)) == 3


def test_a_copy_is_told_nothing_by_a_home_whose_term_is_ending(quiet: Stage) -> None:
    """What a writer put that had outlived its lease may come late: nobody may acknowledge it for that writer."""
    memory = quiet.create("/a", "a")
    command = UpdateMemory(quiet.store, memory.id, quiet.new_version_id(), ACTOR, content="mine")
    one = copy(quiet, command).until(PUT)
    quiet.cloud.peers.call(HOME, "reconciler", {"call": "homes.begin", "store_id": quiet.store, "to": AWAY})
    assert one.finish()["error"]["type"] == "OutcomeUnknown"
    assert copy(quiet, command).finish()["error"]["type"] == "OutcomeUnknown"


def test_a_copy_that_comes_to_the_next_home_is_told_what_the_other_did_at_the_last(stage: MovingStage) -> None:
    """The version's object has been replicated to the new home, and is not indexed there."""
    memory = stage.create("/a", "a")
    stage.deliver()
    expected = sha256_hex("a")
    version_id = stage.new_version_id()
    command = UpdateMemory(stage.store, memory.id, version_id, ACTOR, content="b", expected_content_sha256=expected)
    assert_told(copy(stage, command).finish(), version_id)
    stage.copy(stage.key_of(version_id), AWAY)
    stage.move(AWAY)
    invocation = {"call": "write", "workspace_id": WORKSPACE, **to_payload(command)}
    assert_told(peerwriter_calls(stage.memolith(AWAY))(invocation), version_id)
    stage.at_rest()
    assert len(stage.history(memory.id, THIRD)) == 2


# ---- changes of stores ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("later", [True, False])
def test_a_change_of_a_store_that_runs_twice_does_not_undo_what_came_between(quiet: Stage, later: bool) -> None:
    version_id = quiet.new_version_id()
    other = change(quiet, version_id, change="update", name="mine")
    if not later:
        other.until(PUT)
    quiet.clock.advance(1)
    assert "error" not in change(quiet, version_id, change="update", name="mine").finish()
    quiet.memolith().stores.update(quiet.call(), quiet.store, name="another's", description="", metadata={})
    answer = other.finish()
    assert "error" not in answer
    assert quiet.memolith().stores.retrieve(quiet.call(), quiet.store).name == "another's"
    records = [key for key in quiet.all_keys() if f"/store/{quiet.store}" in key]
    assert len(records) == 3


def test_a_deletion_of_a_store_that_runs_twice_is_done_both_times(quiet: Stage) -> None:
    version_id = quiet.new_version_id()
    for _ in range(2):
        assert "error" not in change(quiet, version_id, change="delete").finish()
    assert change(quiet, quiet.new_version_id(), change="delete").finish()["error"]["type"] == "NotFound"
