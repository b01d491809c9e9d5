"""A damaged text is restored from whatever copy is whole, and a repair brings back nothing that was erased."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memolith.app.kernel.results import Memory
from memolith.core.errors import Damaged
from memolith.core.objects.entry import Entry
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from memolith.ports.objects import StoredObject
from tests.unit.app.scene import AWAY, HOME, Scene

TRUE, FALSE = "the true text", "a false text"
CHANGES: dict[str, Callable[[StoredObject], StoredObject | None]] = {
    "altered": lambda found: replace(found, body=FALSE.encode(), size_bytes=len(FALSE)),
    "truncated": lambda found: replace(found, body=b"", size_bytes=0),
    "replaced": lambda found: replace(found, metadata={**found.metadata, "id": "memver_" + "0" * 26}),
    "unreadable": lambda found: replace(found, metadata={}),
    "missing": lambda found: None,
}


@pytest.fixture
def memory(scene: Scene) -> Memory:
    scene.create("/other", "another text")
    made = scene.create("/a", TRUE)
    scene.deliver()
    return made


def key_of(scene: Scene, memory: Memory) -> str:
    [key] = [str(one.key) for one in scene.entries(HOME) if one.version_id == memory.version_id]
    return key


def damage(scene: Scene, key: str, change: Callable[[StoredObject], StoredObject | None], *regions: str) -> None:
    for region in regions:
        found = scene.cloud.buckets.current(region, key)
        assert found is not None
        scene.cloud.buckets.damage(region, key, change(found))


def repair(scene: Scene, at: str, store: str | None = None, **more: Any) -> list[dict[str, Any]]:
    """Every page of a region's repair, as the command asks for them."""
    found: list[dict[str, Any]] = []
    place: Any = None
    while True:
        page = scene.cloud.peers.call(at, "eraser", {"call": "repair.page", "store_id": store, "at": place, **more})
        found += page["damaged"]
        place = page["next"]
        if place is None:
            scene.deliver()
            return found


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_damaged_object_is_restored_byte_for_byte_from_the_other_region(
    scene: Scene, memory: Memory, change: Callable[[StoredObject], StoredObject | None], at: str
) -> None:
    key = key_of(scene, memory)
    before = scene.cloud.buckets.current(HOME, key)
    damage(scene, key, change, at)
    [looked] = repair(scene, at, look_only=True)
    assert (looked["key"], looked["version_id"], looked["outcome"]) == (key, memory.version_id, "damaged")
    [done] = repair(scene, at)
    assert done["outcome"] == "repaired"
    assert scene.cloud.buckets.current(at, key) == before
    assert len(scene.cloud.buckets.versions(at, key)) == 1
    assert repair(scene, HOME) == repair(scene, AWAY) == []


@pytest.mark.parametrize("foreign", ["", "0-x", "0-x and a thousand more"])
def test_objects_among_the_records_of_stores_hide_no_store_from_a_repair(
    scene: Scene, memory: Memory, foreign: str
) -> None:
    damage(scene, key_of(scene, memory), CHANGES["altered"], HOME)
    for number in range(1_100 if foreign.endswith("more") else 1):
        scene.cloud.sites[HOME].region.objects.put_if_absent(f"{HOME}/store/{foreign[:3]}{number or ''}", b"", {})
    scene.drop_events()
    assert [one["version_id"] for one in repair(scene, HOME, look_only=True)] == [memory.version_id]


def test_an_older_version_in_the_same_bucket_is_a_whole_copy(scene: Scene, memory: Memory) -> None:
    key = key_of(scene, memory)
    whole = scene.cloud.buckets.current(HOME, key)
    assert whole is not None
    altered = replace(whole, body=FALSE.encode(), size_bytes=len(FALSE))
    damage(scene, key, CHANGES["altered"], AWAY)
    scene.cloud.buckets.put(HOME, altered, only_if_absent=False)
    scene.drop_events()
    [done] = repair(scene, HOME)
    assert done["outcome"] == "repaired"
    assert [one.object for one in scene.cloud.buckets.versions(HOME, key)] == [whole]


