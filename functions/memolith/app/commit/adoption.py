"""Adoption: the home takes up a version that came late, where nobody has written since.

A late version's parent is still the head, or what the head itself adopted: then it is committed in the present epoch by
an ordinary put, with its own id, text, actor and time, under every rule that a write obeys. Otherwise it stays apart, a
divergent version. A child that came before its parent is looked at again once its parent is adopted. A parent that was
erased before it came is passed over: its child is adopted on what was before it. A rename is left apart: its two halves
were one commit, and half of it may have been built on.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from memolith.app.commit.attempt import Attempt, Outcome, Step
from memolith.app.commit.late_records import LateRecords
from memolith.app.commit.parts import WriterParts
from memolith.app.commit.writer import Writer
from memolith.app.kernel.eraser_client import erase
from memolith.app.kernel.region import Region, View
from memolith.app.safety.write_gate import TextScanner
from memolith.core import decide, fold
from memolith.core.commands import Command, CreateMemory, DeleteMemory, UpdateMemory
from memolith.core.errors import InvalidRequest, PathConflict, Unavailable
from memolith.core.log_position import LogKey, LogRef
from memolith.core.objects.entry import Entry, Operation
from memolith.core.rows.content import LogRow, MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.ports import errors as port_errors

ADOPTED_AT_ONCE = 100
"""How many versions of one path one call takes up; the rest come with their own events."""


class Adoption(Writer):
    """Commits late versions, in the loop and with the steps of ordinary writes."""

    def __init__(self, region: Region, scanner: TextScanner, parts: WriterParts, late_records: LateRecords) -> None:
        super().__init__(region, scanner, parts)
        self._late_logs = parts.logs
        self._late_records = late_records

    def adopt(self, store: StoreRow, key: LogKey) -> list[str]:
        """Adopts what stands at `key`, and what follows it in its log, as far as that can be; the versions adopted.

        Repeatable: what was adopted is not adopted again. Of a version that can be, a GET and what a write costs.

        Raises:
            Unavailable, Busy, OutcomeUnknown: repeat it.
        """
        adopted: list[str] = []
        while len(adopted) < ADOPTED_AT_ONCE:
            entry = self._late_logs.entry(key)
            if entry is None or not self._may_be_adopted(store, entry):
                break
            if not entry.blank:
                if not self._take_up(store, entry):
                    break
                adopted.append(entry.version_id)
            key = replace(key, slot=key.slot.following)
        if adopted:
            self._region.metrics.count("late_adopted", len(adopted))
        return adopted

    def _may_be_adopted(self, store: StoreRow, entry: Entry) -> bool:
        kinds = (Operation.CREATED, Operation.MODIFIED, Operation.DELETED)
        return entry.operation in kinds and self._late_logs.is_late(store, entry)

    def _take_up(self, store: StoreRow, entry: Entry) -> bool:
        key = VersionRow.key(store.store_id, entry.version_id)
        store_key = StoreRow.key(store.store_id)
        view = self._region.view([store_key, MemoryRow.key(store.store_id, entry.memory_id), key])
        if store_key in view.rows:
            store = StoreRow.from_attributes(view.rows[store_key])
        store = self._late_records.without_late_archiving(store, entry)
        known = view.rows.get(key)
        if known is not None and (known.get("position") is not None or known.get("redacted_at") is not None):
            return False
        attempt = Attempt(view, store, Outcome(), entry.flags, entry.created_at, entry.imported, adopts=entry.slot)
        command = _command(entry, self._text(entry))
        try:
            outcome = self._until_decided(attempt, command, lambda: self._adopt(attempt, command, entry))
        except (InvalidRequest, PathConflict):
            return False
        committed = outcome.memory is not None and outcome.memory.version_id == entry.version_id
        if outcome.error is not None or not committed:
            return False
        with suppress(Unavailable):
            self._erase_if_ordered(attempt.view, entry)
        return True

    def _erase_if_ordered(self, view: View, entry: Entry) -> None:
        """Has the copy erased if an order came while it was committed. A read.

        The copy's own event looks again, so that an error here stops no adoption of what follows.
        """
        key = VersionRow.key(entry.key.store_id, entry.version_id)
        attributes = self._region.read(view.index, [key]).get(key)
        row = None if attributes is None else VersionRow.from_attributes(attributes)
        if row is not None and row.redacted_at is not None and row.position is not None:
            erase(self._region, str(LogRef.parse(row.position).key_in(row.store_id)))

    def _adopt(self, attempt: Attempt, command: Command, entry: Entry) -> Step:
        """Commit the late version, or decide that it is not to be."""
        head = self._steps.head(attempt, entry.memory_id)
        if head is not None and self._repair.memory(attempt.view, attempt.store, head):
            return Step.AGAIN
        if head is None:
            self._region.require_whole(attempt.view, "memories")
            return self._creation.commit(attempt, command) if isinstance(command, CreateMemory) else Step.DECIDED
        follows = head.path_hash == entry.key.path_hash and self._builds_on(entry, head.version_id)
        if isinstance(command, CreateMemory) or head.gone or not follows:
            return Step.DECIDED
        if head.path is None and self._has_another(attempt, head):
            return Step.DECIDED
        path = entry.path if entry.path is not None else head.path
        commit = decide.Commit(entry.operation, path or "", getattr(command, "content", None))
        return self._append(attempt, command, head, commit)

    def _has_another(self, attempt: Attempt, head: MemoryRow) -> bool:
        """Whether the path of a memory whose head was erased, which made it free, has another memory by now. A read."""
        key = LogRow.key(head.store_id, head.path_hash)
        row = self._region.read(attempt.view.index, [key]).get(key)
        return row is not None and fold.occupant_of(LogRow.from_attributes(row)) not in (None, head.memory_id)

    def _builds_on(self, entry: Entry, version_id: str) -> bool:
        """Whether a version is its parent, or was before others that have been erased since: those are not adopted."""
        before: Entry | None = entry
        while before is not None and before.parent_version_id != version_id:
            slot = before.slot.preceding
            before = None if slot is None else self._late_logs.entry(replace(entry.key, slot=slot))
            if before is not None and not (before.blank and before.memory_id == entry.memory_id):
                return False
        return before is not None

    def _text(self, entry: Entry) -> str:
        if entry.operation is Operation.DELETED:
            return ""
        try:
            return self._region.objects.get(str(entry.key)).body.decode()
        except port_errors.PortError as error:
            raise Unavailable("a late version cannot be read now; try again") from error


def _command(entry: Entry, content: str) -> Command:
    """The write that the entry was: what its rules are told by."""
    store_id, actor = entry.key.store_id, str(entry.created_by)
    if entry.operation is Operation.CREATED:
        return CreateMemory(store_id, entry.memory_id, entry.version_id, actor, entry.path or "", content)
    if entry.operation is Operation.DELETED:
        return DeleteMemory(store_id, entry.memory_id, entry.version_id, actor)
    return UpdateMemory(store_id, entry.memory_id, entry.version_id, actor, content)
