"""A write lands in a region that is not the store's home: it runs at home, and the caller reads it where it landed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call, Fault, Strike
from memolith.app.commit.attempt import decode_outcome
from memolith.core.commands import Command, CreateMemory, DeleteMemory, UpdateMemory, to_payload
from memolith.core.errors import Damaged, NotFound, OutcomeUnknown, PathConflict, PreconditionFailed, Unavailable
from memolith.wire.rpc import peerwriter_calls
from tests.support.cloud import WORKSPACE
from tests.unit.app.scene import AWAY, HOME, Scene
from tests.unit.app.trace import Trace

T = TypeVar("T")


@pytest.fixture
def scene() -> Scene:
    """Whatever is written from now on stays in the region that wrote it, unless a test delivers it."""
    return Scene()


def test_a_memory_made_elsewhere_is_read_there_by_id_in_lists_and_in_versions(scene: Scene) -> None:
    made = scene.create("/n/a", "hello", at=AWAY, full=True)
    assert made.content == "hello"
    assert scene.read(made, at=AWAY) == made
    assert scene.paths(at=AWAY) == ["/n/a"]
    assert [item.path for item in scene.page(at=AWAY, depth=1).items] == ["/n/"]
    assert [version.id for version in scene.versions(at=AWAY).items] == [made.version_id]
    assert scene.history(made, at=AWAY) == ["created"]
    assert scene.version(made.version_id, at=AWAY).content == "hello"


def test_an_update_elsewhere_is_read_there(scene: Scene) -> None:
    made = scene.create("/a", at=AWAY)
    changed = scene.update(made, "second", at=AWAY, full=True)
    assert changed.content == "second" and changed.version_id != made.version_id
    assert scene.read(made, at=AWAY) == changed
    assert scene.history(made, at=AWAY) == ["modified", "created"]


def test_a_rename_elsewhere_is_read_there_at_its_new_path_alone(scene: Scene) -> None:
    made = scene.create("/a", "kept", at=AWAY)
    moved = scene.update(made, path="/b", at=AWAY, full=True)
    assert (moved.path, moved.content) == ("/b", "kept")
    assert scene.paths(at=AWAY) == ["/b"] == scene.paths(at=HOME)
    assert scene.read(made, at=AWAY).content == "kept"


def test_a_deletion_elsewhere_is_read_there(scene: Scene) -> None:
    made = scene.create("/a", at=AWAY)
    scene.delete(made, at=AWAY)
    assert scene.paths(at=AWAY) == []
    with pytest.raises(NotFound):
        scene.read(made, at=AWAY)
    assert scene.history(made, at=AWAY) == ["deleted", "created"]


def test_nothing_is_ever_put_by_the_region_where_the_call_landed(scene: Scene) -> None:
    made = scene.create("/a", at=AWAY)
    scene.update(made, "second", path="/b", at=AWAY)
    scene.delete(made, at=AWAY)
    assert scene.log_keys(AWAY) == []
    assert all(key.startswith(f"{HOME}/") for key in scene.log_keys(HOME))


def test_the_version_carries_the_caller_and_the_id_that_were_made_where_the_call_landed(scene: Scene) -> None:
    made = scene.create("/a", at=AWAY)
    version = scene.version(made.version_id, at=HOME)
    assert version.created_by == scene.call().credentials.actor


def test_text_that_has_not_been_replicated_is_read_from_home(scene: Scene) -> None:
    made = scene.create("/a", "far", at=AWAY)
    assert scene.read(made, at=AWAY).content == "far"
    strikes = [Strike(Fault.REFUSED, "objects.get", occurrence=2)]
    with scene.struck_by(*strikes), pytest.raises(Unavailable, match=HOME):
        scene.read(made, at=AWAY)
    scene.deliver()
    with scene.intercepted_by(trace := Trace()):
        assert scene.read(made, at=AWAY).content == "far"
    assert "get log" in trace.of(AWAY)
    assert not any(HOME in step for step in trace.of(AWAY))


def test_content_that_no_region_has_is_damaged_and_never_empty(scene: Scene) -> None:
    """The region that wrote it has lost it, and it had not been replicated: that is no reason to show nothing."""
    made = scene.create("/a", "far", at=AWAY)
    key = scene.log_keys(HOME)[0]
    scene.cloud.buckets._buckets[HOME].versions.pop(key)
    with pytest.raises(Damaged, match="missing"):
        scene.read(made, at=AWAY)


# ---- refusals bring back the head -----------------------------------------------------------------------------------


def test_a_caller_told_409_elsewhere_reads_the_head_there_and_succeeds(scene: Scene) -> None:
    made = scene.create("/a", "first", at=AWAY)
    scene.update(made, "second", at=HOME)
    assert scene.read(made, at=AWAY).content == "first", "the event is still under way"
    with pytest.raises(PreconditionFailed):
        scene.update(made, "third", expected=made.content_sha256, at=AWAY)
    head = scene.read(made, at=AWAY)
    assert head.content == "second"
    assert scene.update(made, "third", expected=head.content_sha256, at=AWAY, full=True).content == "third"


def test_a_refused_deletion_elsewhere_brings_the_head_back_too(scene: Scene) -> None:
    made = scene.create("/a", "first", at=AWAY)
    scene.update(made, "second", path="/b", at=HOME)
    with pytest.raises(PreconditionFailed):
        scene.delete(made, expected=made.content_sha256, at=AWAY)
    head = scene.read(made, at=AWAY)
    assert (head.path, head.content) == ("/b", "second")
    assert scene.paths(at=AWAY) == ["/b"]
    scene.delete(made, expected=head.content_sha256, at=AWAY)


def test_a_path_that_was_taken_at_home_is_in_order_where_the_call_landed(scene: Scene) -> None:
    taken = scene.create("/a", "theirs", at=HOME)
    with pytest.raises(PathConflict) as refusal:
        scene.create("/a", "mine", at=AWAY)
    assert refusal.value.conflicting_memory_id == taken.id
    assert scene.read(taken, at=AWAY).content == "theirs"
    assert scene.paths(at=AWAY) == ["/a"]


def test_an_ancestor_that_stands_in_the_way_is_in_order_where_the_call_landed(scene: Scene) -> None:
    taken = scene.create("/a", at=HOME)
    with pytest.raises(PathConflict) as refusal:
        scene.create("/a/b/c", at=AWAY)
    assert (refusal.value.conflicting_path, refusal.value.conflicting_memory_id) == ("/a", taken.id)
    assert scene.paths(at=AWAY) == ["/a"]


def test_a_memory_that_is_gone_at_home_is_gone_where_the_call_landed(scene: Scene) -> None:
    made = scene.create("/a", at=AWAY)
    scene.delete(made, at=HOME)
    assert scene.paths(at=AWAY) == ["/a"], "the event is still under way"
    with pytest.raises(NotFound):
        scene.update(made, "second", at=AWAY)
    assert scene.paths(at=AWAY) == []


def test_what_is_so_already_at_home_is_so_where_the_call_landed(scene: Scene) -> None:
    made = scene.create("/a", "first", at=AWAY)
    changed = scene.update(made, "second", at=HOME)
    same = scene.update(made, "second", at=AWAY)
    assert same.version_id == changed.version_id
    assert scene.read(made, at=AWAY).version_id == changed.version_id
    assert scene.history(made) == ["modified", "created"]


# ---- when the way there fails ---------------------------------------------------------------------------------------


def test_a_home_that_cannot_be_reached_has_done_nothing(scene: Scene) -> None:
    with scene.struck_by(Strike(Fault.REFUSED, "peers.call")), pytest.raises(Unavailable, match=HOME):
        scene.create("/a", at=AWAY)
    assert scene.log_keys() == []


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LOST_REPLY])
def test_an_unknown_outcome_is_told_as_such_and_the_call_goes_out_once(scene: Scene, fault: Fault) -> None:
    with scene.struck_by(Strike(fault, "peers.call")), pytest.raises(OutcomeUnknown, match="read before"):
        scene.create("/a", at=AWAY)
    assert len(scene.log_keys()) == (1 if fault is Fault.LOST_REPLY else 0)


def test_a_committed_write_that_cannot_be_indexed_where_it_landed_is_not_told_as_undone(scene: Scene) -> None:
    made = scene.create("/a", at=AWAY)
    scene.deliver()
    refused = Strike(Fault.REFUSED, "index.commit", occurrence=2)
    with scene.struck_by(refused), pytest.raises(OutcomeUnknown):
        scene.update(made, "second", at=AWAY)
    assert scene.read(made, at=HOME).content == "second"


def test_a_write_that_its_home_took_and_that_is_not_indexed_where_it_landed_says_where_and_why(scene: Scene) -> None:
    made = scene.create("/a", at=AWAY)
    scene.deliver()

    commits = count(1)

    def full(call: Call, act: Callable[[], T]) -> T:
        """The home's commit succeeds, and the next, where the write landed, does not."""
        if call.name == "index.commit" and next(commits) == 2:
            raise Unavailable("the index did not answer", object="memories", cause="no space left")
        return act()

    with scene.intercepted_by(full), pytest.raises(OutcomeUnknown) as told:
        scene.update(made, "second", at=AWAY)
    assert told.value.message == (
        "the store's home took the write, but it is not indexed where it landed "
        f"(region={AWAY}, object=versions,memories, cause=no space left); read before trying again"
    )
    assert scene.read(made, at=HOME).content == "second"


