"""The tables: exactly what `memolith.core.tables` describes, and hard to lose."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.core.tables import TABLES
from tests.infra.synthesized import HERE, THERE, App


def table(app: App, region: str, name: str) -> dict[str, Any]:
    return app.base(region).named("AWS::DynamoDB::Table", "TableName", name)


def test_a_region_has_the_tables_of_its_generation_and_no_others(two_regions: App) -> None:
    names = {body["TableName"] for body in two_regions.base(THERE).properties("AWS::DynamoDB::Table")}
    assert names == {shape.physical_name("memolith-test", 3) for shape in TABLES}
    assert "memolith-test-memories-g3" in names
    assert "memolith-test-journal" in names


@pytest.mark.parametrize("shape", TABLES, ids=lambda shape: shape.name)
def test_keys_and_indexes_are_those_of_the_schema(one_region: App, shape: Any) -> None:
    made = table(one_region, HERE, shape.physical_name("memolith-test", 1))
    assert made["KeySchema"] == [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    indexes = {
        index["IndexName"]: [key["AttributeName"] for key in index["KeySchema"]]
        for index in made.get("GlobalSecondaryIndexes", [])
    }
    assert indexes == {index.name: [index.partition_key, index.sort_key] for index in shape.indexes}
    assert {index["Projection"]["ProjectionType"] for index in made.get("GlobalSecondaryIndexes", [])} <= {"ALL"}
    assert {attribute["AttributeType"] for attribute in made["AttributeDefinitions"]} == {"S"}
    assert made["BillingMode"] == "PAY_PER_REQUEST"


@pytest.mark.parametrize("shape", TABLES, ids=lambda shape: shape.name)
def test_no_table_can_be_deleted_by_mistake_or_copied(one_region: App, shape: Any) -> None:
    name = shape.physical_name("memolith-test", 1)
    assert table(one_region, HERE, name)["DeletionProtectionEnabled"] is True
    assert "PointInTimeRecoverySpecification" not in table(one_region, HERE, name)
    (resource,) = [
        body
        for body in one_region.base(HERE).resources("AWS::DynamoDB::Table").values()
        if body["Properties"]["TableName"] == name
    ]
    assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"


def test_rows_of_the_journal_expire_and_no_others(one_region: App) -> None:
    expiring = {
        body["TableName"]: body["TimeToLiveSpecification"]
        for body in one_region.base(HERE).properties("AWS::DynamoDB::Table")
        if "TimeToLiveSpecification" in body
    }
    assert expiring == {"memolith-test-journal": {"AttributeName": "expires_at", "Enabled": True}}


def test_a_new_generation_is_made_beside_the_old_one_not_in_its_place(two_regions: App) -> None:
    def resource_of_memories(region: str) -> str:
        tables = two_regions.base(region).resources("AWS::DynamoDB::Table")
        return next(name for name, body in tables.items() if "-memories-" in body["Properties"]["TableName"])

    assert resource_of_memories(HERE) != resource_of_memories(THERE)
