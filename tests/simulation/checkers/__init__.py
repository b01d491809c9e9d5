"""Checkers: from evidence to broken promises, and nothing of how Memolith works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from memolith.app.kernel.results import Version
from tests.simulation.checkers import (
    audits,
    decisions,
    durability,
    exceptions,
    jobs,
    linearizability,
    promises,
    readers,
    resolutions,
    retention,
    sessions,
    snapshots,
    texts,
    verdicts,
    watermarks,
)
from tests.simulation.checkers.terms import makers, memories_are_linearizable
from tests.simulation.checkers.texts import texts_of_versions
from tests.simulation.evidence import Evidence
from tests.simulation.history import Operation, Refusal, Seen


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise, and which checker says so."""

    checker: str
    text: str

    def __str__(self) -> str:
        return f"{self.checker}: {self.text}"


def operations_are_linearizable(evidence: Evidence) -> Iterator[str]:
    """See `linearizability`."""
    for store_id, home in evidence.homes.items():
        made = [
            _as_creation(evidence, one)
            for one in evidence.history.operations
            if one.store_id == store_id and not _is_read_in_passing(evidence, one)
        ]
        created = {sha: memory_id for (memory_id, _), sha in texts_of_versions(evidence, store_id).items()}
        rest = list(_last_reads(evidence, store_id, home))
        began = evidence.taken_over.get(store_id)
        terms = [[*made, *rest]] if began is None else [_before(made, began), [*_kept(evidence, made), *rest]]
        if began is not None and exceptions.lists_a_path_and_its_ancestor(evidence, store_id):
            terms.pop()
        wiped = [evidence.wiped[region] for region in evidence.homes_ever[store_id] if region in evidence.wiped]
        for operations in terms:
            if not linearizability.linearizable(operations, created, min(wiped, default=None)):
                yield f"no order explains what {store_id} answered"
        if began is not None and not wiped:
            yield from memories_are_linearizable(evidence, store_id, rest)


def _as_creation(evidence: Evidence, one: Operation) -> Operation:
    """An unanswered restoration as a creation, where there is what it made of a memory that was gone: another one."""
    if one.kind != "update" or one.answer is not None or "restores" not in one.asked:
        return one
    sha256 = linearizability.sha256(one.asked["content"])
    versions = evidence.final[one.store_id][evidence.homes[one.store_id]].versions.values()
    for version in chain.from_iterable(versions):
        created = version.operation == "created" and version.content_sha256 == sha256
        is_later = version.id in evidence.written and one.invoked <= evidence.written[version.id].put_at
        if created and is_later and version.memory_id != one.asked["memory_id"]:
            return replace(
                one, kind="create", asked={**one.asked, "path": version.path, "memory_id": version.memory_id}
            )
    return one


def _is_read_in_passing(evidence: Evidence, one: Operation) -> bool:
    """Whether a read that demanded nothing tells of a memory that was shown in passing, or of its not being there."""
    if one.kind != "read" or one.asked.get("home") is not None:
        return False
    return exceptions.was_shown_in_passing(evidence, one.store_id, one.asked["memory_id"])


def _before(made: list[Operation], began: int) -> list[Operation]:
    """What was answered before others took the store over; what was under way then stays open."""
    earlier = [one for one in made if one.invoked < began]
    return [one if (one.returned or began) < began else replace(one, returned=None, answer=None) for one in earlier]


def _kept(evidence: Evidence, made: list[Operation]) -> Iterator[Operation]:
    """The writes that the store's history has at rest, in spite of the take-over.

    What the old home knew and nobody else did is no part of it, nor is what was read, refused, or found to be so
    already because of that. Open is what may have had its effect or not: a version that came late and was adopted, or
    that the history goes on from without having it, and a deletion, which does not say which version it is. Where a
    version stands apart, or was erased and counts again, that its memory is gone may be all that is known of it.
    """
    made_by = makers(evidence, made[0].store_id, made) if made else frozenset()
    gone: dict[str, Operation] = {}
    for one in made:
        memory_id: str = one.asked.get("memory_id") or ""
        erases = one.kind in ("dismiss", "redact") and not one.refused
        if erases and exceptions.has_no_head(evidence, one.store_id, memory_id):
            gone.setdefault(memory_id, one)
        if one.kind not in ("create", "update", "delete") or one.refused:
            continue
        certain = False
        if not isinstance(one.answer, Seen):
            yield _open(evidence, one)
        elif one.number not in made_by:
            continue
        else:
            memory_id = one.answer.memory_id
            final = evidence.final[one.store_id][evidence.homes[one.store_id]]
            history = {version.id for version in final.versions.get(memory_id, ())}
            certain = one.answer.version_id in history and not _is_adopted(evidence, one.answer.version_id)
            if certain or history:
                yield one if certain else _open(evidence, one)
        may_have_left = one.kind != "delete" and memory_id and not certain
        if may_have_left and exceptions.left_its_path_apart(evidence, one.store_id, memory_id):
            gone.setdefault(memory_id, one)
    for memory_id, one in gone.items():
        yield replace(one, kind="delete", asked={"memory_id": memory_id, "expected": None}, returned=None, answer=None)


