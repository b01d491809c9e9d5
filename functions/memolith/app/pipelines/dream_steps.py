"""Steps of a dream that are done: answers that were paid for, and the plan before any of it is carried out.

Each is put once and never changed. A dream that is taken up again finds them, asks no question twice and carries out
the plan that it had. Whoever removes them makes it ask again, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memolith.app.kernel.eraser_client import ask_eraser
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import put_if_absent
from memolith.core.objects.dream_step import step_key
from memolith.core.objects.run_record import RunRecord
from memolith.core.objects.schema import SCHEMA


class DreamSteps:
    """Keeps, finds and forgets the steps of dreams of stores whose home this region is."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def find(self, record: RunRecord, name: str) -> Mapping[str, Any] | None:
        """Return a step, or None where it is not done, or cannot be read any more. One GET. Raises Unavailable."""
        found = find(self._region.objects, step_key(record.store_id, record.run_id, name))
        if found is None:
            return None
        try:
            step = json.loads(found.body)
        except ValueError:
            return None
        return step if isinstance(step, dict) and step.get("schema") == SCHEMA else None

    def keep(self, record: RunRecord, name: str, step: Mapping[str, Any]) -> None:
        """Keep a step; one that is kept stays. One PUT. Raises Busy, Unavailable, OutcomeUnknown."""
        body = json.dumps({"schema": SCHEMA, **step}, ensure_ascii=False).encode()
        put_if_absent(self._region, step_key(record.store_id, record.run_id, name), body, {})

    def forget(self, record: RunRecord) -> None:
        """Have the steps of a dream removed that is over. Repeatable. One invocation. Raises Unavailable."""
        ask_eraser(self._region, {"call": "erase_dream_steps", "store_id": record.store_id, "run_id": record.run_id})
