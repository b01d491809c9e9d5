"""Proposals: opened by any writer, decided by people, at the store's home wherever the call lands.

What a proposal asks for is no memory: no listing, search, context or mount shows it. A session sees the proposals that
it has made, and no others: what waits for approval must not reach another agent by this way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memolith.app.api.proposal_decisions import ProposalDecisions
from memolith.app.api.proposal_views import ProposalViews, summary
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.commit.forwarding import Forwarding
from memolith.app.kernel.peer_messages import decode_resolved
from memolith.app.kernel.proposal_results import Proposal
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import Page, RequestContext, SessionCredentials
from memolith.app.proposals.proposal_log import ProposalLog
from memolith.core import ids
from memolith.core.errors import NotFound, PermissionDenied, once_done
from memolith.core.listing import check_position
from memolith.core.log_position import Epoch
from memolith.core.objects.proposal_record import ProposalRecord
from memolith.core.proposals import OPEN, epochs_of, status_of
from memolith.core.proposed_edits import EditRequest, check_edits
from memolith.core.rows.proposals import ProposalRow
from memolith.core.trust import USER
from memolith.ports.index import Query

ROWS_PER_QUERY = 200
_POSITION = re.compile(r"\d{20}#prop_[0-9a-z]{26}", re.ASCII)


class Proposals:
    """The use cases of proposals."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        forwarding: Forwarding,
        log: ProposalLog,
        decisions: ProposalDecisions,
        views: ProposalViews,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._forwarding = forwarding
        self._log = log
        self._decisions = decisions
        self._views = views

    # ---- opening ------------------------------------------------------------------------------------------------

    def open(
        self, call: RequestContext, store_id: str, *, why: str, edits: Sequence[EditRequest], key: str | None = None
    ) -> Proposal:
        """Open a proposal of a few edits; none of them is in the store before a person has approved it.

        With a `key`, a repetition by the same caller is answered with the proposal that is there, as it is by now. At
        home what `ProposalDrafts.draft` costs, an index read, a query, a PUT and a transaction, and a LIST for each
        home that the store had before; elsewhere one invocation. Of a repetition a GET for each record.

        Raises:
            InvalidRequest, NotFound, PathConflict, PreconditionFailed, Busy, Unavailable, OutcomeUnknown; or what
            `Authorizer` raises.
        """
        check_edits(edits)
        access = self._authorizer.enter_store(call, Scope.write, store_id)
        return self.open_for(access, why=why, edits=edits, key=key)

    def open_for(
        self, access: StoreAccess, *, why: str, edits: Sequence[EditRequest], key: str | None = None
    ) -> Proposal:
        """Open a proposal for a caller who was let in, whose edits' form was checked. Costs and raises as `open`."""
        store_id = access.store.store_id
        proposal_id = self._region.new_id("prop") if key is None else ids.keyed_id("prop", store_id, access.actor, key)
        asked = {"why": why, "edits": [edit.to_payload() for edit in edits], "trust": access.trust}
        return self._answer(access, proposal_id, self._ask(access, proposal_id, "open", [], **asked))

    def stage(self, access: StoreAccess, edit: EditRequest) -> Proposal:
        """Open a direct write that waits for a person as a proposal, for a caller who was let in.

        The same write by the same caller is answered with that proposal while it can be approved, and opens the next
        one after that. At home what `ProposalDrafts.staged` costs, a PUT and a transaction; elsewhere one invocation.
        Raises as `open`.
        """
        asked = {"why": "", "edits": [edit.to_payload()], "trust": access.trust, "staged": True}
        records = self._ask(access, self._region.new_id("prop"), "open", [], **asked)
        return self._answer(access, records[0].proposal_id, records)

    # ---- looking ------------------------------------------------------------------------------------------------

    def retrieve(self, call: RequestContext, store_id: str, proposal_id: str, *, diff: bool = False) -> Proposal:
        """Return a proposal, with what stands against each of its edits now, and on demand the lines they change.

        Two index reads and a GET for each record; with `diff` a GET for each text that is replaced.

        Raises:
            NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        access, row = self._enter(call, Scope.read, store_id, proposal_id)
        return self._views.show(access, row, diff=diff)

    def page(
        self, call: RequestContext, store_id: str, *, status: str, limit: int, after: str | None
    ) -> Page[Proposal]:
        """List a store's proposals of one status, the newest first, without their texts. One query, or a few.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        check_position(after, _POSITION)
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=["stores"])
        prefix = ProposalRow.listing_prefix(status == OPEN)
        query = Query("stores", store_id, prefix=prefix, limit=ROWS_PER_QUERY, descending=True)
        query = query if after is None else replace(query, after=f"{prefix}{after}")
        found: list[ProposalRow] = []
        while len(found) <= limit:
            rows = access.view.index.query(query)
            some = [ProposalRow.from_attributes(row.attributes) for row in rows]
            found += [row for row in some if status_of(row) == status and _is_seen(call, access, row)]
            if len(rows) < ROWS_PER_QUERY:
                break
            query = replace(query, after=rows[-1].sort_key)
        self._region.require_whole(access.view, "stores")
        items = tuple(summary(row) for row in found[:limit])
        return Page(items, found[limit - 1].position if len(found) > limit else None)

    # ---- deciding -----------------------------------------------------------------------------------------------

    def approve(
        self, call: RequestContext, store_id: str, proposal_id: str, *, edits: Sequence[int] | None = None
    ) -> Proposal:
        """Approve a proposal, whole or some of its edits by their numbers, and write them; repeatable.

        Each edit becomes an ordinary version of the approver's, of class ``approved``; one whose memory has changed is
        ``stale``, and left as it is. What the approval costs, and for each edit what a write costs.

        Raises:
            PermissionDenied: neither an admin's key nor a person's, or the one that proposed it.
            InvalidRequest: it is decided otherwise. OutcomeUnknown: it may be decided; repeat the call.
            NotFound, Busy, Unavailable; Unauthenticated.
        """
        return self._decide(call, store_id, proposal_id, "approve", edits=None if edits is None else list(edits))

    def reject(self, call: RequestContext, store_id: str, proposal_id: str, *, reason: str) -> Proposal:
        """Reject a proposal; nothing of it is written. Repeatable. Raises as `approve`."""
        return self._decide(call, store_id, proposal_id, "reject", reason=reason)

    def withdraw(self, call: RequestContext, store_id: str, proposal_id: str) -> Proposal:
        """Take one's own proposal back before it is decided. Repeatable. Raises as `approve`."""
        return self._decide(call, store_id, proposal_id, "withdraw")

    def revert(self, call: RequestContext, store_id: str, proposal_id: str) -> Proposal:
        """Take back what an approved proposal has written, wherever that is still the head. Repeatable.

        Raises as `approve`.
        """
        return self._decide(call, store_id, proposal_id, "revert")

    def erase(self, call: RequestContext, store_id: str, proposal_id: str) -> Proposal:
        """Have the texts of a decided proposal erased in every region; an admin's. Repeatable. Raises as `approve`."""
        return self._decide(call, store_id, proposal_id, "erase")

    def _decide(self, call: RequestContext, store_id: str, proposal_id: str, change: str, **asked: Any) -> Proposal:
        access, row = self._enter(call, Scope.write, store_id, proposal_id)
        _require_right(call, access, row, change)
        return self._answer(access, proposal_id, self._ask(access, proposal_id, change, epochs_of(row), **asked))

    def _answer(self, access: StoreAccess, proposal_id: str, records: Sequence[ProposalRecord]) -> Proposal:
        with once_done(f"{proposal_id} was changed, but cannot be shown now"):
            return self._views.of_records(access, records)

    # ---- at home, and elsewhere ---------------------------------------------------------------------------------

    def _enter(
        self, call: RequestContext, scope: Scope, store_id: str, proposal_id: str
    ) -> tuple[StoreAccess, ProposalRow]:
        is_id = ids.PROPOSAL.fullmatch(proposal_id) is not None
        key = ProposalRow.key(store_id, proposal_id)
        access = self._authorizer.enter_store(call, scope, store_id, [key] if is_id else [], marked=["stores"])
        attributes = access.view.rows.get(key)
        row = None if attributes is None else ProposalRow.from_attributes(attributes)
        if scope is Scope.write and is_id and (row is None or row.opened is None):
            row = self._row_at_new_home(access, proposal_id, row)
        if row is None or row.opened is None:
            if is_id:
                self._region.require_whole(access.view, "stores")
            raise NotFound("proposal", proposal_id)
        if not _is_seen(call, access, row):
            raise NotFound("proposal", proposal_id)
        return access, row

    def _row_at_new_home(self, access: StoreAccess, proposal_id: str, row: ProposalRow | None) -> ProposalRow | None:
        """Return the row of a proposal that is not indexed at its store's new home, but was brought there."""
        if access.store.home != self._region.name:
            return row
        return self._log.caught_up(access.view, access.store, proposal_id, row)

    def _ask(
        self, access: StoreAccess, proposal_id: str, change: str, seen: Sequence[Epoch], **asked: Any
    ) -> list[ProposalRecord]:
        """Do it here, if this is the store's home; otherwise there, and project what it did here. `seen` are the epochs
        of the proposal's records that are known here. A home names the proposal of a staged write itself.
        """
        request = {"store_id": access.store.store_id, "proposal_id": proposal_id, "actor": access.actor, **asked}
        payload = {"call": "proposal", "change": change, **request}
        store, answer = self._forwarding.reach(access.view, access.store, payload, seen)
        if answer is None:
            return self._decisions.change_at_home(store, {"change": change, **request})[0]
        records = [ProposalRecord.from_json(text.encode()) for text in answer["records"]]
        with once_done(f"{records[0].proposal_id} was changed at its home, but not every index says so yet"):
            self._forwarding.fold(access.view, store, decode_resolved(answer["settled"]))
            for record in records:
                self._log.fold(access.view, record)
        return records


