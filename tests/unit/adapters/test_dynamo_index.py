"""Which request each call of the index is, and what is made of DynamoDB's answers."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.index import COMMIT_TRIES, READ_ROUNDS, DynamoIndex
from memolith.adapters.memory import ManualClock, SeededRandomness
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import PathRow
from memolith.core.rows.control import ControlRow
from memolith.ports.errors import PORT_FAILURES, Contended, OutcomeUnknown, Unavailable
from memolith.ports.index import Change, Query
from tests.unit.adapters.awkward_server import (
    DEPLOYMENT,
    HANG_UP,
    SILENCE,
    Answer,
    AwkwardServer,
    Script,
    json_answer,
    json_error,
    nobody_there,
)

A, B = PathRow.key("memstore_1", "/secret/a"), PathRow.key("memstore_1", "/secret/b")
MAKE, CHANGE, DROP = Change(A, None, {"n": 1}), Change(A, {"n": 1}, {"n": 2}), Change(A, {"n": 1}, None)
CHECK = Change(B, None, None)
TABLE = "memolith-test-paths-g1"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def on(clients: Clients) -> DynamoIndex:
    return DynamoIndex(clients, DEPLOYMENT, ManualClock(), SeededRandomness())


@pytest.fixture
def index(server: AwkwardServer, clock: ManualClock) -> DynamoIndex:
    server.answer(json_answer())
    return DynamoIndex(server.clients, DEPLOYMENT, clock, SeededRandomness())


def item(key: RowKey, **row: Any) -> dict[str, Any]:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}, **row}


@pytest.mark.parametrize(
    ("changes", "operation"),
    [
        ([MAKE], "PutItem"),
        ([CHANGE], "UpdateItem"),
        ([DROP], "DeleteItem"),
        ([Change(A, None, {"n": 1}, unconditional=True)], "PutItem"),
        ([Change(A, None, None, unconditional=True)], "DeleteItem"),
        ([CHECK], "TransactWriteItems"),
        ([MAKE, CHECK], "TransactWriteItems"),
    ],
)
def test_one_row_is_written_alone_because_that_costs_half(
    server: AwkwardServer, index: DynamoIndex, changes: list[Change], operation: str
) -> None:
    index.commit(changes)
    assert [request.operation for request in server.requests] == [operation]


def test_a_transaction_carries_each_kind_of_change(server: AwkwardServer, index: DynamoIndex) -> None:
    other = Change(PathRow.key("memstore_1", "/c"), {"n": 1}, None)
    third = Change(ControlRow.KEY, {"serving": 1}, {"serving": 2})
    free = Change(PathRow.key("memstore_1", "/d"), None, {"n": 1}, unconditional=True)
    index.commit([MAKE, CHECK, other, third, free])
    writes = server.requests[0].json["TransactItems"]
    assert [next(iter(write)) for write in writes] == ["Put", "ConditionCheck", "Delete", "Update", "Put"]
    assert ["ConditionExpression" in next(iter(write.values())) for write in writes] == [True] * 4 + [False]
    assert writes[3]["Update"]["TableName"] == "memolith-test-control"


ROW_ERRORS: list[tuple[Script, type[Exception]]] = [
    (json_error(400, "ConditionalCheckFailedException"), Contended),
    (json_error(400, "TransactionConflictException"), Contended),
    (json_error(400, "ResourceNotFoundException"), Unavailable),
    (json_error(400, "AccessDeniedException"), Unavailable),
    (json_error(400, "ValidationException"), ValueError),
    (json_error(500, "InternalServerError"), OutcomeUnknown),
    (json_error(503, "ServiceUnavailable"), OutcomeUnknown),
    (SILENCE, OutcomeUnknown),
    (HANG_UP, OutcomeUnknown),
]


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "error"), ROW_ERRORS)
@pytest.mark.parametrize("change", [MAKE, CHANGE, DROP], ids=["put", "update", "delete"])
def test_what_is_known_of_a_row_that_was_not_written(
    server: AwkwardServer, change: Change, answer: Script, error: type[Exception]
) -> None:
    index = on(server.answer(answer))
    with pytest.raises(error) as raised:
        index.commit([change])
    assert "secret" not in str(raised.value)
    assert len(server.requests) == 1, "sent once: a second try would be told of the first one's effect"


def cancelled(*codes: str) -> Answer:
    return json_error(400, "TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])


TRANSACTION_ERRORS: list[tuple[Script, type[Exception]]] = [
    (cancelled("None", "ConditionalCheckFailed"), Contended),
    (cancelled("TransactionConflict", "None"), Contended),
    (cancelled("ThrottlingError", "ConditionalCheckFailed"), Contended),
    (cancelled("None", "ItemCollectionSizeLimitExceeded"), Unavailable),
    (cancelled("None", "ValidationError"), ValueError),
    (cancelled(), Unavailable),
    (json_error(400, "ResourceNotFoundException"), Unavailable),
    (json_error(500, "InternalServerError"), OutcomeUnknown),
    (SILENCE, OutcomeUnknown),
    (HANG_UP, OutcomeUnknown),
]


@pytest.mark.parametrize(("answer", "error"), TRANSACTION_ERRORS)
def test_what_is_known_of_a_transaction_that_failed(
    server: AwkwardServer, answer: Script, error: type[Exception]
) -> None:
    index = on(server.answer(answer))
    with pytest.raises(error) as raised:
        index.commit([MAKE, CHECK])
    assert "secret" not in str(raised.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "busy"),
    [
        (cancelled("None", "TransactionConflict"), {CHECK.key}),
        (cancelled("TransactionConflict", "TransactionConflict"), {MAKE.key, CHECK.key}),
        (cancelled("TransactionConflict", "ConditionalCheckFailed"), set()),
        (cancelled("TransactionConflict", "ThrottlingError"), set()),
        (cancelled("None", "ConditionalCheckFailed"), set()),
    ],
)
def test_a_conflict_names_the_rows_at_which_other_transactions_were_where_nothing_else_was_wrong(
    server: AwkwardServer, answer: Answer, busy: set[RowKey]
) -> None:
    index = on(server.answer(answer))
    with pytest.raises(Contended) as raised:
        index.commit([MAKE, CHECK])
    assert raised.value.busy == busy


def test_a_connection_that_was_never_made_changed_nothing() -> None:
    with pytest.raises(Unavailable):
        on(nobody_there()).commit([MAKE])


THROTTLED = [
    json_error(400, "ThrottlingException"),
    json_error(400, "ProvisionedThroughputExceededException"),
    cancelled("None", "ThrottlingError"),
    cancelled("ProvisionedThroughputExceeded", "ThrottlingError"),
]


@pytest.mark.parametrize("answer", THROTTLED)
@pytest.mark.parametrize("changes", [[CHANGE], [MAKE, CHECK]])
def test_what_was_throttled_is_tried_again_after_a_pause(
    server: AwkwardServer, index: DynamoIndex, clock: ManualClock, changes: list[Change], answer: Answer
) -> None:
    server.answer(answer, answer, json_answer())
    index.commit(changes)
    assert len(server.requests) == COMMIT_TRIES
    assert len(clock.paused_s) == 2


def test_what_is_throttled_for_ever_is_unavailable_in_the_end(server: AwkwardServer, index: DynamoIndex) -> None:
    server.answer(json_error(400, "ThrottlingException"))
    with pytest.raises(Unavailable):
        index.commit([MAKE])
    assert len(server.requests) == COMMIT_TRIES


def test_a_throttle_after_which_the_reply_is_lost_leaves_the_outcome_unknown(
    server: AwkwardServer, index: DynamoIndex
) -> None:
    server.answer(json_error(400, "ThrottlingException"), HANG_UP, json_answer())
    with pytest.raises(OutcomeUnknown):
        index.commit([MAKE, CHECK])
    assert len(server.requests) == 2


def test_rows_are_read_consistently_in_one_batch_over_several_tables(server: AwkwardServer, index: DynamoIndex) -> None:
    server.answer(json_answer(Responses={TABLE: [item(A, n={"N": "1"})]}, UnprocessedKeys={}))
    assert index.read([A, B, A, ControlRow.KEY]) == {A: {"n": 1}}
    (request,) = server.requests
    asked = request.json["RequestItems"]
    assert {table: len(one["Keys"]) for table, one in asked.items()} == {TABLE: 2, "memolith-test-control": 1}
    assert all(one["ConsistentRead"] for one in asked.values())


def test_keys_left_unprocessed_are_asked_for_again_after_a_pause(
    server: AwkwardServer, index: DynamoIndex, clock: ManualClock
) -> None:
    left = {TABLE: {"ConsistentRead": True, "Keys": [item(B)]}}
    server.answer(
        json_answer(Responses={TABLE: [item(A)]}, UnprocessedKeys=left),
        json_answer(Responses={TABLE: [item(B)]}, UnprocessedKeys={}),
    )
    assert index.read([A, B]) == {A: {}, B: {}}
    assert server.requests[1].json["RequestItems"] == left
    assert len(clock.paused_s) == 1


def test_keys_left_unprocessed_for_ever_are_unavailable_in_the_end(
    server: AwkwardServer, index: DynamoIndex, clock: ManualClock
) -> None:
    server.answer(json_answer(Responses={}, UnprocessedKeys={TABLE: {"Keys": [item(A)]}}))
    with pytest.raises(Unavailable):
        index.read([A])
    assert len(server.requests) == READ_ROUNDS
    assert sum(clock.paused_s) < 7


READ_ERRORS: list[Script] = [
    json_error(400, "ProvisionedThroughputExceededException"),
    json_error(400, "ResourceNotFoundException"),
    json_error(500, "InternalServerError"),
    HANG_UP,
    SILENCE,
]


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("answer", READ_ERRORS)
def test_reads_are_there_or_unavailable(server: AwkwardServer, answer: Script) -> None:
    index = on(server.answer(answer))
    for read in (lambda: index.read([A]), lambda: index.query(Query("paths", "p")), lambda: index.count("paths", "p")):
        with pytest.raises(PORT_FAILURES) as raised:
            read()
        assert type(raised.value) is Unavailable


def test_a_query_is_consistent_but_for_a_global_index_which_cannot_be(
    server: AwkwardServer, index: DynamoIndex
) -> None:
    server.answer(json_answer(Items=[], Count=0))
    index.query(Query("versions", "p"))
    index.query(Query("versions", "p", index="by_time", descending=True))
    first, second = (request.json for request in server.requests)
    assert (first["ConsistentRead"], "IndexName" in first, first["ScanIndexForward"]) == (True, False, True)
    assert ("ConsistentRead" in second, second["IndexName"], second["ScanIndexForward"]) == (False, "by_time", False)


def test_a_short_answer_is_continued_until_the_limit_or_the_end(server: AwkwardServer, index: DynamoIndex) -> None:
    server.answer(
        json_answer(Items=[item(A)], Count=1, LastEvaluatedKey=item(A)),
        json_answer(Items=[], Count=0, LastEvaluatedKey=item(A)),
        json_answer(Items=[item(B)], Count=1, LastEvaluatedKey=item(B)),
    )
    assert [row.key for row in index.query(Query("paths", "memstore_1", limit=2))] == [A, B]
    assert [request.json["Limit"] for request in server.requests] == [2, 1, 1]
    assert server.requests[1].json["ExclusiveStartKey"] == item(A)


def test_a_start_within_a_prefix_costs_no_second_request(server: AwkwardServer, index: DynamoIndex) -> None:
    """The start itself comes back too and is dropped, so one row more is asked for."""
    rows = [item(A), item(B), item(PathRow.key("memstore_1", "/secret/c"))]
    server.answer(json_answer(Items=rows, Count=3, LastEvaluatedKey=rows[-1]))
    found = index.query(Query("paths", "memstore_1", prefix="/secret/", after=A.sk, limit=2))
    assert [row.sort_key for row in found] == ["/secret/b", "/secret/c"]
    assert [request.json["Limit"] for request in server.requests] == [3]


def test_a_count_adds_up_its_pages(server: AwkwardServer, index: DynamoIndex) -> None:
    server.answer(json_answer(Count=7, LastEvaluatedKey=item(A)), json_answer(Count=2))
    assert index.count("paths", "memstore_1") == 9
    assert server.requests[0].json["Select"] == "COUNT"


def test_another_generation_has_other_tables_but_for_those_outside(server: AwkwardServer, index: DynamoIndex) -> None:
    server.answer(json_answer(Responses={}))
    index.at(7).read([A, ControlRow.KEY])
    assert set(server.requests[0].json["RequestItems"]) == {"memolith-test-paths-g7", "memolith-test-control"}
