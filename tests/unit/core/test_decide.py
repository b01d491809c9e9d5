"""What a command does to a head, against a model small enough to be read at a glance."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from memolith.core import decide
from memolith.core.commands import DeleteMemory, UpdateMemory
from memolith.core.drafts import Draft
from memolith.core.errors import NotFound, PreconditionFailed
from memolith.core.fold import is_live, join_memory
from memolith.core.ids import companion_id
from memolith.core.log_position import LogKey, Slot
from memolith.core.objects.entry import Operation
from memolith.core.rows.content import MemoryRow
from tests.unit.core import values

MEMORY = "mem_" + "0" * 26
OTHER = "mem_" + "1" * 26
CONTENTS = ("", "a", "ä")
PATHS = ("/a", "/b")
expectations = st.none() | st.sampled_from([decide.sha256_hex(text) for text in CONTENTS])


@st.composite
def memories(draw: st.DrawFn) -> tuple[MemoryRow | None, tuple[str, str] | None]:
    """A row, or none, and what stands there in plain words: path and content, or nothing that the command means."""
    row = draw(st.none() | values.heads(memory_id=draw(st.sampled_from([MEMORY, MEMORY, MEMORY, OTHER]))))
    if row is None or not is_live(row):
        return row, None
    path, content = draw(st.sampled_from(PATHS)), draw(st.sampled_from(CONTENTS))
    row = replace(row, path=path, content_sha256=decide.sha256_hex(content), content_size_bytes=len(content.encode()))
    return row, (path, content) if row.memory_id == MEMORY else None


def model(
    there: tuple[str, str] | None, content: str | None, path: str | None, expected: str | None
) -> tuple[str, str] | str:
    """Path and content afterwards, or what is wrong. A change to what is so already asks for no precondition."""
    if there is None:
        return "not found"
    wanted = (there[0] if path is None else path, there[1] if content is None else content)
    if wanted == there:
        return "no change"
    if expected is not None and expected != decide.sha256_hex(there[1]):
        return "precondition"
    return wanted


def told(decision: decide.Decision | decide.Look) -> str:
    """A decision other than a commit in the model's words."""
    if isinstance(decision, decide.NoChange):
        return "no change"
    assert isinstance(decision, decide.Refused)
    kinds = {NotFound: "not found", PreconditionFailed: "precondition"}
    return kinds[type(decision.error)]


@given(
    memories(),
    st.none() | st.sampled_from(CONTENTS),
    st.none() | st.sampled_from(PATHS),
    expectations,
)
def test_an_update_decides_as_the_model_does(
    given_memory: tuple[MemoryRow | None, tuple[str, str] | None],
    content: str | None,
    path: str | None,
    expected: str | None,
) -> None:
    row, there = given_memory
    decision = decide.decide_update(row, UpdateMemory("s", MEMORY, "v", "api_key:k", content, path, expected), None)
    wanted = model(there, content, path, expected)
    if isinstance(wanted, str):
        assert told(decision) == wanted
        return
    assert there is not None
    moves = wanted[0] != there[0]
    operation = Operation.MOVED_IN if moves else Operation.MODIFIED
    assert decision == decide.Commit(operation, wanted[0], content)


@given(memories(), expectations)
def test_a_deletion_is_never_a_no_op(
    given_memory: tuple[MemoryRow | None, tuple[str, str] | None], expected: str | None
) -> None:
    row, there = given_memory
    decision = decide.decide_delete(row, DeleteMemory("s", MEMORY, "v", "api_key:k", expected))
    if there is None:
        assert told(decision) == "not found"
    elif expected is not None and expected != decide.sha256_hex(there[1]):
        assert told(decision) == "precondition"
    else:
        assert decision == decide.Commit(Operation.DELETED, there[0], None)


drafts = st.builds(Draft, values.version_ids, st.just(MEMORY), values.actors, values.instants_us)
live_heads = values.heads(memory_id=MEMORY).filter(is_live)


