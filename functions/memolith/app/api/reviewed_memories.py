"""Memories of stores that may have writes wait for a person: such a write is opened as a proposal, and not done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memolith.app.api.forwarded_reads import ForwardedReads
from memolith.app.api.linearizable_reads import LinearizableReads
from memolith.app.api.memories import Memories
from memolith.app.auth.authorizer import Authorizer, StoreAccess
from memolith.app.commit.attempt import Outcome
from memolith.app.commit.forwarding import Forwarding
from memolith.app.commit.writer import Writer
from memolith.app.epochs.ownership import Ownership
from memolith.app.index.path_listing import PathListing
from memolith.app.kernel.proposal_results import Proposal, Staged
from memolith.app.kernel.region import Region
from memolith.app.safety.text_access import TextReader
from memolith.core.approval import ApprovalPolicy, author_kind, edit_of
from memolith.core.commands import Command
from memolith.core.errors import InvalidRequest, NeedsApproval, NotFound
from memolith.core.fold import is_live
from memolith.core.proposed_edits import SAME_PATH, SAME_TEXT, EditRequest
from memolith.core.rows.content import MemoryRow

Open = Callable[[StoreAccess, EditRequest], Proposal]


class ReviewedMemories(Memories):
    """The use cases of memories, under the approval policy of their store."""

    def __init__(
        self,
        open_proposal: Open,
        region: Region,
        authorizer: Authorizer,
        writer: Writer,
        forwarding: Forwarding,
        reads: ForwardedReads,
        texts: TextReader,
        linearizable_reads: LinearizableReads,
        records: Ownership,
        listing: PathListing,
    ) -> None:
        super().__init__(region, authorizer, writer, forwarding, reads, texts, linearizable_reads, records, listing)
        self._open_proposal = open_proposal

    def _carry_out(self, access: StoreAccess, command: Command, began_us: int | None) -> Outcome:
        """Carry a write out, or open it as a proposal where the store's policy says so. Raises Staged then.

        The store's home judges where it decides. This region looks first at its own row of the memory, which may be
        old: where the write waits by that already, the home is not asked to write, unless it has by now what is asked
        for. What is written already does not wait. No call more where nothing waits. Whether there is a policy, the
        store's record here says.
        """
        if access.store.approval is None or self._writer.done(access.view, access.store, command) is not None:
            return super()._carry_out(access, command, began_us)
        author = author_kind(access.actor, None if access.key is None else access.key.holder)
        command = replace(command, author=author)
        edit = self._edit_to_review(access, command, author)
        if edit is not None:
            try:
                raise Staged(self._opened(access, edit))
            except InvalidRequest as error:
                if error.rule not in (SAME_TEXT, SAME_PATH):
                    raise
        outcome = super()._carry_out(access, command, began_us)
        if not isinstance(outcome.error, NeedsApproval):
            return outcome
        head = outcome.memory
        edit = edit_of(command, head)
        if edit is None:  # the text is the head's; the home compares what is left of it without its secrets
            gone = head is None or not is_live(head)
            return Outcome(head, NotFound("memory", command.memory_id) if gone else None)
        raise Staged(self._opened(access, edit))

    def _opened(self, access: StoreAccess, edit: EditRequest) -> Proposal:
        """Open a write as a proposal. Raises InvalidRequest with the write's own fields, and what `open_for` raises."""
        try:
            return self._open_proposal(access, edit)
        except InvalidRequest as error:
            raise _of_the_write(error) from error

    @staticmethod
    def _edit_to_review(access: StoreAccess, command: Command, author: str) -> EditRequest | None:
        """Return the edit to propose, if this region's row of the memory says already that it waits. No call."""
        attributes = access.view.rows.get(MemoryRow.key(command.store_id, command.memory_id))
        edit = edit_of(command, None if attributes is None else MemoryRow.from_attributes(attributes))
        policy = ApprovalPolicy.of(access.store.approval)
        return edit if edit is not None and policy.stages(author, (edit.path, edit.to)) else None


def _of_the_write(error: InvalidRequest) -> InvalidRequest:
    """Name the field as the caller sent it: the write is the one edit of the proposal."""
    field = error.field.removeprefix("edits.0.")
    return InvalidRequest(
        "path" if field == "to" else field, error.rule, too_large=error.too_large, findings=error.findings
    )
