"""What an operator is shown: how long a write takes to be known elsewhere, and what becomes of writes."""

from __future__ import annotations

import pytest

from memolith.app.safety.write_gate import Unscanning
from memolith.core.decide import sha256_hex
from memolith.core.errors import PathConflict, PreconditionFailed, Unavailable
from tests.unit.app.scene import AWAY, HOME, Scene

LAG = ("replication_lag_ms", (("home", HOME),))


def lags(scene: Scene) -> list[float]:
    return scene.cloud.metrics.durations_ms[LAG]


def test_a_fold_says_how_long_ago_its_home_wrote_the_entry(scene: Scene) -> None:
    scene.create("/a", "first")
    scene.clock.advance(1.5)
    scene.deliver()
    assert lags(scene) == [1_500.0, 1_500.0]  # the event at home, and the replica's


def test_a_home_whose_clock_is_ahead_is_not_behind(scene: Scene) -> None:
    scene.create("/a", "first")
    scene.clock.advance(-2)
    scene.deliver()
    assert lags(scene) == [0.0, 0.0]


def test_an_erasure_of_an_old_version_is_no_lag(scene: Scene) -> None:
    memory = scene.create("/a", "secret")
    scene.update(memory, "harmless")
    scene.deliver()
    before = len(lags(scene))
    scene.clock.advance(86_400)
    scene.redact(memory.version_id)
    scene.deliver()
    assert len(lags(scene)) == before


def test_a_rebuild_of_old_versions_is_no_lag(scene: Scene) -> None:
    scene.create("/a", "first")
    scene.deliver()
    before = len(lags(scene))
    scene.clock.advance(86_400)
    site = scene.cloud.sites[AWAY]
    for key in scene.log_keys(AWAY):
        site.indexing.fold_object(site.region.view(), key, journal=False)
    assert scene.log_keys(AWAY) and len(lags(scene)) == before


def test_writes_are_counted_by_what_became_of_them(scene: Scene) -> None:
    memory = scene.create("/a", "first")
    with pytest.raises(PathConflict):
        scene.create("/a", "other")
    with pytest.raises(PreconditionFailed):
        scene.update(memory, "second", expected=sha256_hex("not this"))
    counts = scene.cloud.metrics.counts
    outcomes = {dict(dimensions)["outcome"]: n for (name, dimensions), n in counts.items() if name == "writes"}
    assert outcomes == {"accepted": 1, "PathConflict": 1, "PreconditionFailed": 1}


def test_a_write_that_cannot_be_scanned_is_counted_too() -> None:
    scene = Scene(scanner=Unscanning())
    with pytest.raises(Unavailable):
        scene.create("/a", "first")
    assert scene.cloud.metrics.counts["writes", (("outcome", "Unavailable"),)] == 1


def test_a_slot_that_somebody_else_took_is_counted(scene: Scene) -> None:
    memory = scene.create("/a", "first")
    restore = scene.remember_index()
    scene.update(memory, "second")
    restore()
    assert scene.cloud.metrics.total("slots_lost") == 0
    scene.update(memory, "third")
    assert scene.cloud.metrics.total("slots_lost") == 1