@given(drafts, values.log_keys, values.paths, values.contents)
def test_a_first_version_is_live_at_its_path(draft: Draft, key: LogKey, path: str, content: str) -> None:
    row = join_memory(None, decide.created(draft, key, path, content))
    assert (row.path, row.content_sha256, row.generation) == (path, decide.sha256_hex(content), 1)
    assert (row.slot, row.arrived, row.created_at, row.updated_at) == (str(key.slot),) * 2 + (draft.now_us,) * 2
    assert row.content_size_bytes == len(content.encode())


def no_earlier(key: LogKey, head: MemoryRow) -> LogKey:
    """The key in an epoch that has a say beside the head's."""
    epoch = max(key.slot.epoch, Slot.parse(head.slot).epoch, key=lambda epoch: epoch.rank)
    return replace(key, slot=replace(key.slot, epoch=epoch))


@given(drafts, live_heads, values.log_keys, values.contents)
def test_what_a_home_still_writes_that_has_lost_its_store_has_no_say(
    draft: Draft, head: MemoryRow, key: LogKey, content: str
) -> None:
    assume(key.slot.epoch.number < 9_999)
    ahead = Slot(replace(key.slot.epoch, number=key.slot.epoch.number + 1), 1)
    later = replace(head, slot=str(ahead))
    entry = decide.follows(draft, later, key, decide.Commit(Operation.MODIFIED, str(head.path), content))
    assert join_memory(later, entry) == later


@given(drafts, live_heads, values.log_keys, values.contents)
def test_the_next_version_at_the_same_path_changes_what_it_says_and_nothing_else(
    draft: Draft, head: MemoryRow, key: LogKey, content: str
) -> None:
    row = join_memory(
        head,
        decide.follows(draft, head, no_earlier(key, head), decide.Commit(Operation.MODIFIED, str(head.path), content)),
    )
    assert (row.generation, row.version_id) == (head.generation + 1, draft.version_id)
    assert (row.path, row.arrived, row.created_at) == (head.path, head.arrived, head.created_at)
    assert (row.content_sha256, row.content_size_bytes) == (decide.sha256_hex(content), len(content.encode()))
    assert row.updated_at > head.updated_at


@given(drafts, live_heads, values.log_keys)
def test_a_deleted_memory_keeps_its_place_and_none_of_its_text(draft: Draft, head: MemoryRow, key: LogKey) -> None:
    deletion = decide.Commit(Operation.DELETED, str(head.path), None)
    row = join_memory(head, decide.follows(draft, head, no_earlier(key, head), deletion))
    assert row.gone and not is_live(row)
    assert (row.path, row.content_sha256, row.content_size_bytes) == (None, None, None)


@given(drafts, live_heads, values.log_keys, values.slots, values.paths, st.none() | values.contents)
def test_a_rename_keeps_the_memory_and_names_both_of_its_places(
    draft: Draft, head: MemoryRow, key: LogKey, source: Slot, path: str, content: str | None
) -> None:
    key = no_earlier(key, head)
    arrival = decide.follows(draft, head, key, decide.Commit(Operation.MOVED_IN, path, content), source)
    departure = decide.moved_out(arrival)
    row = join_memory(head, arrival)
    assert (row.memory_id, row.path, row.arrived) == (MEMORY, path, str(key.slot))
    assert row.content_sha256 == (head.content_sha256 if content is None else decide.sha256_hex(content))
    assert departure.key == LogKey(key.store_id, head.path_hash, source)
    assert (departure.destination, departure.moved_version_id) == (arrival.ref, arrival.version_id)
    assert (departure.path, departure.content_sha256) == (None, None)
    assert decide.moved_out(arrival.blanked()) == departure, "whoever finishes it puts the same"
    assert departure.version_id == companion_id(arrival.version_id)


def test_what_did_not_arrive_from_anywhere_has_no_departure() -> None:
    entry = decide.void(LogKey("s", "0" * 64, Slot.parse("0001-0.us-east-1.0000000001")), "v", 0)
    try:
        decide.moved_out(entry)
    except ValueError as error:
        assert "source" in str(error)
    else:
        raise AssertionError("a void entry was taken for a rename")


@given(values.contents)
def test_the_hash_is_of_the_bytes_as_they_are(content: str) -> None:
    import hashlib

    assert decide.sha256_hex(content) == hashlib.sha256(content.encode("utf-8")).hexdigest()
