"""What is told of damaged objects wherever they are met: a count, and a line of the log for each."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from memolith.app.kernel.region import Region
from memolith.core.integrity import Damage
from memolith.core.log_position import LogKey

_log = logging.getLogger(__name__)


def report_damage(region: Region, found: Mapping[tuple[LogKey, str], Damage]) -> None:
    """Count and log damaged objects; each is named by its key and the region of its bucket."""
    region.metrics.count("objects_damaged", len(found))
    for (key, at), damage in found.items():
        _log.error("a stored object is damaged", extra={"key": str(key), "at": at, "damage": damage.value})
