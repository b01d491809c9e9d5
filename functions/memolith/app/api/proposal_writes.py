"""Carrying out what was decided of a proposal, at the store's home: applying its edits, and taking them back.

    the plan is put -> each edit is written as an ordinary version, under its planned id -> the end is put

A write is pinned to the very version that was looked at, so that nothing is written over another writer's. A call that
dies between any two steps is repeated by its caller, or by the reconciler: a version that is there already, under its
planned id, is not written again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memolith.app.api.memories import Memories
from memolith.app.commit.adoption import Adoption
from memolith.app.commit.attempt import Outcome
from memolith.app.commit.log_steps import known_version
from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.kernel.region import Region
from memolith.app.safety.text_access import TextReader
from memolith.core.commands import Command, CreateMemory, DeleteMemory, UpdateMemory, attempt_ids, version_ids
from memolith.core.errors import Damaged, InvalidRequest, NotFound, PathConflict, PreconditionFailed, Unavailable
from memolith.core.integrity import Acknowledged
from memolith.core.objects.proposal_record import EditResult, PlannedWrite, ProposalRecord, ProposedEdit
from memolith.core.proposals import (
    APPLIED,
    CHANGED_SINCE,
    LEFT_OUT,
    REFUSED,
    REVERTED,
    STALE,
    UNAVAILABLE,
    UNCHANGED,
    by_number,
    command_for,
    conflict,
)
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import UNSEEN_ENTRY, MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow

DIVERGENT = "the version that a lost home wrote of it is divergent"
ERASED = "the edit was erased before it was written"
_REFUSALS = (PreconditionFailed, NotFound, PathConflict)


@dataclass(slots=True)
class Written:
    """What a plan came to, edit by edit, and the entries that were put or met, for another region to project."""

    results: list[EditResult] = field(default_factory=list)
    resolved: list[ResolvedEntry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Found:
    """What there is of one edit: the memory's head, and the plan's own version, which counts or is divergent."""

    head: MemoryRow | None
    done: str | None
    is_divergent: bool


class ProposalWrites:
    """Writes the versions of an approval, and of a reversal."""

    def __init__(
        self, region: Region, memories: Memories, texts: TextReader, repair: EpochRepair, adoption: Adoption
    ) -> None:
        self._region = region
        self._repair = repair
        self._adoption = adoption
        self._memories = memories
        self._texts = texts

    # ---- applying -----------------------------------------------------------------------------------------------

    def apply(self, store: StoreRow, opened: ProposalRecord, decision: ProposalRecord) -> Written:
        """Write what the decision plans, in the order of the edits. Repeatable: what is written stays as it is.

        An index read and what an ordinary write costs, for each edit, and a read more where it writes nothing; one that
        is stale or refused does not stop the others.

        Raises:
            Busy, Unavailable, OutcomeUnknown; NotHome: it is not carried out to its end; repeat it.
        """
        planned, written = by_number(decision.plan), Written()
        for number, edit in enumerate(opened.edits, 1):
            one = planned.get(number)
            if one is None:
                written.results.append(EditResult(number, LEFT_OUT))
                continue
            result = self._apply(store, edit, one, decision.by, written)
            written.results.append(self._confirmed(store, one, result, APPLIED))
        return written

    def _confirmed(self, store: StoreRow, planned: PlannedWrite, result: EditResult, done: str) -> EditResult:
        """Return what became of an edit: `result`, or that it is `done` where it says otherwise and is wrong.

        Another call may carry out the same plan beside this one. A batch is not one moment: the memory's row in it may
        be newer than that of the planned version. One read where the result names no version.
        """
        if result.version_id is not None:
            return result
        own = [VersionRow.key(store.store_id, one) for one in attempt_ids(planned.version_id)]
        version = known_version(self._region.view(own).rows, own)
        return result if version is None else EditResult(planned.number, done, version.version_id, planned.memory_id)

    def _apply(
        self, store: StoreRow, edit: ProposedEdit, planned: PlannedWrite, actor: str, written: Written
    ) -> EditResult:
        memory_id = edit.memory_id or planned.memory_id
        found = self._look(store, memory_id, planned)
        head = found.head
        if found.done is not None:
            return EditResult(planned.number, APPLIED, found.done, memory_id)
        if edit.path is None:
            return EditResult(planned.number, REFUSED, memory_id=memory_id, detail=ERASED)
        if head is not None and edit.op == "replace" and head.content_sha256 == edit.content_sha256:
            return EditResult(planned.number, UNCHANGED, memory_id=memory_id)
        stale = conflict(edit, head, None)
        if stale is not None or found.is_divergent:
            return EditResult(planned.number, STALE, memory_id=memory_id, detail=stale or DIVERGENT)
        command = command_for(edit, planned, store.store_id, actor, head)
        return self._write(store, command, planned.number, written, APPLIED, STALE)

    def _look(self, store: StoreRow, memory_id: str, planned: PlannedWrite) -> _Found:
        """Return the memory's head, and whether the plan's version is there already.

        A lost home may have written it. A head that came late is repaired first (`EpochRepair.memory`); a version that
        does not count is adopted, or stays divergent. An index read; what an adoption costs where there is one.

        Raises:
            Unavailable: the late version itself has not arrived.
        """
        ids = attempt_ids(planned.version_id)
        own = [VersionRow.key(store.store_id, one) for one in ids]
        late = [VersionRow.late_key(store.store_id, one) for one in ids]
        key, is_asked = MemoryRow.key(store.store_id, memory_id), False
        while True:
            view = self._region.view([key, *own, *late])
            head = MemoryRow.from_attributes(view.rows[key]) if key in view.rows else None
            if head is not None and self._repair.memory(view, store, head):
                continue
            done, divergent = known_version(view.rows, own), known_version(view.rows, late)
            if done is not None or divergent is None or is_asked:
                return _Found(head, None if done is None else done.version_id, divergent is not None)
            if UNSEEN_ENTRY in (divergent.unseen or ()):
                raise Unavailable(f"{divergent.version_id} is of a home that was lost, and has not arrived; try again")
            self._adoption.adopt(store, divergent.ref.key_in(store.store_id))
            is_asked = True

    def _write(
        self, store: StoreRow, command: Command, number: int, written: Written, done: str, changed: str
    ) -> EditResult:
        """Carry one command out; a refusal is the edit's result, and no error."""
        try:
            outcome = self._memories.write_at_home(store.workspace_id, command)
        except InvalidRequest as error:
            return EditResult(number, REFUSED, memory_id=command.memory_id, detail=error.message)
        written.resolved += outcome.resolved
        if isinstance(outcome.error, _REFUSALS):
            return EditResult(number, changed, memory_id=command.memory_id, detail=outcome.error.message)
        if outcome.error is not None:
            return EditResult(number, REFUSED, memory_id=command.memory_id, detail=outcome.error.message)
        return _result(number, command, outcome, done)

    # ---- taking back --------------------------------------------------------------------------------------------

    def revert(self, store: StoreRow, opened: ProposalRecord, applied: ProposalRecord, plan: ProposalRecord) -> Written:
        """Take back each version of the proposal that is still its memory's head, the newest first. Repeatable.

        A text is taken from the version before it. What was deleted comes back as a new memory. Costs and raises as
        `apply`, and a GET for each text.
        """
        planned, written = by_number(plan.plan), Written()
        results = {one.number: one for one in applied.results}
        for number in sorted(planned, reverse=True):
            edit, one = opened.edits[number - 1], planned[number]
            result = self._take_back(store, edit, results[number], one, plan.by, written)
            written.results.append(self._confirmed(store, one, result, REVERTED))
        written.results.reverse()
        return written

    def _take_back(
        self,
        store: StoreRow,
        edit: ProposedEdit,
        result: EditResult,
        planned: PlannedWrite,
        actor: str,
        written: Written,
    ) -> EditResult:
        memory_id = result.memory_id or planned.memory_id
        found = self._look(store, memory_id, planned)
        head = found.head
        if found.done is not None:
            return EditResult(planned.number, REVERTED, found.done, planned.memory_id)
        if head is None or head.version_id != result.version_id or found.is_divergent:
            return EditResult(planned.number, CHANGED_SINCE, memory_id=memory_id)
        try:
            command = self._undoing(store, edit, head, planned, actor)
        except (InvalidRequest, Damaged) as error:
            return EditResult(planned.number, UNAVAILABLE, memory_id=memory_id, detail=error.message)
        return self._write(store, command, planned.number, written, REVERTED, CHANGED_SINCE)

    def _undoing(
        self, store: StoreRow, edit: ProposedEdit, head: MemoryRow, planned: PlannedWrite, actor: str
    ) -> Command:
        """Return the command that undoes the version at the head. Raises InvalidRequest, Damaged, Unavailable.

        The versions say whether a rename brought a new text, not the edit, whose text may be erased by now.
        """
        ids: dict[str, Any] = {"store_id": store.store_id, "version_id": planned.version_id, "actor": actor}
        pinned: dict[str, Any] = {"memory_id": head.memory_id, "expected_version_id": head.version_id}
        if edit.op == "create":
            return DeleteMemory(**ids, **pinned)
        before = self._before(store, head)
        if edit.op == "rename" and before.content_sha256 == head.content_sha256:
            return UpdateMemory(**ids, **pinned, path=before.path)
        text = self._text(store, before)
        if edit.op == "rename":
            return UpdateMemory(**ids, **pinned, path=before.path, content=text, trust=before.trust)
        if edit.op == "delete":
            path = before.path or ""
            return CreateMemory(**ids, memory_id=planned.memory_id, path=path, content=text, trust=before.trust)
        return UpdateMemory(**ids, **pinned, content=text, trust=before.trust)

    def _before(self, store: StoreRow, head: MemoryRow) -> VersionRow:
        """Return the version before a head. Two index reads. Raises InvalidRequest where its path was erased."""
        own = VersionRow.key(store.store_id, head.version_id)
        rows = self._region.view([own]).rows
        parent_id = VersionRow.from_attributes(rows[own]).parent_version_id if own in rows else None
        key = VersionRow.key(store.store_id, parent_id or "")
        found = self._region.view([key]).rows.get(key)
        before = None if found is None else VersionRow.from_attributes(found)
        if before is None or before.path is None:
            raise InvalidRequest("", "the version before it was erased")
        return before

    def _text(self, store: StoreRow, before: VersionRow) -> str:
        text = self._texts.read(
            store.store_id, before.ref, Acknowledged(before.content_sha256 or "", before.version_id)
        )
        if text is None:
            raise InvalidRequest("", "the text before it was erased")
        return text


def _result(number: int, command: Command, outcome: Outcome, done: str) -> EditResult:
    """Return what an accepted command came to: a version of its own, or nothing, as the store said so already."""
    memory = outcome.memory
    if memory is None or memory.version_id not in version_ids(command):
        return EditResult(number, UNCHANGED, memory_id=command.memory_id)
    return EditResult(number, done, memory.version_id, memory.memory_id)