def test_a_refusal_that_cannot_be_indexed_where_it_landed_has_changed_nothing(scene: Scene) -> None:
    made = scene.create("/a", at=AWAY)
    scene.update(made, "second", at=HOME)
    refused = Strike(Fault.REFUSED, "index.commit")
    with scene.struck_by(refused), pytest.raises(Unavailable):
        scene.update(made, "third", expected=made.content_sha256, at=AWAY)
    assert scene.read(made, at=HOME).content == "second"


# ---- a call that arrives twice --------------------------------------------------------------------------------------


def repeated(scene: Scene, command: Command) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """The same invocation, twice."""
    payload = {"call": "write", "workspace_id": WORKSPACE, **to_payload(command)}
    return peerwriter_calls(scene.at(HOME))(payload), peerwriter_calls(scene.at(HOME))(payload)


def ids(scene: Scene) -> tuple[str, str, str]:
    region = scene.cloud.sites[AWAY].region
    return region.new_id("mem"), region.new_id("memver"), scene.call().credentials.actor


def test_a_creation_that_arrives_twice_is_answered_with_what_it_did(scene: Scene) -> None:
    memory_id, version_id, actor = ids(scene)
    first, second = repeated(scene, CreateMemory(scene.store, memory_id, version_id, actor, "/a", "text"))
    assert second == first
    assert decode_outcome(second).error is None
    assert scene.history(memory_id) == ["created"]


