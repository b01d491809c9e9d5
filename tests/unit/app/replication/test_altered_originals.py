"""What never came is fetched from its home, if it is there what the home's checkpoint sealed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.adapters.memory import MemoryErasableObjects
from memolith.app.kernel.results import Memory
from memolith.app.replication.watermark import FETCH_AFTER_US
from memolith.core.decide import sha256_hex
from memolith.core.errors import NotFound
from tests.unit.app.replication.test_watermark import settle, until
from tests.unit.app.scene import AWAY, HOME, Scene

THIRD = "ap-south-1"
FORGED = "nobody wrote this"


def written(scene: Scene, *arrives: str) -> Memory:
    """A memory whose object comes to these regions alone, and is altered at home once it is sealed."""
    settle(scene)
    made = scene.create("/a", "first")
    for event in [event for event in scene.cloud.pending if "/log/" in event.key]:
        for region in arrives:
            scene.cloud.buckets.replicate(event, region)
    scene.cloud.pending[:] = [event for event in scene.cloud.pending if "/log/" not in event.key]
    settle(scene)
    (entry,) = (one for one in scene.entries() if one.version_id == made.version_id)
    forged = replace(entry, content_sha256=sha256_hex(FORGED), content_size_bytes=len(FORGED))
    objects = MemoryErasableObjects(scene.cloud.buckets, HOME)
    objects.erase(str(entry.key), FORGED.encode(), forged.to_metadata())
    scene.cloud.pending.clear()
    return made


def fetched(scene: Scene) -> None:
    scene.clock.advance(FETCH_AFTER_US / 1_000_000)
    settle(scene)


def test_an_object_that_was_altered_at_home_is_not_fetched_but_reported() -> None:
    scene = Scene()
    made = written(scene)
    told_us = scene.clock.now_us()
    fetched(scene)
    with pytest.raises(NotFound):
        scene.read(made, at=AWAY)
    assert scene.cloud.metrics.total("objects_damaged") >= 1
    assert (until(scene) or 0) > told_us, "what cannot be had holds up nothing else"


def test_an_object_that_was_altered_at_home_is_fetched_from_a_region_that_has_it_whole() -> None:
    scene = Scene((HOME, AWAY, THIRD))
    made = written(scene, THIRD)
    fetched(scene)
    assert scene.read(made, at=AWAY).content == "first"
    assert scene.cloud.metrics.total("objects_damaged") >= 1
