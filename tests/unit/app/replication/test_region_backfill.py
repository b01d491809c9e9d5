"""A region that joins gets everything that was written before it was there, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import pytest

from memolith.adapters.memory import (
    ManualClock,
    MemoryBuckets,
    MemoryDatabase,
    MemoryIndex,
    MemoryObjects,
    MemoryPeers,
    RecordingMetrics,
    SeededRandomness,
)
from memolith.app.kernel.region import Region
from memolith.app.replication import region_backfill
from memolith.app.replication.region_backfill import Progress, RegionBackfill
from memolith.core.errors import Unavailable
from memolith.ports import errors as port_errors
from memolith.ports.objects import KeyPage, Objects, Sink, StoredObject

T = TypeVar("T")
NEW, FIRST, SECOND, GONE = "sa-east-1", "us-east-1", "eu-west-1", "us-west-2"


class OneByOne:
    """`Parallel` without threads."""

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        return [task() for task in tasks]

    def begin(self, task: Callable[[], T]) -> Callable[[], T]:
        return task


class Meddled:
    """The joining region's objects, with something happening just before a call."""

    def __init__(self, objects: MemoryObjects, before: Callable[[str, str], None]) -> None:
        self._objects = objects
        self._before = before

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        self._before("put", key)
        return self._objects.put_if_absent(key, body, metadata, content_sha256, region)

    def head(self, key: str, region: str | None = None) -> StoredObject:
        return self._objects.head(key, region)

    def get(self, key: str, region: str | None = None, into: Sink | None = None) -> StoredObject:
        self._before("get", key)
        return self._objects.get(key, region, into)

    def list(self, prefix: str, after: str | None = None, limit: int = 1000, region: str | None = None) -> KeyPage:
        self._before("list", prefix)
        return self._objects.list(prefix, after, min(limit, 3), region)


@pytest.fixture
def buckets() -> MemoryBuckets:
    return MemoryBuckets([NEW, FIRST, SECOND])


def put(buckets: MemoryBuckets, region: str, *keys: str) -> None:
    for key in keys:
        MemoryObjects(buckets, region).put_if_absent(key, f"body of {key}".encode(), {"path": key})


def keys(buckets: MemoryBuckets, region: str) -> list[str]:
    return list(MemoryObjects(buckets, region).list("").keys)


def joining(objects: Objects) -> Region:
    """Return the region that joins, with these buckets and empty tables."""
    return Region(
        name=NEW,
        regions=(NEW, FIRST, SECOND),
        objects=objects,
        index=MemoryIndex(MemoryDatabase()),
        clock=ManualClock(),
        randomness=SeededRandomness(1),
        metrics=RecordingMetrics(),
        peers=MemoryPeers(),
        parallel=OneByOne(),
    )


def fill(buckets: MemoryBuckets, before: Callable[[str, str], None] = lambda call, key: None) -> int:
    objects = Meddled(MemoryObjects(buckets, NEW), before)
    return RegionBackfill(joining(objects), [FIRST, SECOND]).run(lambda progress: None)


def log(region: str, *numbers: int) -> list[str]:
    return [f"{region}/log/memstore_1/9f2c/0001-0.{number:010d}" for number in numbers]


def test_every_object_of_every_prefix_comes_with_its_body_and_metadata(buckets: MemoryBuckets) -> None:
    put(buckets, FIRST, *log(FIRST, *range(1, 9)), f"{FIRST}/store/memstore_1/0001-0.0000000001")
    put(buckets, SECOND, *log(SECOND, 1, 2), f"{SECOND}/key/wrkspc_1/key_1/1")
    assert fill(buckets) == 12
    assert keys(buckets, NEW) == sorted(keys(buckets, FIRST) + keys(buckets, SECOND))
    for key in keys(buckets, NEW):
        assert buckets.current(NEW, key) == buckets.current(key.partition("/")[0], key)


def test_a_prefix_is_copied_from_its_home_which_alone_is_sure_to_have_all_of_it(buckets: MemoryBuckets) -> None:
    put(buckets, SECOND, *log(SECOND, 1, 2, 3))
    put(buckets, FIRST, *log(SECOND, 1))
    assert fill(buckets) == 3
    assert keys(buckets, NEW) == log(SECOND, 1, 2, 3)


