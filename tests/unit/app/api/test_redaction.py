"""Redaction: one version's text goes for good, everywhere; that it was there, when and by whom, stays."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.kernel.results import Memory
from memolith.core.errors import InvalidRequest, NotFound, OutcomeUnknown, Unavailable
from memolith.core.object_keys import RedactionKey
from memolith.core.objects.redaction_order import Redaction
from memolith.ports import errors as port_errors
from tests.unit.app.scene import AWAY, HOME, Scene

SECRET = "the secret"


@pytest.fixture
def memory(scene: Scene) -> Memory:
    """A memory whose first version holds the secret, and whose head does not; known everywhere."""
    made = scene.create("/private/path", SECRET)
    scene.update(made, "harmless", path="/public")
    scene.deliver()
    return made


def bodies(scene: Scene, region: str) -> list[bytes]:
    """Every S3 version of every key."""
    keys = scene.cloud.buckets.page(region, "", None, 10_000).keys
    return [version.object.body for key in keys for version in scene.cloud.buckets.versions(region, key)]


def written_anywhere(scene: Scene, region: str, text: str) -> bool:
    """In a body, in metadata, or in a row."""
    metadata = [entry.path for entry in scene.entries(region)]
    rows = [scene.cloud.rows(region, table) for table in ("memories", "logs", "paths", "versions")]
    return any(text.encode() in body for body in bodies(scene, region)) or text in repr((metadata, rows))


@pytest.mark.parametrize("asked", [HOME, AWAY])
def test_a_redacted_version_shows_no_text_where_it_was_asked_for_and_at_home(
    scene: Scene, memory: Memory, asked: str
) -> None:
    scene.clock.advance(5)
    answer = scene.redact(memory.version_id, at=asked)
    assert (answer.content, answer.path, answer.content_sha256, answer.content_size_bytes) == (None,) * 4
    assert (answer.operation, answer.created_at, answer.memory_id) == ("created", memory.created_at, memory.id)
    assert answer.redacted_at == scene.clock.now_us()
    assert answer.redacted_by == answer.created_by == scene.call().credentials.actor
    for region in {asked, HOME}:
        assert scene.version(memory.version_id, at=region) == answer
        listed = scene.versions(at=region, memory_id=memory.id, full=True).items
        assert listed[-1] == answer
        assert listed[0].content == "harmless"


@pytest.mark.parametrize("asked", [HOME, AWAY])
def test_at_home_the_bytes_are_gone_before_the_answer_and_elsewhere_once_the_order_is_there(
    scene: Scene, memory: Memory, asked: str
) -> None:
    scene.redact(memory.version_id, at=asked)
    assert not written_anywhere(scene, HOME, SECRET)
    assert not written_anywhere(scene, HOME, "/private/path")
    assert written_anywhere(scene, AWAY, SECRET), "the order is still under way"
    scene.deliver()
    assert not written_anywhere(scene, AWAY, SECRET)
    assert not written_anywhere(scene, AWAY, "/private/path")
    assert scene.read(memory, at=AWAY).content == "harmless"


def test_an_original_that_arrives_after_the_order_is_erased_on_arrival(scene: Scene) -> None:
    made = scene.create("/a", SECRET)
    key = scene.log_keys()[0]
    original = scene.cloud.buckets.current(HOME, key)
    scene.update(made, "harmless")
    scene.drop_events()
    scene.redact(made.version_id)
    scene.cloud.pending[:] = [event for event in scene.cloud.pending if "/redaction/" in event.key]
    scene.deliver()
    assert original is not None
    scene.cloud.sites[AWAY].region.objects.put_if_absent(key, original.body, original.metadata)
    assert written_anywhere(scene, AWAY, SECRET)
    scene.deliver()
    assert not written_anywhere(scene, AWAY, SECRET)


@pytest.mark.parametrize("asked", [HOME, AWAY])
def test_the_head_of_a_live_memory_is_refused(scene: Scene, memory: Memory, asked: str) -> None:
    head = scene.read(memory).version_id
    with pytest.raises(InvalidRequest, match="live memory"):
        scene.redact(head, at=asked)
    assert scene.read(memory).content == "harmless"


def test_what_only_the_index_believes_to_be_the_head_is_redacted(scene: Scene) -> None:
    made = scene.create("/a", SECRET)
    restore = scene.remember_index()
    scene.update(made, "harmless")
    restore()
    assert scene.redact(made.version_id).redacted_at is not None
    assert scene.read(made).content == "harmless"


@pytest.mark.parametrize("asked", [HOME, AWAY])
def test_every_version_of_a_deleted_memory_may_go(scene: Scene, memory: Memory, asked: str) -> None:
    scene.delete(memory)
    scene.deliver()
    versions = [version.id for version in scene.versions(memory_id=memory.id).items]
    for version_id in versions:
        assert scene.redact(version_id, at=asked).path is None
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.paths(at=region) == []
        assert scene.history(memory, at=region) == ["deleted", "modified", "created"]
        assert not written_anywhere(scene, region, SECRET)
        assert not written_anywhere(scene, region, "/public")
    assert scene.create("/public", "new").path == "/public"


@pytest.mark.parametrize("again", [HOME, AWAY])
def test_redacting_again_changes_nothing_and_tells_the_first_moment(scene: Scene, memory: Memory, again: str) -> None:
    first = scene.redact(memory.version_id)
    scene.clock.advance(60)
    assert scene.redact(memory.version_id, at=again) == first
    scene.deliver()
    assert scene.redact(memory.version_id, at=again) == first


@pytest.mark.parametrize("asked", [HOME, AWAY])
def test_a_version_that_is_not_there_is_not_found(scene: Scene, asked: str) -> None:
    for version_id in ("memver_" + "0" * 26, "memver_x", "mem_" + "0" * 26):
        with pytest.raises(NotFound):
            scene.redact(version_id, at=asked)


def test_an_order_that_was_put_and_not_folded_is_taken_up_with_its_own_moment(scene: Scene, memory: Memory) -> None:
    """The one who ordered died between the put and the fold, and the event is not here yet."""
    with scene.struck_by(Strike(Fault.REFUSED, "index.commit")), pytest.raises(OutcomeUnknown):
        scene.redact(memory.version_id)
    ordered_at = scene.clock.now_us()
    scene.clock.advance(60)
    assert scene.redact(memory.version_id).redacted_at == ordered_at
    assert not written_anywhere(scene, HOME, SECRET)


def test_an_order_that_is_refused_after_a_lost_reply_is_told_as_in_doubt(scene: Scene, memory: Memory) -> None:
    put = "objects.put_if_absent"
    strikes = Strike(Fault.LOST_REPLY, put), Strike(Fault.REFUSED, put, 2)
    with scene.struck_by(*strikes), pytest.raises(OutcomeUnknown):
        scene.redact(memory.version_id)
    assert scene.redact(memory.version_id).redacted_at is not None


@pytest.mark.parametrize("fault", [Fault.CONTENDED, Fault.LOST_REQUEST, Fault.LOST_REPLY])
def test_an_order_whose_put_is_undecided_or_in_doubt_is_put_again(scene: Scene, memory: Memory, fault: Fault) -> None:
    with scene.struck_by(Strike(fault, "objects.put_if_absent")):
        assert scene.redact(memory.version_id).redacted_at is not None
    assert not written_anywhere(scene, HOME, SECRET)


def test_a_redaction_that_was_refused_before_its_order_was_put_is_told_as_undone(scene: Scene, memory: Memory) -> None:
    with scene.struck_by(Strike(Fault.REFUSED, "objects.put_if_absent")), pytest.raises(Unavailable):
        scene.redact(memory.version_id)
    scene.deliver()
    assert scene.version(memory.version_id).content == SECRET


def test_an_order_that_stands_and_cannot_be_read_now_is_not_told_as_undone(scene: Scene, memory: Memory) -> None:
    with scene.struck_by(Strike(Fault.REFUSED, "index.commit")), pytest.raises(OutcomeUnknown):
        scene.redact(memory.version_id)
    with scene.struck_by(Strike(Fault.REFUSED, "objects.get")), pytest.raises(OutcomeUnknown):
        scene.redact(memory.version_id)


def test_an_order_that_is_not_indexed_where_the_call_landed_is_not_told_as_undone(scene: Scene, memory: Memory) -> None:
    refused = Strike(Fault.REFUSED, "index.commit", occurrence=2)
    with scene.struck_by(refused), pytest.raises(OutcomeUnknown, match=AWAY):
        scene.redact(memory.version_id, at=AWAY)
    assert not written_anywhere(scene, HOME, SECRET)
    assert scene.redact(memory.version_id, at=AWAY).redacted_at is not None


def test_an_order_that_the_second_region_does_not_have_yet_is_not_told_as_undone(scene: Scene, memory: Memory) -> None:
    scene.at(HOME).stores.update(
        scene.call(), scene.store, name="n", description="", metadata={}, durability="two_regions"
    )
    scene.deliver()
    refused = Strike(Fault.REFUSED, "objects.put_if_absent", occurrence=2)
    with scene.struck_by(refused), pytest.raises(OutcomeUnknown):
        scene.redact(memory.version_id)
    scene.deliver()
    assert not written_anywhere(scene, AWAY, SECRET)


@pytest.mark.parametrize("asked", [HOME, AWAY])
@pytest.mark.parametrize("name", ["peers.call", "erasable.erase"])
def test_a_redaction_whose_text_could_not_be_erased_yet_is_answered_as_done_and_its_event_erases_the_text(
    scene: Scene, memory: Memory, name: str, asked: str
) -> None:
    occurrence = 2 if name == "peers.call" and asked == AWAY else 1
    with scene.struck_by(Strike(Fault.REFUSED, name, occurrence=occurrence)):
        answer = scene.redact(memory.version_id, at=asked)
    assert answer.redacted_at is not None and answer.path is None and answer.content is None
    assert scene.version(memory.version_id) == answer, "it shows nothing though the bytes are there"
    assert scene.cloud.metrics.total("erasures_deferred") == 1
    assert written_anywhere(scene, HOME, SECRET)
    scene.deliver()
    for region in (HOME, AWAY):
        assert not written_anywhere(scene, region, SECRET)


def test_a_blanked_slot_stays_taken_for_a_writer_that_knows_nothing_of_it(scene: Scene) -> None:
    forget = scene.remember_index()
    made = scene.create("/a", SECRET)
    scene.delete(made)
    for version in scene.versions(memory_id=made.id).items:
        scene.redact(version.id)
    scene.drop_events()
    blanks = {entry.key: entry for entry in scene.entries()}
    forget()
    again = scene.create("/a", "new")
    after = {entry.key: entry for entry in scene.entries()}
    assert all(entry.blank and after[key] == entry for key, entry in blanks.items())
    assert len(after) == len(blanks) + 1
    assert (scene.read(again).content, scene.history(made)) == ("new", ["deleted", "created"])


def test_the_eraser_trusts_nobody_and_looks_for_the_reason_itself(scene: Scene, memory: Memory) -> None:
    for key in scene.log_keys():
        answer = scene.cloud.peers.call(HOME, "eraser", {"call": "erase", "key": key})
        assert answer == {"erased": False}
    assert written_anywhere(scene, HOME, SECRET)


def test_the_eraser_erases_in_its_own_region_alone(scene: Scene, memory: Memory) -> None:
    """An order that only the other region has."""
    entry = next(entry for entry in scene.entries() if entry.version_id == memory.version_id)
    order = Redaction(scene.store, memory.version_id, str(entry.ref), scene.clock.now_us(), "api_key:x")
    key = str(RedactionKey(HOME, scene.store, memory.version_id))
    scene.cloud.sites[AWAY].region.objects.put_if_absent(key, order.to_json(), {})
    scene.drop_events()
    assert scene.cloud.peers.call(AWAY, "eraser", {"call": "erase", "key": str(entry.key)}) == {"erased": True}
    assert SECRET.encode() not in bodies(scene, AWAY)
    assert SECRET.encode() in bodies(scene, HOME)


@pytest.mark.parametrize("key", ["us-east-1/store/memstore_useast1_x/0001-0.0000000001", "us-east-1/log/x"])
def test_the_eraser_touches_nothing_but_logs(scene: Scene, key: str) -> None:
    with pytest.raises(port_errors.OutcomeUnknown, match=r"InvalidRequest|ValueError"):
        scene.cloud.peers.call(HOME, "eraser", {"call": "erase", "key": key})
