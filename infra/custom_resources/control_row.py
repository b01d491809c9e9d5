"""Puts every region's first control row; leaves every later one alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from infra.custom_resources.respond import answer

LOCAL = "local/"
"""What stands outside replication: made from what the regions put, so that it says nothing of its own."""

CHECKPOINTS = "checkpoint/"
"""What the reconciler puts every few minutes below its region, in an empty deployment too."""


def handler(event: Mapping[str, Any], _context: object) -> None:
    """Handle CloudFormation's request."""
    import boto3

    def s3_of(region: str) -> Any:
        return boto3.client("s3", region_name=region)

    def dynamodb_of(region: str) -> Any:
        return boto3.client("dynamodb", region_name=region)

    table = event["ResourceProperties"]["Table"]
    answer(event, f"first-row-{table}", lambda request, properties: apply(s3_of, dynamodb_of, request, properties))


def apply(
    s3_of: Callable[[str], Any], dynamodb_of: Callable[[str], Any], request: str, properties: Mapping[str, Any]
) -> None:
    """Put the row of each region whose table has none, once it is known for all of them whether they are complete.

    The rows are complete only if no bucket of the deployment holds a record: a region that joins others, or that was
    destroyed and adopted again without its tables, has first to be filled and rebuilt. Checkpoints are no such record:
    the base stacks of a new deployment put them before this runs.

    Cost on create and update: of each bucket one LIST, and one for each region whose objects it holds; one conditional
    PutItem a region. Nothing on delete.
    """
    if request == "Delete":
        return
    regions = properties["Regions"]
    complete = all(_is_empty(s3_of, one) for one in regions)
    for one in regions:
        row = {
            "pk": {"S": "control"},
            "sk": {"S": "index"},
            "serving": {"N": str(one["Generation"])},
            "complete": {"BOOL": complete},
        }
        dynamodb = dynamodb_of(one["Region"])
        with contextlib.suppress(dynamodb.exceptions.ConditionalCheckFailedException):
            dynamodb.put_item(TableName=properties["Table"], Item=row, ConditionExpression="attribute_not_exists(pk)")


def _is_empty(s3_of: Callable[[str], Any], region: Mapping[str, str]) -> bool:
    """Tell whether a region's bucket holds nothing but what the reconcilers of an empty deployment put."""
    s3, name = s3_of(region["Region"]), region["Bucket"]
    regions = [found for found in _names(s3.list_objects_v2(Bucket=name, Delimiter="/")) if found != LOCAL]
    return all(_has_only_checkpoints(s3, name, region) for region in regions)


def _has_only_checkpoints(s3: Any, bucket: str, region: str) -> bool:
    """Tell whether a region, named as ``region/``, put checkpoints alone. The second kind of object answers no."""
    if not region.endswith("/"):
        return False
    found = s3.list_objects_v2(Bucket=bucket, Prefix=region, Delimiter="/", MaxKeys=2)
    return _names(found) == [region + CHECKPOINTS]


def _names(page: Mapping[str, Any]) -> list[str]:
    """Return the keys of a page, and what it groups others under."""
    return [one["Key"] for one in page.get("Contents", ())] + [one["Prefix"] for one in page.get("CommonPrefixes", ())]
