"""What people decided about conflicts, as they were told, as the buckets have it, and as the rows say at rest."""

from __future__ import annotations

from collections.abc import Iterator

from memolith.core.log_position import Epoch
from memolith.core.objects.resolution_record import ResolutionRecord
from memolith.core.rows.resolutions import ResolutionRow
from tests.simulation.evidence import Evidence
from tests.simulation.history import Operation

Decision = tuple[str | None, int, str]
"""What is kept, when it was decided, and by whom: no two calls decide in one microsecond."""


def a_conflict_is_resolved_once(evidence: Evidence) -> Iterator[str]:
    """Whoever is answered is answered with the one decision; after a fail-over, with one of each home that had it.

    A home that takes over need not have heard of what the lost one decided.
    """
    told: dict[tuple[str, str], dict[Decision, Operation]] = {}
    for one in _answered(evidence):
        told.setdefault((one.store_id, one.asked["conflict_id"]), {})[_decision(one)] = one
    for (store_id, conflict_id), by_decision in told.items():
        records = _records(evidence).get((store_id, conflict_id), [])
        put = {(record.kept, record.at, record.by) for record in records}
        yield from (f"no record says what was answered: {one}" for made, one in by_decision.items() if made not in put)
        if len(by_decision) > 1 and store_id not in evidence.taken_over:
            yield f"{conflict_id} was resolved more than once: {[str(one) for one in by_decision.values()]}"


def the_resolution_of_the_last_epoch_holds(evidence: Evidence) -> Iterator[str]:
    """At rest every region has of each conflict the decision that was put in the latest epoch."""
    for (store_id, conflict_id), records in _records(evidence).items():
        last = max(records, key=lambda record: Epoch.parse(record.epoch).rank)
        for region, tables in evidence.rows.items():
            row = tables["stores"].get((store_id, f"resolution#{conflict_id}"))
            held = None if row is None else ResolutionRow.from_attributes(row).record
            if held != last:
                yield f"{region} has {held} of {conflict_id}, and the last that was decided is {last}"


def what_is_resolved_is_open_no_more(evidence: Evidence) -> Iterator[str]:
    """After a decision was answered, the region that answered does not list the conflict as open.

    Unless its tables were lost.
    """
    for decided in _answered(evidence):
        if decided.region in evidence.wiped:
            continue
        for later in evidence.history.operations:
            if (later.kind, later.region, later.store_id) != ("conflicts", decided.region, decided.store_id):
                continue
            listed = later.answer if isinstance(later.answer, tuple) else ()
            if later.invoked > (decided.returned or 0) and decided.asked["conflict_id"] in {one.id for one in listed}:
                yield f"{later} lists as open what {decided} had resolved"


def _answered(evidence: Evidence) -> Iterator[Operation]:
    return (one for one in evidence.history.operations if one.kind == "resolve" and one.acknowledged)


def _decision(one: Operation) -> Decision:
    return one.answer.kept, one.answer.decided_at, one.answer.decided_by


def _records(evidence: Evidence) -> dict[tuple[str, str], list[ResolutionRecord]]:
    """Every record by store and conflict, from the bucket of the home that put it."""
    found: dict[tuple[str, str], list[ResolutionRecord]] = {}
    for record in evidence.resolutions:
        found.setdefault((record.store_id, record.conflict_id), []).append(record)
    return found
