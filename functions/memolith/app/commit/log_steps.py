"""Single steps of a commit along the logs: read the head, find the next slot, catch up with the log, put, project.

Each step of the commit loop (`writer`) is made of these. None of them decides what a command comes to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memolith.app.commit.attempt import Attempt, Step
from memolith.app.commit.sync_replica import SyncReplica
from memolith.app.epochs.fence import Fence
from memolith.app.index.projector import Projector
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import ConditionalPut
from memolith.app.log.log_reader import LogReader
from memolith.core import decide, fold
from memolith.core.commands import WriteCommand
from memolith.core.drafts import Draft, draft_of
from memolith.core.epochs import current_epoch
from memolith.core.errors import Unavailable, unindexed
from memolith.core.log_position import LogKey, Slot
from memolith.core.objects.entry import Entry, Operation, body_without_text
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow, VersionRow

WRITE_MIN_US = 1_000
"""Less than any write takes: a head that is newer than a read's beginning by less was written before the read."""


class LogSteps:
    """Reads, puts and projects entries for one attempt at a command, at the store's home."""

    def __init__(
        self,
        region: Region,
        logs: LogReader,
        slots: ConditionalPut,
        replica: SyncReplica,
        fence: Fence,
        projector: Projector,
    ) -> None:
        self._region = region
        self.logs = logs
        self.slots = slots
        self.replica = replica
        self.fence = fence
        self._projector = projector

    def head(self, attempt: Attempt, memory_id: str) -> MemoryRow | None:
        """Return the memory's row. No call at first; one read later on, or where a home that changed does not know it.

        A batch is not one moment: the record in it may be newer than the row, which was missing here before the home
        came.
        """
        key = MemoryRow.key(attempt.store.store_id, memory_id)
        if attempt.number or (key not in attempt.view.rows and len(attempt.store.epochs) > 1):
            return self.fresh_head(attempt, memory_id)
        return MemoryRow.from_attributes(attempt.view.rows[key]) if key in attempt.view.rows else None

    def fresh_head(self, attempt: Attempt, memory_id: str) -> MemoryRow | None:
        """Return the memory's row as it stands now. One read."""
        key = MemoryRow.key(attempt.store.store_id, memory_id)
        rows = self._region.read(attempt.view.index, [key])
        return MemoryRow.from_attributes(rows[key]) if key in rows else None

    def was_done(self, attempt: Attempt, head: MemoryRow | None, suspect: bool = False) -> bool:
        """Return whether another copy of a passed-on call has carried it out; `attempt.done` is its version then.

        To be asked once the rows that the command would be decided by have been read. One read from the second attempt
        on; at first, where something is `suspect`, or `head` was written while the first batch was being read: a batch
        is not one moment, and its row of the own version may be older than the head.
        """
        if attempt.passed_on_us is None:
            return False
        is_new = head is not None and head.updated_at > attempt.passed_on_us + WRITE_MIN_US
        if suspect or is_new or attempt.number:
            keys = [VersionRow.key(attempt.store.store_id, version_id) for version_id in attempt.own]
            attempt.done = known_version(self._region.read(attempt.view.index, keys), keys)
        return attempt.done is not None

    def occupancy(self, attempt: Attempt, hash: str, path: str) -> tuple[LogRow | None, PathRow | None]:
        """Return the rows of a path: of its log, and of its listing. No call where the first batch asked for them."""
        log_key, path_key = LogRow.key(attempt.store.store_id, hash), PathRow.key(attempt.store.store_id, path)
        rows = attempt.view.rows
        if not attempt.view.asked.issuperset((log_key, path_key)):
            rows = self._region.read(attempt.view.index, [log_key, path_key])
        log = LogRow.from_attributes(rows[log_key]) if log_key in rows else None
        return log, PathRow.from_attributes(rows[path_key]) if path_key in rows else None

    def slot_after(self, attempt: Attempt, head: MemoryRow) -> Slot | None:
        """Return the slot after the head; None when the log had more than the index knew, which is folded now."""
        slot = self._after(attempt, head)
        if slot.epoch != current_epoch(attempt.store):
            self.catch_up(attempt, head.path_hash, slot)
            return None
        return slot

    def has_more(self, attempt: Attempt, head: MemoryRow) -> bool:
        """Return whether the log had more than `head`, which is folded now. One HEAD where it had not."""
        return self.catch_up(attempt, head.path_hash, self._after(attempt, head)) > 0

    def _after(self, attempt: Attempt, head: MemoryRow) -> Slot:
        """Return the slot after the head and what was met above it that leaves it where it was.

        That is a void, and where the head was erased what came to its path since.
        """
        return self._next(attempt, head.path_hash, Slot.parse(head.slot), head.memory_id)

    def _next(self, attempt: Attempt, hash: str, known: Slot | None, memory_id: str | None = None) -> Slot:
        """Return the slot after the one that the rows know, and after what was met there that changes no head, or none
        of `memory_id`.

        What it has folded is in the rows, or they have been emptied since: then an older one that came back decides
        nothing before the log has been read again from there.
        """
        slot = self.logs.next_slot(attempt.store, hash, known)
        while (key := LogKey(attempt.store.store_id, hash, slot)) in attempt.met:
            changed = attempt.met[key]
            if changed is not None and memory_id in (None, changed):
                break
            slot = self.logs.next_slot(attempt.store, hash, slot)
        return slot

    def free_slot(
        self, attempt: Attempt, hash: str, log: LogRow | None, holder: MemoryRow | None = None
    ) -> Slot | None:
        """Return the slot after the tail that the index knows; None when the log had more, which is folded now.

        `holder` is the row of a memory that was erased there: what was written without leaving the path, it alone says.
        """
        slot = self.after_tail(attempt, hash, log, holder)
        if slot.epoch != current_epoch(attempt.store):
            self.catch_up(attempt, hash, slot, paths_too=True)
            return None
        return slot

    def after_tail(self, attempt: Attempt, hash: str, log: LogRow | None, holder: MemoryRow | None = None) -> Slot:
        """Return the slot after all that the index knows, or this call has met: of a void no row may tell."""
        known = [text for text in (fold.tail_of(log), None if holder is None else holder.slot) if text is not None]
        return self._next(attempt, hash, max(map(Slot.parse, known), key=lambda slot: slot.rank, default=None))

    def catch_up(self, attempt: Attempt, hash: str, slot: Slot, paths_too: bool = False) -> int:
        """Fold everything from `slot` to the log's tail; return how much it was. `paths_too`: see `Projector.fold`."""
        met = 0
        while (entry := self.logs.entry(LogKey(attempt.store.store_id, hash, slot))) is not None:
            self.observe(attempt, entry, paths_too)
            slot = self.logs.next_slot(attempt.store, hash, slot)
            met += 1
        if slot.epoch != current_epoch(attempt.store):
            raise Unavailable("an older version of this memory has not arrived in its home yet; try again")
        return met

    def refuse(self, attempt: Attempt, head: MemoryRow, refused: decide.Refused) -> Step:
        """Refuse because of `head` if the log has nothing after it, which one HEAD says; otherwise decide again."""
        if self.has_more(attempt, head):
            return Step.AGAIN
        attempt.outcome.error = refused.error
        attempt.outcome.memory = head
        return Step.DECIDED

    def observe(self, attempt: Attempt, entry: Entry, paths_too: bool = False) -> None:
        """Fold one entry that was met, and finish its rename where that is half done; note whose head it changes.

        A version of the command's own is noted: another copy of the call put it, and its row may not outlast the next
        attempt, if the tables are emptied.
        """
        resolved = self.logs.resolve(entry, self._finish, store=attempt.store)
        for one in resolved:
            if one.is_version and one.entry.version_id in attempt.own:
                attempt.done = fold.join_version(None, one.entry)
        changed = self._projector.fold(attempt.view, resolved, paths_too=paths_too, salt=attempt.store.salt)
        counted = [one for one in resolved if one.entry.key not in changed]
        attempt.outcome.resolved.extend(counted)
        changes = any(not one.void and one.entry.operation is not Operation.VOID for one in counted)
        attempt.met[entry.key] = entry.memory_id if changes else None

    def _finish(self, moved_in: Entry) -> None:
        departure = decide.moved_out(moved_in)
        self.slots.take(departure, body_of(departure, None))

    def put(self, attempt: Attempt, entry: Entry, content: str | None = None) -> Entry | None:
        """Put an entry, in as many regions as the store asks for; not once the home's term may have ended.

        Return it as it stands in its slot, which is what has to be projected; None where the slot is taken.

        Raises: as `SyncReplica.take`; Unavailable: the store's home is changing, and nothing was done.
        """
        if not self.fence.may_put(attempt.view, attempt.store):
            raise Unavailable("the store's home changed while this was decided; try again")
        return self.replica.take(self.slots, attempt.store, entry, body_of(entry, content))

    def project_own(
        self, attempt: Attempt, resolved: Sequence[ResolvedEntry], known: dict[RowKey, Attributes | None] | None
    ) -> None:
        """Fold what this call committed: it stands in the log, so an index that fails now leaves it unacknowledged."""
        try:
            self._projector.fold(attempt.view, resolved, known, own=True, salt=attempt.store.salt)
        except Unavailable as error:
            raise unindexed("the write was committed", error) from error
        attempt.outcome.resolved.extend(resolved)

    def append(
        self,
        attempt: Attempt,
        entry: Entry,
        content: str | None,
        head: MemoryRow | None,
        known: dict[RowKey, Attributes | None] | None,
        paths_too: bool = False,
    ) -> Step:
        """Put the version after `head` and fold it; or find its slot taken, and catch up with the log.

        `known` as `Projector.fold` has it, and `paths_too` for the catching up. Raises as `put` and `project_own`.
        """
        put = self.put(attempt, entry, content)
        if put is None:
            self.catch_up(attempt, entry.key.path_hash, entry.slot, paths_too=paths_too)
            return Step.AGAIN
        self.project_own(attempt, [ResolvedEntry(put)], known)
        attempt.outcome.memory = fold.join_memory(head, put)
        return Step.DECIDED

    def draft(self, command: WriteCommand, attempt: Attempt, version_id: str | None = None) -> Draft:
        """Return what the entries of this attempt share."""
        return draft_of(command, self._region.clock.now_us(), attempt.flags, version_id)


def known_rows(head: MemoryRow, entry: Entry) -> dict[RowKey, Attributes | None]:
    """Return the rows that a version after `head` changes, as they stand before it: its fold need not read them."""
    return {
        MemoryRow.key(head.store_id, head.memory_id): head.to_attributes(),
        VersionRow.key(head.store_id, entry.version_id): None,
    }


def known_version(rows: Mapping[RowKey, Attributes], keys: Sequence[RowKey]) -> VersionRow | None:
    """Return the row of the first of these versions that is known to stand anywhere."""
    for key in keys:
        row = VersionRow.from_attributes(rows[key]) if key in rows else None
        if row is not None and row.position is not None:
            return row
    return None


def body_of(entry: Entry, content: str | None) -> bytes:
    """Return the content; for an entry that has none, what it is."""
    if entry.has_content:
        return (content or "").encode()
    return body_without_text(entry.operation, entry.version_id)
