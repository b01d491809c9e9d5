"""What is written is what is read back: keys, slots, metadata, records, commands, rows, ids, instants."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.adapters.limits import check_object
from memolith.app.commit.attempt import Outcome, decode_outcome, encode_outcome
from memolith.app.kernel.peer_messages import decode_error, decode_resolved, encode_error, encode_resolved
from memolith.core import errors, ids
from memolith.core.commands import Command, CreateMemory, DeleteMemory, UpdateMemory, from_payload, to_payload
from memolith.core.fold import join_memory, join_version
from memolith.core.log_position import Epoch, LogKey, LogRef, Slot, epoch_number_text
from memolith.core.object_keys import (
    ApiKeyKey,
    CutKey,
    JobKey,
    ObjectKey,
    ProposalKey,
    RedactionKey,
    ResolutionKey,
    RunKey,
    StoreKey,
    VerdictKey,
    parse_key,
)
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.epoch_cut import Cut
from memolith.core.objects.redaction_order import Redaction
from memolith.core.objects.store_record import StoreRecord, StoreState, parse_epoch
from memolith.core.objects.verdict_record import VerdictRecord
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.times import FIRST_US, LAST_US, after, parse_rfc3339, rfc3339
from tests.unit.core import values

texts = st.text(st.characters(codec="utf-8"), max_size=30)
regions = st.sampled_from(values.REGIONS)
workspaces = st.from_regex(r"wrkspc_[a-z0-9]{1,40}", fullmatch=True)
key_ids = values.ulids.map(lambda id: f"apikey_useast1_{id}")
object_keys: st.SearchStrategy[ObjectKey] = st.one_of(
    values.log_keys,
    st.builds(StoreKey, values.store_ids, values.slots),
    st.builds(
        CutKey,
        values.store_ids,
        values.epochs,
        st.sampled_from(["cut_1", "cut_01kb"]),
        st.integers(0, 999),
    ),
    st.builds(RedactionKey, regions, values.store_ids, values.version_ids),
    st.builds(ProposalKey, regions, values.store_ids, values.version_ids, st.integers(1, 9_999_999_999)),
    st.builds(VerdictKey, regions, values.store_ids, values.version_ids, st.integers(1, 9_999_999_999)),
    st.builds(ResolutionKey, regions, values.store_ids, st.from_regex(r"conf_[0-9a-f]{40}", fullmatch=True)),
    st.builds(RunKey, regions, values.store_ids, key_ids, st.integers(1, 9_999_999_999)),
    st.builds(
        JobKey,
        regions,
        values.store_ids,
        st.sampled_from(["extract", "consolidate"]),
        st.sampled_from(["all", "sesn_useast1_01"]),
        st.integers(1, 9_999_999_999),
    ),
    st.builds(ApiKeyKey, regions, workspaces, key_ids, st.integers(1, 9_999_999_999)),
)


@given(object_keys)
def test_every_key_says_what_it_names_and_begins_with_the_region_that_wrote_it(key: ObjectKey) -> None:
    assert parse_key(str(key)) == key
    assert str(key).partition("/")[0] in values.REGIONS
    check_object(str(key), {})


@given(st.one_of(texts, object_keys.map(str).map(lambda key: key[1:]), object_keys.map(lambda key: f"{key}x")))
def test_a_key_of_none_of_ours_is_never_passed_over(key: str) -> None:
    try:
        assert str(parse_key(key)) == key
    except ValueError as error:
        assert "not a key" in str(error)


@given(values.slots)
def test_slots_are_read_back_and_have_neighbours(slot: Slot) -> None:
    assert Slot.parse(str(slot)) == slot
    assert slot.following.preceding == slot
    assert slot.following > slot
    assert LogRef.parse(str(LogRef("0" * 64, slot))) == LogRef("0" * 64, slot)
    assert parse_epoch(str(slot.epoch)) == slot.epoch


@given(values.epoch_numbers, values.epoch_numbers, st.sampled_from(values.REGIONS), st.integers(0, 99))
def test_keys_and_texts_of_epochs_sort_as_their_numbers_do(one: int, other: int, home: str, attempt: int) -> None:
    """A listing that goes on behind an epoch, and a comparison of texts, never pass over a later one."""
    first, second = Epoch(min(one, other), home, attempt), Epoch(max(one, other), home)
    if first.number == second.number:
        return
    for key in (lambda epoch: LogKey("s", "0" * 64, Slot(epoch, 1)), lambda epoch: StoreKey("s", Slot(epoch, 1))):
        assert str(key(first)) < str(key(second))
    assert str(first) < str(second) and first.rank < second.rank
    assert f"{epoch_number_text(first.number)}-~" < second.key_part


def test_the_ten_thousandth_change_of_a_home_is_read_back_and_older_keys_stay_as_they_are() -> None:
    assert str(Slot(Epoch(9_999, "us-east-1", 2), 7)) == "9999-2.us-east-1.0000000007"
    following = Slot(Epoch(10_000, "us-east-1"), 1)
    assert Slot.parse(str(following)) == following
    assert str(following) > str(Slot(Epoch(9_999, "us-west-2", 3), 9_999_999_999))
    for text in ("10000-0", "a1000-0", "b10000-0", "a01000-0"):
        with pytest.raises(ValueError, match="not a"):
            Slot.parse(f"{text}.us-east-1.0000000001")


def test_the_first_slot_of_an_epoch_follows_nothing() -> None:
    assert Slot(Epoch(1, "us-east-1"), 1).preceding is None


@given(st.lists(st.tuples(st.integers(1, 9_999), st.integers(1, 9_999_999_999)), min_size=2, max_size=6))
def test_along_one_chain_of_epochs_the_order_of_text_is_the_order_of_slots(places: list[tuple[int, int]]) -> None:
    """Of each number a chain holds one epoch: that is what makes text comparison enough."""
    chain = [Slot(Epoch(number, values.REGIONS[number % 4], number % 3), sequence) for number, sequence in places]
    assert sorted(map(str, chain)) == list(map(str, sorted(chain)))


@given(values.entries())
def test_an_entry_is_all_in_its_metadata(entry: Entry) -> None:
    metadata = entry.to_metadata()
    check_object(str(entry.key), metadata, entry.content_sha256)
    assert Entry.from_metadata(entry.key, metadata) == entry


@given(values.entries(), st.sampled_from(["schema", "op", "id", "at"]))
def test_metadata_that_lacks_what_every_entry_has_cannot_be_read(entry: Entry, lost: str) -> None:
    metadata = entry.to_metadata()
    del metadata[lost]
    with pytest.raises(ValueError, match=r"schema|cannot be read"):
        Entry.from_metadata(entry.key, metadata)


@given(values.entries(), st.sampled_from(["op", "at", "arrived", "src", "dst"]))
def test_metadata_that_is_no_text_of_ours_cannot_be_read(entry: Entry, spoiled: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        Entry.from_metadata(entry.key, entry.to_metadata() | {spoiled: "?"})


@given(values.entries())
def test_a_blanked_entry_keeps_its_links_and_loses_its_text(entry: Entry) -> None:
    blank = entry.blanked()
    assert blank.blanked() == blank
    assert not {"path", "sha", "size", "flags"} & set(blank.to_metadata())
    assert entry.same_write(blank) and blank.same_write(entry)
    assert not blank.has_content


@given(values.entries(), values.entries())
def test_entries_of_two_calls_are_never_one_write(one: Entry, other: Entry) -> None:
    assert one.same_write(one)
    assert not one.same_write(other) or one.version_id == other.version_id


@given(values.entries())
def test_an_entry_passed_between_regions_arrives_as_it_was(entry: Entry) -> None:
    settled = [ResolvedEntry(entry), ResolvedEntry(entry, void=True)]
    assert decode_resolved(json.loads(json.dumps(encode_resolved(settled)))) == settled


def test_what_is_no_entry_of_a_log_is_not_taken_for_one() -> None:
    key = str(StoreKey("memstore_useast1_x", Slot(Epoch(1, "us-east-1"), 1)))
    with pytest.raises(ValueError, match="not a key of a log"):
        decode_resolved([{"key": key, "metadata": {}, "void": False}])


@given(values.entries().filter(lambda entry: entry.operation not in (Operation.VOID, Operation.MOVED_OUT)))
def test_rows_go_into_attributes_and_back(entry: Entry) -> None:
    memory, version = join_memory(None, entry), join_version(None, entry)
    assert MemoryRow.from_attributes(memory.to_attributes()) == memory
    assert VersionRow.from_attributes({**version.to_attributes(), "of_a_newer_release": 1}) == version
    assert None not in memory.to_attributes().values()


_optional_texts = st.none() | values.contents
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(CreateMemory, values.store_ids, values.memory_ids, values.version_ids, texts, values.paths, texts),
    st.builds(
        UpdateMemory,
        values.store_ids,
        values.memory_ids,
        values.version_ids,
        texts,
        _optional_texts,
        st.none() | values.paths,
        st.none() | values.hashes,
        restored=st.booleans(),
        expected_version_id=st.none() | values.version_ids,
    ),
    st.builds(
        DeleteMemory,
        values.store_ids,
        values.memory_ids,
        values.version_ids,
        texts,
        st.none() | values.hashes,
        expected_version_id=st.none() | values.version_ids,
    ),
)


@given(commands)
def test_commands_are_passed_on_as_they_are(command: Command) -> None:
    assert from_payload(json.loads(json.dumps(to_payload(command)))) == command


@given(st.sampled_from([{}, {"command": "memory.delete"}, {"command": "memory.delete", "store_id": "s"}]))
def test_a_payload_that_no_version_of_memolith_made_is_refused(payload: dict[str, str]) -> None:
    with pytest.raises((KeyError, TypeError)):
        from_payload(payload)


_errors: list[errors.MemolithError] = [
    errors.InvalidRequest("path", "must start with /"),
    errors.InvalidRequest("", "at least one", too_large=True),
    errors.Unauthenticated("no"),
    errors.PermissionDenied("no"),
    errors.NotFound("memory", "mem_x"),
    errors.PathConflict("/a", "mem_x"),
    errors.PathConflict("/a"),
    errors.PreconditionFailed(),
    errors.SnapshotIncomplete(1_790_000_000_000_000, None),
    errors.RateLimited(60, 7),
    errors.BudgetExhausted("the budget of the day is spent", 3_600),
    errors.Busy("later"),
    errors.NeedsApproval(),
    errors.Conflict("another dream"),
    errors.Unavailable("later"),
    errors.Damaged("not what was put", version_id="memver_x", region="eu-west-1", object="a/b", cause="altered"),
    errors.OutcomeUnknown("look"),
]


@pytest.mark.parametrize("error", _errors, ids=lambda error: f"{type(error).__name__}-{error.message}")
def test_every_error_crosses_from_region_to_region_as_it_is(error: errors.MemolithError) -> None:
    back = decode_error(json.loads(json.dumps(encode_error(error))))
    assert type(back) is type(error)
    assert {name: list(value) if isinstance(value, tuple) else value for name, value in vars(back).items()} == {
        name: list(value) if isinstance(value, tuple) else value for name, value in vars(error).items()
    }
    assert str(back) == str(error)


def test_every_error_there_is_has_been_tried() -> None:
    there_are = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert there_are == {type(error) for error in _errors} | {errors.MemolithError}


@given(values.heads(), values.entries(), st.none() | st.sampled_from(_errors))
def test_an_outcome_crosses_as_it_is(head: MemoryRow, entry: Entry, error: errors.MemolithError | None) -> None:
    outcome = Outcome(memory=head, error=error, resolved=[ResolvedEntry(entry)])
    back = decode_outcome(json.loads(json.dumps(encode_outcome(outcome))))
    assert (back.memory, back.resolved) == (outcome.memory, outcome.resolved)
    assert type(back.error) is type(outcome.error)


@given(
    st.builds(
        StoreRecord,
        store_id=values.store_ids,
        workspace_id=workspaces,
        name=texts,
        description=texts,
        metadata=st.dictionaries(texts, texts, max_size=3),
        salt=values.hashes,
        home=regions,
        epochs=st.lists(values.epochs.map(str), min_size=1, max_size=3).map(tuple),
        created_at=values.instants_us,
        updated_at=values.instants_us,
        created_by=texts,
        version_id=values.version_ids,
        state=st.sampled_from(StoreState),
        archived_at=st.none() | values.instants_us,
        scan_policy=st.sampled_from(["strict", "standard", "audit"]),
        scan_allow=st.lists(values.rules, max_size=3).map(tuple),
        scan_secrets=st.sampled_from(["refuse", "redact", "flag"]),
        erase_after=st.none() | values.instants_us,
        first_erase_after=st.none() | values.instants_us,
    )
)
def test_a_stores_record_is_read_back(record: StoreRecord) -> None:
    assert StoreRecord.from_json(record.to_json()) == record
    assert str(record.epoch) == record.epochs[-1]


@given(
    st.builds(ApiKeyRecord, workspaces, key_ids, texts, texts, values.hashes, values.instants_us, st.none()),
    st.builds(Redaction, values.store_ids, values.version_ids, values.refs.map(str), values.instants_us, texts),
    st.dictionaries(values.hashes, values.slots.map(str), max_size=3),
    values.verdicts(),
)
def test_every_record_but_an_entry_is_read_back(
    key: ApiKeyRecord, order: Redaction, tails: dict[str, str], verdict: VerdictRecord
) -> None:
    assert VerdictRecord.from_json(verdict.to_json()) == verdict
    assert parse_key(str(verdict.key)) == verdict.key
    assert ApiKeyRecord.from_json(key.to_json()) == key
    assert Redaction.from_json(order.to_json()) == order
    assert str(order.ref) == order.position
    assert Cut.from_json(Cut(tails, {}).to_json()) == Cut(tails, {})
    assert all(0 <= Cut.shard_of(path_hash) < Cut.SHARDS for path_hash in tails)


@pytest.mark.parametrize("kind", [StoreRecord, ApiKeyRecord, Redaction, VerdictRecord])
@pytest.mark.parametrize("body", [b"[]", b"{", b"{}", b'{"schema": "2"}', b'{"schema": "1", "colour": "red"}'])
def test_a_record_that_no_writer_of_this_schema_made_is_refused(
    kind: type[StoreRecord] | type[ApiKeyRecord] | type[Redaction] | type[VerdictRecord], body: bytes
) -> None:
    with pytest.raises(ValueError):
        kind.from_json(body)


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_ulids_are_in_the_order_of_their_time_and_tell_it(one: int, other: int, randomness: bytes) -> None:
    first, second = ids.ulid(one, randomness), ids.ulid(other, bytes(10))
    assert (ids.ulid_time_ms(first), len(first)) == (one, 26)
    assert one == other or (first < second) == (one < other)
    assert ids.MEMORY.fullmatch(f"mem_{first}")


@given(values.version_ids, st.integers(1, 20))
def test_ids_made_of_ids_keep_their_instant_and_are_others(version_id: str, attempt: int) -> None:
    derived = {ids.derived_version_id(version_id, number) for number in range(attempt + 1)}
    made = derived | {ids.companion_id(one) for one in derived}
    assert len(made) == 2 * (attempt + 1)
    assert version_id in made
    assert all(ids.VERSION.fullmatch(one) for one in made)
    assert {ids.instant_of(one) for one in made} == {ids.instant_of(version_id)}
    assert ids.ulid_time_ms(ids.instant_of(version_id).removeprefix("memver_")) == ids.ulid_time_ms(version_id[7:])


@given(st.sampled_from(values.REGIONS), values.ulids)
def test_the_id_of_a_store_or_key_tells_where_it_was_born(region: str, id: str) -> None:
    for prefix in ("memstore", "apikey"):
        assert ids.birth_region(f"{prefix}_{ids.region_code(region)}_{id}", values.REGIONS) == region
        assert ids.birth_region(f"{prefix}_nowhere1_{id}", values.REGIONS) is None
    assert ids.birth_region(f"mem_{id}", values.REGIONS) is None


@given(values.instants_us, values.instants_us)
def test_instants_are_read_back_and_their_text_is_in_their_order(one: int, other: int) -> None:
    assert parse_rfc3339(rfc3339(one)) == one
    assert (rfc3339(one) < rfc3339(other)) == (one < other)
    assert datetime.fromisoformat(rfc3339(one)).tzinfo == UTC


def test_the_first_and_the_last_instant_are_shown_and_none_before_or_after() -> None:
    assert (rfc3339(FIRST_US)[:4], rfc3339(LAST_US)[:4]) == ("0001", "9999")
    for beyond in (FIRST_US - 1, LAST_US + 1):
        with pytest.raises(OverflowError):
            rfc3339(beyond)


def test_an_instant_without_an_offset_is_none() -> None:
    with pytest.raises(ValueError, match="offset"):
        parse_rfc3339("2026-11-21T10:00:00")
    assert parse_rfc3339("1970-01-01T01:00:00+01:00") == 0


@given(values.instants_us, st.none() | values.instants_us)
def test_history_never_runs_backwards_whatever_the_clock_does(now_us: int, parent_us: int | None) -> None:
    assert after(now_us, parent_us) >= now_us
    assert parent_us is None or after(now_us, parent_us) > parent_us
