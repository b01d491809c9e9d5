"""What three regions have of versions that came late."""

from __future__ import annotations

from memolith.core.rows.content import VersionRow
from tests.unit.app.failing import fail_over, hold_back
from tests.unit.app.scene import Scene

THIRD = "ap-south-1"


def late(scene: Scene, region: str) -> list[str]:
    """The ids of the versions that stand apart in a region."""
    rows = scene.cloud.rows(region, "versions").items()
    return [VersionRow.from_attributes(row).version_id for (_, sk), row in rows if sk.startswith("late#")]


def rename_late(scene: Scene) -> None:
    """Rename a memory from /a to /b at a home that is lost; the rename comes after the failover."""
    memory = scene.create("/a", "one")
    scene.deliver()
    scene.update(memory, path="/b")
    held = hold_back(scene)
    fail_over(scene)
    scene.cloud.pending.extend(held)
    scene.deliver()
