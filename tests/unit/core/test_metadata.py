"""User metadata of one object has 2,048 bytes: the longest legal entry of every operation must fit."""

from __future__ import annotations

from dataclasses import replace

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.adapters.limits import check_object
from memolith.core import decide
from memolith.core.drafts import Draft
from memolith.core.ids import region_code, ulid
from memolith.core.limits import CONTENT_MAX_BYTES, FLAGS_MAX_BYTES, OBJECT_METADATA_MAX_BYTES, PATH_MAX_BYTES
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.objects.entry import Actor, Entry, Operation, kept_flags
from memolith.core.rows.content import MemoryRow

_SESSION = boto3.Session()
LONGEST_REGION = max(
    (name for part in _SESSION.get_available_partitions() for name in _SESSION.get_available_regions("s3", part)),
    key=len,
)
LAST_ULID = ulid(2**48 - 1, b"\xff" * 10)
ACTORS = (
    Actor("api_key", f"apikey_{region_code(LONGEST_REGION)}_{LAST_ULID}"),
    Actor("session", f"sesn_{LAST_ULID}"),
    Actor("user", f"user_{LAST_ULID}"),
    Actor("service_account", f"svac_{LAST_ULID}"),
)
LAST_INSTANT_US = 9_999_999_999_999_999
"""In the year 2286."""

SLOT = Slot(Epoch(9_999, LONGEST_REGION, 99), 9_999_999_999)
KEY = LogKey(f"memstore_{region_code(LONGEST_REGION)}_{LAST_ULID}", "f" * 64, SLOT)
PATH = "/" + "\U0010fffd" * ((PATH_MAX_BYTES - 4) // 4) + "xyz"
CONTENT = "x" * CONTENT_MAX_BYTES
HEAD = MemoryRow(
    store_id=KEY.store_id,
    memory_id=f"mem_{LAST_ULID}",
    generation=9_999_999_999,
    version_id=f"memver_{LAST_ULID}",
    path_hash="f" * 64,
    slot=str(SLOT),
    arrived=str(SLOT),
    updated_at=LAST_INSTANT_US - 1,
    created_at=LAST_INSTANT_US - 1,
    path=PATH,
    content_sha256="f" * 64,
    content_size_bytes=CONTENT_MAX_BYTES,
)
FULL = ("f" * FLAGS_MAX_BYTES,)


def longest(operation: Operation) -> Entry:
    """The entry of that operation with every field as long as it may be."""
    actor = max(ACTORS, key=lambda one: len(str(one)))
    draft = Draft(f"memver_{LAST_ULID}", HEAD.memory_id, actor, LAST_INSTANT_US)
    if operation is Operation.VOID:
        return decide.void(KEY, draft.version_id, draft.now_us)
    if operation is Operation.CREATED:
        return replace(decide.created(draft, KEY, PATH, CONTENT), flags=FULL)
    kind = Operation.MOVED_IN if operation is Operation.MOVED_OUT else operation
    content = None if kind is Operation.DELETED else CONTENT
    source = SLOT if kind is Operation.MOVED_IN else None
    entry = decide.follows(draft, HEAD, KEY, decide.Commit(kind, PATH, content), source)
    return decide.moved_out(entry) if operation is Operation.MOVED_OUT else replace(entry, flags=FULL)


def size_bytes(entry: Entry) -> int:
    return sum(len(name) + len(value) for name, value in entry.to_metadata().items())


@pytest.mark.parametrize("operation", list(Operation))
def test_the_longest_entry_of_every_operation_fits_into_the_metadata_of_one_object(operation: Operation) -> None:
    entry = longest(operation)
    check_object(str(entry.key), entry.to_metadata(), entry.content_sha256)
    assert Entry.from_metadata(entry.key, entry.to_metadata()) == entry


def test_flags_may_take_what_the_longest_entry_leaves_and_a_little_is_kept_for_later() -> None:
    spare = OBJECT_METADATA_MAX_BYTES - max(size_bytes(longest(operation)) for operation in Operation)
    assert 0 <= spare <= 64


def test_the_longest_entry_has_the_longest_path_there_is() -> None:
    assert len(PATH.encode()) == PATH_MAX_BYTES


def test_flags_beyond_their_share_are_never_put() -> None:
    entry = replace(longest(Operation.MOVED_IN), flags=("f" * FLAGS_MAX_BYTES, "g"))
    with pytest.raises(ValueError, match="flags"):
        entry.to_metadata()


@pytest.mark.parametrize("flag", ["a,b", "", "blank space", "ünï"])
def test_a_flag_that_metadata_would_not_give_back_is_never_put(flag: str) -> None:
    with pytest.raises(ValueError, match="flags"):
        replace(longest(Operation.CREATED), flags=(flag,)).to_metadata()


@given(st.lists(st.from_regex(r"[a-z][a-z0-9_.-]{0,40}", fullmatch=True), max_size=30))
def test_of_many_flags_the_first_that_fit_are_kept_each_once(flags: list[str]) -> None:
    kept = kept_flags(flags)
    unique = tuple(dict.fromkeys(flags))
    assert kept == unique[: len(kept)]
    assert len(",".join(kept)) <= FLAGS_MAX_BYTES
    assert kept == unique or len(",".join(unique[: len(kept) + 1])) > FLAGS_MAX_BYTES
