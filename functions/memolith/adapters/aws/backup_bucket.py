"""A backup in a bucket, of whichever account: objects below one prefix, each put once."""

from __future__ import annotations

import base64
import hashlib
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    IncompleteReadError,
    ProfileNotFound,
    ReadTimeoutError,
    ResponseStreamingError,
)

from memolith.adapters.aws.bucket_refusals import refused
from memolith.adapters.aws.clients import Clients, Limits
from memolith.adapters.aws.errors import AwsError, code_of, status_of
from memolith.core.errors import Unauthenticated
from memolith.ports.backup_places import Advance, PlaceUnanswered, ReadFile
from memolith.ports.errors import ObjectExists, ObjectNotFound

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PART_BYTES = 64 * 1024 * 1024
"""What goes in one request; a longer file goes in parts, because S3 takes 5 GiB at once and no retry resends it all."""

LISTED_AT_ONCE = 1000
_PARTS_MAX = 10_000
_PIECE_BYTES = 1 << 20
_TRIES = 3
_PAUSE_S = 0.5
_MARK = "memolith-backup"
_CUT_OFF = (ReadTimeoutError, ConnectionClosedError, ResponseStreamingError, IncompleteReadError)
"""How a body ends before its end; boto3 repeats requests, and not the reading of bodies."""


@dataclass(frozen=True, slots=True)
class BucketAccess:
    """How a bucket is reached; what is None is found as the AWS CLI finds it.

    Attributes:
        profile: of the AWS configuration files.
        endpoint_url: of something else that speaks S3.
        region: the bucket's, where the credentials' region is not it and S3 does not say it.
        owner: the account that must own the bucket.
        kms_key: what S3 encrypts with, instead of the bucket's default.
    """

    profile: str | None = None
    endpoint_url: str | None = None
    region: str | None = None
    owner: str | None = None
    kms_key: str | None = None


def backup_bucket(bucket: str, prefix: str, access: BucketAccess) -> BackupBucket:
    """Make a place of a bucket. Opens no connection yet.

    Raises:
        Unauthenticated: there is no such profile, or the configuration cannot be used.
    """
    try:
        session = boto3.Session(profile_name=access.profile)
        region = access.region or session.region_name or "us-east-1"
    except ProfileNotFound as error:
        raise Unauthenticated(
            "the AWS configuration has no such profile",
            cause=code_of(error),
            hint="`aws configure list-profiles` lists them; --profile and AWS_PROFILE choose one",
        ) from error
    except BotoCoreError as error:
        raise Unauthenticated("the AWS configuration cannot be used", cause=code_of(error)) from error
    clients = Clients(access.endpoint_url, Limits(connect_s=10.0, read_s=60.0), session)
    return BackupBucket(lambda: clients.s3(region), region, bucket, prefix, access)


