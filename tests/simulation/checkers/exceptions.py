"""What the checkers let pass: every exception there is, each with its argument. No checker has one of its own.

An exception is a question about evidence, and is named like its answer. `tests/simulation/test_exceptions.py` switches
each off and runs a world that fails then: an exception that nothing needs is a hole in a checker, and goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from memolith.app.kernel.results import Version
from tests.simulation.checkers.facts import (
    deletion_was_told,
    epoch_of,
    history_of,
    leaves_its_path,
    paths_been,
    was_moved_on,
)
from tests.simulation.checkers.register import exception
from tests.simulation.evidence import Apart, Evidence
from tests.simulation.history import NEVER, Operation, Seen

# ---- versions that came late ----------------------------------------------------------------------------------------


@exception(
    "A region may have shown, counted and acknowledged a version that the cut of a fail-over does not hold. It stands "
    "apart since, or was adopted at another position: until then the new home and whoever follows it does not have it."
)
def came_late(evidence: Evidence, store_id: str, version_id: str) -> bool:
    if store_id not in evidence.taken_over:
        return False
    written = evidence.written.get(version_id)
    apart = any(one.version_id == version_id for one in evidence.apart.get(store_id, ()))
    adopted = written is not None and written.adopted
    return apart or adopted or came_late_in_a_lost_term(evidence, store_id, version_id)


@exception(
    "A write whose caller was never answered may have landed. A snapshot waits a minute for its event, and "
    "may lack it if the event takes longer. Whatever was acknowledged is in the snapshot."
)
def landed_without_an_answer(evidence: Evidence, operation: Operation, memory_id: str, version_id: str) -> bool:
    told = any(
        one.answer.version_id == version_id if isinstance(one.answer, Seen) else one.asked.get("memory_id") == memory_id
        for one in evidence.history.operations
        if one.kind in ("create", "update", "delete") and one.acknowledged and one.store_id == operation.store_id
    )
    return version_id in evidence.written and not told


@exception(
    "The new home alone tells of a fail-over. A region that has not heard of it answers for the homes it knows of: its "
    "snapshots lack what the new home has acknowledged, until the store's record arrives (promise 21)."
)
def was_written_in_a_term_unheard_of(evidence: Evidence, operation: Operation, version_id: str) -> bool:
    written = evidence.written.get(version_id)
    unheard = [one for one in evidence.epochs[operation.store_id] if one.number > operation.asked["term"]]
    if written is None or not unheard or unheard[0].attempt != 0:  # a planned move is told by the home that leaves
        return False
    return epoch_of(written.position) in unheard


@exception(
    "A home that lost its epoch to another has shown the store by its own cut for a while: what was written before its "
    "term may not have been in that cut, and counts again since the other's term follows the one before."
)
def came_late_in_a_lost_term(evidence: Evidence, store_id: str, version_id: str) -> bool:
    written = evidence.written.get(version_id)
    if written is None:
        return False
    return any(term.number > epoch_of(written.position).number for term in evidence.lost_terms.get(store_id, ()))


@exception(
    "A refusal, or a history, that the lost home gave was decided on a late version of the memory, which the region no "
    "longer has after the fail-over: what is older is what the memory is again."
)
def has_late_versions(evidence: Evidence, store_id: str, memory_id: str) -> bool:
    if store_id not in evidence.taken_over:
        return False
    apart = any(one.memory_id == memory_id for one in evidence.apart.get(store_id, ()))
    return apart or any(
        came_late(evidence, store_id, version.id) for version in history_of(evidence, store_id, memory_id)
    )


@exception(
    "A version that a fail-over found late and did not adopt is in no history: it is listed as divergent, with what it "
    "holds, or erased. Never so where the store asks for two regions, since the cut holds all that was acknowledged."
)
def stands_apart(evidence: Evidence, operation: Operation) -> bool:
    if not evidence.may_lack(operation.store_id):
        return False
    seen = operation.answer
    apart = [one for one in evidence.apart[operation.store_id] if one.version_id == seen.version_id]
    return [(one.path, one.sha256) for one in apart] in ([(seen.path, seen.sha256)], [(None, None)])


@exception(
    "A deletion that the lost home acknowledged and that came late stands apart like any other version, if "
    "somebody had "
    "written the memory since; if nobody had, it was undone until it was adopted."
)
def deletion_came_late(evidence: Evidence, store_id: str, memory_id: str) -> bool:
    if store_id not in evidence.taken_over:
        return False
    newest = next(iter(history_of(evidence, store_id, memory_id)), None)
    adopted = newest is not None and newest.operation == "deleted" and came_late(evidence, store_id, newest.id)
    return adopted or deletion_stands_apart(evidence, store_id, memory_id)


@exception(
    "A late deletion that stands apart deletes nothing by itself: the memory lives on as the new home has it. In a "
    "store in two regions that is so of a deletion whose outcome nobody was told: the lost home showed it."
)
def deletion_stands_apart(evidence: Evidence, store_id: str, memory_id: str) -> bool:
    if store_id not in evidence.taken_over:
        return False
    is_apart = any((one.memory_id, one.operation) == (memory_id, "deleted") for one in evidence.apart.get(store_id, ()))
    return is_apart and (evidence.may_lack(store_id) or not deletion_was_told(evidence, store_id, memory_id))


@exception(
    "Where what made a memory leave its path, a rename or a deletion, came late and stands apart, while the "
    "creation of "
    "what took the path had arrived in time, the memory has no head: it is not found, and its history is shown."
)
def left_its_path_apart(evidence: Evidence, store_id: str, memory_id: str) -> bool:
    if not evidence.may_lack(store_id):
        return False
    newest = next(iter(history_of(evidence, store_id, memory_id)), None)
    return any(one.memory_id == memory_id and leaves_its_path(one, newest) for one in evidence.apart.get(store_id, ()))


@exception(
    "What a memory was before a rename may come later than what followed at its destination: it stands apart, and its "
    "place in the history is empty."
)
def precedes_what_arrived(one: Apart, memory_id: str, generations: set[int], parents: set[str | None]) -> bool:
    return one.memory_id == memory_id and one.version_id in parents and one.generation not in generations


@exception(
    "A fail-over may find that one of a path and its ancestor had come, and not that the other had left before: then "
    "both are memories (ADR 25)."
)
def stays_beside_its_ancestor(evidence: Evidence, store_id: str, family: Sequence[str]) -> bool:
    return any(left_its_path_apart(evidence, store_id, memory_id) for memory_id in family)


@exception(
    "Where a path and its ancestor are both memories since a fail-over, or were, since a memory whose departure stands "
    "apart stayed at its path (ADR 25), no order of operations makes both: each memory is searched by itself all the "
    "same, and `one_memory_one_path` says whether they may be."
)
def lists_a_path_and_its_ancestor(evidence: Evidence, store_id: str) -> bool:
    if store_id not in evidence.taken_over:
        return False
    final = evidence.final[store_id][evidence.homes[store_id]]
    paths = {item.path for item in final.listed}
    if any(other.startswith(f"{path}/") for path in paths for other in paths):
        return True
    been = paths_been(evidence, store_id)
    stayed = [
        (one.memory_id, path)
        for one in evidence.apart[store_id]
        for path in been.get(one.memory_id, ())
        if one.operation == "deleted" or one.path != path
    ]
    return any(
        other != path and (f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/"))
        for id, path in stayed
        for other_id, others in been.items()
        if other_id != id
        for other in others
    )


@exception(
    "A version that was redacted may have come late and stand apart: then no history lists it as redacted. That "
    "its text "
    "is nowhere is looked at all the same."
)
def redacted_apart(evidence: Evidence, operation: Operation, versions: Sequence[Version]) -> bool:
    version_id = operation.asked["version_id"]
    return came_late(evidence, operation.store_id, version_id) and not any(one.id == version_id for one in versions)


@exception(
    "Whoever can write to a bucket puts a text into the object of another version. A copy that arrives twice then "
    "covers it with the whole object, so that no repair sees damage, and the S3 version below stays: no redaction "
    "of the text's own version can know of it. No read returns it, and what erases the key's version removes it."
)
def was_put_behind(evidence: Evidence, region: str, key: str, content: bytes) -> bool:
    newest = [text for other, text in evidence.objects[region] if other == key][-1]
    return content != newest and content in evidence.put_behind.get((region, key), ())


@exception(
    "A lost home that has not heard of the fail-over does not know what is acknowledged in the later term; a "
    "new home does "
    "not know the id of a version that its cut holds until its index has folded the copy. Either says so, and shows "
    "nothing older."
)
def unknown_since_a_take_over(evidence: Evidence, operation: Operation) -> bool:
    return (operation.returned or 0) > evidence.taken_over.get(operation.store_id, NEVER)


@exception(
    "The last version that a fail-over's cut holds may be one that the lost home redacted, since what followed was the "
    "memory's text by then. What followed came late: until it is adopted the memory has no text, and is not found."
)
def was_redacted_before_what_came_late(
    evidence: Evidence, store_id: str, memory_id: str, version_id: str | None = None
) -> bool:
    if store_id not in evidence.taken_over:
        return False
    history = history_of(evidence, store_id, memory_id)
    redacted = {one.id for one in history if one.redacted_at is not None and version_id in (None, one.id)}
    adopted = any(
        before.id in redacted and came_late(evidence, store_id, version.id) for version, before in pairwise(history)
    )
    return adopted or any(one.parent in redacted for one in evidence.apart.get(store_id, ()))


@exception(
    "A memory whose newest version was erased is not found, and others may take its path, until what another home had "
    "written after that version has come late and is adopted, where the path is free by then: that brings the memory "
    "back, with the late text. To its callers an update has made a memory that was gone."
)
def brings_its_memory_back(evidence: Evidence, store_id: str, version: Version) -> bool:
    if version.content_sha256 is None or not came_late(evidence, store_id, version.id):
        return False
    history = history_of(evidence, store_id, version.memory_id)
    return any(late.id == version.id and before.redacted_at is not None for late, before in pairwise(history))


@exception(
    "A fail-over's cut names no place for a memory that was deleted. A region that put the row back to the cut "
    "has none; others have one that says gone. Both answer that it is not found, and the history says why."
)
def is_gone_by_a_cut(evidence: Evidence, store_id: str, row: Mapping[str, Any]) -> bool:
    return evidence.had_terms(store_id) and bool(row.get("gone"))


@exception(
    "A version is divergent in the term that a region knows. It may be adopted, or count in a later term, while "
    "somebody dismisses or restores it: the order to erase it wins. The memory has no text left and is not found, its "
    "path is free, and its history ends with the erased version. What restored it is divergent in that later term."
)
def was_dismissed_and_counts(evidence: Evidence, counting: Version) -> bool:
    return any(counting.id == dismissed(one) for one in evidence.history.operations)


def dismissed(one: Operation) -> str | None:
    """Return the divergent version that a call orders to erase: it dismisses or restores it."""
    return one.asked["version_id"] if one.kind == "dismiss" else one.asked.get("restores")


def has_no_head(evidence: Evidence, store_id: str, memory_id: str) -> bool:
    """Whether a memory may not be found though no deletion ends its history."""
    newest = next(iter(history_of(evidence, store_id, memory_id)), None)
    return (newest is not None and was_dismissed_and_counts(evidence, newest)) or any(
        excepted(evidence, store_id, memory_id)
        for excepted in (left_its_path_apart, was_redacted_before_what_came_late)
    )


# ---- versions that came late in a planned move ----------------------------------------------------------------------


@exception(
    "A writer whose put takes longer than the drain of a planned move puts its entry after the survey, and tells "
    "nobody. Nothing in the bucket tells that entry from one that was put in time, so every region shows it until the "
    "move's record is known; then it is late (ADR 27). Of a version that was acknowledged nothing is excused."
)
def was_shown_in_passing(evidence: Evidence, store_id: str, memory_id: str) -> bool:
    told = {
        one.answer.version_id
        for one in evidence.history.operations
        if one.kind in ("create", "update") and isinstance(one.answer, Seen)
    }
    for (row_store_id, _), row in evidence.rows[evidence.homes[store_id]]["versions"].items():
        if row_store_id != store_id or row.get("memory_id") != memory_id or row["version_id"] in told:
            continue
        written = evidence.written.get(row["version_id"])
        is_apart = any(one.version_id == row["version_id"] for one in evidence.apart[store_id])
        if written is not None and (is_apart or written.adopted) and was_moved_on(evidence, store_id, written.position):
            return True
    return False


@exception(
    "A version that comes while a fail-over makes its snapshot is indexed like any other, and then passed over. Plain "
    "reads of the new home show it until that has gone through its rows, or adopted it; no write follows it (ADR 27)."
)
def is_shown_before_its_adoption(evidence: Evidence, one: Operation) -> bool:
    if one.kind != "read" or one.asked.get("home") is not None or not isinstance(one.answer, Seen):
        return False
    written = evidence.written.get(one.answer.version_id)
    is_late = came_late(evidence, one.store_id, one.answer.version_id)
    return is_late and written is not None and (not written.adopted or (one.returned or 0) <= written.stands_since)


# ---- versions that were imported -------------------------------------------------------------------------------------


@exception(
    "An imported version keeps the id and the time that it had elsewhere. A history of a store asks the table itself "
    "for young ids alone: it shows an imported version when the global index by time has followed, and never loses it. "
    "So it is too where an update that changes nothing is answered with that version."
)
def was_imported_with_an_old_time(evidence: Evidence, write: Operation, region: str) -> bool:
    if all(one.asked.get("brought") != write.answer.version_id for one in evidence.history.operations):
        return False
    history = evidence.final[write.store_id][region].versions.get(write.answer.memory_id, ())
    return any(version.id == write.answer.version_id for version in history)


# ---- jobs -----------------------------------------------------------------------------------------------------------


@exception(
    "A home that takes over goes on after the last record of a job that it has: it does again what the lost home had "
    "done and not replicated. Every edit is conditional, so that the second run does no harm (ADR 41)."
)
def was_done_by_the_lost_home(evidence: Evidence) -> bool:
    return evidence.worked.lost


# ---- objects that never came ----------------------------------------------------------------------------------------


@exception(
    "No checkpoint names an abort entry, since nothing was acknowledged by it: a region to which its copy or its event "
    "was lost for good is not brought it by any comparison. Nor is one that rebuilt its index from half a rename "
    "before what ended it had come: that is the other half of another rename, and leads to that one. It tells of no "
    "memory; a writer that meets the slot reads the bucket."
)
def lacks_an_abort_entry(evidence: Evidence) -> bool:
    return evidence.lossy or any(evidence.rebuilds.values())


# ---- tables that vanished -------------------------------------------------------------------------------------------


@exception(
    "A region whose tables vanished says that it is incomplete and serves what it knows: since then it may show "
    "what is "
    "older than what it showed before."
)
def tables_had_vanished(evidence: Evidence, region: str, operation: Operation) -> bool:
    vanished = evidence.wiped.get(region)
    return vanished is not None and not (operation.returned or vanished) < vanished


@exception(
    "A region whose tables are being rebuilt says that it is incomplete and serves the rows that it has. Rows of a "
    "memory whose end it has not projected yet may come and go until the rebuild is done."
)
def tables_were_rebuilt(evidence: Evidence, region: str, operation: Operation) -> bool:
    return any(
        operation.invoked < done and (operation.returned is None or began < operation.returned)
        for began, done in evidence.rebuilds.get(region, ())
    )


# ---- whose answer it is ---------------------------------------------------------------------------------------------


@exception(
    "A read that demands more than its region knows is answered by the home: it tells what the home has, and not what "
    "the region has shown."
)
def answered_by_another_region(operation: Operation) -> bool:
    demands = operation.asked.get("home") is not None or operation.asked.get("least") is not None
    return demands and not operation.home


@exception("Retention blanks what was superseded: that it waited as long as it had to, other checkers say.")
def blanked_by_retention(evidence: Evidence, version: Version) -> bool:
    return evidence.kept is not None and version.redacted_at is None and version.content_sha256 is None