def test_the_search_pack_has_a_whole_text_where_no_other_copy_is_left(scene: Scene, memory: Memory) -> None:
    key = key_of(scene, memory)
    assert "error" not in scene.cloud.peers.call(HOME, "packer", {"call": "pack", "store_id": scene.store})
    damage(scene, key, CHANGES["altered"], HOME, AWAY)
    assert [one["outcome"] for one in repair(scene, HOME)] == ["repaired"]
    assert scene.read(memory, at=HOME).content == TRUE


def test_without_a_whole_copy_nothing_is_changed_and_it_says_so(scene: Scene, memory: Memory) -> None:
    key = key_of(scene, memory)
    damage(scene, key, CHANGES["altered"], HOME, AWAY)
    assert [one["outcome"] for one in repair(scene, HOME)] == ["no whole copy"]
    found = scene.cloud.buckets.current(HOME, key)
    assert found is not None
    assert found.body == FALSE.encode()
    with pytest.raises(Damaged):
        scene.read(memory)


def test_only_the_store_that_was_named_is_looked_at(scene: Scene, memory: Memory) -> None:
    damage(scene, key_of(scene, memory), CHANGES["altered"], HOME)
    other = scene.create_store("other").id
    assert repair(scene, HOME, other) == []
    assert len(repair(scene, HOME, scene.store, look_only=True)) == 1


def test_a_text_that_is_erased_while_it_is_repaired_stays_erased(scene: Scene, memory: Memory) -> None:
    """The order comes between the look at the damaged object and the put over it."""
    scene.update(memory, "a new text")
    scene.deliver()
    key = key_of(scene, memory)
    damage(scene, key, CHANGES["altered"], HOME)
    redacted = False

    def redact_first(call: Any, act: Callable[[], Any]) -> Any:
        nonlocal redacted
        if call.name == "objects.get" and key in call.subjects and call.target == AWAY and not redacted:
            redacted = True
            found = act()
            scene.redact(memory.version_id)
            return found
        return act()

    with scene.intercepted_by(redact_first):
        [done] = repair(scene, HOME)
    assert redacted
    assert done["outcome"] == "repaired"
    scene.deliver()
    for region in (HOME, AWAY):
        assert [one.blank for one in scene.entries(region) if one.version_id == memory.version_id] == [True]
        for version in scene.cloud.buckets.versions(region, key):
            assert TRUE.encode() not in version.object.body
    assert all(isinstance(one, Entry) for one in scene.entries())


def test_a_blank_of_another_region_is_no_whole_copy(scene: Scene, memory: Memory) -> None:
    scene.update(memory, "a new text")
    scene.deliver()
    key = key_of(scene, memory)
    found = scene.cloud.buckets.current(AWAY, key)
    assert found is not None
    [entry] = [one for one in scene.entries(AWAY) if one.version_id == memory.version_id]
    blank = replace(found, body=b"", metadata=entry.blanked().to_metadata(), size_bytes=0)
    damage(scene, key, lambda _: blank, AWAY)
    damage(scene, key, CHANGES["altered"], HOME)
    assert [one["outcome"] for one in repair(scene, HOME)] == ["no whole copy"]


def test_a_store_that_a_region_does_not_have_is_not_found_rather_than_whole(scene: Scene, memory: Memory) -> None:
    """A mistyped id looked at nothing, which was told as that nothing is damaged."""
    for store in ("memstore_useast1_01m32510vgpzchz383xe24nrdm", scene.store):
        if store == scene.store:
            scene.at(HOME).stores.delete(scene.call(), store)
        payload = {"call": "repair.page", "store_id": store, "at": None}
        error = scene.cloud.peers.call(HOME, "eraser", payload)["error"]
        assert (error["type"], error["message"]) == ("NotFound", f"memory_store {store} was not found")


def test_an_index_that_is_not_complete_is_no_authority(scene: Scene, memory: Memory) -> None:
    change = Change(ControlRow.KEY, None, ControlRow(serving=1, complete=False).to_attributes(), unconditional=True)
    scene.cloud.sites[HOME].region.index.commit([change])
    payload = {"call": "repair.page", "store_id": None, "at": None}
    assert scene.cloud.peers.call(HOME, "eraser", payload)["error"]["type"] == "Unavailable"
