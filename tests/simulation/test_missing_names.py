"""Names in checkpoints, which a region looks for in its bucket."""

from __future__ import annotations

from memolith.app.replication.missing_objects import MissingObjects
from memolith.core.objects.checkpoint import Named
from tests.simulation.moving_stage import HOME, MovingStage


def test_a_record_that_is_named_with_a_version_and_without_one_is_looked_for() -> None:
    """Two homes may name one key, of which one tells no version."""
    stage = MovingStage()
    here = stage.cloud.sites[HOME].region
    key = next(one for one in stage.all_keys() if "/store/" in one)
    names = [Named(key, "memver_a"), Named(key, None)]
    objects = MissingObjects(here, stage.cloud.sites[HOME].indexing, None)  # type: ignore[arg-type]
    assert objects.missing(here.view(), names) == []
