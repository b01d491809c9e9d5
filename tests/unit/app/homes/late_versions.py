"""What three regions have of versions that came late."""

from __future__ import annotations

from memolith.core.rows.content import VersionRow
from tests.unit.app.scene import Scene

THIRD = "ap-south-1"


def late(scene: Scene, region: str) -> list[str]:
    """The ids of the versions that stand apart in a region."""
    rows = scene.cloud.rows(region, "versions").items()
    return [VersionRow.from_attributes(row).version_id for (_, sk), row in rows if sk.startswith("late#")]
