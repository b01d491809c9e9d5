"""What DynamoDB is asked, word for word."""

from __future__ import annotations

import inspect

import pytest

from memolith.adapters.aws.expressions import (
    KNOWN,
    ROWS_OF,
    Placeholders,
    from_item,
    key_range,
    still,
    to_item,
    turning,
)
from memolith.core.rows import content, control, identity, journal, proposals, resolutions, safety
from memolith.core.rows.base import Attributes, Row, RowKey
from memolith.core.rows.content import VersionRow
from memolith.core.tables import TABLES
from memolith.ports.index import Query

EXPRESSION_MAX_BYTES = 4_096
KEY = RowKey("paths", "memstore_1", "/a")


def spelled(expression: str, places: Placeholders) -> str:
    """The expression with every stand-in replaced by what it stands for."""
    stand_ins = {short: name for name, short in places.names.items()}
    stand_ins |= {short: next(iter(value.values())) for short, value in places.values.items()}
    for short in sorted(stand_ins, key=len, reverse=True):
        expression = expression.replace(short, str(stand_ins[short]))
    return expression


def condition(table: str, before: Attributes | None, after: Attributes | None) -> str:
    places = Placeholders()
    return spelled(still(table, before, after, places), places)


def test_every_kind_of_row_has_its_table() -> None:
    """A kind that is missing would not be compared whole."""
    modules = (content, control, identity, journal, proposals, resolutions, safety)
    kinds = {
        one for module in modules for _, one in inspect.getmembers(module, inspect.isclass) if issubclass(one, Row)
    } - {Row}
    assert {kind for listed in ROWS_OF.values() for kind in listed} == kinds
    assert set(ROWS_OF) <= {table.name for table in TABLES}


def test_no_row_means_that_there_must_be_none() -> None:
    assert condition("paths", None, {"memory_id": "m"}) == "attribute_not_exists(pk)"


def test_what_was_read_must_be_equal_and_what_was_absent_must_be_absent() -> None:
    assert condition("logs", {"store_id": 1, "arrived": True}, None) == (
        "arrived = True AND store_id = 1 AND attribute_not_exists(occupant)"
        " AND attribute_not_exists(path_hash) AND attribute_not_exists(vacated) AND attribute_not_exists(voided)"
    )


def test_a_row_of_no_attributes_must_be_there_all_the_same() -> None:
    assert condition("of_a_newer_release", {}, {}) == "attribute_exists(pk)"


def test_what_the_change_adds_must_be_absent_even_if_no_row_is_known_to_have_it() -> None:
    assert condition("of_a_newer_release", {"a": 1}, {"a": 1, "b": 2}) == "a = 1 AND attribute_not_exists(b)"


def test_an_update_touches_only_what_differs() -> None:
    places = Placeholders()
    update = turning({"a": 1, "b": 2, "c": True, "d": 3}, {"a": 1, "b": 5, "c": 1, "e": 6}, places)
    assert spelled(update, places) == "SET b = 5, c = 1, e = 6 REMOVE d"


def test_the_widest_row_is_far_below_the_limit_of_an_expression() -> None:
    before = dict.fromkeys(KNOWN["versions"], "x")
    places = Placeholders()
    assert len(still("versions", before, {}, places)) < EXPRESSION_MAX_BYTES
    assert len(turning(before, dict.fromkeys(before, "y"), places)) < EXPRESSION_MAX_BYTES
    assert len(still("versions", {}, dict.fromkeys(VersionRow.__slots__, "x"), Placeholders())) < EXPRESSION_MAX_BYTES


def test_a_row_is_written_and_read_in_dynamodbs_own_types() -> None:
    row = {"text": "é", "number": -(10**17), "flag": False, "list": ["a"], "mapping": {"a": "b"}}
    item = to_item(KEY, row)
    assert item["number"] == {"N": "-100000000000000000"}
    assert item["flag"] == {"BOOL": False}
    assert item["mapping"] == {"M": {"a": {"S": "b"}}}
    assert (item["pk"], item["sk"]) == ({"S": "memstore_1"}, {"S": "/a"})
    assert from_item("paths", item) == (KEY, row)


RANGES = [
    (Query("paths", "p"), "pk = p"),
    (Query("paths", "p", prefix="/a"), "pk = p AND begins_with(sk, /a)"),
    (Query("paths", "p", after="/a"), "pk = p AND sk > /a"),
    (Query("paths", "p", after="/a", descending=True), "pk = p AND sk < /a"),
    (Query("paths", "p", prefix="/a", after="/a/b"), "pk = p AND sk BETWEEN /a/b AND /b"),
    (Query("paths", "p", prefix="/a", after="/a/b", descending=True), "pk = p AND sk BETWEEN /a AND /a/b"),
    (Query("paths", "p", prefix="/b", after="/a"), "pk = p AND begins_with(sk, /b)"),
    (Query("paths", "p", prefix="/b", after="/c", descending=True), "pk = p AND begins_with(sk, /b)"),
    (Query("paths", "p", prefix="/\ud7ff", after="/\ud7ff/"), "pk = p AND sk BETWEEN /\ud7ff/ AND /\ue000"),
    (Query("paths", "p", prefix="/a\U0010ffff", after="/a\U0010ffffx"), "pk = p AND sk BETWEEN /a\U0010ffffx AND /b"),
    (Query("paths", "p", prefix="\U0010ffff", after="\U0010ffffx"), "pk = p AND sk > \U0010ffffx"),
    (Query("versions", "p", index="by_memory"), "memory_key = p"),
    (Query("versions", "p", index="by_time", after="5"), "pk = p AND time_key > 5"),
]


@pytest.mark.parametrize(("query", "expected"), RANGES)
def test_a_query_is_one_condition_on_its_sort_key(query: Query, expected: str) -> None:
    wanted = key_range(query)
    assert wanted is not None
    assert spelled(wanted.expression, wanted.places) == expected


@pytest.mark.parametrize(
    "query",
    [
        Query("paths", "p", prefix="/b", after="/c"),
        Query("paths", "p", prefix="/b", after="/a", descending=True),
        Query("paths", "p", after="", descending=True),
    ],
)
def test_a_start_beyond_the_prefix_needs_no_request(query: Query) -> None:
    assert key_range(query) is None


def test_rows_at_the_borders_of_a_range_are_told_from_those_within() -> None:
    wanted = key_range(Query("paths", "p", prefix="/a", after="/a/b"))
    assert wanted is not None
    assert [wanted.belongs(key) for key in ("/a/b", "/a/c", "/az", "/b")] == [False, True, True, False]
