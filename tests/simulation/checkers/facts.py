"""Facts of the evidence by which exceptions tell what they let pass."""

from __future__ import annotations

from collections.abc import Sequence

from memolith.app.kernel.results import Version
from memolith.core.log_position import Epoch, LogRef
from tests.simulation.evidence import Apart, Evidence
from tests.simulation.history import Seen


def epoch_of(position: str) -> Epoch:
    """The term of which a version's position is."""
    return LogRef.parse(position).slot.epoch


def is_of_a_lost_term(evidence: Evidence, store_id: str, position: str) -> bool:
    """Whether a version's position is of a term that somebody began, and that does not count."""
    return epoch_of(position) in evidence.lost_terms.get(store_id, ())


def history_of(evidence: Evidence, store_id: str, memory_id: str) -> Sequence[Version]:
    """A memory's versions at the store's home at rest, newest first."""
    return evidence.final[store_id][evidence.homes[store_id]].versions.get(memory_id, ())


def paths_been(evidence: Evidence, store_id: str) -> dict[str, set[str]]:
    """By memory: every path of its history. What was erased since has none, and was where its callers were told."""
    told = {
        one.answer.version_id: one.answer.path for one in evidence.history.operations if isinstance(one.answer, Seen)
    }
    final = evidence.final[store_id][evidence.homes[store_id]]
    return {
        id: {path for one in versions if (path := one.path or told.get(one.id))}
        for id, versions in final.versions.items()
    }


def deletion_was_told(evidence: Evidence, store_id: str, memory_id: str) -> bool:
    """Whether anybody was told that a memory is deleted."""
    deletions = (one for one in evidence.history.operations if one.kind == "delete" and one.store_id == store_id)
    return any(one.acknowledged and one.asked["memory_id"] == memory_id for one in deletions)


def leaves_its_path(one: Apart, newest: Version | None) -> bool:
    """Whether a memory left the path of its newest version by one that stands apart."""
    return one.operation == "deleted" or newest is None or one.path is None or one.path != newest.path


def was_moved_on(evidence: Evidence, store_id: str, position: str) -> bool:
    """Whether a planned move ended the epoch of a version's position."""
    later = [epoch for epoch in evidence.epochs[store_id] if epoch.number > epoch_of(position).number]
    return bool(later) and later[0].attempt != 0
