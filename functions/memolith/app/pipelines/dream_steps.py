"""Steps of a dream that are done: answers that were paid for, and the plan before any of it is carried out.

Each is put once and never changed. A dream that is taken up again finds them, asks no question twice and carries out
the plan that it had. Whoever removes them makes it ask again, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memolith.app.kernel.eraser_client import ask_eraser
from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.port_calls import find, find_head
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import put_if_absent
from memolith.core.objects.dream_step import asked_marks, begun_mark, step_key
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

    def begin(self, record: RunRecord, token: str) -> None:
        """Mark that a worker reads from now on what its steps rest on. One PUT. Raises as `keep`."""
        self._put(record, begun_mark(token), {})

    def count_asked(self, record: RunRecord, token: str) -> int:
        """Mark that a worker is about to ask a question; return how many claims asked it before, in vain.

        The question is known by how many the dream has had answered. One LIST, one PUT. Raises as `keep`.
        """
        marks = asked_marks(record.asks)
        before = sum(1 for _ in keys_under(self._region.objects, step_key(record.store_id, record.run_id, marks)))
        self._put(record, marks + token, {})
        return before

    def keep(self, record: RunRecord, token: str, name: str, step: Mapping[str, Any]) -> bool:
        """Keep a step; one that is kept stays. Return False where a text was erased since the worker began.

        The step may have that text then, and was kept too late for that erasure to remove it. One PUT, one HEAD.

        Raises:
            Busy, Unavailable, OutcomeUnknown: it may be kept.
        """
        self._put(record, name, step)
        return self.is_begun(record, token)

    def is_begun(self, record: RunRecord, token: str) -> bool:
        """Tell whether no text was erased since a worker began on which the dream may rest. One HEAD.

        Raises Unavailable.
        """
        mark = step_key(record.store_id, record.run_id, begun_mark(token))
        return find_head(self._region.objects, mark) is not None

    def _put(self, record: RunRecord, name: str, step: Mapping[str, Any]) -> None:
        body = json.dumps({"schema": SCHEMA, **step}, ensure_ascii=False).encode()
        put_if_absent(self._region, step_key(record.store_id, record.run_id, name), body, {})

    def forget(self, record: RunRecord) -> None:
        """Have the steps of a dream removed that is over. Repeatable. One invocation. Raises Unavailable."""
        ask_eraser(self._region, {"call": "erase_dream_steps", "store_id": record.store_id, "run_id": record.run_id})
