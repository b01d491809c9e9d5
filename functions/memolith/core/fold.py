"""What one object does to the index: a join.

Each function takes the row as it stands and one object, and gives the row as it should stand. They are commutative,
associative and idempotent over the objects of one store, so that events may come in any order, twice, or again after a
rebuild; a property test holds them to it. What a row says of a path follows from two rows and is recomputed, not
joined (`path_row`): joined like the others, one memory would be listed at two paths for ever, or at none.

Slots are compared by the rank of their epochs. Two homes may have begun one epoch at once, and both have written in it
before this region hears which of them is accepted: that is the one of the greater rank, and what it wrote has the say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.redaction_order import Redaction
from memolith.core.rows.content import (
    UNSEEN_DEPARTURE,
    UNSEEN_ENTRY,
    UNSEEN_ORDER,
    LogRow,
    MemoryRow,
    PathRow,
    VersionRow,
)


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What one entry says of who occupies its path."""

    store_id: str
    path_hash: str
    arrived: str | None = None
    occupant: str | None = None
    vacated: str | None = None
    voided: str | None = None


def log_facts(entry: Entry, *, void: bool = False) -> LogFacts:
    """Return the occupancy that `entry` proves: every version of a memory says when the memory came to its path.

    `void` is for a `moved_in` whose source slot holds something else.
    """
    store_id, path_hash, slot = entry.key.store_id, entry.key.path_hash, str(entry.slot)
    if void or entry.operation is Operation.VOID:
        return LogFacts(store_id, path_hash, voided=slot)
    if entry.operation is Operation.MOVED_OUT:
        return LogFacts(store_id, path_hash, vacated=slot)
    vacated = slot if entry.operation is Operation.DELETED else None
    return LogFacts(store_id, path_hash, str(entry.arrived), entry.memory_id, vacated)


def join_log(before: LogRow | None, facts: LogFacts) -> LogRow:
    """Join a fact to a path's row, which keeps the last arrival or departure, and the last abort after it.

    Earlier facts no longer matter and are not kept: a row that was taken from an epoch snapshot never had them.
    """
    row = before or LogRow(store_id=facts.store_id, path_hash=facts.path_hash)
    if facts.arrived is not None and (row.arrived is None or is_later(facts.arrived, row.arrived)):
        row = replace(row, arrived=facts.arrived, occupant=facts.occupant)
    if facts.vacated is not None and (row.vacated is None or is_later(facts.vacated, row.vacated)):
        row = replace(row, vacated=facts.vacated)
    if facts.voided is not None and (row.voided is None or is_later(facts.voided, row.voided)):
        row = replace(row, voided=facts.voided)
    return _last_of(row)


def _last_of(row: LogRow) -> LogRow:
    """Drop from the row what no longer matters. A snapshot may say that the memory in the last slot has left."""
    if row.arrived is not None and row.vacated is not None:
        here = is_later(row.arrived, row.vacated)
        row = replace(row, vacated=None) if here else replace(row, arrived=None, occupant=None)
    last = row.arrived or row.vacated
    if last is not None and row.voided is not None and not is_later(row.voided, last):
        row = replace(row, voided=None)
    return row


def is_later(slot: str, other: str) -> bool:
    """Tell whether a slot comes after another, both as text: by sequence within one epoch, else by the epochs' rank."""
    if slot.rpartition(".")[0] == other.rpartition(".")[0]:
        return slot > other
    return Slot.parse(slot).rank > Slot.parse(other).rank


def occupant_of(row: LogRow | None) -> str | None:
    """Return the memory_id at the path, as far as this row knows: the last that came, if it has not left since."""
    return None if row is None else row.occupant


def rebased(cut: LogRow, row: LogRow | None, present: str) -> LogRow | None:
    """Return a path's row as a snapshot has it, with what `row` says of the `present` epoch, which began with it.

    Keep also what `row` says of an epoch newer than the store record in use: another repair follows for that epoch.
    Return None where neither says anything: a path that is known only from stragglers has no row, in any region.
    """
    if row is not None and row.arrived is not None and is_since(row.arrived, present):
        cut = replace(cut, arrived=row.arrived, occupant=row.occupant)
    if row is not None and row.vacated is not None and is_since(row.vacated, present):
        cut = replace(cut, vacated=row.vacated)
    if row is not None and row.voided is not None and is_since(row.voided, present):
        cut = replace(cut, voided=row.voided)
    return _last_of(cut) if tail_of(cut) is not None else None


