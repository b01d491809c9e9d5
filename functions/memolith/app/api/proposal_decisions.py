"""What happens to a proposal at its store's home: each step is one record, put once, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from memolith.app.api.proposal_drafts import ProposalDrafts
from memolith.app.api.proposal_writes import ProposalWrites, Written
from memolith.app.epochs.fence import Fence, require_writing_home, stored_record
from memolith.app.kernel.eraser_client import ask_eraser
from memolith.app.kernel.peer_messages import NotHome
from memolith.app.kernel.region import Region, View
from memolith.app.proposals.proposal_log import ProposalLog
from memolith.core.approval import ApprovalPolicy
from memolith.core.epochs import is_same_term
from memolith.core.errors import Busy, InvalidRequest, NotFound, OutcomeUnknown, Unavailable
from memolith.core.objects.proposal_record import PlannedWrite, ProposalRecord, ProposalStep
from memolith.core.proposals import (
    APPLIED,
    APPROVED_OUTCOME,
    EXPIRED,
    REJECTED,
    WITHDRAWN,
    chosen_numbers,
    due_at,
    holding,
    join,
    unfinished,
)
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.proposals import ProposalRow

RECONCILER = "service_account:reconciler"
"""Who expires proposals, and has their texts erased."""

_OUTCOMES = {"approve": APPROVED_OUTCOME, "reject": REJECTED, "withdraw": WITHDRAWN, "expire": EXPIRED}


class ProposalDecisions:
    """Opens, decides, carries out and takes back proposals of stores whose home this region is."""

    def __init__(
        self, region: Region, fence: Fence, log: ProposalLog, drafts: ProposalDrafts, writes: ProposalWrites
    ) -> None:
        self._region = region
        self._fence = fence
        self._log = log
        self._drafts = drafts
        self._writes = writes

    def change_at_home(
        self, store: StoreRow, request: Mapping[str, Any]
    ) -> tuple[list[ProposalRecord], list[ResolvedEntry]]:
        """Do what a request says; return the proposal's records, and the entries that were put or met. Repeatable.

        Raises:
            InvalidRequest: it is decided otherwise, or not yet. NotFound; Busy, Unavailable: nothing was done.
            OutcomeUnknown: it may be, in part or whole; repeat the call.
        """
        change, store_id, proposal_id = request["change"], store.store_id, request["proposal_id"]
        view = self._region.view([StoreRow.key(store_id), ProposalRow.key(store_id, proposal_id)])
        store = _own(view, store, self._region.name)
        attributes = view.rows.get(ProposalRow.key(store_id, proposal_id))
        row = None if attributes is None else ProposalRow.from_attributes(attributes)
        if change == "open":
            return self._open(view, store, row, request), []
        row = self._log.caught_up(view, store, proposal_id, row)
        if row is None or row.opened is None:
            raise NotFound("proposal", proposal_id)
        opened = self._require(row, ProposalStep.OPENED)
        if change == "revert":
            return self._revert(view, store, row, opened, request)
        if change == "erase":
            return self._erase(view, store, row, opened, request)
        return self._decide(view, store, row, opened, request)

    def _open(
        self, view: View, store: StoreRow, row: ProposalRow | None, request: Mapping[str, Any]
    ) -> list[ProposalRecord]:
        if store.archived_at is not None:
            raise InvalidRequest("memory_store_id", "the memory store is archived and takes no proposals")
        if request.get("staged"):
            row, draft = self._drafts.staged(view, store, request)
        else:
            row = self._log.caught_up(view, store, request["proposal_id"], row)
            draft = self._drafts.draft(view, store, request)
        return self._as_it_is(row, self._put(view, store, draft))

    def _as_it_is(self, row: ProposalRow | None, opened: ProposalRecord) -> list[ProposalRecord]:
        """Return the records of a proposal that was opened before, and may be decided or erased by now.

        A GET for each later one; none for a new proposal.
        """
        if row is None:
            return [opened]
        records, order = self._records(row, opened), self._log.record(row, ProposalStep.ERASED)
        return records if order is None else [*(one.blanked() for one in records), order]

    def _records(self, row: ProposalRow, opened: ProposalRecord) -> list[ProposalRecord]:
        """Return a proposal's records but the order to erase it, and but what does not hold. A GET for each."""
        held = holding(row)
        return [opened, *(one for step in _LATER if (one := self._log.record(held, step)) is not None)]

    # ---- deciding -----------------------------------------------------------------------------------------------

    def _decide(
        self, view: View, store: StoreRow, row: ProposalRow, opened: ProposalRecord, request: Mapping[str, Any]
    ) -> tuple[list[ProposalRecord], list[ResolvedEntry]]:
        outcome = _OUTCOMES[request["change"]]
        decision = self._log.record(row, ProposalStep.DECIDED)
        if decision is None and outcome == APPROVED_OUTCOME:
            if row.erased is not None:
                raise InvalidRequest(
                    "proposal_id", "the proposal's texts were erased, so nothing of it can be written; reject it"
                )
            endorsement = self._endorsement(view, store, row, opened, request)
            if endorsement is not None:
                return [opened, endorsement], []
        if decision is None:
            decision = self._put(view, store, self._decision(store, opened, outcome, request))
        if decision.outcome != outcome:
            raise InvalidRequest("proposal_id", f"the proposal is {decision.outcome} already")
        if outcome != APPROVED_OUTCOME:
            return [opened, decision], []
        asked = chosen_numbers(len(opened.edits), request.get("edits"))
        if request.get("edits") is not None and asked != tuple(one.number for one in decision.plan):
            raise InvalidRequest("edits", "the proposal is approved already, with other edits than these")
        applied, resolved = self._carry_out(
            view, store, row, ProposalStep.APPLIED, decision, lambda: self._writes.apply(store, opened, decision)
        )
        return [opened, *self._endorsed(row), decision, applied], resolved

    def _endorsed(self, row: ProposalRow) -> list[ProposalRecord]:
        """Return the first of two approvals, where there was one. A GET for a proposal that needed two."""
        first = self._log.record(row, ProposalStep.ENDORSED)
        return [] if first is None else [first]

    def _endorsement(
        self, view: View, store: StoreRow, row: ProposalRow, opened: ProposalRecord, request: Mapping[str, Any]
    ) -> ProposalRecord | None:
        """Record the first of two approvals; None where the store needs no other than the caller's.

        Of two first approvals at once, one is put, and the other one's is the second.
        """
        paths = [path for edit in opened.edits for path in (edit.path, edit.to)]
        if ApprovalPolicy.of(store.approval).approvals(paths) == 1:
            return None
        draft = self._decision(store, opened, APPROVED_OUTCOME, request)
        chosen = tuple(one.number for one in draft.plan)
        first = self._log.record(row, ProposalStep.ENDORSED)
        if first is None:
            first = self._put(
                view, store, replace(draft, step=ProposalStep.ENDORSED, outcome=None, plan=(), chosen=chosen)
            )
        if first.chosen != chosen:
            raise InvalidRequest("edits", f"must be those that the first approval names: {_numbers(first.chosen)}")
        return first if first.by == request["actor"] else None

    def _decision(
        self, store: StoreRow, opened: ProposalRecord, outcome: str, request: Mapping[str, Any]
    ) -> ProposalRecord:
        """Make the one decision; an approval has the plan of what it writes, and so has to know all of it now."""
        now_us = self._region.clock.now_us()
        expired = opened.expires_at is not None and now_us >= opened.expires_at
        if outcome == EXPIRED and not expired:
            raise InvalidRequest("proposal_id", "the proposal has not expired yet")
        if outcome != EXPIRED and expired:
            raise InvalidRequest("proposal_id", "the proposal has expired; propose it again")
        plan: tuple[PlannedWrite, ...] = ()
        if outcome == APPROVED_OUTCOME:
            numbers = chosen_numbers(len(opened.edits), request.get("edits"))
            plan = self._plan((number, opened.edits[number - 1].memory_id) for number in numbers)
        return ProposalRecord(
            store_id=store.store_id,
            proposal_id=opened.proposal_id,
            step=ProposalStep.DECIDED,
            epoch=store.epochs[-1],
            at=now_us,
            by=request["actor"],
            outcome=outcome,
            reason=request.get("reason") or "",
            plan=plan,
        )

    def _plan(self, memories: Iterator[tuple[int, str | None]]) -> tuple[PlannedWrite, ...]:
        """Give every write its ids, and a new memory its own."""
        new_id = self._region.new_id
        return tuple(
            PlannedWrite(number, memory_id or new_id("mem"), new_id("memver")) for number, memory_id in memories
        )

    # ---- taking back --------------------------------------------------------------------------------------------

    def _revert(
        self, view: View, store: StoreRow, row: ProposalRow, opened: ProposalRecord, request: Mapping[str, Any]
    ) -> tuple[list[ProposalRecord], list[ResolvedEntry]]:
        decision = self._log.record(row, ProposalStep.DECIDED)
        if decision is None or decision.outcome != APPROVED_OUTCOME:
            raise InvalidRequest("proposal_id", "only an approved proposal can be reverted")
        held = holding(row)
        if held.applied is None:
            raise InvalidRequest(
                "proposal_id", "the approval is not carried out to its end yet; approve it again first"
            )
        applied = self._require(held, ProposalStep.APPLIED)
        plan = self._log.record(held, ProposalStep.REVERTING)
        if plan is None:
            written = [one for one in applied.results if one.outcome == APPLIED]
            deletions = {n for n, edit in enumerate(opened.edits, 1) if edit.op == "delete"}
            memories = ((one.number, None if one.number in deletions else one.memory_id) for one in written)
            draft = ProposalRecord(
                store_id=store.store_id,
                proposal_id=opened.proposal_id,
                step=ProposalStep.REVERTING,
                epoch=store.epochs[-1],
                at=self._region.clock.now_us(),
                by=request["actor"],
                plan=self._plan(iter(memories)),
            )
            plan = self._put(view, store, draft, decision.epoch)
        reversal = plan
        reverted, resolved = self._carry_out(
            view,
            store,
            row,
            ProposalStep.REVERTED,
            reversal,
            lambda: self._writes.revert(store, opened, applied, reversal),
        )
        return [opened, *self._endorsed(row), decision, applied, reversal, reverted], resolved

    # ---- erasing ------------------------------------------------------------------------------------------------

    def _erase(
        self, view: View, store: StoreRow, row: ProposalRow, opened: ProposalRecord, request: Mapping[str, Any]
    ) -> tuple[list[ProposalRecord], list[ResolvedEntry]]:
        if row.decided is None:
            raise InvalidRequest("proposal_id", "an open proposal is not erased; reject or withdraw it first")
        if (unfinished := _due_change(row)) != "erase":
            self.change_at_home(store, {**request, "change": unfinished})
            row = self._log.row(view.index, store.store_id, opened.proposal_id) or row
        records = self._records(row, opened)
        erased = ProposalRecord(
            store_id=store.store_id,
            proposal_id=opened.proposal_id,
            step=ProposalStep.ERASED,
            epoch=store.epochs[-1],
            at=self._region.clock.now_us(),
            by=request["actor"],
        )
        order = self._log.record(row, ProposalStep.ERASED) or self._put(view, store, erased)
        try:
            ask_eraser(self._region, {"call": "erase_proposal", "key": str(order.key(self._region.name))})
        except Unavailable:
            self._region.metrics.count("erasures_deferred")
        return [*(one.blanked() for one in records), order], []

    # ---- steps --------------------------------------------------------------------------------------------------

    def _require(self, row: ProposalRow, step: ProposalStep) -> ProposalRecord:
        record = self._log.record(row, step)
        if record is None:
            raise Unavailable("a record of the proposal is not here yet; try again")
        return record

    def _put(self, view: View, store: StoreRow, draft: ProposalRecord, cause: str | None = None) -> ProposalRecord:
        """Put a record and project it; return the one that holds. Fenced, as any write of the home. `cause`: see `put`.

        Raises:
            Busy, Unavailable: nothing was done. OutcomeUnknown: repeat the call.
        """
        with self._fence.term(view, store, f"{draft.proposal_id} may be changed", "repeat the call"):
            stored = self._log.put(draft, cause)
            if draft.step == ProposalStep.OPENED:
                stored = self._drafts.same(stored, draft.request_hmac, draft.by)
            self._log.fold_own(view, stored)
        return stored

    def _carry_out(
        self,
        view: View,
        store: StoreRow,
        row: ProposalRow,
        step: ProposalStep,
        plan: ProposalRecord,
        write: Callable[[], Written],
    ) -> tuple[ProposalRecord, list[ResolvedEntry]]:
        """Write what is planned, and put the record that says what that came to; nothing where it stands already.

        `row` is as it was before `plan` was put. Writing may outlast a lease, so the store's record is read again.
        """
        with _decided(plan.proposal_id):
            stored = self._log.record(holding(join(row, plan)), step)
            if stored is not None:
                return stored, []
            written = write()
            draft = ProposalRecord(
                store_id=store.store_id,
                proposal_id=plan.proposal_id,
                step=step,
                epoch=store.epochs[-1],
                at=self._region.clock.now_us(),
                by=plan.by,
                results=tuple(written.results),
            )
            view = self._region.view([StoreRow.key(store.store_id)])
            return self._put(view, self._in_same_term(view, store), draft, plan.epoch), written.resolved

    def _in_same_term(self, view: View, store: StoreRow) -> StoreRow:
        """Return the store's record as `view` has it, where it is of the term in which the call began. No call.

        What a call found in a term that is over says nothing about the store now, even where the home has come back.

        Raises:
            Unavailable: another term has begun, or the home is being moved.
        """
        now = stored_record(view, store)
        require_writing_home(self._region.name, now)
        if not is_same_term(now, store):
            raise Unavailable("the store's home was moved away and back meanwhile; try again")
        return now

    # ---- what is due --------------------------------------------------------------------------------------------

    def resume(self, store: StoreRow, proposal_id: str) -> str | None:
        """Do what is due of a proposal now: expire it, carry it out to its end, or have its texts erased; say what.

        Raises as `change_at_home`.
        """
        view = self._region.view()
        row = self._log.row(view.index, store.store_id, proposal_id)
        row = self._log.caught_up(view, store, proposal_id, row)
        due = None if row is None else due_at(row)
        if row is None or due is None or due > self._region.clock.now_us():
            return None
        change = _due_change(row)
        self.change_at_home(store, {"change": change, "proposal_id": proposal_id, "actor": RECONCILER})
        return change


_LATER = (
    ProposalStep.ENDORSED,
    ProposalStep.DECIDED,
    ProposalStep.APPLIED,
    ProposalStep.REVERTING,
    ProposalStep.REVERTED,
)


def _due_change(row: ProposalRow) -> str:
    if row.decided is None:
        return "expire"
    return unfinished(row) or "erase"


def _numbers(chosen: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in chosen)


def _own(view: View, store: StoreRow, here: str) -> StoreRow:
    """Return the store's record as it was read with the call's rows. Raises NotFound, Unavailable."""
    row = stored_record(view, store)
    if row.is_deleted:
        raise NotFound("memory_store", row.store_id)
    require_writing_home(here, row)
    return row


@contextmanager
def _decided(proposal_id: str) -> Iterator[None]:
    """Translate errors after a decision was put: no answer may say any more that nothing was done."""
    try:
        yield
    except (Busy, Unavailable, NotHome) as error:
        raise OutcomeUnknown(
            f"{proposal_id} is decided, but not carried out to its end; repeat the call, or wait: it is taken up again"
        ) from error
