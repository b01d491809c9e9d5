"""An object of a later schema, whose release is not deployed here yet: the region waits for it, and claims nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.adapters.memory import PutEvent
from memolith.app.indexer.indexer import Malformed
from memolith.app.kernel.results import Memory
from memolith.ports.objects import StoredObject
from tests.unit.app.replication.test_watermark import settle, tick, until
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    settle(scene)
    return scene


def created(scene: Scene, schema: str | None) -> tuple[Memory, PutEvent, StoredObject]:
    """A memory whose version's object has this schema before it is copied, or its event comes."""
    made = scene.create("/a", "first")
    [event] = [event for event in scene.cloud.pending if "/log/" in event.key]
    scene.cloud.pending.remove(event)
    whole = scene.cloud.buckets.current(HOME, event.key)
    assert whole is not None
    others = {name: value for name, value in whole.metadata.items() if name != "schema"}
    changed = replace(whole, metadata=others if schema is None else {**others, "schema": schema})
    scene.cloud.buckets.damage(HOME, event.key, changed)
    return made, event, whole


def arrive(scene: Scene, event: PutEvent) -> None:
    """The object is copied, and its event becomes a dead letter."""
    assert scene.cloud.buckets.replicate(event, AWAY)
    changed = scene.cloud.buckets.current(HOME, event.key)
    scene.cloud.buckets.damage(AWAY, event.key, changed)
    scene.cloud.pending[:] = [one for one in scene.cloud.pending if one.key != event.key]
    with pytest.raises(Malformed, match="schema"):
        scene.cloud.sites[AWAY].indexing.object_arrived(event.key)


@pytest.mark.parametrize("arrives", [True, False])
def test_a_region_claims_nothing_past_an_object_of_a_later_schema(scene: Scene, arrives: bool) -> None:
    made, event, whole = created(scene, "2")
    told_us = scene.clock.now_us()
    if arrives:
        arrive(scene, event)
    for _ in range(10):
        tick(scene)
        scene.deliver()
    assert (until(scene) or 0) <= told_us
    assert scene.cloud.metrics.total("objects_damaged") == scene.cloud.metrics.total("slots_discharged") == 0
    for region in (HOME, AWAY) if arrives else (HOME,):  # as if the release that reads it were deployed
        scene.cloud.buckets.damage(region, event.key, whole)
    settle(scene)
    assert (until(scene) or 0) > told_us
    assert scene.read(made, at=AWAY).content == "first"


@pytest.mark.parametrize("schema", ["notes/v2", "20261129", "0", "", None])
def test_an_object_that_no_release_reads_does_not_hold_a_region_up(scene: Scene, schema: str | None) -> None:
    _, event, _ = created(scene, schema)
    told_us = scene.clock.now_us()
    arrive(scene, event)
    settle(scene)
    assert (until(scene) or 0) > told_us
    assert scene.cloud.metrics.total("slots_discharged") == 1
