"""Records of a newer release: one more field is passed over; another schema is refused with what to do about it."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from memolith.core import objects, rows
from memolith.core.commands import (
    Command,
    CreateMemory,
    DeleteMemory,
    ImportedVersion,
    UpdateMemory,
    from_payload,
    to_payload,
)
from memolith.core.errors import Unavailable
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.objects.checkpoint import Checkpoint, Named, Seal, part_from_json, part_to_json
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.epoch_cut import Cut
from memolith.core.objects.job_record import JobEvent, JobRecord
from memolith.core.objects.proposal_record import EditResult, PlannedWrite, ProposalRecord, ProposedEdit
from memolith.core.objects.redaction_order import Redaction
from memolith.core.objects.resolution_record import ResolutionRecord
from memolith.core.objects.run_record import DreamStatus, RunRecord
from memolith.core.objects.schema import SCHEMA
from memolith.core.objects.search_pack import Manifest
from memolith.core.objects.session_record import Attachment, Pin, SessionRecord, StorePins
from memolith.core.objects.spending_record import SpendingRecord
from memolith.core.objects.store_record import StoreRecord
from memolith.core.objects.usage_record import MemoryUse, UsageRecord
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.objects.witness import Witness
from memolith.core.proposed_edits import EditRequest, request_digest, write_digest
from memolith.core.rows.base import Row

STORE, VERSION, HASH = "memstore_useast1_x", "memver_x", "0" * 64
POSITION = f"{HASH}/0001-0.us-east-1.0000000001"
PIN = Pin("mem_x", VERSION, POSITION)
RECORDS: list[Any] = [
    StoreRecord(STORE, "wrkspc_x", "n", "d", {"team": "a"}, HASH, "us-east-1", ("0001-0.us-east-1",), 1, 2, "me", "v"),
    ApiKeyRecord("wrkspc_x", "apikey_x", "n", "write", HASH, 1),
    Redaction(STORE, VERSION, POSITION, 1, "api_key:apikey_x"),
    SessionRecord(
        "wrkspc_x",
        "sesn_x",
        "title",
        {"team": "a"},
        (Attachment(STORE, "read_only", "", "n", "d", "/mnt/memory/n"),),
        1,
        "me",
        pinned_at=2,
        pins=(StorePins(STORE, PIN), StorePins(STORE, None, (PIN,), more=True)),
    ),
    VerdictRecord(STORE, VERSION, POSITION, HASH, VerdictOutcome.WITHHOLD, 1, "scanner", findings=({"rule": "r"},)),
    Witness("us-east-1", 1, HASH, 2, True),
    RunRecord(
        "wrkspc_x",
        STORE,
        "drm_x",
        1,
        DreamStatus.PENDING,
        1,
        "me",
        "m",
        "propose",
        STORE,
        "sesn_x",
        ("sesn_y",),
        sources={"mem_x": (VERSION, "sesn_y.1")},
    ),
    JobRecord(STORE, "extract", "all", 1, 1, JobEvent.CLAIMED, 1, "me", "token", 2, 3),
    UsageRecord(STORE, 1, 1, 2, 1, {"sesn_x": {"us-east-1": 3}}, {"mem_x": MemoryUse(1, 2, 20_000, 20_001)}),
    SpendingRecord(STORE, "2026-11-23", 1, 2, 3, 4),
    ProposalRecord(
        STORE,
        "prop_x",
        1,
        "0001-0.us-east-1",
        1,
        "me",
        edits=(ProposedEdit("create", "/a", content="text", sources=(VERSION,)),),
        plan=(PlannedWrite(1, "mem_x", VERSION),),
        results=(EditResult(1, "applied", VERSION, "mem_x"),),
    ),
    ResolutionRecord(
        STORE, "conf_x", "0001-0.us-east-1", ("stmt_a", "stmt_b"), ("mem_x", "mem_y"), None, 1, "api_key:apikey_x"
    ),
    Cut({HASH: "0001-0.us-east-1.0000000001"}, {HASH: "mem_x"}, {"mem_x": POSITION}),
    Checkpoint("us-east-1", 1, 2, "run", (Named("a"), Named("b", VERSION))),
    Checkpoint(
        "us-east-1",
        2,
        3,
        "run",
        (Named("a", None, "1digest"), Named("b", VERSION, "1digest")),
        count=2,
        previous=HASH,
        root=HASH,
        seal=Seal("key", "signature"),
    ),
    Checkpoint("us-east-1", 3, 4, "run", previous=HASH, previous_statement=HASH, root=HASH),
]
FREE = {"cursors", "metadata", "findings", "tails", "residents", "occupants", "names", "seal"}
"""Fields whose values have no fields of their own."""


def with_more(value: Any) -> Any:
    """The same JSON with one more field in every object, as a newer release may write it."""
    if isinstance(value, list):
        return [with_more(one) for one in value]
    if not isinstance(value, dict):
        return value
    inner = {name: one if name in FREE or is_counts(one) else with_more(one) for name, one in value.items()}
    return {"of_a_newer_release": {"colour": "red"}, **inner}


def is_counts(value: Any) -> bool:
    """Whether a value maps ids to numbers, and so has no fields of its own."""
    return isinstance(value, dict) and all(isinstance(one, list) for one in value.values())


def kind_of(record: Any) -> str:
    return type(record).__name__


COMMANDS = [
    CreateMemory(STORE, "mem_x", VERSION, "me", "/a", "text"),
    UpdateMemory(STORE, "mem_x", VERSION, "me", content="text"),
    DeleteMemory(STORE, "mem_x", VERSION, "me"),
]


def parsers(name: str) -> set[type]:
    """Every class of `core.objects` that has such a parser."""
    found = set()
    for module in pkgutil.iter_modules(objects.__path__, f"{objects.__name__}."):
        classes = vars(importlib.import_module(module.name)).values()
        found |= {one for one in classes if isinstance(one, type) and name in vars(one)}
    return found


def test_every_parser_of_stored_records_is_tried_here() -> None:
    assert parsers("from_json") == {type(record) for record in RECORDS} | {StorePins}
    assert parsers("from_metadata") == {Entry, Manifest}


@pytest.mark.parametrize("record", RECORDS, ids=kind_of)
def test_a_field_of_a_newer_release_is_passed_over(record: Any) -> None:
    newer = with_more(json.loads(record.to_json()))
    assert newer != json.loads(record.to_json())
    assert type(record).from_json(json.dumps(newer).encode()) == record


@pytest.mark.parametrize("record", RECORDS, ids=kind_of)
@pytest.mark.parametrize("found", ["2", 1, None])
def test_another_schema_is_refused_with_what_reads_it(record: Any, found: object) -> None:
    body = json.dumps(json.loads(record.to_json()) | {"schema": found}).encode()
    with pytest.raises(ValueError, match=rf"this release reads schema '{SCHEMA}'"):
        type(record).from_json(body)


def test_the_error_for_a_newer_schema_says_what_to_do() -> None:
    body = json.dumps(json.loads(RECORDS[0].to_json()) | {"schema": "2"}).encode()
    with pytest.raises(ValueError, match=r"schema '2'.*deploy that release in this region, then fold the object again"):
        StoreRecord.from_json(body)


def entry() -> Entry:
    key = LogKey(STORE, HASH, Slot(Epoch(1, "us-east-1"), 1))
    return Entry(key, Operation.CREATED, VERSION, "mem_x", 1, key.slot, path="/a", created_at=1)


@pytest.mark.parametrize(
    ("read", "metadata"),
    [
        (lambda metadata: Entry.from_metadata(entry().key, metadata), entry().to_metadata()),
        (Manifest.from_metadata, Manifest(1, None, 2, HASH).to_metadata()),
    ],
    ids=["entry", "pack"],
)
def test_metadata_of_a_newer_release_is_passed_over(
    read: Callable[[dict[str, str]], object], metadata: dict[str, str]
) -> None:
    assert read(metadata | {"of-a-newer-release": "1"}) == read(metadata)


def test_an_entry_of_another_schema_is_refused_with_what_reads_it() -> None:
    with pytest.raises(ValueError, match=r"schema '2'.*deploy that release"):
        Entry.from_metadata(entry().key, entry().to_metadata() | {"schema": "2"})


def test_a_name_in_a_part_of_a_checkpoint_may_have_more_to_say() -> None:
    names = (Named("a"), Named("b", VERSION, "1digest"))
    newer = [[*one, "more"] if len(one) == 3 else one for one in json.loads(part_to_json(names))]
    assert part_from_json(json.dumps(newer).encode()) == names


@pytest.mark.parametrize("command", COMMANDS, ids=kind_of)
def test_a_write_with_a_field_of_a_newer_release_is_refused_before_anything_is_done(command: Command) -> None:
    payload = to_payload(command) | {"of_a_newer_release": True}
    with pytest.raises(Unavailable, match=r"'of_a_newer_release'.*nothing was done.*same release in every region"):
        from_payload(payload)


@pytest.mark.parametrize("command", COMMANDS, ids=kind_of)
def test_the_author_of_a_write_is_passed_on_only_where_a_policy_is_to_judge_it(command: Command) -> None:
    assert "author" not in to_payload(command)
    judged = replace(command, author="agents")
    assert to_payload(judged) == to_payload(command) | {"author": "agents"}
    assert from_payload(json.loads(json.dumps(to_payload(judged)))) == judged


@pytest.mark.parametrize("command", COMMANDS[1:], ids=kind_of)
def test_the_version_that_a_write_expects_is_passed_on_where_it_names_one(command: UpdateMemory | DeleteMemory) -> None:
    assert "expected_version_id" not in to_payload(command)
    pinned = replace(command, expected_version_id=VERSION)
    assert from_payload(json.loads(json.dumps(to_payload(pinned)))) == pinned


def test_a_command_of_a_newer_release_is_refused_before_anything_is_done() -> None:
    with pytest.raises(Unavailable, match=r"'memory\.append'"):
        from_payload({"command": "memory.append"})


def test_an_edit_by_path_is_passed_on_and_known_again_as_by_releases_that_know_no_other() -> None:
    """Repeated with its key after an upgrade, a proposal has to be the one that is there."""
    by_path = EditRequest("replace", "/a", content="new")
    assert "memory_id" not in by_path.to_payload()
    digest = "ce192b8f4a14ce5b63442a639d9b0f0fd103115a549fca104f34d41ba9a8a6c2"
    assert request_digest(b"salt", "api_key:k", "tidy up", [by_path]) == digest
    by_id = replace(by_path, memory_id="mem_x")
    assert request_digest(b"salt", "api_key:k", "tidy up", [by_id]) != digest
    for edit in (by_path, by_id):
        assert EditRequest.from_payload(json.loads(json.dumps(edit.to_payload()))) == edit


def test_a_write_that_waits_is_known_again_by_later_releases() -> None:
    """Asked for again after an upgrade, it has to be the proposal that is there."""
    edit = ProposedEdit("rename", "/a", "/b", "text", "sha256", "mem_x", "the head's sha256", trust="a")
    digest = "c6ed06a50973ff38f355b9751c3d88285699fa2f7aea69c4f59ae51f8a7aa737"
    for same in (edit, replace(edit, content=None, trust="u")):
        assert write_digest(b"salt", "api_key:k", same) == digest
    others: list[dict[str, Any]] = [{"op": "replace"}, {"path": "/c"}, {"to": "/c"}, {"memory_id": "mem_y"}]
    for other in (*others, {"content_sha256": "another"}, {"expected_content_sha256": None}):
        assert write_digest(b"salt", "api_key:k", replace(edit, **other)) != digest
    assert write_digest(b"salt", "api_key:l", edit) != digest != write_digest(b"sal", "api_key:k", edit)


def test_an_imported_version_with_a_field_of_a_newer_release_is_refused_before_anything_is_done() -> None:
    version = ImportedVersion("mem_x", VERSION, "created", "me", 1, "/a", "text")
    assert ImportedVersion.from_payload(json.loads(json.dumps(asdict(version)))) == version
    with pytest.raises(Unavailable, match="'of_a_newer_release'"):
        ImportedVersion.from_payload(asdict(version) | {"of_a_newer_release": True})


def rows_of_every_table() -> list[type[Row]]:
    modules = [importlib.import_module(one.name) for one in pkgutil.iter_modules(rows.__path__, f"{rows.__name__}.")]
    classes = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    return sorted((one for one in classes if issubclass(one, Row) and one is not Row), key=lambda one: one.__name__)


@pytest.mark.parametrize("row", rows_of_every_table())
def test_an_attribute_of_a_newer_release_in_a_row_is_passed_over(row: type[Row]) -> None:
    attributes = {field.name: None for field in fields(row)}
    newer = row.from_attributes(attributes | {"of_a_newer_release": "red"})
    assert newer.to_attributes() == row.from_attributes(attributes).to_attributes()
