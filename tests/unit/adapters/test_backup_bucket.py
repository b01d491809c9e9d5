"""What a bucket of backups does where S3 refuses, or its answer is lost; a client that says so stands in."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
    ResponseStreamingError,
)

from memolith.adapters.aws.backup_bucket import BackupBucket, BucketAccess, backup_bucket
from memolith.core.errors import MemolithError, OutcomeUnknown, PermissionDenied, Unauthenticated
from memolith.ports.backup_places import PlaceMissing, PlaceUnanswered
from memolith.ports.errors import ObjectExists

SECRET = "what a text says"


def answer(code: str, status: int, region: str = "") -> ClientError:
    """An error as boto3 raises it; its message quotes what no error of ours may."""
    headers = {"x-amz-bucket-region": region} if region else {}
    response: Any = {
        "Error": {"Code": code, "Message": SECRET},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},
    }
    return ClientError(response, "PutObject")


class Pieces:
    """A body that gives pieces, then an error if it has one."""

    def __init__(self, *pieces: bytes, error: Exception | None = None) -> None:
        self._pieces, self._error = pieces, error

    def iter_chunks(self, size: int) -> Iterator[bytes]:
        yield from self._pieces
        if self._error is not None:
            raise self._error


class Client:
    """Gives, call after call, what it was told to for a method, and keeps what it was asked."""

    def __init__(self, **answers: list[Any]) -> None:
        self._answers = answers
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(**asked: Any) -> Any:
            self.asked.append((method, asked))
            given = self._answers[method].pop(0)
            given = given(asked) if callable(given) else given
            if isinstance(given, Exception):
                raise given
            return given

        return call

    def get_paginator(self, method: str) -> Any:
        client = self

        class Pages:
            def paginate(self, **asked: Any) -> Iterator[Any]:
                yield getattr(client, method)(**asked)

        return Pages()


def place(client: Any, part_bytes: int = 100, **access: Any) -> BackupBucket:
    return BackupBucket(lambda: client, "eu-west-1", "kept", "2026", BucketAccess(**access), part_bytes)


def put(client: Any, draft: Path, body: bytes = b"text", **access: Any) -> None:
    draft.write_bytes(body)
    place(client, **access).put_if_absent("a.gz", draft, hashlib.sha256(body).hexdigest())


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("memolith.adapters.aws.backup_bucket._PAUSE_S", 0)
    return tmp_path / "a.gz"


REFUSALS: list[tuple[Exception, type[MemolithError], str]] = [
    (answer("NoSuchBucket", 404), PlaceMissing, "make it"),
    (answer("PermanentRedirect", 301, "ap-south-1"), PlaceMissing, "--bucket-region"),
    (answer("AuthorizationHeaderMalformed", 400, "ap-south-1"), PlaceMissing, "--bucket-region"),
    (answer("AccessDenied", 403), PermissionDenied, "docs/operations/backups.md"),
    (answer("AllAccessDisabled", 403), PermissionDenied, "s3:PutObject"),
    (answer("KMS.DisabledException", 400), PermissionDenied, "--kms-key"),
    (answer("ExpiredToken", 400), Unauthenticated, "aws sso login"),
    (answer("InvalidAccessKeyId", 403), Unauthenticated, "--profile"),
    (NoCredentialsError(), Unauthenticated, "sign in"),
    (answer("SlowDown", 503), PlaceUnanswered, ""),
    (EndpointConnectionError(endpoint_url="http://x"), PlaceUnanswered, "endpoint"),
    (answer("InternalError", 500), OutcomeUnknown, ""),
    (answer("InvalidArgument", 400), PlaceMissing, "options"),
]


@pytest.mark.parametrize(("raised", "expected", "hint"), REFUSALS, ids=lambda one: getattr(one, "__name__", None))
def test_a_refused_put_says_where_what_why_and_what_to_do(
    draft: Path, raised: Exception, expected: type[MemolithError], hint: str
) -> None:
    with pytest.raises(expected) as told:
        put(Client(put_object=[raised]), draft)
    error = told.value
    asked = "ap-south-1" if "ap-south-1" in str(vars(raised)) else "eu-west-1"
    assert (error.region, error.object) == (asked, "s3://kept/2026/a.gz")
    assert error.cause
    assert hint in error.hint
    assert SECRET not in error.message


@pytest.mark.parametrize("method", ["list_objects_v2", "get_object"])
def test_a_refused_listing_or_reading_names_the_right_that_it_needs(method: str) -> None:
    client = Client(**{method: [answer("AccessDenied", 403)]})
    with pytest.raises(PermissionDenied, match="s3:ListBucket" if method == "list_objects_v2" else "s3:GetObject"):
        if method == "get_object":
            place(client).reading("a.gz", lambda _: None).__enter__()
        else:
            list(place(client).names())


def test_an_unknown_profile_is_told_before_anything_is_asked() -> None:
    with pytest.raises(Unauthenticated, match="list-profiles"):
        backup_bucket("kept", "2026", BucketAccess(profile="of nobody"))


def test_a_put_whose_answer_was_lost_is_recognized_by_its_mark(draft: Path) -> None:
    client = Client(put_object=[answer("PreconditionFailed", 412)])
    client._answers["head_object"] = [lambda _: {"Metadata": client.asked[0][1]["Metadata"]}]
    put(client, draft)
    assert [method for method, _ in client.asked] == ["put_object", "head_object"]


@pytest.mark.parametrize("head", [{"Metadata": {"memolith-backup": "another"}}, answer("403", 403)])
def test_what_another_has_put_is_not_taken_for_ones_own(draft: Path, head: Any) -> None:
    client = Client(put_object=[answer("PreconditionFailed", 412)], head_object=[head])
    with pytest.raises(ObjectExists, match=r"s3://kept/2026/a\.gz"):
        put(client, draft)


def test_a_put_that_met_another_request_is_sent_again(draft: Path) -> None:
    busy = answer("ConditionalRequestConflict", 409)
    client = Client(put_object=[busy, busy, {}])
    put(client, draft)
    with pytest.raises(PlaceUnanswered):
        put(Client(put_object=[busy, busy, busy]), draft)


def test_every_put_is_conditional_and_compared_and_goes_to_the_owner_alone(draft: Path) -> None:
    client = Client(put_object=[{}])
    put(client, draft, owner="210987654321", kms_key="alias/kept")
    [(_, asked)] = client.asked
    assert (asked["IfNoneMatch"], asked["ExpectedBucketOwner"]) == ("*", "210987654321")
    assert (asked["ServerSideEncryption"], asked["SSEKMSKeyId"]) == ("aws:kms", "alias/kept")
    assert asked["ChecksumSHA256"] == base64.b64encode(hashlib.sha256(b"text").digest()).decode()


def test_a_long_put_that_fails_is_taken_back(draft: Path) -> None:
    client = Client(
        create_multipart_upload=[{"UploadId": "1"}],
        upload_part=[{"ETag": "a"}, answer("AccessDenied", 403)],
        abort_multipart_upload=[{}],
    )
    with pytest.raises(PermissionDenied):
        put(client, draft, bytes(250))
    assert client.asked[-1][0] == "abort_multipart_upload"


def test_a_long_put_is_conditional_in_its_last_request(draft: Path) -> None:
    client = Client(
        create_multipart_upload=[{"UploadId": "1"}],
        upload_part=[{"ETag": "a"}, {"ETag": "b"}, {"ETag": "c"}],
        complete_multipart_upload=[{}],
    )
    put(client, draft, bytes(250))
    assert [len(asked["Body"]) for method, asked in client.asked if method == "upload_part"] == [100, 100, 50]
    assert client.asked[-1][1]["IfNoneMatch"] == "*"


@pytest.mark.parametrize("cut", [ReadTimeoutError(endpoint_url="x"), ResponseStreamingError(error="cut")])
def test_a_reading_that_breaks_off_goes_on_where_it_was_with_the_same_object(cut: Exception) -> None:
    bodies = [Pieces(b"one", b"two", error=cut), Pieces(b"three", error=cut), Pieces(b"four")]
    client = Client(get_object=[{"ETag": '"e"', "Body": body} for body in bodies])
    counted: list[int] = []
    with place(client).reading("a.gz", counted.append) as found:
        assert found.path.read_bytes() == b"onetwothreefour"
    assert sum(counted) == found.size_bytes == 15
    assert [(one.get("Range"), one.get("IfMatch")) for _, one in client.asked] == [
        (None, None),
        ("bytes=6-", '"e"'),
        ("bytes=11-", '"e"'),
    ]


def test_a_reading_that_gives_nothing_more_ends(draft: Path) -> None:
    cut = ResponseStreamingError(error="cut")
    client = Client(get_object=[{"ETag": '"e"', "Body": Pieces(*body, error=cut)} for body in ([b"one"], [])])
    with pytest.raises(PlaceUnanswered, match="broke off"):
        place(client).reading("a.gz", lambda _: None).__enter__()
    other = answer("PreconditionFailed", 412)
    client = Client(get_object=[{"ETag": '"e"', "Body": Pieces(b"one", error=cut)}, other])
    with pytest.raises(PlaceUnanswered, match="replaced"):
        place(client).reading("a.gz", lambda _: None).__enter__()
