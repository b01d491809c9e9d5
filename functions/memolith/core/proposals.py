"""The rules of proposals: how their records join into a row, who may decide, and what one edit comes to. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memolith.core.commands import Command, CreateMemory, DeleteMemory, UpdateMemory
from memolith.core.errors import InvalidRequest
from memolith.core.fold import is_live
from memolith.core.limits import PROPOSAL_KEPT_US, PROPOSAL_RESUMED_US
from memolith.core.log_position import Epoch
from memolith.core.object_keys import ProposalKey
from memolith.core.objects.proposal_record import (
    NUMBERS_PER_TURN,
    PlannedWrite,
    ProposalRecord,
    ProposalStep,
    ProposedEdit,
)
from memolith.core.rows.base import Row, RowKey
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.proposals import DueProposalRow, ProposalRow, ProposedVersionRow
from memolith.core.trust import APPROVED

OPEN = "open"
APPROVED_OUTCOME = "approved"
REJECTED = "rejected"
WITHDRAWN = "withdrawn"
EXPIRED = "expired"
REVERTED = "reverted"
STATUSES = (OPEN, APPROVED_OUTCOME, REJECTED, WITHDRAWN, EXPIRED, REVERTED)
"""What a proposal is; an approved one that was taken back is ``reverted``."""

OPS = ("create", "replace", "str_replace", "delete", "rename")
"""What an edit may ask for. A ``str_replace`` is resolved to a ``replace`` when the proposal is opened."""

APPLIED = "applied"
UNCHANGED = "unchanged"
STALE = "stale"
REFUSED = "refused"
LEFT_OUT = "left_out"
CHANGED_SINCE = "changed_since"
UNAVAILABLE = "unavailable"
"""What became of an edit: it is a version; the store said so already; its memory is not what its author saw; the
store's rules refuse it; the approval left it out. Of a reversal: the head is another version by now; the text to go
back to is erased or damaged. One that is withheld is refused."""


# ---- the row --------------------------------------------------------------------------------------------------------


def join(before: ProposalRow | None, record: ProposalRecord, arrived: bool = False) -> ProposalRow:
    """Join one record into the row. Commutative, associative and idempotent: the greater epoch's record holds.

    `arrived`: its object's arrival is being handled, which has the texts erased that an order is about.
    """
    row = before or ProposalRow(store_id=record.store_id, proposal_id=record.proposal_id)
    step, epoch = ProposalStep(record.step), Epoch.parse(record.epoch)
    row = replace(row, records={**row.records, _name(record.key(epoch.home)): record.epoch})
    if outranks(row, step, epoch):
        return row
    mark: dict[str, Any] = {step.name.lower(): record.epoch}
    match step:
        case ProposalStep.OPENED:
            return replace(
                row,
                **mark,
                proposed_at=record.at,
                proposed_by=record.by,
                edits=len(record.edits),
                expires_at=record.expires_at,
            )
        case ProposalStep.DECIDED:
            return replace(row, **mark, outcome=record.outcome, decided_at=record.at, decided_by=record.by)
        case ProposalStep.ENDORSED:
            return replace(row, **mark, endorsed_by=record.by)
        case ProposalStep.REVERTING:
            return replace(row, **mark, reverting_at=record.at)
        case ProposalStep.ERASED:
            return replace(row, **mark, redacted=None, unerased=None if arrived else True)
        case _:
            return replace(row, **mark)


def with_redaction(row: ProposalRow) -> ProposalRow:
    """Return the row of a proposal once a version that it planned is redacted: its texts are due, if they are there."""
    return row if row.erased is not None else replace(row, redacted=True)


def with_erasure(row: ProposalRow) -> ProposalRow:
    """Return the row of a proposal once its texts are erased here."""
    return replace(row, unerased=None)


def outranks(row: ProposalRow | None, step: ProposalStep, epoch: Epoch) -> bool:
    """Tell whether a row has a record of this step from this epoch or a greater one, so that none up to it holds."""
    stands = None if row is None else getattr(row, step.name.lower())
    return stands is not None and Epoch.parse(stands).rank >= epoch.rank


def shows(row: ProposalRow, key: ProposalKey) -> bool:
    """Tell whether a row shows that the record of this key is projected; of an order to erase the texts: carried out
    here.
    """
    is_order = key.sequence % NUMBERS_PER_TURN == ProposalStep.ERASED
    return is_joined(row, key) and not (is_order and row.unerased)


def is_joined(row: ProposalRow, key: ProposalKey) -> bool:
    """Tell whether the record of this key is joined into the row."""
    return _name(key) in row.records


def key_of(row: ProposalRow, step: ProposalStep) -> ProposalKey | None:
    """Return the key of the record of a step that holds; None where the row says of none."""
    epoch = getattr(row, step.name.lower())
    for name, joined in row.records.items():
        home, _, number = name.rpartition("/")
        if joined == epoch and int(number) % NUMBERS_PER_TURN == step:
            return ProposalKey(home, row.store_id, row.proposal_id, int(number))
    return None


def _name(key: ProposalKey) -> str:
    """Return a record's name among those of its proposal."""
    return f"{key.home}/{key.sequence}"


