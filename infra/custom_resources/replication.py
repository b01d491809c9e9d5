"""Puts a bucket's replication rules; takes them away again when the stack goes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from infra.custom_resources.respond import answer


def handler(event: Mapping[str, Any], _context: object) -> None:
    """Handle CloudFormation's request."""
    import boto3

    s3 = boto3.client("s3")
    bucket = event["ResourceProperties"]["Bucket"]
    answer(event, f"replication-{bucket}", lambda request, properties: apply(s3, request, properties))


def apply(s3: Any, request: str, properties: Mapping[str, Any]) -> None:
    """Bring the bucket's rules to what `properties` say; the same call twice changes nothing.

    Cost: one request.
    """
    if request == "Delete":
        with contextlib.suppress(s3.exceptions.NoSuchBucket):
            s3.delete_bucket_replication(Bucket=properties["Bucket"])
        return
    s3.put_bucket_replication(
        Bucket=properties["Bucket"],
        ReplicationConfiguration={"Role": properties["Role"], "Rules": typed(properties["Rules"])},
    )


def typed(value: Any) -> Any:
    """Convert numbers, which CloudFormation sends as text; S3's are whole, and no other field is all digits."""
    if isinstance(value, Mapping):
        return {key: typed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [typed(inner) for inner in value]
    return int(value) if isinstance(value, str) and value.isdecimal() else value
