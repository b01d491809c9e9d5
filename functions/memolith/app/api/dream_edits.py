"""What becomes of a dream's edits: some wait for a person in one proposal, the others are written, each conditional."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from memolith.app.api.dream_plan import Plan
from memolith.app.api.dream_run import DreamFailedError, Run
from memolith.app.api.memories import Memories
from memolith.app.api.proposals import Proposals
from memolith.app.kernel.proposal_results import Staged
from memolith.app.kernel.region import Region
from memolith.core import ids
from memolith.core.approval import ApprovalPolicy, author_kind
from memolith.core.errors import Busy, InvalidRequest, NotFound, PathConflict, PreconditionFailed
from memolith.core.limits import SOURCES_MAX
from memolith.core.objects.proposal_record import PlannedWrite
from memolith.core.objects.run_record import PROPOSE
from memolith.core.pipelines import dreams
from memolith.core.pipelines.dreams import DreamedMemory, Edit
from memolith.core.pipelines.policy import PipelinesPolicy
from memolith.core.rows.identity import StoreRow

PROPOSED_WHY = "A dream over this store proposes it."

TOO_LARGE = "proposal_too_large"
"""Of an edit that was dropped: its text is too long for a memory, or too much beside those of the edits before it."""

PROPOSED_BEFORE = "proposed_before"
"""Of an edit that was dropped: the dream had opened its one proposal before, without it."""


class DreamEdits:
    """Carries out the edits of dreams, as each dream's own session."""

    def __init__(self, region: Region, memories: Memories, proposals: Proposals) -> None:
        self._region = region
        self._memories = memories
        self._proposals = proposals

    def planned(self, run: Run, edits: Sequence[Edit], memories: Mapping[str, DreamedMemory]) -> Plan:
        """Decide which edits wait for a person; those that one proposal has no room for are dropped.

        An index read where the dream writes.
        """
        reviewed = self._reviewed(run, edits, memories)
        written = tuple(one for one in edits if one not in reviewed)
        proposed = dreams.fit_into_proposal(reviewed, memories)
        run.dropped += [TOO_LARGE] * (len(reviewed) - len(proposed))
        ids = [
            PlannedWrite(number, self._region.new_id("mem"), self._region.new_id("memver"))
            for number, _ in enumerate(written, 1)
        ]
        return Plan(tuple(proposed), written, tuple(ids), memories, tuple(run.dropped))

    def carry_out(self, run: Run, plan: Plan, go_on: Callable[[], None]) -> None:
        """Propose or write what is planned. `go_on` is called before the proposal and each write, and stops by raising.

        Repeatable: what was done of it before is counted, and not done again, whatever others have made of it since.

        Raises:
            DreamFailedError: it cannot be proposed. Unauthenticated, PermissionDenied, Unavailable, OutcomeUnknown.
        """
        if plan.reviewed:
            go_on()
        self._propose(run, plan.reviewed, plan.memories)
        for edit, planned in zip(plan.written, plan.ids, strict=True):
            go_on()
            self._apply(run, edit, planned, plan.memories)

    def _reviewed(self, run: Run, edits: Sequence[Edit], memories: Mapping[str, DreamedMemory]) -> list[Edit]:
        """Return the edits that wait for a person, in one proposal: all, or those that the store's policies stage.

        An index read where the dream writes.
        """
        if run.record.behavior == PROPOSE:
            return list(edits)
        key = StoreRow.key(run.record.output_store_id)
        attributes = self._region.view([key]).rows.get(key)
        store = None if attributes is None else StoreRow.from_attributes(attributes)
        policy = ApprovalPolicy.of(None if store is None else store.approval)
        pipelines = PipelinesPolicy.of(None if store is None else store.pipelines)
        author = author_kind(f"session:{run.record.session_id}", None)
        classes = {path: memory.trust for path, memory in memories.items()}
        return [
            one
            for one in edits
            if policy.stages(author, (one.path, one.to)) or pipelines.waits(one, classes.get(one.path))
        ]

    def _propose(self, run: Run, edits: Sequence[Edit], memories: Mapping[str, DreamedMemory]) -> None:
        """Propose all edits but those that are refused or whose memories changed: each is counted, as a write's is.

        What opening a proposal costs, and as much again for each edit that is left out, with an index read.
        """
        left = list(edits)
        while left:
            number = self._open(run, left, memories)
            if number is None:
                return
            del left[number]

    def _open(self, run: Run, edits: Sequence[Edit], memories: Mapping[str, DreamedMemory]) -> int | None:
        """Open one proposal of all edits, by the dream's id: a dream that is taken up again finds the one it opened.

        Return the number of an edit that has to be left out first, counted, or None.
        """
        asked = dreams.as_proposal(edits, memories)
        store_id, key = run.record.output_store_id, run.record.run_id
        try:
            proposal_id = self._proposals.open(run.call, store_id, why=PROPOSED_WHY, edits=asked, key=key).id
        except InvalidRequest as error:
            proposal_id = ids.keyed_id("prop", store_id, f"session:{run.record.session_id}", key)
            with suppress(NotFound):
                known = self._proposals.retrieve(run.call, store_id, proposal_id)
                has = {(one.op, one.path, one.to, one.content_sha256) for one in known.edits or ()}
                run.dropped += [PROPOSED_BEFORE for one in edits if dreams.as_resolved(one, memories) not in has]
                run.record = replace(run.record, proposal_id=proposal_id)
                return None
            number = _at_fault(error.field)
            if number is None:
                raise DreamFailedError("internal_error", f"its edits cannot be proposed: {error.message}") from error
            run.dropped.append("refused")
            return number
        except (NotFound, PathConflict, PreconditionFailed) as error:
            number = _in_conflict(error, edits)
            if number is None:
                raise
            run.record = replace(run.record, conflicts=run.record.conflicts + 1)
            return number
        run.record = replace(run.record, proposal_id=proposal_id)
        return None

    def _apply(self, run: Run, edit: Edit, planned: PlannedWrite, memories: Mapping[str, DreamedMemory]) -> None:
        try:
            self._write(run, edit, planned, memories)
        except (PreconditionFailed, NotFound, PathConflict, Busy):
            run.record = replace(run.record, conflicts=run.record.conflicts + 1)
        except InvalidRequest:
            run.dropped.append("refused")
        except Staged:  # the policy was set after it was looked at
            run.dropped.append("proposed")

    def _write(self, run: Run, edit: Edit, planned: PlannedWrite, memories: Mapping[str, DreamedMemory]) -> None:
        record = run.record
        written = self._memories.write(run.call, dreams.command_for(edit, memories, record.output_store_id, planned))
        count = {"create": "created", "delete": "deleted"}.get(edit.op, "changed")
        sources = {**record.sources, written.id: edit.sources[:SOURCES_MAX]}
        run.record = replace(record, **{count: getattr(record, count) + 1}, sources=sources)


def _at_fault(field: str) -> int | None:
    """Return the number of the edit that an error names; None where it is about the proposal as a whole."""
    found = re.match(r"edits\.(\d+)\b", field)
    return None if found is None else int(found[1])


def _in_conflict(error: NotFound | PathConflict | PreconditionFailed, edits: Sequence[Edit]) -> int | None:
    """Return the number of the edit whose memory changed, or whose path was taken; None where it is none of them."""
    if isinstance(error, NotFound):
        return _at_fault(error.id)
    if isinstance(error, PathConflict):
        paths = [one.path if one.op == "create" else one.to for one in edits]
        wanted = error.conflicting_path
    else:
        paths = [None if one.op == "create" else one.path for one in edits]
        wanted = error.path
    return paths.index(wanted) if wanted in paths else None