def _open(evidence: Evidence, one: Operation) -> Operation:
    """The operation as one that may have had its effect or not: at which path it may bring its memory back, too."""
    final = evidence.final[one.store_id][evidence.homes[one.store_id]]
    for version in final.versions.get(one.asked.get("memory_id") or "", ()) if one.kind == "update" else ():
        if _may_be(one, version) and exceptions.brings_its_memory_back(evidence, one.store_id, version):
            return replace(one, returned=None, answer=None, asked={**one.asked, "back": version.path})
    created = {"memory_id": one.answer.memory_id} if one.kind == "create" and isinstance(one.answer, Seen) else {}
    return replace(one, returned=None, answer=None, asked={**one.asked, **created})


def _may_be(one: Operation, version: Version) -> bool:
    """Whether an update may have made a version: of its text, and the one that it was shown if it was told."""
    if one.asked["content"] is None or linearizability.sha256(one.asked["content"]) != version.content_sha256:
        return False
    return not isinstance(one.answer, Seen) or one.answer.version_id == version.id


def _is_adopted(evidence: Evidence, version_id: str) -> bool:
    return version_id in evidence.written and evidence.written[version_id].adopted


def _last_reads(evidence: Evidence, store_id: str, home: str) -> Iterator[Operation]:
    """What the home shows at rest, as reads after everything else."""
    moment = max((one.returned or one.invoked for one in evidence.history.operations), default=0)
    for memory_id, shown in evidence.final[store_id][home].read.items():
        moment += 2
        answer = shown if isinstance(shown, Seen) else Refusal(shown)
        asked = {"memory_id": memory_id}
        yield Operation(-1, "rest", home, store_id, True, "read", asked, moment, moment + 1, answer)


CHECKERS: tuple[Callable[[Evidence], Iterator[str]], ...] = (
    operations_are_linearizable,
    promises.nothing_acknowledged_is_lost,
    promises.an_acknowledged_deletion_is_kept,
    durability.what_is_acknowledged_is_in_two_regions,
    promises.history_has_no_gaps,
    promises.what_is_in_order_is_what_the_history_ends_with,
    promises.nothing_refused_is_visible,
    promises.replicas_converge,
    promises.a_rebuild_gives_the_same_rows,
    promises.events_that_come_again_change_nothing,
    promises.one_memory_one_path,
    promises.no_error_but_the_apis,
    readers.no_read_shows_a_text_that_was_never_written,
    readers.a_region_never_goes_back,
    readers.a_demanded_read_is_no_older,
    readers.a_replica_is_never_ahead,
    readers.who_is_refused_can_read_why,
    readers.own_writes_are_in_the_history,
    readers.a_history_of_the_store_is_whole,
    readers.what_was_redacted_stays_so,
    readers.time_does_not_run_backwards,
    readers.a_listing_shows_each_path_once,
    promises.every_path_can_be_written,
    promises.what_is_acknowledged_is_in_a_checkpoint,
    watermarks.the_watermark_never_claims_what_is_missing,
    watermarks.watermarks_do_not_stick,
    retention.a_head_is_never_blanked,
    retention.the_last_versions_are_kept,
    retention.retired_text_is_nowhere,
    snapshots.a_snapshot_is_what_the_history_says,
    snapshots.a_snapshot_does_not_change,
    texts.redacted_text_is_nowhere,
    texts.a_deleted_store_is_nowhere,
    texts.text_of_no_version_is_nowhere,
    decisions.dismissed_text_is_nowhere,
    audits.an_audit_names_what_was_done,
    audits.an_audit_names_nothing_else,
    audits.a_region_folds_no_checkpoint_out_of_the_chain,
    sessions.an_ended_session_stays_ended,
    jobs.a_record_of_a_job_is_put_once,
    jobs.a_claim_holds_for_its_lease,
    jobs.one_run_of_a_watermark_counts,
    jobs.a_job_is_done_once_its_run_is_over,
    jobs.a_dream_changes_only_what_it_read,
    jobs.every_dream_ends,
    resolutions.a_conflict_is_resolved_once,
    resolutions.the_resolution_of_the_last_epoch_holds,
    resolutions.what_is_resolved_is_open_no_more,
    verdicts.withheld_texts_are_shown_nowhere,
    verdicts.a_text_is_shown_no_more_where_it_was_withheld,
    verdicts.released_texts_are_shown_everywhere,
)


def check(evidence: Evidence) -> list[Violation]:
    """Every broken promise, by every checker."""
    return [Violation(checker.__name__, text) for checker in CHECKERS for text in checker(evidence)]
