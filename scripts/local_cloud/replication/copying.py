"""Copy one object version to one bucket: what S3's replication carries, in a GET and a PUT.

Source: Amazon S3 user guide, "What does Amazon S3 replicate?".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from botocore.exceptions import ClientError

from scripts.local_cloud.aws import Clients
from scripts.local_cloud.replication.ledger import ObjectVersion
from scripts.local_cloud.replication.rules import Bucket

Outcome = Literal["copied", "gone", "superseded"]

_CARRIED = (
    "Metadata",
    "ContentType",
    "ContentEncoding",
    "ContentLanguage",
    "ContentDisposition",
    "CacheControl",
    "ChecksumSHA256",
    "ChecksumSHA1",
    "ChecksumCRC32",
    "ChecksumCRC32C",
    "ChecksumCRC64NVME",
    "StorageClass",
    "WebsiteRedirectLocation",
)
_ABSENT = frozenset({"NoSuchKey", "NoSuchVersion", "404", "MethodNotAllowed"})


def copy(clients: Clients, source: Bucket, destination: Bucket, version: ObjectVersion) -> Outcome:
    """Put the version at the destination under the same key, whatever stands there.

    Returns ``gone`` if the version no longer exists: what was erased before its turn is not copied.

    Raises:
        ClientError: either side refused or failed; nothing is known to have changed.
    """
    identity: dict[str, Any] = {"Bucket": source.name, "Key": version.key, "VersionId": version.version_id}
    s3 = clients.s3(source.region)
    try:
        found = s3.get_object(**identity, ChecksumMode="ENABLED")
    except ClientError as error:
        if error.response["Error"]["Code"] in _ABSENT:
            return "gone"
        raise
    carried = {name: found[name] for name in _CARRIED if name in found}  # type: ignore[literal-required]  # a field whose name is a variable
    if found.get("ChecksumType") == "COMPOSITE":
        carried = {name: value for name, value in carried.items() if not name.startswith("Checksum")}
    if found.get("TagCount"):
        carried["Tagging"] = _tagging(s3.get_object_tagging(**identity))
    clients.s3(destination.region).put_object(
        Bucket=destination.name, Key=version.key, Body=found["Body"].read(), **carried
    )
    return "copied"


def is_current(clients: Clients, source: Bucket, version: ObjectVersion) -> bool:
    """Tell whether the version is what its key shows now. One HEAD."""
    try:
        head = clients.s3(source.region).head_object(Bucket=source.name, Key=version.key)
    except ClientError as error:
        if error.response["Error"]["Code"] in _ABSENT:
            return False
        raise
    return head.get("VersionId", "null") == version.version_id


def _tagging(answer: Mapping[str, Any]) -> str:
    from urllib.parse import urlencode

    return urlencode([(tag["Key"], tag["Value"]) for tag in answer["TagSet"]])