def is_since(slot: str, present: str) -> bool:
    """Tell whether a slot, as text, belongs to an epoch, as text, or to one that ranks higher."""
    return slot.rpartition(".")[0] == present or Slot.parse(slot).epoch.rank > Epoch.parse(present).rank


def tail_of(row: LogRow | None) -> str | None:
    """Return the highest slot that this row knows to be taken; the occupant's own row may know a higher one."""
    if row is None:
        return None
    known = (slot for slot in (row.arrived, row.vacated, row.voided) if slot is not None)
    return max(known, key=lambda slot: Slot.parse(slot).rank, default=None)


def join_memory(before: MemoryRow | None, entry: Entry) -> MemoryRow:
    """Join an entry to a memory's row: the later epoch wins, and within one epoch the higher generation.

    `entry` is committed: a `moved_in` comes here only with its `moved_out`. A blank of the same generation removes the
    text; a blank head is not live. A home that has lost its store may write higher generations than the new home; they
    do not count.
    """
    if before is not None:
        standing, comes = Slot.parse(before.slot).epoch.rank, entry.slot.epoch.rank
        if (comes, entry.generation) < (standing, before.generation):
            return before
        if (comes, entry.generation) == (standing, before.generation):
            return without_text(before) if entry.blank else before
    gone = entry.operation is Operation.DELETED
    return MemoryRow(
        store_id=entry.key.store_id,
        memory_id=entry.memory_id,
        generation=entry.generation,
        version_id=entry.version_id,
        path_hash=entry.key.path_hash,
        slot=str(entry.slot),
        arrived=str(entry.arrived),
        updated_at=entry.created_at,
        created_at=entry.memory_created_at,
        path=None if gone else entry.path,
        content_sha256=None if gone else entry.content_sha256,
        content_size_bytes=None if gone else entry.content_size_bytes,
        flags=list(entry.flags) or None,
        gone=gone,
        trust=entry.trust,
    )


def without_text(row: MemoryRow) -> MemoryRow:
    """Return the head as projecting its blank leaves it."""
    return replace(row, path=None, content_sha256=None, content_size_bytes=None, flags=None)


def is_live(row: MemoryRow | None) -> bool:
    """Tell whether there is a memory to be read: not deleted, and its head not blanked."""
    return row is not None and not row.gone and row.path is not None


def join_version(before: VersionRow | None, entry: Entry, unseen: Collection[str] = ()) -> VersionRow:
    """Join the version's facts to what is known of its redaction; blanked text never comes back.

    What another region has erased stays here until this region's own object is erased: its eraser goes by these rows.

    `unseen` names those of its objects that the caller did not read in this region's bucket (`VersionRow.unseen`). What
    was seen stays seen while the version keeps its position.
    """
    row = VersionRow(
        store_id=entry.key.store_id,
        version_id=entry.version_id,
        memory_id=entry.memory_id,
        generation=entry.generation,
        operation=_wire_operation(entry.operation),
        position=str(entry.ref),
        parent_version_id=entry.parent_version_id,
        created_at=entry.created_at,
        created_by=None if entry.created_by is None else str(entry.created_by),
        path=entry.path,
        content_sha256=entry.content_sha256,
        content_size_bytes=entry.content_size_bytes,
        flags=list(entry.flags) or None,
        blank=entry.blank,
        imported=entry.imported or None,
        trust=entry.trust,
        memory_key=f"{entry.key.store_id}#{entry.memory_id}",
        generation_key=f"{entry.generation:010d}",
        time_key=f"{entry.created_at:020d}#{entry.version_id}",
    )
    row = replace(row, unseen=sorted(unseen) or None)
    if before is None:
        return row
    if before.position is not None and is_behind(str(entry.ref), before.position):
        return blanked_version(before) if entry.blank else before
    if _is_erased_elsewhere(before, row):
        return before
    row = replace(row, unseen=_still_unseen(before, row))
    row = replace(row, redacted_at=before.redacted_at, redacted_by=before.redacted_by)
    return blanked_version(row) if before.blank or before.redacted_at is not None else row


def _is_erased_elsewhere(before: VersionRow, row: VersionRow) -> bool:
    """Tell whether a blank was not seen here, and the object that it is of was, with its text."""
    if not is_blank_elsewhere(row) or before.position != row.position:
        return False
    return not before.blank and UNSEEN_ENTRY not in (before.unseen or ())