def epochs_of(row: ProposalRow) -> list[Epoch]:
    """Return the epochs of the records that a row is made of."""
    texts = [getattr(row, step.name.lower()) for step in ProposalStep]
    return [Epoch.parse(text) for text in texts if text is not None]


def holding(row: ProposalRow) -> ProposalRow:
    """Return a row without the steps that follow from another decision, or reversal, than the one that holds.

    A lost home may have carried out its own decision, of which the next home never heard, so that it decided again: the
    end of the first is of an earlier term, and says nothing of the second. What a home hears of and carries out itself,
    it carries out in the same term or a later one.
    """
    applied = row.applied if _follows(row.applied, row.decided) else None
    reverting = row.reverting if _follows(row.reverting, row.decided) else None
    reverted = row.reverted if _follows(row.reverted, reverting) else None
    return replace(row, applied=applied, reverting=reverting, reverted=reverted)


def _follows(step: str | None, cause: str | None) -> bool:
    if step is None or cause is None:
        return False
    return step == cause or Epoch.parse(step).rank >= Epoch.parse(cause).rank


def unfinished(row: ProposalRow) -> str | None:
    """Return what is not carried out to its end: ``approve``, ``revert`` or nothing."""
    held = holding(row)
    if held.outcome == APPROVED_OUTCOME and held.applied is None:
        return "approve"
    return "revert" if held.reverting is not None and held.reverted is None else None


def status_of(row: ProposalRow) -> str:
    """Return the status that a proposal is listed under."""
    if row.decided is None or row.outcome is None:
        return OPEN
    return REVERTED if holding(row).reverting is not None else row.outcome


def due_at(row: ProposalRow) -> int | None:
    """Return when something is to be done about a proposal: expire it, carry it out to its end, erase its texts.

    One whose texts are erased can still be reverted, and a failover may have lost its decision. The texts go at once
    where a version that came from them is redacted.
    """
    if row.opened is None:
        return None
    if row.decided is None:
        return row.expires_at
    match unfinished(row):
        case "approve":
            return (row.decided_at or 0) + PROPOSAL_RESUMED_US
        case "revert":
            return (row.reverting_at or 0) + PROPOSAL_RESUMED_US
        case _ if row.erased is not None:
            return None
        case _:
            return (row.decided_at or 0) + (0 if row.redacted else PROPOSAL_KEPT_US)


def is_pending(row: ProposalRow, now_us: int) -> bool:
    """Tell whether a proposal can still be approved. One that is erased is open where a failover lost its decision."""
    return row.decided is None and row.erased is None and (row.expires_at is None or now_us < row.expires_at)


def derived_rows(row: ProposalRow) -> dict[RowKey, Row]:
    """Return the rows that follow from a proposal's own: its place in a listing, and when it is due."""
    if row.opened is None:
        return {}
    prefix = ProposalRow.listing_prefix(status_of(row) == OPEN)
    rows: dict[RowKey, Row] = {RowKey("stores", row.store_id, f"{prefix}{row.position}"): row}
    due = due_at(row)
    if due is not None:
        key = DueProposalRow.key(due, row.store_id, row.proposal_id)
        rows[key] = DueProposalRow(store_id=row.store_id, proposal_id=row.proposal_id)
    return rows


