"""A store's home moves: nothing is lost, writers find it, and what the old home has left half done is done; ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call, Crash, Fault, Strike
from memolith.app.kernel.results import Memory
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.operations import operator
from memolith.core.errors import Unavailable
from memolith.core.limits import DRAIN_S
from memolith.core.rows.identity import StoreRow
from memolith.ports import errors
from tests.unit.app.scene import AWAY, HOME, Scene

THIRD = "ap-south-1"
T = TypeVar("T")


@pytest.fixture
def scene() -> Scene:
    return Scene(regions=(HOME, AWAY, THIRD))


def move(scene: Scene, to: str = AWAY) -> dict[str, object]:
    """As an operator asks the new home's reconciler."""
    answer = scene.cloud.peers.call(to, "reconciler", {"call": "homes.move", "store_id": scene.store})
    assert "error" not in answer, answer
    return dict(answer)


def at_the_cut(scene: Scene, decide: Callable[[], object], to: str = AWAY) -> None:
    """Move the store, and decide when everything has been copied, before the old home commits the move."""
    decided = False

    def deciding(call: Call, act: Callable[[], T]) -> T:
        nonlocal decided
        if not decided and call.name == "objects.put_if_absent" and "/cut/" in call.subjects[0]:
            decided = True
            decide()
        return act()

    with scene.intercepted_by(deciding):
        move(scene, to)
    assert decided


def home_of(scene: Scene, region: str) -> str:
    return str(scene.cloud.rows(region, "stores")[scene.store, "record"]["home"])


def test_everything_is_there_after_a_move_whether_or_not_it_had_been_replicated(scene: Scene) -> None:
    kept = scene.create("/a", "one")
    scene.deliver()
    scene.update(kept, "two")
    fresh = scene.create("/b", "new")
    scene.delete(scene.create("/c", "gone"))
    scene.drop_events()
    moved = move(scene)
    assert moved["state"] == "moved"
    assert scene.read(kept, at=AWAY).content == "two"
    assert scene.read(fresh, at=AWAY).content == "new"
    assert scene.paths(at=AWAY) == ["/a", "/b"]
    assert scene.history(kept, at=AWAY) == ["modified", "created"]


@pytest.mark.parametrize("region", [HOME, AWAY, THIRD])
def test_writes_find_the_new_home_wherever_they_land(scene: Scene, region: str) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    move(scene)
    updated = scene.update(memory, "two", at=region)
    created = scene.create("/b", "text", at=region)
    renamed = scene.update(memory, path="/c", at=region)
    scene.deliver()
    for where in (HOME, AWAY, THIRD):
        assert scene.paths(at=where) == ["/b", "/c"]
        assert scene.read(memory, at=where).content == "two"
        assert scene.read(created, at=where).content == "text"
        assert home_of(scene, where) == AWAY
        assert [version.id for version in scene.versions(at=where, memory_id=memory.id).items] == [
            renamed.version_id,
            updated.version_id,
            memory.version_id,
        ]


def test_a_home_moves_back_and_on(scene: Scene) -> None:
    memory = scene.create("/a", "0")
    for number, to in enumerate([AWAY, HOME, THIRD, AWAY], 1):
        move(scene, to)
        scene.update(memory, str(number), at=HOME)
        scene.create(f"/{number}", "x", at=THIRD)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.read(memory, at=region).content == "4"
        assert scene.paths(at=region) == ["/1", "/2", "/3", "/4", "/a"]
        assert len(scene.history(memory, at=region)) == 5
        assert scene.cloud.rows(region, "memories") == scene.cloud.rows(HOME, "memories")


def test_moving_a_store_to_where_it_is_changes_nothing(scene: Scene) -> None:
    assert move(scene, HOME)["state"] == "at home"


