"""Where a backup is: a folder of this machine, or a bucket, reached with the credentials that the AWS CLI would use.

boto3 is imported when a bucket is named and not before, so that a folder needs no part of it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from memolith.adapters.backup_folder import BackupFolder
from memolith.core.errors import InvalidRequest
from memolith.ports.backup_places import BackupPlace

_SCHEME = "s3://"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")

Place = Annotated[
    str, typer.Argument(metavar="PLACE", help="The backup's folder, or s3://BUCKET/PREFIX.", show_default=False)
]
Profile = Annotated[
    str | None,
    typer.Option("--profile", help="Whose credentials reach the bucket; by default AWS_PROFILE and what AWS looks at."),
]
EndpointUrl = Annotated[
    str | None,
    typer.Option(
        "--endpoint-url",
        envvar=["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"],
        help="What else speaks S3, such as a LocalStack.",
    ),
]
BucketRegion = Annotated[
    str | None, typer.Option("--bucket-region", help="The bucket's region, where S3 does not say it by itself.")
]
BucketOwner = Annotated[
    str | None,
    typer.Option("--bucket-owner", help="The account that must own the bucket; any other is given and shown nothing."),
]
KmsKey = Annotated[
    str | None,
    typer.Option("--kms-key", help="The key in KMS that S3 encrypts with, instead of the bucket's default."),
]


def find_place(
    place: str,
    profile: str | None = None,
    endpoint_url: str | None = None,
    region: str | None = None,
    owner: str | None = None,
    kms_key: str | None = None,
) -> BackupPlace:
    """Return what a command writes a backup to, or reads it from. Opens no connection yet.

    Raises:
        InvalidRequest: it names no bucket, or has an option that only a bucket takes. Unauthenticated: no such profile.
    """
    if not place.startswith(_SCHEME):
        if kms_key:
            raise InvalidRequest("--kms-key", "is for a bucket: nothing encrypts a folder")
        return BackupFolder(Path(place))
    bucket, _, prefix = place.removeprefix(_SCHEME).partition("/")
    prefix = prefix.strip("/")
    if not _BUCKET.fullmatch(bucket) or "//" in prefix:
        raise InvalidRequest("PLACE", f"{place} is not of the form s3://BUCKET/PREFIX")
    if endpoint_url and not endpoint_url.startswith(("http://", "https://")):
        raise InvalidRequest("--endpoint-url", f"{endpoint_url} does not begin with http:// or https://")
    from memolith.adapters.aws.backup_bucket import BucketAccess, backup_bucket

    return backup_bucket(bucket, prefix, BucketAccess(profile, endpoint_url, region, owner, kms_key))


def words_of(
    place: BackupPlace, profile: str | None, endpoint_url: str | None, region: str | None, owner: str | None
) -> str:
    """Return what a command is to be given to find the same place again, as a shell takes it."""
    options = {
        "--profile": profile,
        "--endpoint-url": endpoint_url,
        "--bucket-region": region,
        "--bucket-owner": owner,
    }
    of_bucket = place.at().startswith(_SCHEME)
    said = [word for name, value in options.items() if value and of_bucket for word in (name, value)]
    return shlex.join([place.at(), *said])