def planned_rows(record: ProposalRecord) -> dict[RowKey, Row]:
    """Return the rows by which each version that an approval plans leads to its proposal."""
    if record.step != ProposalStep.DECIDED:
        return {}
    row = ProposedVersionRow(proposal_id=record.proposal_id)
    return {ProposedVersionRow.key(record.store_id, one.version_id): row for one in record.plan}


# ---- edits ----------------------------------------------------------------------------------------------------------


def str_replaced(text: str, old: str, new: str, field: str) -> str:
    """Replace the one place at which `old` stands. Raises InvalidRequest where there is none, or more than one."""
    if not old:
        raise InvalidRequest(field, "must not be empty")
    count = text.count(old)
    if count != 1:
        found = "is not in the memory's text" if count == 0 else f"is in the memory's text {count} times"
        raise InvalidRequest(field, f"{found}; it must be there exactly once")
    return text.replace(old, new)


def conflict(edit: ProposedEdit, head: MemoryRow | None, occupant: str | None) -> str | None:
    """Return why an edit cannot be applied to what the store holds now; None where it can, or is so already.

    Args:
        edit: the edit.
        head: the row of the memory that the edit changes; None for a creation, or where it is not known.
        occupant: the memory at the path that a creation or a rename asks for, if any.
    """
    if edit.op == "create":
        return None if occupant is None else "the path is held by another memory"
    if head is None or not is_live(head):
        return "the memory was deleted"
    if head.path != edit.path:
        return "the memory was renamed"
    if head.content_sha256 not in (edit.expected_content_sha256, edit.content_sha256):
        return "the memory's text is not what the author of the edit saw"
    if edit.op == "rename" and occupant not in (None, edit.memory_id):
        return "the path is held by another memory"
    return None


def command_for(
    edit: ProposedEdit, planned: PlannedWrite, store_id: str, actor: str, head: MemoryRow | None
) -> Command:
    """Return the command that applies an edit to `head`, and to no later version of it.

    Its text is of the class of what a person has approved, whatever its author's class.
    """
    ids: dict[str, Any] = {
        "store_id": store_id,
        "memory_id": planned.memory_id,
        "version_id": planned.version_id,
        "actor": actor,
    }
    if edit.op == "create":
        return CreateMemory(**ids, path=edit.path or "", content=edit.content or "", trust=APPROVED)
    pinned: dict[str, Any] = {
        "expected_content_sha256": edit.expected_content_sha256,
        "expected_version_id": None if head is None else head.version_id,
    }
    if edit.op == "delete":
        return DeleteMemory(**ids, **pinned, trust=APPROVED)
    return UpdateMemory(**ids, **pinned, content=edit.content, path=edit.to, trust=APPROVED)


def unified_diff(before: str | None, after: str | None, path: str, to: str | None = None) -> str:
    """Return the lines by which two texts differ, with names as `git diff` has them; None: there is no text."""
    old = "/dev/null" if before is None else f"a{path}"
    new = "/dev/null" if after is None else f"b{to or path}"
    return "".join(line_diff(before, after, old, new))


def line_diff(before: str | None, after: str | None, old: str = "", new: str = "") -> list[str]:
    """Return a unified diff of two texts, named `old` and `new`, each line with its end; none where they are equal."""
    lines = difflib.unified_diff(_lines(before), _lines(after), old, new)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]


def _lines(text: str | None) -> list[str]:
    """Split at line feeds alone, as every tool does that applies such a diff."""
    lines = [f"{line}\n" for line in (text or "").split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return [line for line in lines if line]


def rename_lines(path: str | None, to: str | None) -> str:
    """Return the lines that come before those of a rename's texts, as `git diff` has them."""
    return f"rename from {path}\nrename to {to}\n"


# ---- who may --------------------------------------------------------------------------------------------------------


def chosen_numbers(count: int, asked: Sequence[int] | None) -> tuple[int, ...]:
    """Return which edits of `count` an approval names, from 1; all of them by default. Raises InvalidRequest."""
    if asked is None:
        return tuple(range(1, count + 1))
    wrong = next((number for number in asked if not 1 <= number <= count), None)
    if wrong is not None or not asked:
        raise InvalidRequest("edits", f"must name edits of the proposal, by their numbers from 1 to {count}")
    return tuple(sorted(set(asked)))


def by_number(planned: Sequence[PlannedWrite]) -> Mapping[int, PlannedWrite]:
    """Return what is planned for each edit."""
    return {one.number: one for one in planned}
