"""Puts a region's first control row; leaves every later one alone."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from infra.custom_resources.respond import answer


def handler(event: Mapping[str, Any], _context: object) -> None:
    """CloudFormation's entry."""
    import boto3

    s3, dynamodb = boto3.client("s3"), boto3.client("dynamodb")
    table = event["ResourceProperties"]["Table"]
    answer(event, f"first-row-{table}", lambda request, properties: apply(s3, dynamodb, request, properties))


def apply(s3: Any, dynamodb: Any, request: str, properties: Mapping[str, Any]) -> None:
    """Put the row if the table has none. It is complete only if the bucket holds nothing that could be missing in it.

    Cost: one LIST and one conditional PutItem on create and update; nothing on delete.
    """
    if request == "Delete":
        return
    listed = s3.list_objects_v2(Bucket=properties["Bucket"], MaxKeys=1)
    row = {
        "pk": {"S": "control"},
        "sk": {"S": "index"},
        "serving": {"N": str(properties["Generation"])},
        "complete": {"BOOL": not listed.get("KeyCount")},
    }
    with contextlib.suppress(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.put_item(TableName=properties["Table"], Item=row, ConditionExpression="attribute_not_exists(pk)")
