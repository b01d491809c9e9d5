"""Objects on S3."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of, read_error, status_of, write_error
from memolith.adapters.aws.names import Deployment
from memolith.adapters.limits import check_listing, check_object
from memolith.ports.errors import Contended, ObjectExists, ObjectNotFound
from memolith.ports.objects import KeyPage, Sink, StoredObject

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONTENT_TYPE = "text/plain; charset=utf-8"
PIECE_BYTES = 256 * 1024
"""How much of a body is read at a time where it goes into a sink: small enough to stay in a processor's cache."""


class S3Objects:
    """`ports.objects.Objects` on one bucket a region.

    A HEAD has no body to tell a missing bucket from a missing key: `head` answers ObjectNotFound for both, while
    `get`, `list` and `put_if_absent` answer Unavailable for a missing bucket.
    """

    def __init__(self, clients: Clients, deployment: Deployment) -> None:
        self._clients = clients
        self._deployment = deployment

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        """Send one PUT with ``If-None-Match: *``, once. S3 checks the body against its SHA-256.

        409 means that another request was under way, never that the key is taken. A 503 SlowDown is refused before
        anything is done; any other 5xx, a time-out or a reset may come after the put took effect.

        Source: S3 user guide, "Add preconditions to S3 operations with conditional requests"; S3 API, "Error
        responses".
        """
        check_object(key, metadata, content_sha256)
        digest = bytes.fromhex(content_sha256) if content_sha256 is not None else hashlib.sha256(body).digest()
        client = self._clients.s3(region or self._deployment.region, attempts=1)
        try:
            answer = client.put_object(
                Bucket=self._deployment.bucket(region),
                Key=key,
                Body=body,
                Metadata=dict(metadata),
                ContentType=CONTENT_TYPE,
                ChecksumSHA256=base64.b64encode(digest).decode(),
                IfNoneMatch="*",
            )
        except AwsError as error:
            raise _put_error(error, key) from error
        return answer.get("VersionId")

    def head(self, key: str, region: str | None = None) -> StoredObject:
        """Send one HEAD, which boto3 repeats on 5xx."""
        try:
            answer = self._reader(region).head_object(Bucket=self._deployment.bucket(region), Key=key)
        except AwsError as error:
            raise _get_error(error, key) from error
        return StoredObject(key, b"", dict(answer["Metadata"]), answer["ContentLength"])

    def get(self, key: str, region: str | None = None, into: Sink | None = None) -> StoredObject:
        """Send one GET, which boto3 repeats on 5xx. boto3 checks a body that is returned against the checksum that it
        was put with.
        """
        client, bucket = self._reader(region), self._deployment.bucket(region)
        try:
            if into is None:
                answer = client.get_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
                body = answer["Body"].read()
            else:
                answer = client.get_object(Bucket=bucket, Key=key)
                body = b""
                into.begin(answer["Metadata"])
                for piece in answer["Body"].iter_chunks(PIECE_BYTES):
                    into.write(piece)
        except AwsError as error:
            raise _get_error(error, key) from error
        return StoredObject(key, body, dict(answer["Metadata"]), answer["ContentLength"])

    def list(self, prefix: str, after: str | None = None, limit: int = 1000, region: str | None = None) -> KeyPage:
        """List at most 1,000 keys. One LIST."""
        limit = check_listing(limit)
        bucket = self._deployment.bucket(region)
        try:
            answer = self._reader(region).list_objects_v2(
                Bucket=bucket, Prefix=prefix, StartAfter=after or "", MaxKeys=limit
            )
        except AwsError as error:
            raise read_error(error, f"a listing of {prefix}") from error
        found = answer.get("Contents", ())
        keys = tuple(one["Key"] for one in found)
        sizes = tuple(one["Size"] for one in found)
        return KeyPage(keys, keys[-1] if answer["IsTruncated"] and keys else None, sizes)

    def _reader(self, region: str | None) -> S3Client:
        return self._clients.s3(region or self._deployment.region)


def _put_error(error: Exception, key: str) -> Exception:
    status, code = status_of(error), code_of(error)
    if status == 412 or code == "PreconditionFailed":
        return ObjectExists(key)
    if status == 409 or code in ("ConditionalRequestConflict", "OperationAborted"):
        return Contended(f"{key}: {code}")
    return write_error(error, key)


def _get_error(error: Exception, key: str) -> Exception:
    if isinstance(error, ClientError) and code_of(error) in ("NoSuchKey", "404"):
        return ObjectNotFound(key)
    return read_error(error, key)
