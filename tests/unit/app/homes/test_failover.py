"""A region takes over stores whose home answers nothing; what the old home had not replicated is kept apart; ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Crash, Fault, Strike
from memolith.app.kernel.results import DivergentVersion, RequestContext
from memolith.app.operations import operator
from memolith.core.commands import ImportedVersion
from memolith.core.errors import NotFound, OutcomeUnknown, PermissionDenied, PreconditionFailed
from memolith.core.rows.content import VersionRow
from memolith.ports import errors
from tests.unit.app.failing import diverged, fail_over, hold_back
from tests.unit.app.scene import AWAY, HOME, Scene

THIRD = "ap-south-1"
T = TypeVar("T")


@pytest.fixture
def scene() -> Scene:
    return Scene(regions=(HOME, AWAY, THIRD))


def move(scene: Scene, to: str) -> None:
    answer = scene.cloud.peers.call(to, "reconciler", {"call": "homes.move", "store_id": scene.store})
    assert answer.get("state") == "moved", answer


def late(scene: Scene, region: str) -> list[str]:
    """The ids of the versions that stand apart in a region."""
    rows = scene.cloud.rows(region, "versions").items()
    return [VersionRow.from_attributes(row).version_id for (_, sk), row in rows if sk.startswith("late#")]


def divergent(scene: Scene, region: str) -> list[DivergentVersion]:
    """What a region lists, a page at a time."""
    found, after = list[DivergentVersion](), None
    while True:
        page = scene.at(region).divergent.page(scene.call(), scene.store, limit=1, after=after)
        found += page.items
        if page.next_after is None:
            return found
        after = page.next_after


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
    memory = scene.create("/a", "one")
    scene.deliver()
    scene.update(memory, path="/b")
    held = hold_back(scene)
    fail_over(scene)
    scene.cloud.pending.extend(held)
    scene.deliver()
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


# ---- divergent versions ---------------------------------------------------------------------------------------------


def test_a_divergent_version_is_listed_and_shown_beside_what_there_is_now(scene: Scene) -> None:
    memory, lost = diverged(scene)
    for region in (HOME, AWAY, THIRD):
        [listed] = divergent(scene, region)
        assert (listed.version_id, listed.memory_id, listed.path) == (lost.version_id, memory.id, "/a")
        shown = scene.at(region).divergent.retrieve(scene.call(), scene.store, lost.version_id)
        assert shown.content == "theirs"
        assert shown.current is not None and shown.current.content == "ours"


@pytest.mark.parametrize("region", [HOME, AWAY, THIRD])
def test_a_divergent_version_is_restored_by_a_write_and_listed_no_more(scene: Scene, region: str) -> None:
    memory, lost = diverged(scene)
    restored = scene.at(region).divergent.restore(scene.call(), scene.store, lost.version_id, full=True)
    assert restored is not None and restored.content == "theirs"
    assert divergent(scene, region) == []
    scene.deliver()
    for where in (HOME, AWAY, THIRD):
        assert scene.read(memory, at=where).version_id == restored.version_id
        assert divergent(scene, where) == []


@pytest.mark.parametrize("region", [HOME, AWAY, THIRD])
def test_a_dismissed_version_is_erased_everywhere(scene: Scene, region: str) -> None:
    memory, lost = diverged(scene)
    scene.at(region).divergent.dismiss(scene.call(), scene.store, lost.version_id)
    assert divergent(scene, region) == []
    scene.deliver()
    for where in (HOME, AWAY, THIRD):
        assert scene.read(memory, at=where).content == "ours"
        assert not any(b"theirs" in body for body in scene.bodies(where))
        assert late(scene, where) != [], "its place stays, without its text"
        assert divergent(scene, where) == []


def test_what_was_written_since_it_was_looked_at_is_not_restored_over(scene: Scene) -> None:
    memory, lost = diverged(scene)
    scene.update(memory, "newer", at=AWAY)
    with pytest.raises(PreconditionFailed):
        scene.at(THIRD).divergent.restore(scene.call(), scene.store, lost.version_id, full=False)
    scene.deliver()
    assert scene.read(memory, at=THIRD).content == "newer"
    assert [one.version_id for one in divergent(scene, THIRD)] == [lost.version_id]


def test_a_divergent_rename_is_restored_with_its_path(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    scene.update(memory, path="/b")
    held = hold_back(scene)
    fail_over(scene)
    scene.cloud.pending.extend(held)
    scene.deliver()
    [renamed] = divergent(scene, THIRD)
    scene.at(THIRD).divergent.restore(scene.call(), scene.store, renamed.version_id, full=False)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.paths(at=region) == ["/b"]


def test_a_divergent_deletion_is_restored_as_one_and_a_memory_that_is_gone_is_made_anew(scene: Scene) -> None:
    memory, doomed = scene.create("/a", "one"), scene.create("/doomed", "text")
    scene.deliver()
    scene.update(memory, "theirs")
    scene.delete(doomed)
    held = hold_back(scene)
    fail_over(scene)
    scene.delete(memory, at=AWAY)
    scene.update(doomed, "still here", at=AWAY)
    scene.cloud.pending.extend(held)
    scene.deliver()
    for one in divergent(scene, THIRD):
        restored = scene.at(THIRD).divergent.restore(scene.call(), scene.store, one.version_id, full=True)
        assert (restored is None) == (one.operation == "deleted")
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.paths(at=region) == ["/a"]
        assert divergent(scene, region) == []


def test_a_version_that_was_restored_and_not_dismissed_is_told_as_such_and_may_be_restored_again(scene: Scene) -> None:
    memory, lost = diverged(scene)
    down = Strike(Fault.REFUSED, "objects.put_if_absent", 2)
    with pytest.raises(OutcomeUnknown), scene.struck_by(down):
        scene.at(AWAY).divergent.restore(scene.call(), scene.store, lost.version_id, full=False)
    scene.at(AWAY).divergent.restore(scene.call(), scene.store, lost.version_id, full=False)
    assert scene.history(memory, at=AWAY) == ["modified", "modified", "created"]
    assert divergent(scene, AWAY) == []


@pytest.mark.parametrize("scope", ["read", "write"])
def test_below_admin_and_for_others_there_is_nothing_divergent(scene: Scene, scope: str) -> None:
    _, lost = diverged(scene)
    stranger, clerk = scene.cloud.key("admin", "wrkspc_other"), scene.cloud.key(scope)
    cases, store = scene.at(AWAY).divergent, scene.store
    asks: list[Callable[[RequestContext], object]] = [
        lambda call: cases.page(call, store, limit=9, after=None),
        lambda call: cases.retrieve(call, store, lost.version_id),
        lambda call: cases.restore(call, store, lost.version_id, full=False),
        lambda call: cases.dismiss(call, store, lost.version_id),
    ]
    for ask in asks:
        with pytest.raises(PermissionDenied):
            ask(scene.call(clerk))
        with pytest.raises(NotFound):
            ask(scene.call(stranger))
    assert len(divergent(scene, AWAY)) == 1


def test_an_operator_moves_fails_over_and_lists_through_a_regions_reconciler(scene: Scene) -> None:
    region = scene.cloud.sites[AWAY].region
    assert [step.state for step in operator.move(region, scene.store)] == ["moved"]
    scene.deliver()
    [home] = operator.homes(region)
    assert (home.store_id, home.home, home.state, len(home.epochs)) == (scene.store, AWAY, "active", 2)
    third = scene.cloud.sites[THIRD].region
    assert [step.state for step in operator.fail_over(third, scene.store, AWAY)] == ["moved"]
    assert [home.home for home in operator.homes(third)] == [THIRD]


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
