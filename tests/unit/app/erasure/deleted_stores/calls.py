"""Deleting a store, letting its time pass, and what each region still has of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.core.rows.identity import StoreRow
from tests.unit.app.scene import AWAY, HOME, Scene

DAY_S = 24 * 3600.0
WEEK_US = 7 * 24 * 3600 * 1_000_000
TEXT = "the secret"


def delete(scene: Scene, at: str = HOME) -> None:
    scene.at(at).stores.delete(scene.call(), scene.store)
    scene.deliver()


def sweep(scene: Scene, region: str) -> Mapping[str, Any]:
    answer = scene.cloud.peers.call(region, "eraser", {"call": "sweep"})
    scene.deliver()
    return answer


def let_pass(scene: Scene, days: float, *regions: str) -> None:
    """Days go by; then the schedules wake reconcilers and erasers, often enough for what waits for calls under way."""
    scene.clock.advance(days * DAY_S)
    for _ in range(3):
        for region in regions or (HOME, AWAY):
            scene.cloud.sites[region].reconciling.tick()
            sweep(scene, region)
        scene.clock.advance(61)


def row(scene: Scene, region: str = HOME) -> StoreRow:
    return StoreRow.from_attributes(scene.cloud.rows(region, "stores")[scene.store, "record"])


def texts(scene: Scene, region: str) -> list[bytes]:
    return [body for body in scene.bodies(region) if TEXT.encode() in body]


def is_erased(scene: Scene, region: str) -> bool:
    call = {"call": "erasure.status", "store_id": scene.store, "id": scene.store}
    return bool(scene.cloud.peers.call(region, "eraser", call)["state"] == "erased" and not texts(scene, region))
