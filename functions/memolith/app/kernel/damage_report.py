"""What is told of damaged objects wherever they are met: a count, and a line of the log for each."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TypeVar

from memolith.app.kernel.region import Region
from memolith.core.integrity import Damage
from memolith.core.log_position import LogKey
from memolith.core.object_keys import TranscriptKey

K = TypeVar("K", LogKey, TranscriptKey)
_log = logging.getLogger(__name__)


def report_damage(region: Region, found: Mapping[tuple[K, str], Damage]) -> None:
    """Count and log damaged objects; each is named by its key and the region of its bucket."""
    region.metrics.count("objects_damaged", len(found))
    for (key, at), damage in found.items():
        _log.error("a stored object is damaged", extra={"key": str(key), "at": at, "damage": damage.value})
