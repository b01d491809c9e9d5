"""Queries of the emulator's DynamoDB: the patch that narrows them finds what DynamoDB would, and compares no more."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from scripts.local_cloud.aws import Clients
from scripts.local_cloud.patches.narrow_queries import narrowed

ROWS = ["1", "12", "13", "2", "23", "\u00e9", "\U0001f600"]


@pytest.fixture(scope="module")
def queried(clients: Clients) -> Any:
    """A table with some rows of one partition, and one of another."""
    dynamodb: Any = clients.client("dynamodb", "us-east-1")
    dynamodb.create_table(
        TableName="queried",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    for pk, sk in [*(("a", sk) for sk in ROWS), ("b", "12")]:
        dynamodb.put_item(TableName="queried", Item={"pk": {"S": pk}, "sk": {"S": sk}})
    return dynamodb


@pytest.mark.parametrize(
    ("condition", "values", "found"),
    [
        ("#s > :x", ["12"], ["13", "2", "23", "\u00e9", "\U0001f600"]),
        ("#s >= :x", ["23"], ["23", "\u00e9", "\U0001f600"]),
        ("#s < :x", ["13"], ["1", "12"]),
        ("#s <= :x", ["13"], ["1", "12", "13"]),
        ("#s = :x", ["2"], ["2"]),
        ("#s BETWEEN :x AND :y", ["12", "2"], ["12", "13", "2"]),
        ("begins_with(#s, :x)", ["2"], ["2", "23"]),
        ("#s > :x", ["\U0001f600"], []),
    ],
)
def test_a_query_finds_its_range_page_by_page_in_both_directions(
    queried: Any, condition: str, values: list[str], found: list[str]
) -> None:
    request = {
        "TableName": "queried",
        "KeyConditionExpression": f"#p = :p AND {condition}",
        "ExpressionAttributeNames": {"#p": "pk", "#s": "sk"},
        "ExpressionAttributeValues": {
            ":p": {"S": "a"},
            **{name: {"S": value} for name, value in zip((":x", ":y"), values, strict=False)},
        },
    }
    for forward in (True, False):
        pages = queried.get_paginator("query").paginate(
            **request, ScanIndexForward=forward, PaginationConfig={"PageSize": 2}
        )
        rows = [item["sk"]["S"] for page in pages for item in page["Items"]]
        assert rows == (found if forward else found[::-1])


def test_a_query_that_dynamodb_refuses_is_refused(queried: Any) -> None:
    names, values = {"#p": "pk"}, {":p": {"S": "a"}, ":x": {"S": "1"}}
    for condition in ("#p = :p AND other > :x", "#p > :p"):
        used = {name: value for name, value in values.items() if name in condition}
        with pytest.raises(ClientError, match="ValidationException"):
            queried.query(
                TableName="queried",
                KeyConditionExpression=condition,
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=used,
            )


def test_rows_that_a_query_passes_over_are_not_compared() -> None:
    rows = {f"{number:05d}": {"number": number} for number in range(1_000)}
    table: dict[str, Any] = {"pk_name": "pk", "sk_name": "sk", "items": {"a": rows}}
    request = {
        "KeyConditionExpression": "#p = :p AND #s > :x",
        "ExpressionAttributeNames": {"#p": "pk", "#s": "sk"},
        "ExpressionAttributeValues": {":p": {"S": "a"}, ":x": {"S": "00990"}},
    }
    left = list(narrowed(table, request)["items"]["a"].values())
    assert left == [{"number": number} for number in range(991, 1_000)]
    by_index = {**request, "IndexName": "by_time"}
    assert narrowed(table, by_index) is table
    assert table["items"]["a"] is rows
