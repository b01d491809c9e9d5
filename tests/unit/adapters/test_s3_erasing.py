"""The order of an erasure's steps, and what is made of the answers."""

from __future__ import annotations

import pytest

from memolith.adapters.aws.erasing import S3ErasableObjects
from memolith.ports.errors import ObjectNotFound, Unavailable
from tests.unit.adapters.awkward_server import DEPLOYMENT, HOME, Answer, AwkwardServer, Script, s3_error

KEY = f"{HOME}/log/memstore_1/0001-0.0000000001"
BLANK_PUT = Answer(200, headers={"x-amz-version-id": "blank"})


@pytest.fixture
def erasable(server: AwkwardServer) -> S3ErasableObjects:
    return S3ErasableObjects(server.clients, DEPLOYMENT)


def listing(*versions: str, key: str = KEY, more: bool = False, latest: str = "") -> Answer:
    """S3's own order: the newest first."""
    parts = "".join(
        f"<Version><Key>{key}</Key><VersionId>{version}</VersionId>"
        f"<IsLatest>{str(version == (latest or versions[0])).lower()}</IsLatest></Version>"
        for version in versions
    )
    mark = f"<NextKeyMarker>{key}</NextKeyMarker><NextVersionIdMarker>{versions[-1]}</NextVersionIdMarker>"
    truncated = f"<IsTruncated>{str(more).lower()}</IsTruncated>{mark if more else ''}"
    return Answer(200, f"<ListVersionsResult>{truncated}{parts}</ListVersionsResult>".encode())


def deleted(server: AwkwardServer) -> list[str]:
    return [one.path.rpartition("=")[2] for one in server.requests if one.method == "DELETE"]


def test_the_blank_is_put_before_anything_is_deleted(server: AwkwardServer, erasable: S3ErasableObjects) -> None:
    server.answer(Answer(), BLANK_PUT, listing("blank", "old"), Answer(204))
    assert erasable.erase(KEY, b"{}", {"blank": "1"}) == 1
    assert [one.method for one in server.requests] == ["HEAD", "PUT", "GET", "DELETE"]
    assert "if-none-match" not in server.requests[1].headers
    assert deleted(server) == ["old"]


def test_only_what_is_older_than_ones_own_blank_is_deleted(server: AwkwardServer, erasable: S3ErasableObjects) -> None:
    """Two erasers at once: each keeps the other's blank if it is newer, so that one is always left."""
    server.answer(Answer(), BLANK_PUT, listing("another's blank", "blank", "old", "older"), Answer(204))
    assert erasable.erase(KEY, b"{}", {}) == 2
    assert deleted(server) == ["old", "older"]


def test_a_blank_that_is_not_listed_deletes_nothing(server: AwkwardServer, erasable: S3ErasableObjects) -> None:
    server.answer(Answer(), BLANK_PUT, listing("another's blank"))
    assert erasable.erase(KEY, b"{}", {}) == 0
    assert deleted(server) == []


def test_every_page_of_versions_is_read(server: AwkwardServer, erasable: S3ErasableObjects) -> None:
    server.answer(Answer(), BLANK_PUT, listing("blank", "a", more=True), listing("b", "c"), Answer(204))
    assert erasable.erase(KEY, b"{}", {}) == 3
    assert deleted(server) == ["a", "b", "c"]


def test_pages_end_where_another_key_begins(server: AwkwardServer, erasable: S3ErasableObjects) -> None:
    other = listing("blank", key=f"{KEY}0", more=True)
    server.answer(Answer(), BLANK_PUT, listing("blank", more=True), other, s3_error(500, "InternalError"))
    assert erasable.erase(KEY, b"{}", {}) == 0
    assert len(server.requests) == 4


def test_versions_under_a_delete_marker_are_erased_too(server: AwkwardServer, erasable: S3ErasableObjects) -> None:
    server.answer(Answer(404, headers={"x-amz-delete-marker": "true"}), BLANK_PUT, listing("blank", "old"), Answer(204))
    assert erasable.erase(KEY, b"{}", {}) == 1


def test_a_delete_marker_is_not_taken_for_the_blank_that_stays(
    server: AwkwardServer, erasable: S3ErasableObjects
) -> None:
    server.answer(listing("hidden", "old", latest="the marker"))
    with pytest.raises(Unavailable, match="delete marker"):
        erasable.delete_older(KEY)
    assert deleted(server) == []


def test_what_was_never_here_is_not_found_and_not_put(server: AwkwardServer, erasable: S3ErasableObjects) -> None:
    server.answer(Answer(404))
    with pytest.raises(ObjectNotFound):
        erasable.erase(KEY, b"{}", {})
    assert len(server.requests) == 1


FAILURES: list[list[Script]] = [
    [Answer(403)],
    [Answer(), s3_error(500, "InternalError")],
    [Answer(), BLANK_PUT, s3_error(503, "SlowDown")],
    [Answer(), BLANK_PUT, listing("blank", "old"), s3_error(403, "AccessDenied")],
]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("answers", FAILURES, ids=["head", "put", "list", "delete"])
def test_an_erasure_that_stopped_anywhere_is_to_be_repeated(
    server: AwkwardServer, erasable: S3ErasableObjects, answers: list[Script]
) -> None:
    server.answer(*answers)
    with pytest.raises(Unavailable, match="not erased yet"):
        erasable.erase(KEY, b"{}", {})
