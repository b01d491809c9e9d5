"""``memolith regions add``: what has to be so before a region serves callers, and before S3 copies anything from it.

    its old tables are incomplete -> it has a bucket, with all that the others have -> deploy

A region that was removed comes back under its name, and what it left may still be there: tables that say that they are
complete, and that know of no key that was revoked since. And what it wrote itself is put back before S3 has rules for
its bucket: S3 would replicate that over every other region's copy.
"""

from __future__ import annotations

from collections.abc import Callable

from memolith.clients.cli.deployment_target import Target
from memolith.core.errors import InvalidRequest
from memolith.core.rows.control import ControlRow


def declare_incomplete(target: Target, region: str) -> bool:
    """Have a region's tables, if it has any that serve, say that they are incomplete; return whether it has any.

    The region then answers 503 for what it does not know, and looks into its bucket for the end of every key, until its
    index is rebuilt. Repeatable. One request.

    Raises:
        Unavailable: DynamoDB refuses, or does not answer.
    """
    table = f"memolith-{target.stage}-{ControlRow.KEY.table}"
    return _found(
        lambda: target.clients.dynamodb(region).update_item(
            TableName=table,
            Key={"pk": {"S": ControlRow.KEY.pk}, "sk": {"S": ControlRow.KEY.sk}},
            UpdateExpression="SET complete = :no",
            ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeValues={":no": {"BOOL": False}},
        ),
        f"{table} in {region} could not be declared incomplete",
        "ResourceNotFoundException",
        "ConditionalCheckFailedException",
    )


def has_bucket(target: Target, region: str, has_tables: bool) -> bool:
    """Tell whether the region has its bucket. One request.

    Raises:
        InvalidRequest: it has none, and has tables: they would let in keys whose revocation is in no bucket there.
        Unavailable: S3 refuses, or does not answer.
    """
    bucket = target.deployment(region).bucket()
    found = _found(
        lambda: target.clients.s3(region).head_bucket(Bucket=bucket),
        f"the bucket {bucket} in {region} could not be looked for",
        "404",
    )
    if has_tables and not found:
        raise InvalidRequest(
            "region",
            f"{region} has no bucket {bucket}, but tables of an earlier time, which do not know of keys that were "
            f"revoked since: delete its tables memolith-{target.stage}-* (switch their deletion protection off), then "
            "run the same command again",
        )
    return found


def is_replicated(target: Target, region: str) -> bool:
    """Tell whether S3 has replication rules for the region's bucket. One request.

    Raises:
        Unavailable: S3 refuses, or does not answer.
    """
    bucket = target.deployment(region).bucket()
    return _found(
        lambda: target.clients.s3(region).get_bucket_replication(Bucket=bucket),
        f"the replication rules of {bucket} in {region} could not be read",
        "ReplicationConfigurationNotFoundError",
    )


def _found(ask: Callable[[], object], failed: str, *absent: str) -> bool:
    """Ask AWS, and tell whether there is what it was asked for: not if it answers with one of these codes."""
    from memolith.adapters.aws.errors import AwsError, code_of, read_error

    try:
        ask()
    except AwsError as error:
        if code_of(error) in absent:
            return False
        raise read_error(error, failed) from error
    return True