def test_a_deletion_that_arrives_twice_is_answered_with_what_it_did(scene: Scene) -> None:
    made = scene.create("/a")
    _, version_id, actor = ids(scene)
    first, second = repeated(scene, DeleteMemory(scene.store, made.id, version_id, actor))
    assert second == first
    assert decode_outcome(second).error is None
    assert scene.history(made) == ["deleted", "created"]


@pytest.mark.parametrize(("content", "path"), [("mine", None), (None, "/b"), ("mine", "/b")])
def test_an_update_that_arrives_again_later_does_not_undo_what_came_between(
    scene: Scene, content: str | None, path: str | None
) -> None:
    made = scene.create("/a", "first")
    _, version_id, actor = ids(scene)
    command = UpdateMemory(scene.store, made.id, version_id, actor, content, path)
    payload = {"call": "write", "workspace_id": WORKSPACE, **to_payload(command)}
    first = peerwriter_calls(scene.at(HOME))(payload)
    theirs = scene.update(made, "theirs", path="/c")
    again = decode_outcome(peerwriter_calls(scene.at(HOME))(payload))
    assert again.error is None and again.memory == decode_outcome(first).memory
    assert scene.read(made).version_id == theirs.version_id
    assert scene.paths() == ["/c"]


def test_a_rename_that_won_in_its_second_attempt_is_known_again(scene: Scene) -> None:
    """Each attempt has an id of its own."""
    made = scene.create("/a", "first")
    _, version_id, actor = ids(scene)
    payload = {
        "call": "write",
        "workspace_id": WORKSPACE,
        **to_payload(UpdateMemory(scene.store, made.id, version_id, actor, None, "/b")),
    }
    with scene.struck_by(Strike(Fault.CONTENDED, "index.commit")):
        first = decode_outcome(peerwriter_calls(scene.at(HOME))(payload))
    assert first.memory is not None and first.memory.version_id != version_id
    scene.update(made, path="/c")
    assert decode_outcome(peerwriter_calls(scene.at(HOME))(payload)).memory == first.memory
    assert scene.paths() == ["/c"]


def test_a_region_that_is_not_the_home_does_not_write_for_others(scene: Scene) -> None:
    memory_id, version_id, actor = ids(scene)
    command = CreateMemory(scene.store, memory_id, version_id, actor, "/a", "text")
    answer = peerwriter_calls(scene.at(AWAY))({"call": "write", "workspace_id": WORKSPACE, **to_payload(command)})
    assert answer["elsewhere"]["record"], "nothing was done, and here is where to ask"
    assert scene.log_keys() == []


class SlowHome:
    """The home of a call answers only after so long; and what each region asks for, noted."""

    def __init__(self, scene: Scene, seconds: float) -> None:
        self._scene, self._seconds = scene, seconds
        self.trace = Trace()

    def __call__(self, call: Call, act: Callable[[], T]) -> T:
        result = self.trace(call, act)
        if call.name == "peers.call":
            self._scene.clock.advance(self._seconds)
        return result


@pytest.mark.parametrize("answer", ["a version", "a refusal"])
def test_an_answer_that_took_longer_than_a_fail_over_may_costs_one_read_of_the_store_more(
    scene: Scene, answer: str
) -> None:
    made = scene.create("/a", "first", at=AWAY)
    asked = []
    for seconds in (0.5, 0.6, 20.0):
        with scene.intercepted_by(home := SlowHome(scene, seconds)):
            if answer == "a version":
                scene.update(made, f"after {seconds}", at=AWAY)
            else:
                with pytest.raises(PreconditionFailed):
                    scene.update(made, "x", expected="0" * 64, at=AWAY)
        asked.append(home.trace.of(AWAY))
    quick, slow, slowest = asked
    assert "read stores" not in quick
    assert slow == slowest
    assert [step for step in slow if step != "read stores"] == quick
    assert slow.count("read stores") == 1
