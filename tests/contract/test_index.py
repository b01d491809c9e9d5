"""What every adapter of `ports.index.Index` promises of reads and commits."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow
from memolith.core.rows.control import ControlRow
from memolith.core.rows.identity import ApiKeyRow, StoreRow
from memolith.core.rows.journal import JournalRow
from memolith.core.tables import TABLES
from memolith.ports.errors import Contended, Unavailable
from memolith.ports.index import Change
from tests.contract.worlds import TELLING_TYPES_APART, IndexWorld

A, B, C = (PathRow.key("memstore_1", path) for path in ("/a", "/b", "/c"))
MEMORY = MemoryRow.key("memstore_1", "mem_1")


def put(rows: IndexWorld, key: RowKey, row: Attributes) -> None:
    rows.index.commit([Change(key, None, row, unconditional=True)])


def the(rows: IndexWorld, key: RowKey) -> Attributes | None:
    found = rows.index.read([key]).get(key)
    return None if found is None else dict(found)


ROW: dict[str, Any] = {
    "text": "naïve 🧠",
    "empty": "",
    "number": 1_790_000_000_123_456,
    "below_zero": -1,
    "true": True,
    "false": False,
    "list": ["a", "b", "a"],
    "nothing_in_it": [],
    "mapping": {"ключ": "value", "b": ""},
    "size": 1,
    "name": "a word that DynamoDB reserves, like size",
}


def test_a_row_comes_back_as_it_went(rows: IndexWorld) -> None:
    rows.index.commit([Change(A, None, ROW)])
    found = the(rows, A)
    assert found == ROW
    assert {name: type(value) for name, value in found.items()} == {name: type(value) for name, value in ROW.items()}


def test_a_row_may_have_no_attributes(rows: IndexWorld) -> None:
    rows.index.commit([Change(A, None, {})])
    assert the(rows, A) == {}
    rows.index.commit([Change(A, {}, {"n": 1})])
    rows.index.commit([Change(A, {"n": 1}, {})])
    assert the(rows, A) == {}


def test_what_is_none_is_not_kept(rows: IndexWorld) -> None:
    rows.index.commit([Change(A, None, {"memory_id": "m", "claim_id": None})])
    assert the(rows, A) == {"memory_id": "m"}
    rows.index.commit([Change(A, {"memory_id": "m", "claim_position": None}, {"memory_id": "n"})])


@pytest.mark.parametrize("value", [1.5, b"bytes", [1], {"a": 1}, {1: "a"}, object()])
def test_other_types_are_a_defect_of_the_caller(rows: IndexWorld, value: object) -> None:
    with pytest.raises(ValueError, match="paths: n is neither"):
        rows.index.commit([Change(A, None, {"n": value})])


def test_what_is_read_is_the_readers_own(rows: IndexWorld) -> None:
    put(rows, A, {"list": ["a"]})
    found = rows.index.read([A])[A]
    found["list"].append("b")
    assert the(rows, A) == {"list": ["a"]}


def test_rows_of_many_tables_are_read_at_once_and_missing_ones_left_out(rows: IndexWorld) -> None:
    kept = {
        MEMORY: {"n": 1},
        LogRow.key("memstore_1", "hash"): {"n": 2},
        A: {"n": 3},
        StoreRow.key("memstore_1"): {"n": 4},
        StoreRow.listing_key("wrkspc_1", 17, "memstore_1"): {"n": 5},
        ApiKeyRow.key("wrkspc_1", "apikey_1"): {"n": 6},
        JournalRow.key("us-east-1", 5, 0, "us-east-1/log/1"): {"n": 7},
        ControlRow.KEY: {"n": 8},
        RowKey("verdicts", "memstore_1", "hmac"): {"n": 9},
    }
    for key, row in kept.items():
        put(rows, key, row)
    assert dict(rows.index.read([B, *kept, C])) == kept


def test_a_key_may_be_asked_for_twice_and_nothing_may_be_asked_for(rows: IndexWorld) -> None:
    put(rows, A, {"n": 1})
    assert dict(rows.index.read([A, A])) == {A: {"n": 1}}
    assert dict(rows.index.read([])) == {}


def test_more_rows_than_one_batch_are_read_all_the_same(rows: IndexWorld) -> None:
    keys = [PathRow.key("memstore_1", f"/{number:03d}") for number in range(205)]
    for start in range(0, len(keys), 100):
        rows.index.commit([Change(key, None, {"k": key.sk}) for key in keys[start : start + 100]])
    assert dict(rows.index.read(keys)) == {key: {"k": key.sk} for key in keys}


def test_a_row_is_made_only_where_there_is_none(rows: IndexWorld) -> None:
    rows.index.commit([Change(A, None, {"n": 1})])
    with pytest.raises(Contended):
        rows.index.commit([Change(A, None, {"n": 2})])
    assert the(rows, A) == {"n": 1}


def test_a_row_is_changed_only_if_it_is_what_was_read(rows: IndexWorld) -> None:
    put(rows, A, {"memory_id": "m", "claim_id": "c"})
    rows.index.commit([Change(A, {"memory_id": "m", "claim_id": "c"}, {"memory_id": "n", "claim_position": "p"})])
    assert the(rows, A) == {"memory_id": "n", "claim_position": "p"}
    with pytest.raises(Contended):
        rows.index.commit([Change(A, {"memory_id": "m", "claim_id": "c"}, {"memory_id": "o"})])
    assert the(rows, A) == {"memory_id": "n", "claim_position": "p"}


STALE: list[tuple[Attributes | None, Attributes | None]] = [
    ({"memory_id": "m", "version_id": "c"}, {"memory_id": "m"}),
    ({"memory_id": "m"}, {"memory_id": "m", "version_id": "c"}),
    ({"memory_id": "m"}, {}),
    ({}, {"memory_id": "m"}),
    (None, {"memory_id": "m"}),
    (None, {}),
    ({"memory_id": "m"}, None),
    ({"gone": False}, {}),
    ({"flags": ["a", "b"]}, {"flags": ["b", "a"]}),
    ({"flags": []}, {}),
    ({"path": {"a": "1", "b": "2"}}, {"path": {"a": "1"}}),
]


@pytest.mark.parametrize("becomes", [{"memory_id": "z"}, None, "the same"])
def test_every_difference_counts_also_one_that_the_change_does_not_touch(
    rows: IndexWorld, becomes: Attributes | str | None
) -> None:
    for number, (is_now, was_read) in enumerate(STALE):
        key = MEMORY._replace(sk=f"{MEMORY.sk}{number}")
        if is_now is not None:
            put(rows, key, is_now)
        after = was_read if isinstance(becomes, str) else becomes
        try:
            rows.index.commit([Change(key, was_read, after)])
        except Contended:
            assert the(rows, key) == is_now
        else:
            pytest.fail(f"{is_now} was taken for {was_read}")


@pytest.mark.parametrize("rows", TELLING_TYPES_APART, indirect=True)
@pytest.mark.parametrize(("is_now", "was_read"), [(False, 0), (1, True), (1, "1"), ([], {})])
def test_values_of_two_types_are_never_equal(rows: IndexWorld, is_now: object, was_read: object) -> None:
    put(rows, MEMORY, {"gone": is_now})
    with pytest.raises(Contended):
        rows.index.commit([Change(MEMORY, {"gone": was_read}, None)])


@pytest.mark.parametrize("table", [table.name for table in TABLES if table.name not in ("verdicts", "versions")])
def test_every_attribute_that_a_row_of_the_table_may_have_is_compared_though_nobody_named_it(
    rows: IndexWorld, table: str
) -> None:
    kinds = {
        "memories": "content_sha256",
        "logs": "voided",
        "paths": "claim_id",
        "stores": "archived_at",
        "keys": "revoked_at",
        "journal": "expires_at",
        "control": "building",
    }
    key = RowKey(table, "p", "s")
    put(rows, key, {kinds[table]: 7})
    with pytest.raises(Contended):
        rows.index.commit([Change(key, {}, {})])


def test_a_row_goes_only_if_it_is_what_was_read(rows: IndexWorld) -> None:
    put(rows, A, {"n": 1})
    with pytest.raises(Contended):
        rows.index.commit([Change(A, {"n": 2}, None)])
    rows.index.commit([Change(A, {"n": 1}, None)])
    assert the(rows, A) is None
    with pytest.raises(Contended):
        rows.index.commit([Change(A, {"n": 1}, None)])


def test_a_check_alone_changes_nothing(rows: IndexWorld) -> None:
    put(rows, A, {"n": 1})
    rows.index.commit([Change(A, {"n": 1}, {"n": 1})])
    rows.index.commit([Change(B, None, None)])
    assert dict(rows.index.read([A, B])) == {A: {"n": 1}}


def test_a_transaction_is_all_or_nothing(rows: IndexWorld) -> None:
    put(rows, A, {"n": 1})
    put(rows, B, {"n": 1})
    changes = [
        Change(A, {"n": 1}, {"n": 2}),
        Change(B, {"n": 1}, None),
        Change(MEMORY, None, {"n": 3}),
    ]
    with pytest.raises(Contended):
        rows.index.commit([*changes, Change(C, {"n": 9}, {"n": 9})])
    assert dict(rows.index.read([A, B, C, MEMORY])) == {A: {"n": 1}, B: {"n": 1}}
    rows.index.commit([*changes, Change(C, None, None)])
    assert dict(rows.index.read([A, B, C, MEMORY])) == {A: {"n": 2}, MEMORY: {"n": 3}}


def test_an_unconditional_row_is_put_whatever_was_there(rows: IndexWorld) -> None:
    put(rows, A, {"n": 1, "old": "x"})
    rows.index.commit([Change(A, None, {"n": 2}, unconditional=True)])
    rows.index.commit(
        [Change(B, None, {"n": 1}, unconditional=True), Change(A, {"n": 2}, {"n": 3}), Change(C, None, {})]
    )
    assert dict(rows.index.read([A, B, C])) == {A: {"n": 3}, B: {"n": 1}, C: {}}
    rows.index.commit([Change(B, None, None, unconditional=True)])
    rows.index.commit([Change(B, None, None, unconditional=True)])
    assert the(rows, B) is None


def test_a_commit_of_nothing_is_nothing(rows: IndexWorld) -> None:
    rows.index.commit([])


def test_a_transaction_takes_100_rows_and_not_101(rows: IndexWorld) -> None:
    changes = [Change(PathRow.key("s", f"/{number}"), None, {"n": 1}) for number in range(101)]
    with pytest.raises(ValueError, match="at most 100"):
        rows.index.commit(changes)
    rows.index.commit(changes[:100])
    assert rows.index.count("paths", "s") == 100


def test_a_transaction_names_a_row_once(rows: IndexWorld) -> None:
    with pytest.raises(ValueError, match="twice"):
        rows.index.commit([Change(A, None, {"n": 1}), Change(A, {"n": 1}, {"n": 2})])


BAD_KEYS = [
    RowKey("none", "p", "s"),
    RowKey("paths", "", "s"),
    RowKey("paths", "p", ""),
    RowKey("paths", "p" * 2_049, "s"),
    RowKey("paths", "p", "s" * 1_025),
]


@pytest.mark.parametrize("key", BAD_KEYS)
def test_keys_that_no_table_takes_are_a_defect_of_the_caller(rows: IndexWorld, key: RowKey) -> None:
    with pytest.raises(ValueError, match=key.table):
        rows.index.read([key])
    for change in (Change(key, None, {"n": 1}), Change(key, {"n": 1}, None), Change(key, None, None)):
        with pytest.raises(ValueError, match=key.table):
            rows.index.commit([change])


@pytest.mark.parametrize(
    ("key", "row"),
    [
        (A, {"pk": "x"}),
        (A, {"sk": "x"}),
        (RowKey("versions", "s", "v"), {"memory_key": ""}),
        (RowKey("versions", "s", "v"), {"time_key": 5}),
    ],
)
def test_attributes_that_are_keys_are_texts_and_not_empty(rows: IndexWorld, key: RowKey, row: Attributes) -> None:
    with pytest.raises(ValueError, match=key.table):
        rows.index.commit([Change(key, None, row)])


def test_generations_are_apart_and_what_stands_outside_them_is_not(rows: IndexWorld) -> None:
    rows.tables.make(2)
    other = rows.index.at(2)
    assert (rows.index.generation, other.generation, other.at(1).generation) == (1, 2, 1)
    put(rows, A, {"n": 1})
    put(rows, ControlRow.KEY, {"serving": 1})
    assert dict(other.read([A, ControlRow.KEY])) == {ControlRow.KEY: {"serving": 1}}
    other.commit([Change(A, None, {"n": 2})])
    assert the(rows, A) == {"n": 1}
    assert other.at(1).read([A]) == {A: {"n": 1}}


def test_a_generation_that_is_not_there_is_unavailable(rows: IndexWorld) -> None:
    absent = rows.index.at(7)
    with pytest.raises(Unavailable):
        absent.commit([Change(A, None, {"n": 1})])
    with pytest.raises(Unavailable):
        absent.commit([Change(A, {"n": 1}, {"n": 2})])
    with pytest.raises(Unavailable):
        absent.commit([Change(A, {"n": 1}, None)])
    with pytest.raises(Unavailable):
        absent.commit([Change(A, None, {"n": 1}), Change(B, None, {"n": 1})])
    with pytest.raises(Unavailable):
        absent.read([A])