def _is_seen(call: RequestContext, access: StoreAccess, row: ProposalRow) -> bool:
    """Tell whether the caller sees a proposal: any API key of the store does, a session its own."""
    return not isinstance(call.credentials, SessionCredentials) or row.proposed_by == access.actor


def _require_right(call: RequestContext, access: StoreAccess, row: ProposalRow, change: str) -> None:
    """Raise PermissionDenied unless the caller may decide so.

    An approval is a person's: an admin's key, or one that says a person holds it, and never the one that proposed.
    """
    own = row.proposed_by == access.actor
    is_admin = access.scope is Scope.admin
    match change:
        case "withdraw":
            if not (own or is_admin):
                raise PermissionDenied("a proposal is withdrawn by who proposed it, or by an admin; reject it instead")
        case "erase":
            if not is_admin:
                raise PermissionDenied("erasing a proposal's texts needs an API key of scope admin")
        case "approve" if own:
            raise PermissionDenied(
                "a proposal is not approved by who proposed it; use another key, of scope admin or held by a person"
            )
        case _:
            require_person(call, access, f"{change} a proposal")


def require_person(call: RequestContext, access: StoreAccess, act: str) -> None:
    """Raise PermissionDenied unless the caller is an admin's key, or one that says a person holds it; no session is."""
    is_person = not isinstance(call.credentials, SessionCredentials)
    if not (is_person and (access.scope is Scope.admin or access.trust == USER)):
        raise PermissionDenied(
            f"to {act} needs an API key of scope admin, or one that a person holds"
            " (memolith keys create --holder person)"
        )
