"""Erasure on S3: the one place where an object is overwritten, and where versions are deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of, read_error, status_of
from memolith.adapters.aws.names import Deployment
from memolith.adapters.aws.objects import CONTENT_TYPE
from memolith.adapters.limits import check_listing, check_object
from memolith.ports.errors import ObjectNotFound, Unavailable
from memolith.ports.objects import ObjectVersion, StoredObject, VersionMark, VersionPage


class S3ErasableObjects:
    """`ports.objects.ErasableObjects` on this region's bucket, which is versioned.

    Costs one HEAD, one PUT, one LIST of versions and one DELETE each. Only versions that S3 lists as older than the
    blank of this very call are deleted, never newer ones: two erasers at once leave a blank each other's, not an empty
    slot. What arrives later brings an event, and that event another erasure.
    """

    def __init__(self, clients: Clients, deployment: Deployment) -> None:
        self._client = clients.s3(deployment.region)
        self._bucket = deployment.bucket()

    def erase(self, key: str, body: bytes, metadata: Mapping[str, str]) -> int:
        """Blank first, then the older versions; every step may be repeated after Unavailable."""
        check_object(key, metadata)
        try:
            self._must_exist(key)
            blank = self._client.put_object(
                Bucket=self._bucket, Key=key, Body=body, Metadata=dict(metadata), ContentType=CONTENT_TYPE
            )
            return self._delete_below(key, blank["VersionId"])
        except AwsError as error:
            raise Unavailable(f"{key} is not erased yet: {code_of(error)}") from error

    def delete_older(self, key: str) -> int:
        """Delete older versions: one LIST of versions and one DELETE each. Raises Unavailable under a delete marker."""
        try:
            versions = self._versions(key)
            if versions and not versions[0]["IsLatest"]:
                raise _hidden(key)
            return self._delete_below(key, versions[0]["VersionId"]) if versions else 0
        except AwsError as error:
            raise Unavailable(f"{key} is not erased yet: {code_of(error)}") from error

    def remove(self, key: str) -> int:
        """Delete all versions, the oldest first, so that the newest stays visible. One LIST and one DELETE each."""
        try:
            listed = [version["VersionId"] for version in self._versions(key)]
            for one in reversed(listed):
                self._client.delete_object(Bucket=self._bucket, Key=key, VersionId=one)
            return len(listed)
        except AwsError as error:
            raise Unavailable(f"{key} is not removed yet: {code_of(error)}") from error

    def versions(self, prefix: str, after: VersionMark | None = None, limit: int = 1000) -> VersionPage:
        """List versions, at most 1,000. One LIST of versions."""
        marks: dict[str, Any] = {} if after is None else {"KeyMarker": after[0], "VersionIdMarker": after[1]}
        try:
            page = self._client.list_object_versions(
                Bucket=self._bucket, Prefix=prefix, MaxKeys=check_listing(limit), **marks
            )
        except AwsError as error:
            raise Unavailable(f"versions below {prefix} cannot be listed: {code_of(error)}") from error
        hidden = [marker["Key"] for marker in page.get("DeleteMarkers", []) if marker["IsLatest"]]
        if hidden:
            raise _hidden(hidden[0])
        found = tuple(
            ObjectVersion(one["Key"], one["VersionId"], one["IsLatest"], one["Size"])
            for one in page.get("Versions", [])
        )
        more = page["IsTruncated"]
        return VersionPage(found, (page["NextKeyMarker"], page["NextVersionIdMarker"]) if more else None)

    def read_version(self, key: str, version_id: str) -> StoredObject:
        """Read one version. One GET."""
        try:
            found = self._client.get_object(Bucket=self._bucket, Key=key, VersionId=version_id, ChecksumMode="ENABLED")
            body = found["Body"].read()
        except AwsError as error:
            if isinstance(error, ClientError) and status_of(error) == 404:
                raise ObjectNotFound(key) from error
            raise read_error(error, key) from error
        return StoredObject(key, body, dict(found["Metadata"]), len(body))

    def _must_exist(self, key: str) -> None:
        """Raise ObjectNotFound unless a version is there; a delete marker hides versions, and does not count."""
        try:
            self._client.head_object(Bucket=self._bucket, Key=key)
        except ClientError as error:
            headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
            if status_of(error) == 404 and headers.get("x-amz-delete-marker") != "true":
                raise ObjectNotFound(key) from error
            if status_of(error) != 404:
                raise

    def _delete_below(self, key: str, version_id: str) -> int:
        """Delete what S3 lists after `version_id`, its newest first; return how many versions that were."""
        listed = [version["VersionId"] for version in self._versions(key)]
        older = listed[listed.index(version_id) + 1 :] if version_id in listed else []
        for one in older:
            self._client.delete_object(Bucket=self._bucket, Key=key, VersionId=one)
        return len(older)

    def _versions(self, key: str) -> list[Any]:
        """List the versions of exactly this key, the newest first."""
        found = []
        for page in self._client.get_paginator("list_object_versions").paginate(Bucket=self._bucket, Prefix=key):
            versions = page.get("Versions", [])
            found += [version for version in versions if version["Key"] == key]
            if any(version["Key"] != key for version in versions):
                break
        return found


def _hidden(key: str) -> Unavailable:
    """Make the error of a key that a delete marker hides."""
    return Unavailable(
        f"{key} is hidden by a delete marker, which nothing of Memolith's puts: "
        "docs/operations/delete-objects.md says how to remove it"
    )
