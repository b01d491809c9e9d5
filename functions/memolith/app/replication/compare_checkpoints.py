"""Once a day: what the other regions' checkpoints of the last week name, beside this region's tables.

The watermark has passed these checkpoints, so that all they name was folded here once. What the tables have lost since
without losing their marks is folded again, and what is gone from this bucket too is fetched from its home.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

from memolith.app.index.resumable_scan import ScanProgress, resume_scan
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region, View
from memolith.app.replication.missing_objects import MissingObjects, RepairOutcome
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import Checkpoint, Named, part_from_json
from memolith.core.rows.control import CompletenessRow

T = TypeVar("T")

PERIODS_BACK = 7 * 24 * 60
"""A week of periods of a minute."""
PERIODS_PER_PAGE = 50

_log = logging.getLogger(__name__)


class CompareCheckpoints:
    """Compares one region's tables with the other homes' checkpoints."""

    def __init__(self, region: Region, missing_objects: MissingObjects) -> None:
        self._region = region
        self._missing_objects = missing_objects

    def run(self, deadline_us: int) -> ScanProgress:
        """Go on where time ran out. Of a checkpoint one GET, and a read for a hundred names; repairs what is missing.

        Raises as `resume_scan`.
        """
        return resume_scan(self._region, "checkpoints", self._page, deadline_us)

    def _page(self, view: View, after: str | None) -> tuple[ScanProgress, str | None]:
        """Compare a few periods of one home, holding one part of a checkpoint at a time."""
        home, period = self._next(view, after)
        if home is None:
            return ScanProgress(), None
        until = min(period + PERIODS_PER_PAGE, self._last(view, home) + 1)
        scanned = ScanProgress()
        for number in range(period, until):
            for names in self._names(home, number):
                mended = self._mend(view, home, names)
                scanned = ScanProgress(scanned.looked_at + len(names), scanned.repaired + mended)
        return scanned, f"{home} {until - 1}"

    def _next(self, view: View, after: str | None) -> tuple[str | None, int]:
        """Return the first period that follows, of this home or, after its last one, of the next."""
        at, _, number = (after or "").partition(" ")
        for home in sorted(set(self._region.regions) - {self._region.name}):
            last = self._last(view, home)
            first = max(last - PERIODS_BACK + 1, 1)
            if home == at:
                first = max(int(number) + 1, first)
            if home >= at and first <= last:
                return home, first
        return None, 0

    def _last(self, view: View, home: str) -> int:
        """Return the last checkpoint that the watermark has passed; what follows is the watermark's."""
        key = CompletenessRow.key(view.index.generation)
        row = self._region.read(view.index, [key]).get(key)
        folded = {} if row is None else CompletenessRow.from_attributes(row).folded
        return int(folded.get(home, "0").partition("/")[0])

    def _names(self, home: str, period: int) -> Iterator[tuple[Named, ...]]:
        """Yield the names of a checkpoint, part by part. What is gone or cannot be read here has none to compare."""
        checkpoint = self._parsed(str(CheckpointKey(home, period)), Checkpoint.from_json)
        if checkpoint is None:
            return
        yield checkpoint.names
        for number in range(checkpoint.parts):
            names = self._parsed(str(checkpoint.part_key(number)), part_from_json)
            if names is None:
                return
            yield names

    def _parsed(self, key: str, parse: Callable[[bytes], T]) -> T | None:
        """Read and parse an object that the watermark has passed; None where it is gone, or cannot be read any more."""
        found = find(self._region.objects, key)
        try:
            return None if found is None else parse(found.body)
        except ValueError as error:
            self._region.metrics.count("integrity_broken")
            reason = f"it cannot be read: {error}"
            _log.error("a checkpoint of another region is not true", extra={"key": key, "reason": reason})
            return None

    def _mend(self, view: View, home: str, names: tuple[Named, ...]) -> int:
        missing = self._missing_objects.missing(
            view, [name for name in names if self._missing_objects.is_indexed(name)]
        )
        brought = self._missing_objects.repair(view, missing, home, fetch=True) if missing else {}
        return sum(became in (RepairOutcome.FOLDED, RepairOutcome.FETCHED) for became in brought.values())
