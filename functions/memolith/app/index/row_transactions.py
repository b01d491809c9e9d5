"""Changes to rows of the index: read, work out, commit on the condition that nothing changed, and again if it did."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from memolith.app.index.ack_journal import AckJournal, commit_logged
from memolith.app.kernel.region import Region, View
from memolith.core import fold
from memolith.core.errors import OutcomeUnknown
from memolith.core.rows.base import Attributes, Row, RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow, VersionRow
from memolith.ports import errors as port_errors
from memolith.ports.index import Change, Index

COMMIT_ATTEMPTS = 20

T = TypeVar("T", bound=Row)


@dataclass(slots=True)
class RowChanges:
    """Rows of one index while a change to them is made: what was read, and what it becomes."""

    region: Region
    index: Index
    before: dict[RowKey, Attributes | None]
    after: dict[RowKey, Row | None] = field(default_factory=dict)

    def load(self, keys: Sequence[RowKey]) -> None:
        """Read the rows that were not read yet, in one read."""
        missing = [key for key in dict.fromkeys(keys) if key not in self.before]
        if missing:
            rows = self.region.read(self.index, missing)
            self.before.update({key: rows.get(key) for key in missing})

    def memory(self, key: RowKey) -> MemoryRow | None:
        """Return the row as it will be."""
        return self._row(key, MemoryRow)

    def log(self, key: RowKey) -> LogRow | None:
        """Return the row as it will be."""
        return self._row(key, LogRow)

    def path(self, key: RowKey) -> PathRow | None:
        """Return the row as it will be."""
        return self._row(key, PathRow)

    def version(self, key: RowKey) -> VersionRow | None:
        """Return the row as it will be."""
        return self._row(key, VersionRow)

    def _row(self, key: RowKey, kind: type[T]) -> T | None:
        if key in self.after:
            row = self.after[key]
            return row if isinstance(row, kind) else None
        attributes = self.before.get(key)
        return None if attributes is None else kind.from_attributes(attributes)

    def relist(self, store_id: str, paths: Mapping[str, str]) -> set[RowKey]:
        """Recompute the listing's rows of these paths, given with their hashes; return the keys that they follow from:
        the rows of their logs and occupants. Two reads, of what was not read yet; another where a table was emptied.
        """
        log_keys = {path: LogRow.key(store_id, hash) for path, hash in paths.items()}
        self.load([*log_keys.values(), *(PathRow.key(store_id, path) for path in paths)])
        self._restore_logs(store_id, paths)
        occupants = {path: fold.occupant_of(self.log(key)) for path, key in log_keys.items()}
        memory_keys = {path: MemoryRow.key(store_id, id) for path, id in occupants.items() if id is not None}
        self.load(list(memory_keys.values()))
        for path, log_key in log_keys.items():
            key = PathRow.key(store_id, path)
            before = self.path(key)
            occupant = self.memory(memory_keys[path]) if path in memory_keys else None
            listed_id = None if before is None else before.memory_id
            if occupant is None and listed_id is not None and listed_id == occupants[path]:
                continue  # the table of memories was emptied: nothing says that this one has left
            self.after[key] = fold.path_row(before, store_id, path, self.log(log_key), occupant)
        return {*log_keys.values(), *memory_keys.values()}

    def _restore_logs(self, store_id: str, paths: Mapping[str, str]) -> None:
        """Say in a log's row that was lost what is known of it: the memory that is listed at its path came there.

        No memory is listed without such a row, unless the table of logs was emptied. What an old entry alone says of
        the path would take the memory out of the listing, and a writer would put another one above or below it.
        """
        lost = {path: hash for path, hash in paths.items() if self.before[LogRow.key(store_id, hash)] is None}
        listed = {path: row.memory_id for path in lost if (row := self.path(PathRow.key(store_id, path))) is not None}
        heads = {path: MemoryRow.key(store_id, id) for path, id in listed.items() if id is not None}
        self.load(list(heads.values()))
        for path, key in heads.items():
            head, log_key = self.memory(key), LogRow.key(store_id, lost[path])
            if head is not None and fold.is_live(head) and (head.path, head.path_hash) == (path, lost[path]):
                facts = fold.LogFacts(store_id, head.path_hash, head.arrived, head.memory_id)
                self.after[log_key] = fold.join_log(self.log(log_key), facts)

    def changes(self, read_also: Collection[RowKey] = ()) -> list[Change]:
        """Return what differs from what was read, and checks of the rows in `read_also` that a change relied on."""
        changed: list[Change] = []
        for key, row in self.after.items():
            after = None if row is None else row.to_attributes()
            if after != self.before[key]:
                changed.append(Change(key, self.before[key], after))
        if changed:
            touched = {change.key for change in changed}
            checks = [key for key in read_also if key not in touched and key in self.before]
            changed += [Change(key, self.before[key], self.before[key]) for key in checks]
        return changed


WorkOut = Callable[[RowChanges], list[Change]]
"""What a change comes to, by the rows as they are now; called again if they changed before the commit."""


class RowTransactions:
    """Transactions on the rows of one region's index."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def commit(
        self,
        index: Index,
        work_out: WorkOut,
        known: Mapping[RowKey, Attributes | None] | None = None,
        journal: AckJournal | None = None,
    ) -> None:
        """Commit what `work_out` returns, until no row that it used changes meanwhile. A read and a transaction.

        `known` are rows as they are now, which need no read. The `journal` reads its period again after a failure.

        Raises:
            Unavailable. OutcomeUnknown: others kept changing the rows, or the last reply was lost.
        """
        rows = RowChanges(self._region, index, dict(known or {}))
        for attempt in range(COMMIT_ATTEMPTS):
            try:
                changes = work_out(rows)
                if changes:
                    commit_logged(index, changes, journal)
                return
            except port_errors.Contended:
                self._region.back_off(attempt)
            except port_errors.OutcomeUnknown:
                pass
            rows = RowChanges(self._region, index, {})
            if journal is not None:
                journal.look_again()
        raise OutcomeUnknown("the index stayed contended; read before trying again")

    def commit_everywhere(self, view: View, work_out: WorkOut) -> None:
        """Commit to every generation of tables that is written, one after the other. Costs and raises as `commit`."""
        for index in view.indexes:
            self.commit(index, work_out)
