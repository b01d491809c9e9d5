"""Making and dropping tables, where DynamoDB takes its time or somebody else is at it too."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from memolith.adapters.aws.tables import POLLS, DynamoTables
from memolith.adapters.memory import ManualClock
from memolith.core.tables import TABLES
from memolith.ports.errors import Unavailable
from tests.unit.adapters.awkward_server import DEPLOYMENT, Answer, AwkwardServer, Request, json_answer, json_error

GENERATIONAL = [table for table in TABLES if table.generational]
GONE = json_error(400, "ResourceNotFoundException")
BUSY = json_error(400, "ResourceInUseException")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def tables(server: AwkwardServer, clock: ManualClock) -> DynamoTables:
    return DynamoTables(server.clients, DEPLOYMENT, clock)


def description(status: str, *, protected: bool = False, index: str = "ACTIVE") -> Answer:
    table = {
        "TableStatus": status,
        "DeletionProtectionEnabled": protected,
        "GlobalSecondaryIndexes": [{"IndexName": "by_time", "IndexStatus": index}],
    }
    return json_answer(Table=table)


def without_index_status(status: str) -> Answer:
    """As the emulator describes a table that a stack has made."""
    return json_answer(Table={"TableStatus": status, "GlobalSecondaryIndexes": [{"IndexName": "by_time"}]})


def told(server: AwkwardServer, **answers: Callable[[int], Answer]) -> None:
    """Answers each operation on one table by how often it was asked there before."""
    asked: dict[tuple[str, str], int] = {}

    def reply(request: Request) -> Answer:
        where = (request.operation, request.json["TableName"])
        asked[where] = asked.get(where, -1) + 1
        return answers[request.operation](asked[where])

    server.answer(reply)


def operations(server: AwkwardServer, name: str) -> list[Request]:
    return [request for request in server.requests if request.operation == name]


def test_no_table_of_a_generation_expires_rows_or_making_it_would_have_to_say_so() -> None:
    assert not any(table.expires_attribute for table in GENERATIONAL)


def test_an_index_that_has_no_status_of_its_own_is_as_far_as_its_table(
    server: AwkwardServer, tables: DynamoTables, clock: ManualClock
) -> None:
    states = [without_index_status("CREATING"), without_index_status("CREATING")]
    told(server, DescribeTable=lambda asked: [*states, without_index_status("ACTIVE")][min(asked, 2)])
    began = clock.now_us()
    tables.make(3)
    assert clock.now_us() > began


def test_a_table_is_made_as_the_stack_would_make_it(server: AwkwardServer, tables: DynamoTables) -> None:
    states = [GONE, description("ACTIVE")]
    told(server, DescribeTable=lambda asked: states[asked], CreateTable=lambda asked: json_answer())
    tables.make(3)
    made = {request.json["TableName"]: request.json for request in operations(server, "CreateTable")}
    assert set(made) == {f"memolith-test-{table.name}-g3" for table in GENERATIONAL}
    for definition in made.values():
        assert definition["BillingMode"] == "PAY_PER_REQUEST"
        assert definition["DeletionProtectionEnabled"] is True
        assert [key["AttributeName"] for key in definition["KeySchema"]] == ["pk", "sk"]
    versions = made["memolith-test-versions-g3"]
    assert {
        one["IndexName"]: [key["AttributeName"] for key in one["KeySchema"]]
        for one in versions["GlobalSecondaryIndexes"]
    } == {
        "by_memory": ["memory_key", "generation_key"],
        "by_time": ["pk", "time_key"],
    }
    assert {one["AttributeName"] for one in versions["AttributeDefinitions"]} == {
        "pk",
        "sk",
        "memory_key",
        "generation_key",
        "time_key",
    }


def test_the_tables_outside_the_generations_are_made_only_where_they_are_gone(
    server: AwkwardServer, tables: DynamoTables
) -> None:
    told(
        server,
        DescribeTable=lambda asked: description("ACTIVE"),
        DescribeTimeToLive=lambda asked: json_answer(TimeToLiveDescription={"TimeToLiveStatus": "ENABLED"}),
    )
    tables.make_lasting()
    told(
        server,
        DescribeTable=lambda asked: [GONE, description("ACTIVE")][asked],
        CreateTable=lambda asked: json_answer(),
        DescribeTimeToLive=lambda asked: json_answer(TimeToLiveDescription={"TimeToLiveStatus": "DISABLED"}),
        UpdateTimeToLive=lambda asked: json_answer(),
    )
    tables.make_lasting()
    made = {request.json["TableName"]: request.json for request in operations(server, "CreateTable")}
    assert set(made) == {"memolith-test-journal", "memolith-test-control"}
    assert all(definition["DeletionProtectionEnabled"] is True for definition in made.values())
    (expiry,) = operations(server, "UpdateTimeToLive")
    assert expiry.json == {
        "TableName": "memolith-test-journal",
        "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires_at"},
    }


def test_making_waits_until_tables_and_their_indexes_serve(
    server: AwkwardServer, tables: DynamoTables, clock: ManualClock
) -> None:
    states = [GONE, description("CREATING"), description("ACTIVE", index="CREATING"), description("ACTIVE")]
    told(server, DescribeTable=lambda asked: states[asked], CreateTable=lambda asked: json_answer())
    tables.make(2)
    assert len(clock.paused_s) == 2 * len(GENERATIONAL)


def test_a_table_that_somebody_else_makes_meanwhile_is_as_good(server: AwkwardServer, tables: DynamoTables) -> None:
    states = [GONE, description("ACTIVE")]
    told(server, DescribeTable=lambda asked: states[asked], CreateTable=lambda asked: BUSY)
    tables.make(2)


def test_a_table_that_is_being_deleted_is_made_once_it_is_gone(server: AwkwardServer, tables: DynamoTables) -> None:
    states = [description("DELETING"), GONE, description("ACTIVE")]
    told(server, DescribeTable=lambda asked: states[asked], CreateTable=lambda asked: json_answer())
    tables.make(2)
    assert len(operations(server, "CreateTable")) == len(GENERATIONAL)


def test_a_table_that_never_gets_ready_is_unavailable_in_the_end(
    server: AwkwardServer, tables: DynamoTables, clock: ManualClock
) -> None:
    told(server, DescribeTable=lambda asked: description("CREATING"))
    with pytest.raises(Unavailable, match="in time"):
        tables.make(2)
    assert len(clock.paused_s) == POLLS


def test_dropping_lifts_the_protection_first(server: AwkwardServer, tables: DynamoTables) -> None:
    states = [
        description("ACTIVE", protected=True),
        description("UPDATING"),
        description("ACTIVE"),
        description("DELETING"),
    ]
    told(
        server,
        DescribeTable=lambda asked: states[asked],
        UpdateTable=lambda asked: json_answer(),
        DeleteTable=lambda asked: json_answer(),
    )
    tables.drop(2)
    (name,) = {json.dumps(request.json["DeletionProtectionEnabled"]) for request in operations(server, "UpdateTable")}
    assert name == "false"
    assert len(operations(server, "DeleteTable")) == len(GENERATIONAL)


def test_dropping_what_is_gone_is_nothing(server: AwkwardServer, tables: DynamoTables) -> None:
    told(server, DescribeTable=lambda asked: GONE)
    tables.drop(2)
    assert len(server.requests) == len(GENERATIONAL)


@pytest.mark.usefixtures("impatient")
def test_a_refusal_is_unavailable(server: AwkwardServer, tables: DynamoTables) -> None:
    denied = json_error(400, "AccessDeniedException")
    told(server, DescribeTable=lambda asked: denied)
    with pytest.raises(Unavailable):
        tables.make(2)
    told(server, DescribeTable=lambda asked: GONE, CreateTable=lambda asked: denied)
    with pytest.raises(Unavailable, match="AccessDenied"):
        tables.make(2)
