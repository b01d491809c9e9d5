"""What a planned move may show and take back: versions that their writer put after its term, and told nobody of.

A writer whose put itself takes longer than the drain puts after the survey. Nothing in the bucket tells its entry from
one that was put in time, so that it is shown until the move's record is known; then it is late (docs/adr/0027).
"""

from __future__ import annotations

from memolith.core.log_position import LogRef
from tests.simulation.evidence import Evidence
from tests.simulation.history import Operation, Seen


def memories_shown_in_passing(evidence: Evidence, store_id: str) -> frozenset[str]:
    """The memories of which a version came late in a planned move, and was acknowledged to nobody.

    Of one that was acknowledged nothing is excused: `nothing_acknowledged_is_lost`, and the rest, judge it.
    """
    told = {
        one.answer.version_id
        for one in evidence.history.operations
        if one.kind in ("create", "update") and isinstance(one.answer, Seen)
    }
    rows = evidence.rows[evidence.homes[store_id]]["versions"].items()
    late: set[str] = set()
    for (row_store_id, _), row in rows:
        written = evidence.written.get(row.get("version_id", ""))
        if row_store_id != store_id or written is None or "memory_id" not in row or row["version_id"] in told:
            continue
        is_apart = any(one.version_id == row["version_id"] for one in evidence.apart[store_id])
        if (is_apart or written.adopted) and _was_moved_on(evidence, store_id, LogRef.parse(written.position)):
            late.add(row["memory_id"])
    return frozenset(late)


def _was_moved_on(evidence: Evidence, store_id: str, ref: LogRef) -> bool:
    """Whether the epoch of an entry was ended by a planned move."""
    later = [epoch for epoch in evidence.epochs[store_id] if epoch.number > ref.slot.epoch.number]
    return bool(later) and later[0].attempt != 0


def is_read_of(operation: Operation, memory_ids: frozenset[str]) -> bool:
    """Whether a read that demanded nothing tells of one of these memories, or of its not being there."""
    if operation.kind != "read" or operation.asked.get("home") is not None:
        return False
    return operation.asked["memory_id"] in memory_ids