def test_a_store_that_is_moving_takes_no_writes_and_a_mover_that_died_is_replaced(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.cloud.peers.call(HOME, "reconciler", {"call": "homes.begin", "store_id": scene.store, "to": AWAY})
    for region in (HOME, THIRD):
        with pytest.raises(Unavailable):
            scene.update(memory, "two", at=region)
    assert scene.read(memory).content == "one"
    other = scene.cloud.peers.call(THIRD, "reconciler", {"call": "homes.move", "store_id": scene.store})
    assert other["error"]["type"] == "Busy"
    assert move(scene)["state"] == "moved"
    assert scene.update(memory, "two").content_sha256


def test_a_move_that_is_given_up_lets_the_home_write_again(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.cloud.peers.call(HOME, "reconciler", {"call": "homes.begin", "store_id": scene.store, "to": AWAY})
    assert move(scene, HOME)["state"] == "at home"
    scene.update(memory, "two")
    assert move(scene)["state"] == "moved"
    assert scene.read(memory, at=AWAY).content == "two"


def test_a_committed_move_whose_mover_died_is_taken_up_by_whoever_writes(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    begun = scene.cloud.peers.call(HOME, "reconciler", {"call": "homes.begin", "store_id": scene.store, "to": AWAY})
    assert begun["slot"]
    strike = Strike(Fault.CRASH_AFTER, "objects.put_if_absent", occurrence=18)
    with pytest.raises(Crash), scene.struck_by(strike):
        move(scene)
    assert home_of(scene, HOME) == HOME, "committed in the log, and in no table"
    scene.deliver()
    assert home_of(scene, AWAY) == AWAY
    scene.update(memory, "two", at=THIRD)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.read(memory, at=region).content == "two"
        assert home_of(scene, region) == AWAY


def test_the_new_home_reuses_a_path_that_was_left(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.update(memory, path="/b")
    move(scene)
    other: Memory = scene.create("/a", "two", at=HOME)
    scene.deliver()
    assert scene.read(other, at=THIRD).content == "two"
    assert scene.paths(at=THIRD) == ["/a", "/b"]


def test_a_mover_that_fails_half_way_is_asked_again_and_the_pause_is_told_from_its_beginning(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    struck = Strike(Fault.REFUSED, "objects.put_if_absent", occurrence=9)
    with scene.struck_by(struck):
        (step,) = operator.move(scene.cloud.sites[AWAY].region, scene.store)
    assert (step.state, struck.fired) == ("moved", True)
    assert step.paused_ms is not None
    assert step.paused_ms >= 2 * DRAIN_S * 1000, "two movers waited, one after the other"
    scene.update(memory, "two")


def test_a_mover_that_never_answers_is_given_up(scene: Scene) -> None:
    asked: list[str] = []

    def silent(call: Call, act: Callable[[], T]) -> T:
        if call.name == "peers.call":
            asked.append(call.target)
            raise errors.Unavailable("dead on purpose")
        return act()

    with scene.intercepted_by(silent), pytest.raises(Unavailable):
        list(operator.move(scene.cloud.sites[AWAY].region, scene.store))
    assert asked == [AWAY] * operator.TRIES


class Paused:
    """Notes what the new home asks of its buckets while the store takes no writes."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._paused = False

    def __call__(self, call: Call, act: Callable[[], T]) -> T:
        if self._paused and call.origin == AWAY and call.name.startswith("objects."):
            self.asked.append(call.name)
        answer = act()
        if call.name == "peers.call" and call.target == HOME:
            self._paused = not self._paused
        return answer


def test_while_writes_pause_only_what_was_written_since_is_read(scene: Scene) -> None:
    for number in range(40):
        scene.create(f"/{number}", "text")
    scene.deliver()
    paused = Paused()
    with scene.intercepted_by(paused):
        assert move(scene)["state"] == "moved"
    assert paused.asked.count("objects.list") == 27, "24 places there, 2 of them here, and the log"
    assert "objects.head" not in paused.asked


def test_a_store_of_more_than_one_page_is_moved_whole(scene: Scene) -> None:
    scene.create("/a", "one")
    scene.deliver()
    sites = scene.cloud.sites
    (first,) = sites[HOME].region.objects.list(f"{HOME}/log/{scene.store}/").keys
    like = sites[HOME].region.objects.get(first)
    log = first.removesuffix("0000000001")
    for sequence in range(2, 1_200):
        metadata = {**like.metadata, "id": f"memver_{sequence:026d}", "gen": str(sequence)}
        for region in (HOME, AWAY) if sequence != 1_100 else (HOME,):
            sites[region].region.objects.put_if_absent(f"{log}{sequence:010d}", like.body, metadata)
    scene.create("/b", "two")
    scene.drop_events()
    moved = move(scene)
    assert moved["state"] == "moved"
    assert moved["copied"] == 3, (
        "the version, the one that was missing among a thousand, and the record that says moving"
    )
    assert scene.paths(at=AWAY) == ["/a", "/b"]
    site, row = sites[AWAY], StoreRow.from_attributes(scene.cloud.rows(AWAY, "stores")[scene.store, "record"])
    assert sorted(slot.sequence for slot in EpochSnapshots(site.region).tails(row).values()) == [1, 1_199]


def test_an_object_that_cannot_be_indexed_keeps_no_store_from_moving(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.create("/a", "one")
    scene.deliver()
    objects = scene.cloud.sites[HOME].region.objects
    (first,) = objects.list(f"{HOME}/log/{scene.store}/").keys
    forged = f"{first[:-10]}{2:010d}"
    objects.put_if_absent(forged, b"one", objects.get(first).metadata)
    scene.drop_events()
    assert move(scene)["state"] == "moved"
    assert scene.paths(at=AWAY) == ["/a"]
    assert [(record.message, vars(record)["key"]) for record in caplog.records if "copied" in record.message] == [
        ("an object that was copied cannot be indexed", forged)
    ]