def test_what_a_region_wrote_that_has_left_comes_from_whoever_has_it(buckets: MemoryBuckets) -> None:
    put(buckets, FIRST, *log(GONE, 1, 2))
    put(buckets, SECOND, *log(GONE, 2, 3))
    assert fill(buckets) == 3
    assert keys(buckets, NEW) == log(GONE, 1, 2, 3)


def test_what_it_wrote_itself_in_an_earlier_life_comes_back(buckets: MemoryBuckets) -> None:
    put(buckets, FIRST, *log(NEW, 1, 2))
    assert fill(buckets) == 2
    assert keys(buckets, NEW) == log(NEW, 1, 2)


def test_what_is_local_stays_where_it_is(buckets: MemoryBuckets) -> None:
    put(buckets, FIRST, "local/notes", *log(FIRST, 1))
    assert fill(buckets) == 1
    assert keys(buckets, NEW) == log(FIRST, 1)


def test_run_again_it_copies_nothing(buckets: MemoryBuckets) -> None:
    put(buckets, FIRST, *log(FIRST, 1, 2, 3, 4))
    fill(buckets)
    calls: list[str] = []
    assert fill(buckets, lambda call, key: calls.append(call)) == 0
    assert set(calls) == {"list"}


def test_stopped_halfway_it_is_taken_up_where_it_stopped(buckets: MemoryBuckets) -> None:
    put(buckets, FIRST, *log(FIRST, *range(1, 7)))

    def stop_at_the_fourth(call: str, key: str) -> None:
        if call == "put" and key == log(FIRST, 4)[0]:
            raise port_errors.Unavailable("no answer")

    with pytest.raises(Unavailable, match="no answer"):
        fill(buckets, stop_at_the_fourth)
    assert keys(buckets, NEW) == log(FIRST, 1, 2, 3)
    assert fill(buckets) == 3


def test_what_replication_brings_first_is_left_alone(buckets: MemoryBuckets) -> None:
    put(buckets, FIRST, *log(FIRST, 1))

    def arrives(call: str, key: str) -> None:
        if call == "put" and buckets.current(NEW, key) is None:
            put(buckets, NEW, key)

    assert fill(buckets, arrives) == 0
    assert len(buckets.versions(NEW, log(FIRST, 1)[0])) == 1


def test_what_is_put_at_home_after_the_listing_comes_with_the_next_pass(buckets: MemoryBuckets) -> None:
    put(buckets, FIRST, *log(FIRST, 2))

    def meanwhile(call: str, key: str) -> None:
        if call == "put" and key == log(FIRST, 2)[0]:
            put(buckets, FIRST, *log(FIRST, 1, 3))

    assert fill(buckets, meanwhile) == 3
    assert keys(buckets, NEW) == log(FIRST, 1, 2, 3)


@pytest.mark.parametrize("error", [port_errors.Contended("409"), port_errors.OutcomeUnknown("reset")])
def test_an_undecided_copy_is_put_again(buckets: MemoryBuckets, error: Exception) -> None:
    put(buckets, FIRST, *log(FIRST, 1))
    struck: list[str] = []

    def strike_once(call: str, key: str) -> None:
        if call == "put" and not struck:
            struck.append(key)
            raise error

    fill(buckets, strike_once)
    assert keys(buckets, NEW) == log(FIRST, 1)


def test_a_region_backfill_does_not_go_on_for_ever(buckets: MemoryBuckets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_backfill, "PASSES_MAX", 3)
    put(buckets, FIRST, *log(FIRST, 1))

    def never(call: str, key: str) -> None:
        if call == "put":
            put(buckets, FIRST, *log(FIRST, len(keys(buckets, FIRST)) + 1))

    with pytest.raises(Unavailable, match="after 3 passes"):
        fill(buckets, never)


def test_progress_says_what_is_copied_and_whence(buckets: MemoryBuckets) -> None:
    put(buckets, FIRST, *log(FIRST, 1))
    said: list[Progress] = []
    RegionBackfill(joining(MemoryObjects(buckets, NEW)), [FIRST, SECOND]).run(said.append)
    assert Progress(1, FIRST, FIRST, 1) in said
    assert said[-1] == Progress(2, FIRST, FIRST, 1)
