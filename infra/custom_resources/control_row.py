"""Puts a region's first control row; leaves every later one alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from infra.custom_resources.respond import answer


def handler(event: Mapping[str, Any], _context: object) -> None:
    """Handle CloudFormation's request."""
    import boto3

    def s3_of(region: str) -> Any:
        return boto3.client("s3", region_name=region)

    dynamodb = boto3.client("dynamodb")
    table = event["ResourceProperties"]["Table"]
    answer(event, f"first-row-{table}", lambda request, properties: apply(s3_of, dynamodb, request, properties))


def apply(s3_of: Callable[[str], Any], dynamodb: Any, request: str, properties: Mapping[str, Any]) -> None:
    """Put the row if the table has none.

    The row is complete only if no bucket of the deployment holds anything: a region that joins others, or that was
    destroyed and adopted again without its tables, has first to be filled and rebuilt.

    Cost: one LIST a region and one conditional PutItem on create and update; nothing on delete.
    """
    if request == "Delete":
        return
    row = {
        "pk": {"S": "control"},
        "sk": {"S": "index"},
        "serving": {"N": str(properties["Generation"])},
        "complete": {"BOOL": all(_is_empty(s3_of, bucket) for bucket in properties["Buckets"])},
    }
    with contextlib.suppress(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.put_item(TableName=properties["Table"], Item=row, ConditionExpression="attribute_not_exists(pk)")


def _is_empty(s3_of: Callable[[str], Any], bucket: Mapping[str, str]) -> bool:
    return not s3_of(bucket["Region"]).list_objects_v2(Bucket=bucket["Name"], MaxKeys=1).get("KeyCount")
