"""A store holds so many memories and no more; nobody is refused below that."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import CallCounts, Crash, Fault, Strike
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.rows.content import PathRow
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture
def scene() -> Scene:
    return Scene(memories_per_store=3)


def fill(scene: Scene, count: int = 3, at: str = HOME) -> None:
    for number in range(count):
        scene.create(f"/n/{number}", at=at)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_the_cap_is_reached_and_not_passed(scene: Scene, region: str) -> None:
    fill(scene, at=region)
    with pytest.raises(InvalidRequest, match="limit"):
        scene.create("/n/more", at=region)
    assert len(scene.paths(at=region)) == 3
    assert len(scene.log_keys()) == 3


def test_what_is_there_can_be_changed_and_moved_in_a_full_store(scene: Scene) -> None:
    fill(scene)
    first = scene.page().items[0]
    assert scene.update(str(getattr(first, "id", "")), "changed", path="/moved").path == "/moved"


def test_there_is_room_again_once_a_memory_is_gone(scene: Scene) -> None:
    fill(scene)
    gone = scene.create_store("other")  # another store has room of its own
    scene.create("/x", store=gone.id)
    with pytest.raises(InvalidRequest):
        scene.create("/n/more")
    scene.delete(scene.page().items[0].id)  # type: ignore[union-attr]  # a memory, and no folder
    assert scene.create("/n/more").path == "/n/more"


def test_a_path_that_is_held_is_told_as_that_in_a_full_store_too(scene: Scene) -> None:
    """Which memory is in the way helps the caller more than the cap does."""
    fill(scene)
    with pytest.raises(Exception, match="held by another memory"):
        scene.create("/n/0")


def test_a_claim_that_was_left_behind_fills_nothing(scene: Scene) -> None:
    fill(scene, 2)
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, "objects.put_if_absent")):
        scene.create("/claimed")
    assert scene.create("/n/third").path == "/n/third"
    with pytest.raises(InvalidRequest):
        scene.create("/n/fourth")


def test_far_from_the_cap_one_count_serves_a_minute() -> None:
    scene = Scene(memories_per_store=1_000)
    counts = CallCounts()
    with scene.intercepted_by(counts):
        fill(scene, 20)
        assert counts.calls["index.count"] == 1
        scene.clock.advance(61)
        scene.create("/later")
        assert counts.calls["index.count"] == 2


@pytest.mark.slow
def test_a_writer_fills_a_store_with_few_counts() -> None:
    scene = Scene(memories_per_store=400)
    counts = CallCounts()
    with scene.intercepted_by(counts):
        fill(scene, 400)
        with pytest.raises(InvalidRequest):
            scene.create("/one-more")
    assert counts.calls["index.count"] < 80


def test_near_the_cap_a_count_serves_a_sixteenth_of_the_room_that_is_left() -> None:
    """A count reads the whole store: one with each creation would cost a large store seconds."""
    scene = Scene(memories_per_store=2_000)
    index = scene.cloud.sites[HOME].region.index
    for number in range(1_840):
        row = PathRow(store_id=scene.store, path=f"/there/{number}", memory_id=f"mem_{number}")
        index.commit([Change(PathRow.key(scene.store, row.path), None, row.to_attributes())])
    counts = CallCounts()
    with scene.intercepted_by(counts):
        fill(scene, 10 + 9 + 8)  # of 160 left, of 150, of 141
    assert counts.calls["index.count"] == 3


def test_at_the_cap_every_creation_counts() -> None:
    scene = Scene(memories_per_store=10)
    fill(scene, 9)
    counts = CallCounts()
    with scene.intercepted_by(counts):
        scene.create("/tenth")
        with pytest.raises(InvalidRequest):
            scene.create("/eleventh")
    assert counts.calls["index.count"] == 2


def test_writers_that_each_keep_a_count_of_their_own_do_not_pass_the_cap() -> None:
    """Each creates no more than its share of the room that it found; here three processes take turns."""
    scene = Scene(memories_per_store=40)
    quota = scene.at(HOME).memories._writer._creation._quota
    processes: list[dict[str, tuple[int, int]]] = [{}, {}, {}]
    with pytest.raises(InvalidRequest, match="limit"):
        for number in range(100):
            quota._shares = processes[number % 3]
            scene.create(f"/m/{number}")
    assert len(scene.paths()) == 40


def test_a_count_that_fails_refuses_nothing_for_good(scene: Scene) -> None:
    with scene.struck_by(Strike(Fault.REFUSED, "index.count")), pytest.raises(Unavailable):
        scene.create("/a")
    assert scene.create("/a").path == "/a"
