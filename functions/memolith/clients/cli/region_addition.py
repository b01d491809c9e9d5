"""``memolith regions add``: what has to be so before S3 copies anything from a region.

A region that was removed comes back under its name. What it wrote itself is put back before S3 has rules for its
bucket: S3 would replicate that over every other region's copy.
"""

from __future__ import annotations

from collections.abc import Callable

from memolith.clients.cli.deployment_target import Target


def has_bucket(target: Target, region: str) -> bool:
    """Tell whether the region has its bucket. One request.

    Raises:
        Unavailable: S3 refuses, or does not answer.
    """
    bucket = target.deployment(region).bucket()
    return _found(
        lambda: target.clients.s3(region).head_bucket(Bucket=bucket),
        f"the bucket {bucket} in {region} could not be looked for",
        "404",
    )


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