def is_blank_elsewhere(row: VersionRow) -> bool:
    """Tell whether a version is blank by another region's answer alone: the object in this bucket may have its text."""
    return row.blank and UNSEEN_ENTRY in (row.unseen or ())


def unseen_objects(entry: Entry, elsewhere: Collection[LogKey]) -> list[str]:
    """List which of a version's objects are `elsewhere`: its own, and the second half of the rename that made it."""
    if not elsewhere:
        return []
    unseen = [UNSEEN_ENTRY] if entry.key in elsewhere else []
    renamed = entry.operation is Operation.MOVED_IN and entry.source is not None
    if renamed and entry.source is not None and entry.source.key_in(entry.key.store_id) in elsewhere:
        unseen.append(UNSEEN_DEPARTURE)
    return unseen


def _still_unseen(before: VersionRow, row: VersionRow) -> list[str] | None:
    """Return what neither row has seen of one position; of another position, what the new row has not. Orders stay."""
    known = before.unseen or []
    unseen = row.unseen or []
    if before.position == row.position:
        unseen = [name for name in unseen if name in known]
    return sorted({*unseen, *(name for name in known if name == UNSEEN_ORDER)}) or None


def is_behind(position: str | None, other: str) -> bool:
    """Tell whether a position, the text of a `LogRef`, is of an earlier slot than another of the same log."""
    return position is not None and is_later(_slot_of(other), _slot_of(position))


def _slot_of(position: str) -> str:
    return position.partition("/")[2]


def late_version(row: VersionRow, known: Iterable[VersionRow | None] = ()) -> VersionRow:
    """Return the row of a straggler's version, which is in no order of the history.

    `row` may be as a global index that lags had it: what one of the `known` rows of this position has seen stays seen.
    That the order's own object is to come, the row in the history alone says.
    """
    unseen = {*(row.unseen or ())} - {UNSEEN_ORDER}
    for one in known:
        if one is not None and one.position == row.position:
            unseen &= {*(one.unseen or ())}
    return replace(row, memory_key=None, generation_key=None, time_key=None, unseen=sorted(unseen) or None)


def join_redaction(before: VersionRow | None, order: Redaction, unseen: bool = False) -> VersionRow:
    """Join an order: the first one stands, and the text goes. `unseen`: its object was not read in this bucket."""
    row = before or VersionRow(store_id=order.store_id, version_id=order.version_id)
    if unseen and row.redacted_at is None:
        row = replace(row, unseen=sorted({*(row.unseen or ()), UNSEEN_ORDER}))
    if row.redacted_at is None or (order.redacted_at, order.redacted_by) < (row.redacted_at, row.redacted_by or ""):
        row = replace(row, redacted_at=order.redacted_at, redacted_by=order.redacted_by)
    return blanked_version(row)


def order_seen(row: VersionRow) -> VersionRow:
    """Return the row after the redaction order's own object was projected here and carried out."""
    return replace(row, unseen=[name for name in row.unseen or () if name != UNSEEN_ORDER] or None)


def blanked_version(row: VersionRow) -> VersionRow:
    """Return the version as projecting its blank leaves it."""
    return replace(row, path=None, content_sha256=None, content_size_bytes=None, flags=None, blank=True)


def _wire_operation(operation: Operation) -> str:
    return Operation.MODIFIED.value if operation is Operation.MOVED_IN else operation.value


def path_row(
    before: PathRow | None, store_id: str, path: str, log: LogRow | None, occupant: MemoryRow | None
) -> PathRow | None:
    """Return what a listing shows at `path`, from the log's row and its occupant's; None when nothing is left to show.

    A write intent stays until its slot is seen taken; from then on the memory in that slot is the answer.
    """
    memory_id = None
    if occupant is not None and occupant_of(log) == occupant.memory_id and is_live(occupant) and occupant.path == path:
        memory_id = occupant.memory_id
    row = replace(before, memory_id=memory_id) if before else PathRow(store_id=store_id, path=path, memory_id=memory_id)
    tail = tail_of(log)
    if row.claim_position is not None and tail is not None and not is_later(_slot_of(row.claim_position), tail):
        row = replace(row, claim_id=None, claim_position=None, claim_expires_at=None)
    return None if row.memory_id is None and row.claim_id is None else row
