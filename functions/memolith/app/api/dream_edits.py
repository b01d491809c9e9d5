"""What becomes of a dream's edits: some wait for a person in one proposal, the others are written, each conditional."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from memolith.app.api.dream_run import DreamFailedError, Run
from memolith.app.api.memories import Memories
from memolith.app.api.proposals import Proposals
from memolith.app.kernel.proposal_results import Staged
from memolith.app.kernel.region import Region
from memolith.core import ids
from memolith.core.approval import ApprovalPolicy, author_kind
from memolith.core.errors import Busy, InvalidRequest, NotFound, PathConflict, PreconditionFailed
from memolith.core.objects.run_record import PROPOSE
from memolith.core.pipelines import dreams
from memolith.core.pipelines.dreams import DreamedMemory, Edit
from memolith.core.rows.identity import StoreRow

PROPOSED_WHY = "A dream over this store proposes it."


class DreamEdits:
    """Carries out the edits of dreams, as each dream's own session."""

    def __init__(self, region: Region, memories: Memories, proposals: Proposals) -> None:
        self._region = region
        self._memories = memories
        self._proposals = proposals

    def carry_out(
        self, run: Run, edits: Sequence[Edit], memories: Mapping[str, DreamedMemory], go_on: Callable[[], None]
    ) -> None:
        """Propose or write edits of what was read. `go_on` is called before each write, and stops it by raising.

        Raises:
            DreamFailedError: they cannot be proposed. Unauthenticated, PermissionDenied, Unavailable, OutcomeUnknown.
        """
        reviewed = self._reviewed(run, edits)
        self._propose(run, reviewed, memories)
        self._apply(run, [one for one in edits if one not in reviewed], memories, go_on)

    def _reviewed(self, run: Run, edits: Sequence[Edit]) -> list[Edit]:
        """Return the edits that wait for a person, in one proposal: all, or those that the store's policy stages.

        An index read where the dream writes.
        """
        if run.record.behavior == PROPOSE:
            return list(edits)
        key = StoreRow.key(run.record.output_store_id)
        attributes = self._region.view([key]).rows.get(key)
        policy = ApprovalPolicy.of(None if attributes is None else StoreRow.from_attributes(attributes).approval)
        author = author_kind(f"session:{run.record.session_id}", None)
        return [one for one in edits if policy.stages(author, (one.path, one.to))]

    def _propose(self, run: Run, edits: Sequence[Edit], memories: Mapping[str, DreamedMemory]) -> None:
        """Open one proposal of all edits, by the dream's id: a dream that is taken up again finds the one it opened."""
        if not edits:
            return
        asked = dreams.as_proposal(edits, memories)
        store_id, key = run.record.output_store_id, run.record.run_id
        try:
            proposal_id = self._proposals.open(run.call, store_id, why=PROPOSED_WHY, edits=asked, key=key).id
        except InvalidRequest as error:
            proposal_id = ids.keyed_id("prop", store_id, f"session:{run.record.session_id}", key)
            with suppress(NotFound):
                self._proposals.retrieve(run.call, store_id, proposal_id)
                run.record = replace(run.record, proposal_id=proposal_id)
                return
            raise DreamFailedError("internal_error", f"its edits cannot be proposed: {error.message}") from error
        except (PathConflict, PreconditionFailed) as error:
            raise DreamFailedError("internal_error", "the store changed while the dream ran; dream again") from error
        run.record = replace(run.record, proposal_id=proposal_id)

    def _apply(
        self, run: Run, edits: Sequence[Edit], memories: Mapping[str, DreamedMemory], go_on: Callable[[], None]
    ) -> None:
        for edit in edits:
            go_on()
            try:
                self._write(run, edit, memories)
            except (PreconditionFailed, NotFound, PathConflict, Busy):
                run.record = replace(run.record, conflicts=run.record.conflicts + 1)
            except InvalidRequest:
                run.dropped.append("refused")
            except Staged:  # the policy was set after it was looked at
                run.dropped.append("proposed")

    def _write(self, run: Run, edit: Edit, memories: Mapping[str, DreamedMemory]) -> None:
        store_id, record = run.record.output_store_id, run.record
        if edit.op == "create":
            self._memories.create(run.call, store_id, path=edit.path, content=edit.content or "", full=False)
            run.record = replace(record, created=record.created + 1)
            return
        memory = memories[edit.path]
        if edit.op == "delete":
            self._memories.delete(run.call, store_id, memory.id, expected_content_sha256=memory.sha256)
            run.record = replace(record, deleted=record.deleted + 1)
            return
        self._memories.update(
            run.call,
            store_id,
            memory.id,
            content=None if edit.op == "rename" else dreams.new_text(edit, memory),
            path=edit.to if edit.op == "rename" else None,
            expected_content_sha256=memory.sha256,
            full=False,
        )
        run.record = replace(record, changed=record.changed + 1)
