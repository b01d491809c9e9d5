"""An admin brings all of a deleted store back, until it is erased."""

from __future__ import annotations

import pytest

from memolith.app.kernel.results import UNSET, Memory
from memolith.core.errors import NotFound, PermissionDenied
from tests.unit.app.erasure.deleted_stores.calls import DAY_S, TEXT, delete, is_erased, let_pass, row, texts
from tests.unit.app.failing import diverged
from tests.unit.app.scene import AWAY, HOME, Scene

THIRD = "ap-south-1"


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_restored_store_is_as_it_was_in_every_region_and_is_never_erased(
    scene: Scene, memory: Memory, at: str
) -> None:
    scene.at(HOME).stores.update(scene.call(), scene.store, name="payroll", description="d", metadata={"a": "b"})
    scene.deliver()
    before = scene.at(HOME).stores.retrieve(scene.call(), scene.store)
    history = [version.id for version in scene.versions(memory_id=memory.id).items]
    delete(scene)
    let_pass(scene, 6)
    restored = scene.at(at).stores.restore(scene.call(), scene.store)
    scene.deliver()
    let_pass(scene, 10)
    assert (restored.name, restored.metadata, restored.created_at) == ("payroll", {"a": "b"}, before.created_at)
    for region in (HOME, AWAY):
        assert scene.read(memory, at=region).content == f"{TEXT} again"
        assert [version.id for version in scene.versions(at=region, memory_id=memory.id).items] == history
        assert row(scene, region).salt == row(scene).salt != ""
    assert scene.update(memory, "goes on", at=at).path == "/a"


def test_restoring_again_or_what_was_never_deleted_changes_nothing(scene: Scene, memory: Memory) -> None:
    before = scene.objects()
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    assert scene.objects() == before
    delete(scene)
    once = scene.at(HOME).stores.restore(scene.call(), scene.store)
    assert scene.at(HOME).stores.restore(scene.call(), scene.store) == once


@pytest.mark.parametrize(("left", "second"), [((HOME, THIRD), THIRD), ((HOME,), None)])
def test_a_restored_store_whose_second_region_was_removed_has_the_next_one(
    left: tuple[str, ...], second: str | None
) -> None:
    scene = Scene(regions=(HOME, AWAY, THIRD), erase_delay_us=int(7 * DAY_S) * 1_000_000)
    kept: dict[str, object] = {"name": UNSET, "description": UNSET, "metadata": UNSET}
    scene.at(HOME).stores.update(scene.call(), scene.store, **kept, durability="two_regions", second_region=AWAY)
    delete(scene)
    scene.cloud.sites[HOME].region.regions = left
    assert scene.at(HOME).stores.restore(scene.call(), scene.store).second_region == second
    assert scene.create("/goes/on", "one").path == "/goes/on"


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_who_comes_too_late_is_told_so(scene: Scene, memory: Memory, at: str) -> None:
    delete(scene)
    let_pass(scene, 7)
    with pytest.raises(NotFound, match="erasure has begun"):
        scene.at(at).stores.restore(scene.call(), scene.store)
    assert is_erased(scene, HOME) and is_erased(scene, AWAY)


def test_only_an_admin_of_the_workspace_restores(scene: Scene, memory: Memory) -> None:
    delete(scene)
    with pytest.raises(PermissionDenied):
        scene.at(HOME).stores.restore(scene.call(scene.cloud.key("write")), scene.store)
    with pytest.raises(NotFound):
        scene.at(HOME).stores.restore(scene.call(scene.cloud.key("admin", "wrkspc_other")), scene.store)
    with pytest.raises(NotFound):
        scene.at(HOME).stores.restore(scene.call(), "memstore_unknown")
    assert row(scene).is_deleted


def test_a_store_that_is_deleted_again_waits_anew(scene: Scene, memory: Memory) -> None:
    delete(scene)
    let_pass(scene, 6)
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    delete(scene)
    let_pass(scene, 6)
    assert len(texts(scene, HOME)) == 2, "the first deletion's time is over, and it was taken back"
    let_pass(scene, 1)
    assert is_erased(scene, HOME)


def test_an_archived_store_comes_back_archived(scene: Scene, memory: Memory) -> None:
    archived = scene.at(HOME).stores.archive(scene.call(), scene.store).archived_at
    delete(scene)
    assert [one.archived_at for one in scene.stores(deleted=True).items] == [archived]
    assert scene.at(HOME).stores.restore(scene.call(), scene.store).archived_at == archived


def test_divergent_versions_come_back_too(scene: Scene) -> None:
    _, lost = diverged(scene)
    delete(scene, at=AWAY)
    let_pass(scene, 3)
    scene.at(AWAY).stores.restore(scene.call(), scene.store)
    scene.deliver()
    for region in (HOME, AWAY):
        found = scene.at(region).divergent.page(scene.call(), scene.store, limit=9, after=None)
        assert [one.version_id for one in found.items] == [lost.version_id]


def test_a_verdict_on_a_deleted_stores_text_holds_once_it_is_restored(scene: Scene, memory: Memory) -> None:
    head = scene.read(memory)
    delete(scene)
    scene.judge(head)
    scene.deliver()
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    scene.deliver()
    reader = scene.cloud.key("read")
    for region in (HOME, AWAY):
        assert scene.read(memory, at=region, key=reader).withheld is not None


def test_a_redaction_that_was_under_way_is_carried_out_in_a_deleted_store(scene: Scene, memory: Memory) -> None:
    scene.redact(memory.version_id)
    delete(scene)
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    scene.deliver()
    assert len(texts(scene, HOME)) == len(texts(scene, AWAY)) == 1


def test_retention_goes_on_in_a_deleted_store(scene: Scene, memory: Memory) -> None:
    gone = scene.create("/gone", f"{TEXT} gone")
    scene.delete(gone)
    scene.deliver()
    scene.clock.advance(28 * DAY_S)
    delete(scene)
    let_pass(scene, 3)
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    scene.deliver()
    assert [one.content for one in scene.versions(memory_id=gone.id, full=True).items] == [None, None]
    assert scene.read(memory).content == f"{TEXT} again"


def test_a_key_that_is_limited_to_other_stores_restores_none(scene: Scene) -> None:
    delete(scene)
    other = scene.store[:-1] + ("0" if scene.store[-1] != "0" else "1")
    limited = scene.cloud.key("admin", stores=[other])
    with pytest.raises(NotFound):
        scene.at(HOME).stores.restore(scene.call(limited), scene.store)
    assert row(scene).is_deleted
