"""A region takes over stores whose home answers nothing; what the old home had not replicated is kept apart; ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Crash, Fault, Strike
from memolith.app.operations import operator
from memolith.core.commands import ImportedVersion
from memolith.ports import errors
from tests.unit.app.failing import fail_over, hold_back
from tests.unit.app.homes.late_versions import THIRD, late, rename_late
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")


@pytest.fixture
def scene() -> Scene:
    return Scene(regions=(HOME, AWAY, THIRD))


def move(scene: Scene, to: str) -> None:
    answer = scene.cloud.peers.call(to, "reconciler", {"call": "homes.move", "store_id": scene.store})
    assert answer.get("state") == "moved", answer


class Dead:
    """While a region answers nothing: what is asked of it is refused, and noted."""

    def __init__(self, region: str) -> None:
        self._region = region
        self.asked: list[str] = []

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        if call.target == self._region:
            self.asked.append(call.name)
            raise errors.Unavailable("dead on purpose")
        return act()


def test_no_call_goes_to_the_region_that_is_gone(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    dead = Dead(HOME)
    with scene.intercepted_by(dead):
        assert fail_over(scene)["state"] == "moved"
        scene.update(memory, "two", at=AWAY)
    assert dead.asked == []


def test_what_had_been_replicated_is_there_and_is_written_on(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.create("/b", "text")
    scene.deliver()
    fail_over(scene)
    scene.update(memory, "two", at=AWAY)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.read(memory, at=region).content == "two"
        assert scene.paths(at=region) == ["/a", "/b"]
        assert scene.cloud.rows(region, "memories") == scene.cloud.rows(AWAY, "memories")


def test_the_old_home_acknowledges_nothing_once_it_has_seen_the_new_epoch(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    fail_over(scene)
    scene.deliver()
    updated = scene.update(memory, "two", at=HOME)
    assert updated.version_id in [version.id for version in scene.versions(at=AWAY, memory_id=memory.id).items]


def test_what_came_late_is_never_head_and_stands_apart_in_every_region(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    lost = scene.update(memory, "only at the old home")
    fresh = scene.create("/only-there", "new")
    held_back = list(scene.cloud.pending)
    scene.cloud.pending.clear()
    fail_over(scene)
    kept = scene.update(memory, "at the new home", at=AWAY)
    scene.create("/only-there", "somebody else's", at=AWAY)
    scene.cloud.pending.extend(held_back)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.read(memory, at=region).version_id == kept.version_id
        assert sorted(late(scene, region)) == sorted([lost.version_id, fresh.version_id])
        assert [version.id for version in scene.versions(at=region, memory_id=memory.id).items] == [
            kept.version_id,
            memory.version_id,
        ]
        assert scene.cloud.rows(region, "memories") == scene.cloud.rows(AWAY, "memories")
        assert scene.cloud.rows(region, "paths") == scene.cloud.rows(AWAY, "paths")


@pytest.mark.parametrize("puts", [1, 2, 9, 17, 18])
def test_a_fail_over_that_stopped_anywhere_is_finished_by_the_next(scene: Scene, puts: int) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, "objects.put_if_absent", puts)):
        fail_over(scene)
    fail_over(scene)
    scene.update(memory, "two", at=AWAY)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.read(memory, at=region).content == "two"


def test_two_who_fail_over_to_two_places_end_the_same_everywhere(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    fail_over(scene, AWAY)
    fail_over(scene, THIRD)
    scene.update(memory, "in eu", at=AWAY)
    scene.update(memory, "in ap", at=THIRD)
    scene.deliver()
    contents = {scene.read(memory, at=region).content for region in (HOME, AWAY, THIRD)}
    homes = {scene.cloud.rows(region, "stores")[scene.store, "record"]["home"] for region in (HOME, AWAY, THIRD)}
    assert len(contents) == len(homes) == 1
    assert {len(late(scene, region)) for region in (HOME, AWAY, THIRD)} == {1}
    assert scene.cloud.rows(HOME, "memories") == scene.cloud.rows(AWAY, "memories")


def test_the_old_region_is_the_home_again_after_one_command(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    fail_over(scene)
    scene.update(memory, "two", at=AWAY)
    move(scene, HOME)
    scene.update(memory, "three", at=THIRD)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.read(memory, at=region).content == "three"


def test_an_operator_moves_fails_over_and_lists_through_a_regions_reconciler(scene: Scene) -> None:
    region = scene.cloud.sites[AWAY].region
    assert [step.state for step in operator.move(region, scene.store)] == ["moved"]
    scene.deliver()
    [home] = operator.homes(region)
    assert (home.store_id, home.home, home.state, len(home.epochs)) == (scene.store, AWAY, "active", 2)
    third = scene.cloud.sites[THIRD].region
    assert [step.state for step in operator.fail_over(third, scene.store, AWAY)] == ["moved"]
    assert [home.home for home in operator.homes(third)] == [THIRD]


# ---- adoption -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backwards", [False, True])
def test_what_came_late_is_adopted_where_nobody_has_written_since(scene: Scene, backwards: bool) -> None:
    memory = scene.create("/a", "one")
    doomed = scene.create("/doomed", "text")
    scene.deliver()
    second = scene.update(memory, "two")
    third = scene.update(memory, "three")
    fresh = scene.create("/b", "new")
    scene.delete(doomed)
    held = hold_back(scene)
    fail_over(scene)
    scene.deliver()
    scene.cloud.pending.extend(reversed(held) if backwards else held)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert late(scene, region) == []
        assert scene.read(memory, at=region).version_id == third.version_id
        assert scene.read(memory, at=region).content == "three"
        assert scene.read(fresh, at=region).content == "new"
        assert scene.paths(at=region) == ["/a", "/b"]
        assert [version.id for version in scene.versions(at=region, memory_id=memory.id).items] == [
            third.version_id,
            second.version_id,
            memory.version_id,
        ]
        assert scene.cloud.rows(region, "memories") == scene.cloud.rows(AWAY, "memories")


def test_an_adopted_version_is_written_on_and_adopted_only_once(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    scene.update(memory, "two")
    held = hold_back(scene)
    fail_over(scene)
    scene.cloud.pending.extend(held)
    scene.deliver()
    scene.update(memory, "three", at=AWAY)
    scene.cloud.pending.extend(held)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.history(memory, at=region) == ["modified", "modified", "created"]
        assert scene.read(memory, at=region).content == "three"


def test_what_an_archived_store_would_not_take_is_not_adopted(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    scene.update(memory, "two")
    held = hold_back(scene)
    fail_over(scene)
    scene.at(AWAY).stores.archive(scene.call(), scene.store)
    scene.cloud.pending.extend(held)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.read(memory, at=region).content == "one"
        assert len(late(scene, region)) == 1


def test_a_rename_that_came_late_stays_apart_and_its_memory_at_its_source(scene: Scene) -> None:
    rename_late(scene)
    for region in (HOME, AWAY, THIRD):
        assert scene.paths(at=region) == ["/a"]
        assert len(late(scene, region)) == 1


@pytest.mark.parametrize("half", [0, 1])
def test_half_a_rename_that_was_replicated_is_none(scene: Scene, half: int) -> None:
    """Neither at two paths nor at none: the memory stays at its source, and can be written there."""
    memory = scene.create("/a", "one")
    scene.deliver()
    scene.update(memory, path="/b")
    held = hold_back(scene)
    scene.cloud.buckets.replicate(held[half], AWAY)
    fail_over(scene)
    hold_back(scene)
    assert scene.paths(at=AWAY) == ["/a"]
    scene.update(memory, "two", at=AWAY)
    other = scene.create("/b", "else", at=AWAY)
    scene.cloud.pending.extend(held)
    scene.deliver()
    assert scene.read(memory, at=AWAY).content == "two"
    assert scene.read(other, at=AWAY).content == "else"


def test_the_text_of_an_adopted_version_is_erased_wherever_it_stands(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    second = scene.update(memory, "SECRET")
    held = hold_back(scene)
    fail_over(scene)
    scene.cloud.pending.extend(held)
    scene.deliver()
    scene.update(memory, "clean", at=AWAY)
    scene.redact(second.version_id, at=AWAY)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert not any(b"SECRET" in body for body in scene.bodies(region))


def test_a_version_that_was_imported_says_so_also_when_it_came_late(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    told = ImportedVersion(
        memory.id, "memver_01m80gqgrfyn8361t51thggc0e", "modified", "user:user_1", memory.updated_at + 1, "/a", "two"
    )
    scene.cloud.sites[HOME].memolith.imports.import_versions(scene.call(), scene.store, [told])
    held = hold_back(scene)
    fail_over(scene)
    scene.cloud.pending.extend(held)
    scene.deliver()
    for region in (AWAY, THIRD):
        newest, *_ = scene.versions(at=region, memory_id=memory.id).items
        assert (newest.id, newest.created_by, newest.imported) == (told.version_id, told.actor, True)
