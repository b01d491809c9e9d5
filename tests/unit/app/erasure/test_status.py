"""How far an erasure is, of versions that came late too: by the version, and by its memory; ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.app.failing import diverged
from tests.unit.app.scene import AWAY, HOME, Scene

DAY_S = 24 * 3600.0


def status(scene: Scene, region: str, id: str) -> Mapping[str, Any]:
    call = {"call": "erasure.status", "store_id": scene.store, "id": id}
    answer: Mapping[str, Any] = scene.cloud.peers.call(region, "eraser", call)
    return answer


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_divergent_version_is_kept_until_it_is_dismissed_and_erased_then(scene: Scene, region: str) -> None:
    memory, lost = diverged(scene)
    assert status(scene, region, lost.version_id)["state"] == "kept"
    assert status(scene, region, memory.id)["kept"] == 3
    scene.at(AWAY).divergent.dismiss(scene.call(), scene.store, lost.version_id)
    scene.deliver()
    dismissed = status(scene, region, lost.version_id)
    assert (dismissed["state"], dismissed["ordered"], dismissed["erased"]) == ("erased", 1, 1)
    told = status(scene, region, memory.id)
    assert (told["kept"], told["erased"], told["unknown"]) == (2, 1, 0)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_dismissed_version_whose_text_is_still_there_is_pending(scene: Scene, region: str) -> None:
    _, lost = diverged(scene)
    held = {key: scene.cloud.buckets.current(region, key) for key in scene.log_keys(region)}
    [(key, text)] = [(key, one) for key, one in held.items() if one is not None and one.body == b"theirs"]
    scene.at(AWAY).divergent.dismiss(scene.call(), scene.store, lost.version_id)
    scene.deliver()
    scene.cloud.buckets.put(region, text, only_if_absent=False)
    scene.drop_events()
    assert status(scene, region, lost.version_id)["state"] == "pending", key


def test_a_memory_is_not_erased_while_a_divergent_text_of_it_is_undecided(scene: Scene) -> None:
    memory, lost = diverged(scene)
    scene.at(AWAY).stores.update(
        scene.call(), scene.store, name="n", description="", metadata={}, retention={"days": 1, "versions": 1}
    )
    scene.delete(memory, at=AWAY)
    scene.deliver()
    scene.clock.advance(3 * DAY_S)
    for region in (HOME, AWAY):
        scene.cloud.peers.call(region, "eraser", {"call": "sweep"})
    scene.deliver()
    assert b"theirs" in scene.bodies(AWAY) and b"ours" not in scene.bodies(AWAY)
    assert status(scene, AWAY, memory.id)["state"] == "kept"
    scene.at(AWAY).divergent.dismiss(scene.call(), scene.store, lost.version_id)
    scene.deliver()
    assert status(scene, AWAY, memory.id)["state"] == "erased"
