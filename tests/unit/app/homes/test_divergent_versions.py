"""Versions that a lost home had not replicated: listed, restored by a write, or dismissed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.kernel.results import DivergentVersion, RequestContext
from memolith.core.errors import NotFound, OutcomeUnknown, PermissionDenied, PreconditionFailed
from tests.unit.app.failing import diverged, fail_over, hold_back
from tests.unit.app.homes.late_versions import THIRD, late, rename_late
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture
def scene() -> Scene:
    return Scene(regions=(HOME, AWAY, THIRD))


def divergent(scene: Scene, region: str) -> list[DivergentVersion]:
    """What a region lists, a page at a time."""
    found, after = list[DivergentVersion](), None
    while True:
        page = scene.at(region).divergent.page(scene.call(), scene.store, limit=1, after=after)
        found += page.items
        if page.next_after is None:
            return found
        after = page.next_after


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


def test_an_empty_divergent_version_is_restored_over_a_text_that_is_damaged(scene: Scene) -> None:
    memory, lost = diverged(scene, "")
    for region in (HOME, AWAY, THIRD):
        for key, body in scene.objects(region):
            whole = scene.cloud.buckets.current(region, key)
            if body == b"ours" and whole is not None:
                scene.cloud.buckets.damage(region, key, replace(whole, body=b"altered"))
    restored = scene.at(AWAY).divergent.restore(scene.call(), scene.store, lost.version_id, full=True)
    assert restored is not None
    assert (restored.id, restored.content) == (memory.id, "")


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


def test_what_was_renamed_since_it_was_looked_at_is_neither_deleted_nor_renamed_by_a_divergent_version(
    scene: Scene,
) -> None:
    doomed, moved = scene.create("/doomed", "text"), scene.create("/moved", "other text")
    scene.deliver()
    scene.delete(doomed)
    scene.update(moved, path="/theirs")
    held = hold_back(scene)
    fail_over(scene)
    for memory in (doomed, moved):
        scene.update(memory, f"ours at {memory.path}", at=AWAY)
    scene.cloud.pending.extend(held)
    scene.deliver()
    scene.update(doomed, path="/kept", at=AWAY)
    scene.update(moved, path="/mine", at=AWAY)
    for one in divergent(scene, THIRD):
        with pytest.raises(PreconditionFailed):
            scene.at(THIRD).divergent.restore(scene.call(), scene.store, one.version_id, full=False)
    assert scene.paths(at=AWAY) == ["/kept", "/mine"]


def test_a_divergent_rename_is_restored_with_its_path(scene: Scene) -> None:
    rename_late(scene)
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
