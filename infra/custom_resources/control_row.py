"""Puts every region's first control row; leaves every later one alone, but for that of a region that returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from infra.custom_resources.respond import answer

LOCAL = "local/"
"""What stands outside replication: made from what the regions put, so that it says nothing of its own."""

CHECKPOINTS = "checkpoint/"
"""What the reconciler puts every few minutes below its region, in an empty deployment too."""

_KEY = {"pk": {"S": "control"}, "sk": {"S": "index"}}


def handler(event: Mapping[str, Any], _context: object) -> None:
    """Handle CloudFormation's request."""
    import boto3

    def s3_of(region: str) -> Any:
        return boto3.client("s3", region_name=region)

    def dynamodb_of(region: str) -> Any:
        return boto3.client("dynamodb", region_name=region)

    table, before = event["ResourceProperties"]["Table"], event.get("OldResourceProperties", {})
    answer(
        event, f"first-row-{table}", lambda request, properties: apply(s3_of, dynamodb_of, request, properties, before)
    )


def apply(
    s3_of: Callable[[str], Any],
    dynamodb_of: Callable[[str], Any],
    request: str,
    properties: Mapping[str, Any],
    before: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Put the row of each region whose table has none, once it is known for all of them whether they are complete.

    The rows are complete only if no bucket of the deployment holds a record: a region that joins others, or that was
    destroyed and adopted again without its tables, has first to be filled and rebuilt. Checkpoints are no such record:
    the base stacks of a new deployment put them before this runs.

    A region that an update adds, and that has a row all the same, was removed before and kept its tables: they say that
    they are complete, and know of no record, no revoked key either, that came since. So that row is made incomplete.
    Where `before` names no regions, none is new: on create every region stopped together, or none has a row.

    Cost on create and update: of each bucket one LIST, and one for each region whose objects it holds; one conditional
    PutItem a region, and an UpdateItem for one that returned. Nothing on delete.
    """
    if request == "Delete":
        return
    regions = properties["Regions"]
    known = [one["Region"] for one in before.get("Regions", regions)]
    complete = all(_is_empty(s3_of, one) for one in regions)
    for one in regions:
        row = {**_KEY, "serving": {"N": str(one["Generation"])}, "complete": {"BOOL": complete}}
        dynamodb = dynamodb_of(one["Region"])
        try:
            dynamodb.put_item(TableName=properties["Table"], Item=row, ConditionExpression="attribute_not_exists(pk)")
        except dynamodb.exceptions.ConditionalCheckFailedException:
            if one["Region"] not in known and not complete:
                dynamodb.update_item(
                    TableName=properties["Table"],
                    Key=_KEY,
                    UpdateExpression="SET complete = :no",
                    ExpressionAttributeValues={":no": {"BOOL": False}},
                )


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
