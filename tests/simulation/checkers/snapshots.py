"""How a store was at an instant: what the history says, whoever asks, and whenever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memolith.app.kernel.results import Version
from tests.simulation.checkers.exceptions import (
    came_late,
    landed_without_an_answer,
    was_written_in_a_term_unheard_of,
)
from tests.simulation.checkers.texts import texts_of_versions
from tests.simulation.evidence import Evidence
from tests.simulation.history import Operation, Snapshot


def a_snapshot_is_what_the_history_says(evidence: Evidence) -> Iterator[str]:
    """A snapshot that is given shows of each memory the version that was its head at the instant, and nothing else."""
    for store_id, regions in evidence.final.items():
        versions = regions[evidence.homes[store_id]].versions
        known = texts_of_versions(evidence, store_id)
        for one in evidence.history.operations:
            if one.kind == "past" and one.store_id == store_id and isinstance(one.answer, Snapshot):
                yield from _unlike(evidence, one, one.answer, versions.items(), known)


def _unlike(
    evidence: Evidence,
    operation: Operation,
    answer: Snapshot,
    versions: Iterable[tuple[str, Sequence[Version]]],
    known: dict[tuple[str, str], str],
) -> Iterator[str]:
    shown = {item.memory_id: item for item in answer.items}
    for memory_id, history in versions:
        then = next((one for one in history if one.created_at <= operation.asked["as_of"]), None)
        seen = shown.pop(memory_id, None)
        expected = None if then is None or then.operation == "deleted" else then.id
        if (None if seen is None else seen.version_id) != expected:
            ids = {one for one in (then and then.id, seen and seen.version_id) if one}
            if any(_may_change(evidence, operation, memory_id, id) for id in ids):
                continue
            yield f"{memory_id} was {expected}, not {seen}: {operation}"
        elif seen is not None and seen.sha256 not in ("", known.get((memory_id, seen.version_id), seen.sha256)):
            yield f"{memory_id} had another text: {operation}"
    for seen in shown.values():
        if not _may_change(evidence, operation, seen.memory_id, seen.version_id):
            yield f"{seen} was never there: {operation}"


def a_snapshot_does_not_change(evidence: Evidence) -> Iterator[str]:
    """Two snapshots of one instant show the same versions, in whatever region; what is erased between is blank."""
    first: dict[tuple[str, int], Operation] = {}
    for one in evidence.history.operations:
        if one.kind != "past" or not isinstance(one.answer, Snapshot):
            continue
        other = first.setdefault((one.store_id, one.asked["as_of"]), one)
        unlike = set(_ids(other)) ^ set(_ids(one))
        if not all(_may_change(evidence, one, *pair) or _may_change(evidence, other, *pair) for pair in unlike):
            yield f"{other} and {one}"


def _may_change(evidence: Evidence, operation: Operation, memory_id: str, version_id: str) -> bool:
    """Tell whether a snapshot that has been given may lack the version, or may have it and it is gone."""
    return (
        came_late(evidence, operation.store_id, version_id)
        or landed_without_an_answer(evidence, operation, memory_id, version_id)
        or was_written_in_a_term_unheard_of(evidence, operation, version_id)
    )


def _ids(operation: Operation) -> list[tuple[str, str]]:
    return sorted((item.memory_id, item.version_id) for item in operation.answer.items)
