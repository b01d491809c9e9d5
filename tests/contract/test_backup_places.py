"""A place of backups: a file is put once and whole, and every byte of it is read."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from memolith.adapters.aws.backup_bucket import BackupBucket, BucketAccess
from memolith.adapters.aws.clients import Clients
from memolith.adapters.backup_folder import BackupFolder
from memolith.ports.backup_places import BackupPlace
from memolith.ports.errors import ObjectExists, ObjectNotFound
from tests.contract.moto_world import HOME, locked_moto

PART_BYTES = 5 * 1024 * 1024
LENGTHS = (0, 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES + 7)
"""Of an empty file, of one that a bucket gets in one request, and of those that it gets in parts."""


@dataclass(frozen=True, slots=True)
class PlaceWorld:
    """One empty place, as many processes as are asked for see it; `leave` puts something there behind their backs."""

    seen: Callable[[], BackupPlace]
    leave: Callable[[str, bytes], object]


def bucket_world(clients: Clients) -> PlaceWorld:
    """The prefix ``kept/here`` of a bucket that has more."""
    s3 = clients.s3(HOME)
    s3.create_bucket(Bucket="backups")
    for beside in ("kept/hereafter", "kept/her", "kept/here/"):
        s3.put_object(Bucket="backups", Key=beside, Body=b"")
    return PlaceWorld(
        lambda: BackupBucket(lambda: s3, HOME, "backups", "kept/here", BucketAccess(), PART_BYTES),
        lambda name, body: s3.put_object(Bucket="backups", Key=f"kept/here/{name}", Body=body),
    )


def folder_world(folder: Path) -> PlaceWorld:
    """A folder that is not there yet."""

    def leave(name: str, body: bytes) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)

    return PlaceWorld(lambda: BackupFolder(folder), leave)


@pytest.fixture(params=["folder", "moto", "emulator"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PlaceWorld]:
    if request.param == "folder":
        yield folder_world(tmp_path / "made" / "kept")
    elif request.param == "moto":
        with locked_moto() as clients:
            yield bucket_world(clients)
    else:
        yield bucket_world(request.getfixturevalue("emulator").emptied())


def put(place: BackupPlace, name: str, body: bytes) -> None:
    with place.drafts() as drafts:
        draft = drafts / name
        draft.write_bytes(body)
        place.put_if_absent(name, draft, hashlib.sha256(body).hexdigest())


def read(place: BackupPlace, name: str) -> bytes:
    counted: list[int] = []
    with place.reading(name, counted.append) as found:
        body = found.path.read_bytes()
        assert (found.size_bytes, found.sha256) == (len(body), hashlib.sha256(body).hexdigest())
        assert sum(counted) == len(body)
        return body


@pytest.mark.slow
@pytest.mark.parametrize("length", LENGTHS)
def test_what_is_put_is_listed_and_read_byte_for_byte(places: PlaceWorld, length: int) -> None:
    body = random.Random(length).randbytes(length)
    assert list(places.seen().names()) == []
    put(places.seen(), "a.tar.gz", body)
    assert list(places.seen().names()) == [("a.tar.gz", length)]
    assert read(places.seen(), "a.tar.gz") == body


@pytest.mark.parametrize("length", [3, PART_BYTES + 3])
def test_nothing_is_put_over_what_is_there(places: PlaceWorld, length: int) -> None:
    places.leave("a.tar.gz", b"mine")
    with pytest.raises(ObjectExists, match="kept"):
        put(places.seen(), "a.tar.gz", bytes(length))
    assert read(places.seen(), "a.tar.gz") == b"mine"
    assert dict(places.seen().names()) == {"a.tar.gz": 4}


def test_of_several_that_put_at_once_one_does(places: PlaceWorld) -> None:
    bodies = [str(number).encode() for number in range(6)]

    def won(body: bytes) -> bool:
        try:
            put(places.seen(), "a.tar.gz", body)
        except ObjectExists:
            return False
        return True

    with ThreadPoolExecutor(len(bodies)) as pool:
        [winner] = [body for body, has in zip(bodies, pool.map(won, bodies), strict=True) if has]
    assert read(places.seen(), "a.tar.gz") == winner


def test_what_is_not_there_is_told_as_that(places: PlaceWorld) -> None:
    with pytest.raises(ObjectNotFound, match=r"kept.*nothing\.gz"):
        read(places.seen(), "nothing.gz")


def test_everything_below_the_place_is_listed_and_nothing_beside_it(
    places: PlaceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.adapters.aws.backup_bucket.LISTED_AT_ONCE", 4)
    many = {f"{number:04}.gz": number % 3 for number in range(13)} | {"below/it/x.gz": 2}
    for name, length in many.items():
        places.leave(name, bytes(length))
    listed = list(places.seen().names())
    assert dict(listed) == many
    assert len(listed) == len(many)


def test_a_draft_that_was_not_put_leaves_nothing(places: PlaceWorld) -> None:
    place = places.seen()
    with pytest.raises(RuntimeError), place.drafts() as drafts:
        (drafts / "a.tar.gz").write_bytes(b"half")
        assert drafts.stat().st_mode & 0o077 == 0
        raise RuntimeError
    assert not drafts.exists()
    assert list(place.names()) == []


def test_reading_leaves_what_was_read_where_it_is_and_no_copy(places: PlaceWorld) -> None:
    places.leave("a.gz", b"text")
    place = places.seen()
    with place.reading("a.gz", lambda _: None) as found:
        assert found.path.read_bytes() == b"text"
    assert found.path.exists() != place.at().startswith("s3://")
    assert read(place, "a.gz") == b"text"
