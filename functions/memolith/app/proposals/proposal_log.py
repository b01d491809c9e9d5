"""Records of proposals: each put once at the store's home, projected in every region, found where they were put."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from memolith.app.index.ack_journal import commit_joined_everywhere
from memolith.app.kernel.listing import keys_under, row_pages, rows_of
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.core.commands import attempt_ids
from memolith.core.epochs import homes_of
from memolith.core.errors import OutcomeUnknown, Unavailable
from memolith.core.ids import instant_of
from memolith.core.log_position import Epoch
from memolith.core.object_keys import ProposalKey, parsed_key
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.proposal_record import ProposalRecord, ProposalStep
from memolith.core.proposals import (
    derived_rows,
    is_joined,
    join,
    key_of,
    planned_rows,
    with_erasure,
    with_redaction,
)
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.proposals import PROPOSED_PREFIX, ProposalRow, ProposedVersionRow
from memolith.ports.index import Change, Index, Query

FOLD_ATTEMPTS = 20
_CONTENDED = "the proposal's row stayed contended; repeat the call"


class ProposalLog:
    """Puts, projects and finds the records of proposals."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def put(self, record: ProposalRecord, cause: str | None = None) -> ProposalRecord:
        """Put a record at this region, the store's home; return the one that holds, which may have been there first.

        One that was put before the epoch of its `cause`, the record from which it follows, says nothing of that: this
        one is put beside it. One PUT; a GET where the key is taken, and both again where what has it does not hold.

        Raises:
            Busy, Unavailable: nothing was done. OutcomeUnknown: it may have been; put it again.
        """
        found = self._put(record)
        while cause is not None and Epoch.parse(found.epoch).rank < Epoch.parse(cause).rank:
            record = replace(record, turn=record.turn + 1)
            found = self._put(record)
        return found

    def _put(self, record: ProposalRecord) -> ProposalRecord:
        key = str(record.key(self._region.name))

        def is_mine() -> bool | None:
            found = self._read(key)
            return None if found is None else found == record

        if put_if_absent(self._region, key, record.to_json(), {}, is_mine=is_mine) is Put.MINE:
            return record
        found = self._read(key)
        if found is None:
            raise OutcomeUnknown(
                "a record of the proposal was put, but cannot be read now",
                region=self._region.name,
                object=key,
                hint="repeat the call",
            )
        return found

    def record(self, row: ProposalRow, step: ProposalStep) -> ProposalRecord | None:
        """Return the record of a step that a row says was put; None where the row says of none.

        One GET; a second one, at the region that put it, where the object has not arrived here.

        Raises:
            Unavailable: it is in neither bucket.
        """
        named = key_of(row, step)
        if named is None:
            return None
        key = str(named)
        for region in dict.fromkeys((self._region.name, named.home)):
            found = self._read(key, region)
            if found is not None:
                return found
        raise Unavailable(
            "a record of the proposal has not arrived here yet",
            region=self._region.name,
            object=key,
            hint="try again",
        )

    def _read(self, key: str, region: str | None = None) -> ProposalRecord | None:
        found = find(self._region.objects, key, region)
        return None if found is None else ProposalRecord.from_json(found.body)

    def row(self, index: Index, store_id: str, proposal_id: str) -> ProposalRow | None:
        """Return what this region knows of a proposal. One index read."""
        key = ProposalRow.key(store_id, proposal_id)
        attributes = self._region.read(index, [key]).get(key)
        return None if attributes is None else ProposalRow.from_attributes(attributes)

    def caught_up(self, view: View, store: StoreRow, proposal_id: str, known: ProposalRow | None) -> ProposalRow | None:
        """Return a proposal's row, after what the store's former homes put of it has been projected.

        A move brings their records, and projects only those that this bucket did not have: by its rows alone a new home
        would decide once more. `known` is the row as it was read. No call for a store that has not moved; otherwise a
        LIST for each former home, and for each record that the row may lack a GET and a `fold`.

        Raises:
            Unavailable: the bucket or the index does not answer. OutcomeUnknown: as `fold`.
        """
        row = known
        for home in sorted(set(homes_of(store)) - {self._region.name}):
            for key in keys_under(self._region.objects, f"{home}/proposal/{store.store_id}/{proposal_id}/"):
                named = parsed_key(key)
                is_new = isinstance(named, ProposalKey) and (row is None or not is_joined(row, named))
                if is_new and (record := self._read(key)) is not None:
                    self.fold(view, record)
                    row = join(row, record)
        return row

    def fold_own(self, view: View, record: ProposalRecord) -> None:
        """Project a record that this region has put and is about to acknowledge. Raises OutcomeUnknown."""
        try:
            self.fold(view, record, Named(str(record.key(self._region.name))), own=True)
        except Unavailable as error:
            raise OutcomeUnknown(
                f"{record.proposal_id} was changed, but the index of {self._region.name} does not say so yet;"
                " repeat the call"
            ) from error

    def fold(
        self, view: View, record: ProposalRecord, name: Named | None = None, own: bool = False, arrived: bool = False
    ) -> None:
        """Join one record into every generation of tables. Repeatable, in any order.

        An index read and a transaction, where the record is new here; for an approval that is not the caller's `own`, a
        query for each instant of its plan. `name` is its object, if this home put it: it is logged as acknowledged
        where rows change, and in any case if it is the caller's `own`. `arrived`: see `join`.

        Raises:
            Unavailable, OutcomeUnknown: the index could not be brought so far; the record itself stands.
        """
        commit_joined_everywhere(
            self._region,
            view,
            partial(self._changes, record=record, arrived=arrived),
            name,
            own=own,
            contended=_CONTENDED,
            attempts=FOLD_ATTEMPTS,
        )
        if record.step == ProposalStep.DECIDED and not own:
            self._look_for_redactions(view, record)

    def _look_for_redactions(self, view: View, decision: ProposalRecord) -> None:
        """Note a redaction of what a decision planned, if one came before the decision."""
        planned = {id for one in decision.plan for id in attempt_ids(one.version_id)}
        for instant in sorted({instant_of(one.version_id) for one in decision.plan}):
            query = Query("versions", decision.store_id, prefix=instant)
            for row in rows_of(view.index, query, VersionRow):
                if row.redacted_at is not None and row.version_id in planned:
                    self._note_due(view, decision.store_id, decision.proposal_id)
                    return

    def proposal_of(self, index: Index, store_id: str, version_id: str) -> str | None:
        """Return the id of the proposal that planned a version; None where none did, as far as is known here.

        The version of a rename may have another id than the planned one, of the same instant. One query.

        Raises:
            Unavailable: the index does not answer.
        """
        query = Query("stores", store_id, prefix=f"{PROPOSED_PREFIX}{instant_of(version_id)}")
        for page in row_pages(index, query):
            for found in page:
                if version_id in attempt_ids(found.sort_key.removeprefix(PROPOSED_PREFIX)):
                    return ProposedVersionRow.from_attributes(found.attributes).proposal_id
        return None

    def note_redaction(self, view: View, store_id: str, version_id: str) -> str | None:
        """Note that the texts of the proposal that planned a redacted version are due; return the proposal's id.

        Return None for a version that no proposal planned, as far as is known here, or whose proposal is erased. An
        order and a decision may come in either order. Each is projected first and then looks for the other, so that one
        of the two finds it. The row is due in every region: whichever is the home by then does what is due.

        A query; for a version that was proposed an index read, and another and a transaction where texts are due.

        Raises:
            Unavailable, OutcomeUnknown: as `fold`.
        """
        proposal_id = self.proposal_of(view.index, store_id, version_id)
        return None if proposal_id is None else self._note_due(view, store_id, proposal_id)

    def _note_due(self, view: View, store_id: str, proposal_id: str) -> str | None:
        """Note that the texts of a proposal are due; return its id, or None where they are erased."""
        row = self.row(view.index, store_id, proposal_id)
        if row is None or row.erased is not None:
            return None
        self._change(view, ProposalRow.key(store_id, proposal_id), with_redaction)
        return proposal_id

    def note_erasure(self, view: View, store_id: str, proposal_id: str) -> None:
        """Note that the texts of a proposal are erased here. An index read, and a transaction where that is new.

        Raises:
            Unavailable, OutcomeUnknown: as `fold`.
        """
        self._change(view, ProposalRow.key(store_id, proposal_id), with_erasure)

    def _change(self, view: View, key: RowKey, change: Callable[[ProposalRow], ProposalRow]) -> None:
        """Change the row of a proposal, where there is one. After a rebuild every order is carried out again."""
        work_out = partial(self._changed, key=key, change=change)
        commit_joined_everywhere(
            self._region, view, work_out, None, own=False, contended=_CONTENDED, attempts=FOLD_ATTEMPTS
        )

    def _changed(self, index: Index, key: RowKey, change: Callable[[ProposalRow], ProposalRow]) -> list[Change]:
        attributes = self._region.read(index, [key]).get(key)
        if attributes is None:
            return []
        before = ProposalRow.from_attributes(attributes)
        after = change(before)
        return [] if after == before else _replacing(key, attributes, after)

    def _changes(self, index: Index, record: ProposalRecord, arrived: bool) -> list[Change]:
        """Return what a record says that the index does not have yet. The proposal's own row guards the others.

        A plan is kept though another decision holds: what it wrote may count all the same, after a failover.
        """
        key = ProposalRow.key(record.store_id, record.proposal_id)
        attributes = self._region.read(index, [key]).get(key)
        before = None if attributes is None else ProposalRow.from_attributes(attributes)
        after = join(before, record, arrived)
        if after == before:
            return self._plan_beside(index, record)
        plan = [Change(one, None, row.to_attributes(), unconditional=True) for one, row in planned_rows(record).items()]
        return [*_replacing(key, attributes, after), *plan]

    def _plan_beside(self, index: Index, record: ProposalRecord) -> list[Change]:
        """Return the rows of a plan that are missing beside a decision that holds. No call for any other record."""
        rows = planned_rows(record)
        known = self._region.read(index, list(rows)) if rows else {}
        return [Change(one, None, row.to_attributes()) for one, row in rows.items() if one not in known]


def _replacing(key: RowKey, before: Attributes | None, after: ProposalRow) -> list[Change]:
    """Return the changes by which a proposal's row, and what follows from it, become what is given."""
    stale = {} if before is None else derived_rows(ProposalRow.from_attributes(before))
    rows = derived_rows(after)
    return [
        Change(key, before, after.to_attributes()),
        *(Change(one, None, None, unconditional=True) for one in stale if one not in rows),
        *(Change(one, None, row.to_attributes(), unconditional=True) for one, row in rows.items()),
    ]
