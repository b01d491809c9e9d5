"""What stores that ask for two regions are promised."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.evidence import Evidence
from tests.simulation.history import Seen


def what_is_acknowledged_is_in_two_regions(evidence: Evidence) -> Iterator[str]:
    """When a write was answered, the second region's bucket held it, and every version of the memory before it."""
    if not evidence.two_regions:
        return
    for operation in evidence.history.operations:
        if operation.kind not in ("create", "update", "delete") or not operation.acknowledged:
            continue
        memory_id = operation.answer.memory_id if isinstance(operation.answer, Seen) else operation.asked["memory_id"]
        newest_first = evidence.final[operation.store_id][evidence.homes[operation.store_id]].versions.get(
            memory_id, ()
        )
        known = [version.id for version in newest_first]
        answered = operation.answer.version_id if isinstance(operation.answer, Seen) else next(iter(known), None)
        built_on = known[known.index(answered) :] if answered in known else [answered]
        if missing := [id for id in built_on if id not in operation.held_there]:
            yield f"{missing} stood in one region alone when this was acknowledged: {operation}"