class BackupBucket:
    """`ports.backup_places.BackupPlace` on the objects below a prefix.

    Args:
        client: makes the client, or returns the one that was made.
        region: the one that is asked first.
        prefix: without a slash at its ends; empty for the whole bucket.
        part_bytes: what goes in one request; at least 5 MiB.
    """

    def __init__(
        self,
        client: Callable[[], S3Client],
        region: str,
        bucket: str,
        prefix: str,
        access: BucketAccess,
        part_bytes: int = PART_BYTES,
    ) -> None:
        self._client = client
        self._region = region
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._part_bytes = part_bytes
        self._mark = uuid.uuid4().hex
        self._owner: Any = {"ExpectedBucketOwner": access.owner} if access.owner else {}
        self._encrypted: Any = (
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": access.kms_key} if access.kms_key else {}
        )

    def at(self, name: str = "") -> str:
        """Return the address, as ``aws s3`` takes it. See `BackupPlace`."""
        return f"s3://{self._bucket}/{self._prefix}{name}".rstrip("/")

    def names(self) -> Iterator[tuple[str, int]]:
        """List the prefix, a thousand objects with a request. See `BackupPlace`.

        What the console puts at the prefix itself, as the mark of a folder, is not among them.
        """
        try:
            pages = self._client().get_paginator("list_objects_v2")
            asked: Any = {"Bucket": self._bucket, "Prefix": self._prefix, **self._owner}
            for page in pages.paginate(**asked, PaginationConfig={"PageSize": LISTED_AT_ONCE}):
                for one in page.get("Contents", ()):
                    if one["Key"] != self._prefix:
                        yield one["Key"][len(self._prefix) :], one["Size"]
        except AwsError as error:
            raise self._refused(error, "list", "s3:ListBucket", "") from error

    @contextmanager
    def drafts(self) -> Iterator[Path]:
        """Yield a folder for temporary files. See `BackupPlace`."""
        with TemporaryDirectory(prefix="memolith-backup-") as drafts:
            yield Path(drafts)

    def put_if_absent(self, name: str, draft: Path, sha256: str) -> None:
        """Put with ``If-None-Match: *``; S3 compares what it gets with a SHA-256 that is sent along. See `BackupPlace`.

        boto3 repeats a request whose answer was lost, and the second one meets what the first one put: an object knows
        by its metadata which process put it. 409 means that another request was under way; it is put again.
        """
        for tries_left in reversed(range(_TRIES)):
            try:
                if draft.stat().st_size <= self._part_bytes:
                    self._put(name, draft, sha256)
                else:
                    self._put_in_parts(name, draft)
            except AwsError as error:
                code = code_of(error)
                if code in ("PreconditionFailed", "NoSuchUpload") or status_of(error) == 412:
                    if self._is_ours(name):
                        return
                    if code != "NoSuchUpload":
                        raise ObjectExists(self.at(name)) from error
                elif status_of(error) == 409 and tries_left:
                    time.sleep(_PAUSE_S)
                    continue
                raise self._refused(error, "put", "s3:PutObject", name) from error
            return

    def _put(self, name: str, draft: Path, sha256: str) -> None:
        with draft.open("rb") as body:
            self._client().put_object(
                Bucket=self._bucket,
                Key=self._prefix + name,
                Body=body,
                ChecksumAlgorithm="SHA256",
                ChecksumSHA256=_base64(bytes.fromhex(sha256)),
                IfNoneMatch="*",
                Metadata={_MARK: self._mark},
                **self._encrypted,
                **self._owner,
            )

    def _put_in_parts(self, name: str, draft: Path) -> None:
        """Put a long file. The condition is that of the last request; what was sent in vain is taken back."""
        client = self._client()
        about: Any = {"Bucket": self._bucket, "Key": self._prefix + name, **self._owner}
        begun = client.create_multipart_upload(
            ChecksumAlgorithm="SHA256", Metadata={_MARK: self._mark}, **self._encrypted, **about
        )
        about["UploadId"] = begun["UploadId"]
        try:
            parts = [self._part(about, number, part) for number, part in enumerate(self._cut(draft), start=1)]
            client.complete_multipart_upload(MultipartUpload={"Parts": parts}, IfNoneMatch="*", **about)
        except BaseException:
            with suppress(*AwsError):
                client.abort_multipart_upload(**about)
            raise

    def _part(self, about: Any, number: int, body: bytes) -> Any:
        checksum = _base64(hashlib.sha256(body).digest())
        sent = self._client().upload_part(
            PartNumber=number, Body=body, ChecksumAlgorithm="SHA256", ChecksumSHA256=checksum, **about
        )
        return {"PartNumber": number, "ETag": sent["ETag"], "ChecksumSHA256": checksum}

    def _cut(self, draft: Path) -> Iterator[bytes]:
        part_bytes = max(self._part_bytes, -(-draft.stat().st_size // _PARTS_MAX))
        with draft.open("rb") as opened:
            while part := opened.read(part_bytes):
                yield part

    def _is_ours(self, name: str) -> bool:
        try:
            found = self._client().head_object(Bucket=self._bucket, Key=self._prefix + name, **self._owner)
        except AwsError:
            return False
        return found["Metadata"].get(_MARK) == self._mark

    @contextmanager
    def reading(self, name: str, advance: Advance) -> Iterator[ReadFile]:
        """Yield a copy in a folder for temporary files. See `BackupPlace`."""
        with TemporaryDirectory(prefix="memolith-backup-") as folder:
            path, hashed = Path(folder, "object"), hashlib.sha256()
            with path.open("xb") as file:
                for piece in self._pieces(name):
                    file.write(piece)
                    hashed.update(piece)
                    advance(len(piece))
            yield ReadFile(path, path.stat().st_size, hashed.hexdigest())

    def _pieces(self, name: str) -> Iterator[bytes]:
        """Yield the object; where it breaks off, ask for the rest of the same object, while that gives anything."""
        done, same = 0, ""
        while True:
            before = done
            rest: Any = {"Range": f"bytes={done}-", "IfMatch": same} if done else {}
            try:
                answer = self._client().get_object(Bucket=self._bucket, Key=self._prefix + name, **rest, **self._owner)
                same = answer["ETag"]
                for piece in answer["Body"].iter_chunks(_PIECE_BYTES):
                    done += len(piece)
                    yield piece
            except AwsError as error:
                if isinstance(error, _CUT_OFF) and done > before:
                    continue
                if code_of(error) == "NoSuchKey":
                    raise ObjectNotFound(self.at(name)) from error
                raise self._refused(error, "read", "s3:GetObject", name) from error
            return

    def _refused(self, error: Exception, verb: str, right: str, name: str) -> Exception:
        if isinstance(error, BotoCoreError) and isinstance(error, _CUT_OFF) and verb != "put":
            return PlaceUnanswered(
                f"{self.at(name)} broke off", region=self._region, cause=code_of(error), hint="run it again"
            )
        return refused(error, verb, right, self.at(name), self._region)


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()
