"""What S3 is asked, and what is made of its answers. The errors are those of S3's own documentation."""

from __future__ import annotations

import base64
import hashlib

import pytest

from memolith.adapters.aws.objects import S3Objects
from memolith.ports.errors import Contended, ObjectExists, ObjectNotFound, OutcomeUnknown, Unavailable
from tests.unit.adapters.awkward_server import (
    DEPLOYMENT,
    FAR,
    HANG_UP,
    HOME,
    SILENCE,
    Answer,
    AwkwardServer,
    Script,
    nobody_there,
    s3_error,
)

KEY = f"{HOME}/log/memstore_1/0001-0.0000000001"
BODY = "naïve".encode()
SHA256 = hashlib.sha256(BODY)


@pytest.fixture
def objects(server: AwkwardServer) -> S3Objects:
    return S3Objects(server.clients, DEPLOYMENT)


def test_a_put_is_conditional_and_carries_the_checksum_it_was_given(server: AwkwardServer, objects: S3Objects) -> None:
    objects.put_if_absent(KEY, BODY, {"id": "memver_1"}, SHA256.hexdigest())
    (request,) = server.requests
    assert (request.method, request.path) == ("PUT", f"/memolith-test-123456789012-us-east-1/{KEY}")
    assert request.headers["if-none-match"] == "*"
    assert request.headers["x-amz-checksum-sha256"] == base64.b64encode(SHA256.digest()).decode()
    assert request.headers["x-amz-meta-id"] == "memver_1"
    assert request.headers["content-type"] == "text/plain; charset=utf-8"
    assert BODY in request.body


def test_a_checksum_that_was_not_given_is_computed(server: AwkwardServer, objects: S3Objects) -> None:
    objects.put_if_absent(KEY, BODY, {})
    assert server.requests[0].headers["x-amz-checksum-sha256"] == base64.b64encode(SHA256.digest()).decode()


REFUSALS: list[tuple[Script, type[Exception]]] = [
    (s3_error(412, "PreconditionFailed"), ObjectExists),
    (s3_error(409, "ConditionalRequestConflict"), Contended),
    (s3_error(409, "OperationAborted"), Contended),
    (s3_error(503, "SlowDown"), Unavailable),
    (s3_error(429, "TooManyRequests"), Unavailable),
    (s3_error(403, "AccessDenied"), Unavailable),
    (s3_error(404, "NoSuchBucket"), Unavailable),
    (s3_error(400, "BadDigest"), Unavailable),
    (s3_error(400, "RequestTimeout"), Unavailable),
    (s3_error(400, "MetadataTooLarge"), ValueError),
    (s3_error(500, "InternalError"), OutcomeUnknown),
    (s3_error(503, "ServiceUnavailable"), OutcomeUnknown),
    (Answer(502, b"<html>a proxy's own page</html>"), OutcomeUnknown),
    (SILENCE, OutcomeUnknown),
    (HANG_UP, OutcomeUnknown),
]


@pytest.mark.parametrize(("answer", "error"), REFUSALS)
def test_what_is_known_of_a_put_that_failed(server: AwkwardServer, answer: Script, error: type[Exception]) -> None:
    objects = S3Objects(server.answer(answer), DEPLOYMENT)
    with pytest.raises(error) as raised:
        objects.put_if_absent(KEY, BODY, {})
    assert "secret" not in str(raised.value)
    assert len(server.requests) == 1, "a conditional put is sent once: a second try would meet the first one's object"


def test_a_connection_that_was_never_made_changed_nothing() -> None:
    with pytest.raises(Unavailable):
        S3Objects(nobody_there(), DEPLOYMENT).put_if_absent(KEY, BODY, {})


MISSES: list[tuple[Script, type[Exception]]] = [
    (s3_error(404, "NoSuchKey"), ObjectNotFound),
    (s3_error(404, "NoSuchBucket"), Unavailable),
    (s3_error(403, "AccessDenied"), Unavailable),
    (s3_error(500, "InternalError"), Unavailable),
    (s3_error(503, "SlowDown"), Unavailable),
    (SILENCE, Unavailable),
    (HANG_UP, Unavailable),
    (Answer(200, BODY, cut=2), Unavailable),
    (Answer(200, BODY, {"x-amz-checksum-sha256": base64.b64encode(bytes(32)).decode()}), Unavailable),
]


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("answer", "error"), MISSES)
def test_a_read_is_there_or_not_or_unavailable(server: AwkwardServer, answer: Script, error: type[Exception]) -> None:
    objects = S3Objects(server.answer(answer), DEPLOYMENT)
    with pytest.raises(error):
        objects.get(KEY)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("status", "error"), [(404, ObjectNotFound), (403, Unavailable), (500, Unavailable)])
def test_a_head_has_only_its_status_to_go_by(
    server: AwkwardServer, objects: S3Objects, status: int, error: type[Exception]
) -> None:
    server.answer(Answer(status))
    with pytest.raises(error):
        objects.head(KEY)


@pytest.mark.usefixtures("impatient")
def test_a_read_survives_two_failures(server: AwkwardServer, objects: S3Objects) -> None:
    server.answer(s3_error(500, "InternalError"), HANG_UP, Answer(200, BODY, {"x-amz-meta-id": "memver_1"}))
    found = objects.get(KEY)
    assert (found.body, dict(found.metadata), found.size_bytes) == (BODY, {"id": "memver_1"}, len(BODY))
    assert len(server.requests) == 3


def test_another_regions_bucket_is_read_by_its_own_name(server: AwkwardServer, objects: S3Objects) -> None:
    server.answer(Answer(200, BODY))
    objects.get(KEY, FAR)
    (request,) = server.requests
    assert request.path.startswith("/memolith-test-123456789012-eu-west-1/")
    assert f"/{FAR}/s3/" in request.headers["authorization"]


def test_a_region_outside_the_deployment_is_a_defect_of_the_caller(objects: S3Objects) -> None:
    with pytest.raises(ValueError, match="not one of the deployment's regions"):
        objects.get(KEY, "eu-north-1")


def test_a_listing_continues_from_its_last_key(server: AwkwardServer, objects: S3Objects) -> None:
    about = "<LastModified>2026-11-24T04:48:31.000Z</LastModified><ETag>&quot;9f&quot;</ETag><Size>{}</Size>"
    listed = (("p/a", 7), ("p/b%2Bc", 0))
    keys = "".join(f"<Contents><Key>{key}</Key>{about.format(size)}</Contents>" for key, size in listed)
    page = f"<ListBucketResult><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>{keys}</ListBucketResult>"
    server.answer(Answer(200, page.encode()))
    found = objects.list("p/", "p/0", 2)
    assert (found.keys, found.sizes, found.next_after) == (("p/a", "p/b+c"), (7, 0), "p/b+c")
    for part in ("list-type=2", "prefix=p%2F", "start-after=p%2F0", "max-keys=2"):
        assert part in server.requests[0].path


@pytest.mark.usefixtures("impatient")
def test_a_listing_that_fails_is_unavailable(server: AwkwardServer, objects: S3Objects) -> None:
    server.answer(s3_error(404, "NoSuchBucket"))
    with pytest.raises(Unavailable):
        objects.list("")
