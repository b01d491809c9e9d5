"""What every adapter of `ports.objects.Objects` promises."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest

from memolith.core.limits import OBJECT_METADATA_MAX_BYTES
from memolith.ports.errors import ObjectExists, ObjectNotFound, Unavailable
from tests.contract.worlds import ABSENT, COMPARING_BODIES, FAR, HOME, ObjectsWorld

KEY = f"{HOME}/log/memstore_1/0001-0.0000000001"
BODIES = {
    "empty": b"",
    "text": b"remember the milk\n",
    "not ASCII": "naïve – 記憶 🧠\r\n".encode(),
    "not text": bytes(range(256)),
    "the longest": b"x" * 102_400,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_what_was_put_is_got_byte_for_byte(world: ObjectsWorld, body: bytes) -> None:
    world.here.put_if_absent(KEY, body, {"id": "memver_1", "op": "created"})
    found = world.here.get(KEY)
    assert (found.key, found.body, found.size_bytes) == (KEY, body, len(body))
    assert dict(found.metadata) == {"id": "memver_1", "op": "created"}


class Taking:
    """A sink that keeps what it is given, and fails where it is to."""

    def __init__(self, fails_at: str | None = None) -> None:
        self.begun: list[dict[str, str]] = []
        self.pieces: list[bytes] = []
        self._fails_at = fails_at

    def begin(self, metadata: Mapping[str, str]) -> None:
        assert self.pieces == []
        self._fail("begin")
        self.begun.append(dict(metadata))

    def write(self, piece: bytes) -> None:
        assert self.begun, "what an object says of itself comes before its body"
        self._fail("write")
        self.pieces.append(piece)

    def _fail(self, at: str) -> None:
        if self._fails_at == at:
            raise ZeroDivisionError(at)


@pytest.mark.parametrize("body", [*BODIES.values(), bytes(1_000_000)], ids=[*BODIES, "several pieces"])
def test_a_body_goes_into_a_sink_instead_of_memory(world: ObjectsWorld, body: bytes) -> None:
    world.here.put_if_absent(KEY, body, {"id": "memver_1"})
    sink = Taking()
    found = world.here.get(KEY, into=sink)
    assert b"".join(sink.pieces) == body
    assert sink.begun == [{"id": "memver_1"}]
    assert (found.key, found.body, dict(found.metadata), found.size_bytes) == (KEY, b"", {"id": "memver_1"}, len(body))
    with pytest.raises(ObjectNotFound):
        world.here.get(f"{KEY}-none", into=sink)
    assert len(sink.begun) == 1


@pytest.mark.parametrize("fails_at", ["begin", "write"])
def test_what_a_sink_raises_is_raised(world: ObjectsWorld, fails_at: str) -> None:
    world.here.put_if_absent(KEY, b"text", {})
    sink = Taking(fails_at)
    with pytest.raises(ZeroDivisionError):
        world.here.get(KEY, into=sink)
    assert sink.pieces == []


def test_a_head_has_everything_but_the_body(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"text", {"id": "memver_1"})
    found = world.here.head(KEY)
    assert (found.key, found.body, dict(found.metadata), found.size_bytes) == (KEY, b"", {"id": "memver_1"}, 4)


def test_a_taken_key_is_refused_and_keeps_what_it_had(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"first", {"id": "1"})
    with pytest.raises(ObjectExists):
        world.here.put_if_absent(KEY, b"second", {"id": "2"})
    with pytest.raises(ObjectExists):
        world.here.put_if_absent(KEY, b"first", {"id": "1"})
    assert world.here.get(KEY).body == b"first"
    assert world.versions(HOME, KEY) == [b"first"]


def test_a_put_tells_the_id_of_the_version_that_it_made_where_versions_are_kept(world: ObjectsWorld) -> None:
    told = world.here.put_if_absent(KEY, b"first", {})
    (kept,) = world.erasable(HOME).versions(KEY).versions
    assert told == (kept.version_id if world.keeps_versions else None)


def test_the_checksum_may_be_given(world: ObjectsWorld) -> None:
    body = "gewußt".encode()
    world.here.put_if_absent(KEY, body, {}, hashlib.sha256(body).hexdigest())
    assert world.here.get(KEY).body == body


def test_what_is_put_elsewhere_is_there_and_nowhere_else(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"copy", {"id": "1"}, region=FAR)
    assert world.here.get(KEY, FAR).body == b"copy"
    assert dict(world.here.head(KEY, FAR).metadata) == {"id": "1"}
    with pytest.raises(ObjectNotFound):
        world.here.head(KEY)


def test_what_is_taken_elsewhere_is_refused_and_keeps_what_it_had(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"first", {}, region=FAR)
    with pytest.raises(ObjectExists):
        world.here.put_if_absent(KEY, b"second", {}, region=FAR)
    assert world.versions(FAR, KEY) == [b"first"]


@pytest.mark.parametrize("world", COMPARING_BODIES, indirect=True)
def test_a_body_that_is_not_what_its_checksum_says_is_not_stored(world: ObjectsWorld) -> None:
    with pytest.raises(Unavailable):
        world.here.put_if_absent(KEY, b"text", {}, hashlib.sha256(b"other").hexdigest())
    with pytest.raises(ObjectNotFound):
        world.here.head(KEY)


@pytest.mark.parametrize("content_sha256", ["", "abc", "A" * 64, "g" * 64])
def test_a_checksum_that_is_none_is_a_defect_of_the_caller(world: ObjectsWorld, content_sha256: str) -> None:
    with pytest.raises(ValueError, match="64 lower-case hex"):
        world.here.put_if_absent(KEY, b"", {}, content_sha256)


def test_metadata_may_fill_its_limit(world: ObjectsWorld) -> None:
    metadata = {"id": "x" * (OBJECT_METADATA_MAX_BYTES - 2)}
    world.here.put_if_absent(KEY, b"", metadata)
    assert dict(world.here.head(KEY).metadata) == metadata


def test_metadata_beyond_its_limit_is_refused_before_anything_is_sent(world: ObjectsWorld) -> None:
    """Ours to check: moto and MiniStack would take it, S3 would not."""
    with pytest.raises(ValueError, match="2049 bytes"):
        world.here.put_if_absent(KEY, b"", {"id": "x" * (OBJECT_METADATA_MAX_BYTES - 1)})
    with pytest.raises(ObjectNotFound):
        world.here.head(KEY)


@pytest.mark.parametrize("metadata", [{"Id": "1"}, {"i_d": "1"}, {"": "1"}, {"id": ""}, {"id": " 1"}, {"id": "é"}])
def test_metadata_that_would_not_come_back_as_it_went_is_refused(world: ObjectsWorld, metadata: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="metadata"):
        world.here.put_if_absent(KEY, b"", metadata)


@pytest.mark.parametrize("key", ["", "k" * 1_025, "é" * 513])
def test_keys_have_1_to_1024_bytes(world: ObjectsWorld, key: str) -> None:
    with pytest.raises(ValueError, match="1024 bytes"):
        world.here.put_if_absent(key, b"", {})


def test_what_is_not_there_is_not_found(world: ObjectsWorld) -> None:
    with pytest.raises(ObjectNotFound):
        world.here.get(KEY)
    with pytest.raises(ObjectNotFound):
        world.here.head(KEY)


def test_each_region_has_a_bucket_of_its_own_and_reads_the_others(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"home", {})
    with pytest.raises(ObjectNotFound):
        world.here.get(KEY, FAR)
    world.objects(FAR).put_if_absent(KEY, b"far", {})
    assert world.here.get(KEY, FAR).body == world.objects(FAR).get(KEY).body == b"far"
    assert world.objects(FAR).head(KEY, HOME).size_bytes == 4
    assert world.objects(FAR).list("", region=HOME).keys == (KEY,)


def test_a_region_without_a_bucket_is_unavailable(world: ObjectsWorld) -> None:
    """Not so for `head` on S3: a HEAD has no body to tell a missing bucket from a missing key."""
    with pytest.raises(Unavailable):
        world.here.get(KEY, ABSENT)
    with pytest.raises(Unavailable):
        world.here.list("", region=ABSENT)
    with pytest.raises(Unavailable):
        world.objects(ABSENT).put_if_absent(KEY, b"", {})


KEYS = ("a", "a/b", "a/b/1", "a/b/10", "a/b/2", "a/c", "b", "b/é", "b/～", "b/🧠")


@pytest.fixture
def listed(world: ObjectsWorld) -> ObjectsWorld:
    for key in reversed(KEYS):
        world.here.put_if_absent(key, b"", {})
    return world


def test_a_listing_tells_the_size_of_each_body_or_of_none(world: ObjectsWorld) -> None:
    for key, body in (("s/b", b"four"), ("s/a", b""), ("s/c", "ü".encode())):
        world.here.put_if_absent(key, body, {"a": "metadata do not count"})
    assert world.here.list("s/").sizes in ((0, 4, 2), None)
    assert world.here.list("s/", limit=2).sizes in ((0, 4), None)
    assert world.here.list("none/").sizes in ((), None)


def test_keys_are_listed_in_byte_order(listed: ObjectsWorld) -> None:
    page = listed.here.list("")
    assert page.keys == KEYS == tuple(sorted(KEYS, key=str.encode))
    assert page.next_after is None


@pytest.mark.parametrize("prefix", ["", "a", "a/b", "a/b/", "b/", "none"])
@pytest.mark.parametrize("after", [None, "a/b", "a/b/1", "a/b/15", "b/é", "zz"])
def test_a_listing_has_the_prefix_and_begins_after(listed: ObjectsWorld, prefix: str, after: str | None) -> None:
    expected = tuple(key for key in KEYS if key.startswith(prefix) and (after is None or key > after))
    assert listed.here.list(prefix, after).keys == expected


@pytest.mark.parametrize("limit", [1, 3, 10, 11])
def test_pages_follow_one_another_without_a_gap(listed: ObjectsWorld, limit: int) -> None:
    seen: list[str] = []
    after = None
    for _ in range(len(KEYS)):
        page = listed.here.list("", after, limit)
        assert len(page.keys) <= limit
        seen += page.keys
        after = page.next_after
        if after is None:
            break
    assert tuple(seen) == KEYS
    assert after is None


def test_a_listing_of_nothing_ends_at_once(world: ObjectsWorld) -> None:
    page = world.here.list("none/")
    assert (page.keys, page.next_after) == ((), None)


def test_a_listing_is_limited_to_at_least_1(world: ObjectsWorld) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        world.here.list("", limit=0)
