"""Proposals as a caller sees them: with what stands against each edit now, and the lines that it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memolith.app.auth.authorizer import StoreAccess
from memolith.app.kernel.answer_size import PROPOSAL_SENT_MAX_BYTES, Room
from memolith.app.kernel.batching import batches
from memolith.app.kernel.proposal_results import EditView, Proposal
from memolith.app.kernel.region import Region
from memolith.app.proposals.proposal_log import ProposalLog
from memolith.app.safety.text_access import TextReader, TextRequest, TextView, text_view
from memolith.app.safety.verdicts import Verdicts
from memolith.core.fold import is_live
from memolith.core.objects.proposal_record import EditResult, ProposalRecord, ProposalStep, ProposedEdit
from memolith.core.proposals import OPEN, conflict, holding, join, rename_lines, status_of, unfinished, unified_diff
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import MemoryRow, PathRow
from memolith.core.rows.proposals import ProposalRow
from memolith.core.sent_size import sent_size
from memolith.core.trust import least

ROWS_PER_READ = 100


class ProposalViews:
    """Makes what the API calls a proposal."""

    def __init__(self, region: Region, log: ProposalLog, texts: TextReader, verdicts: Verdicts) -> None:
        self._region = region
        self._log = log
        self._texts = texts
        self._verdicts = verdicts

    def show(self, access: StoreAccess, row: ProposalRow, *, diff: bool) -> Proposal:
        """Return a proposal by its row. A GET for each of its records, and an index read or two. Raises Unavailable."""
        held = holding(row)
        found = [self._log.record(held, step) for step in ProposalStep if step != ProposalStep.ERASED]
        proposal = self._view(access, row, [record for record in found if record is not None])
        if proposal.status != OPEN or proposal.erased:
            return proposal
        heads = self._heads(access, proposal.edits or ())
        edits = tuple(replace(edit, conflict=_conflict(heads, access, edit)) for edit in proposal.edits or ())
        return replace(proposal, edits=self._with_diffs(access, heads, edits) if diff else edits)

    def of_records(self, access: StoreAccess, records: Sequence[ProposalRecord]) -> Proposal:
        """Return a proposal by the records that its home has answered with. One index read. Raises Unavailable."""
        row: ProposalRow | None = None
        for record in records:
            row = join(row, record)
        if row is None:
            raise ValueError("a proposal has a first record")
        return self._view(access, row, records)

    def _view(self, access: StoreAccess, row: ProposalRow, records: Sequence[ProposalRecord]) -> Proposal:
        if row.erased is not None:
            records = [record.blanked() for record in records]
        by_step = {record.step: record for record in records}
        opened, decision = by_step[ProposalStep.OPENED], by_step.get(ProposalStep.DECIDED)
        results = _results(by_step.get(ProposalStep.APPLIED))
        reversals = _results(by_step.get(ProposalStep.REVERTED))
        hashes = [edit.content_sha256 for edit in opened.edits if edit.content_sha256 is not None]
        verdicts = self._verdicts.of(access.view, access.store, hashes)
        edits, room = list[EditView](), Room(PROPOSAL_SENT_MAX_BYTES)
        for number, edit in enumerate(opened.edits, 1):
            text = text_view(edit.content, verdicts.get(edit.content_sha256 or ""), access.sees_withheld)
            shown = _edit_view(number, edit, text, results.get(number), reversals.get(number))
            fits = text.content is None or room.fits(sent_size(text.content))
            edits.append(shown if fits else replace(shown, content=None, content_left_out=True))
        return replace(
            summary(row),
            why=opened.why,
            reason=decision.reason if decision is not None else "",
            edits=tuple(edits),
        )

    # ---- what stands against it ---------------------------------------------------------------------------------

    def _heads(self, access: StoreAccess, edits: Sequence[EditView]) -> Mapping[RowKey, Attributes]:
        """Read the memories that the edits change, and what is at the paths that they ask for."""
        store_id = access.store.store_id
        keys: list[RowKey] = [MemoryRow.key(store_id, edit.memory_id) for edit in edits if edit.memory_id is not None]
        keys += [PathRow.key(store_id, path) for edit in edits if (path := _asked(edit)) is not None]
        rows: dict[RowKey, Attributes] = {}
        for some in batches(keys, ROWS_PER_READ):
            rows |= self._region.read(access.view.index, some)
        return rows

    def _with_diffs(
        self, access: StoreAccess, rows: Mapping[RowKey, Attributes], edits: tuple[EditView, ...]
    ) -> tuple[EditView, ...]:
        """Add to each edit the lines that it changes in what the store holds now, as far as one answer has room for it.

        A GET for each text, but for those whose lines are certain to have no room.
        """
        heads = {edit.number: head for edit in edits if (head := _head(rows, access, edit)) is not None}
        left = PROPOSAL_SENT_MAX_BYTES - sum(sent_size(edit.content or "") for edit in edits)
        edits = _without_the_longest(edits, heads, Room(left))
        wanted = [edit for edit in edits if edit.number in heads and not edit.diff_left_out and _has_lines(edit)]
        requests = [
            TextRequest(heads[edit.number].ref, heads[edit.number].content_sha256 or "", heads[edit.number].version_id)
            for edit in wanted
        ]
        texts = {edit.number: text for edit, text in zip(wanted, self._texts.show_each(access, requests), strict=True)}
        room, shown = Room(left), list[EditView]()
        for edit in edits:
            one = _with_diff(edit, heads.get(edit.number), texts.get(edit.number))
            fits = one.diff is None or room.fits(sent_size(one.diff))
            shown.append(one if fits else replace(edit, diff_left_out=True))
        return tuple(shown)


def summary(row: ProposalRow) -> Proposal:
    """Return what a listing shows of a proposal."""
    status = status_of(row)
    return Proposal(
        id=row.proposal_id,
        store_id=row.store_id,
        status=status,
        edit_count=row.edits or 0,
        proposed_at=row.proposed_at or 0,
        proposed_by=row.proposed_by or "",
        expires_at=row.expires_at,
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        complete=status != OPEN and unfinished(row) is None,
        erased=row.erased is not None,
        endorsed_by=row.endorsed_by,
    )


def _results(record: ProposalRecord | None) -> dict[int, EditResult]:
    return {} if record is None else {one.number: one for one in record.results}


def _edit_view(
    number: int, edit: ProposedEdit, text: TextView, result: EditResult | None, reversal: EditResult | None
) -> EditView:
    return EditView(
        number=number,
        op=edit.op,
        path=edit.path,
        to=edit.to,
        content=text.content,
        content_sha256=edit.content_sha256,
        expected_content_sha256=edit.expected_content_sha256,
        memory_id=edit.memory_id,
        why=edit.why,
        sources=edit.sources,
        trust=edit.trust,
        withheld=text.withheld is not None,
        result=result,
        reversal=reversal,
    )


def _asked(edit: EditView) -> str | None:
    """Return the path that an edit asks for, if it needs a free one."""
    return edit.path if edit.op == "create" else edit.to


def _head(rows: Mapping[RowKey, Attributes], access: StoreAccess, edit: EditView) -> MemoryRow | None:
    attributes = rows.get(MemoryRow.key(access.store.store_id, edit.memory_id or ""))
    row = None if attributes is None else MemoryRow.from_attributes(attributes)
    return row if row is not None and is_live(row) else None


def _conflict(rows: Mapping[RowKey, Attributes], access: StoreAccess, edit: EditView) -> str | None:
    attributes = rows.get(PathRow.key(access.store.store_id, _asked(edit) or ""))
    occupant = None if attributes is None else PathRow.from_attributes(attributes).memory_id
    return conflict(_proposed(edit), _head(rows, access, edit), occupant)


def _proposed(edit: EditView) -> ProposedEdit:
    return ProposedEdit(
        edit.op,
        edit.path,
        edit.to,
        content_sha256=edit.content_sha256,
        memory_id=edit.memory_id,
        expected_content_sha256=edit.expected_content_sha256,
    )


def _without_the_longest(edits: Sequence[EditView], heads: Mapping[int, MemoryRow], room: Room) -> tuple[EditView, ...]:
    """Mark the edits whose lines are left out unread: each takes at least what one text has more than the other."""
    marked = list[EditView]()
    for edit in edits:
        least = 0
        if edit.number in heads and _has_lines(edit):
            least = abs((heads[edit.number].content_size_bytes or 0) - len((edit.content or "").encode()))
        fits = not edit.content_left_out and room.fits(least)
        marked.append(edit if fits else replace(edit, diff_left_out=True))
    return tuple(marked)


def _has_lines(edit: EditView) -> bool:
    return edit.content is not None or edit.op == "delete"


def _with_diff(edit: EditView, head: MemoryRow | None, text: TextView | None) -> EditView:
    """Add the lines that change; None where a text in them is left out, withheld, damaged or gone."""
    if (
        edit.diff_left_out
        or edit.withheld
        or (text is not None and text.content is None)
        or (edit.memory_id is not None and head is None)
    ):
        return edit
    before = None if text is None else text.content
    lines = unified_diff(before, edit.content, edit.path or "", edit.to)
    if edit.op == "rename":
        lines = rename_lines(edit.path, edit.to) + (lines if edit.content is not None else "")
    trust = edit.trust if head is None else least([head.trust], edit.trust)
    return replace(edit, diff=lines, diff_trust=trust)
