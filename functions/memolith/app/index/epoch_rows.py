"""Rows of closed epochs: restored to the epoch snapshot, with stragglers kept out of the history as divergent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from memolith.app.index.row_transactions import RowChanges, RowTransactions
from memolith.app.kernel.region import View
from memolith.core import fold
from memolith.core.objects.entry import Entry
from memolith.core.rows.content import UNSEEN_ORDER, LogRow, MemoryRow, PathRow, VersionRow
from memolith.ports.index import Change


@dataclass(slots=True)
class RestoredRows:
    """Rows of one store as an epoch snapshot has them.

    Attributes:
        store_id, present: whose; the epoch that began with the snapshot, as text: its own facts stay as they are.
        memories: by memory_id, the slot of the row that gives way (None: of no row), and what replaces it.
        logs: by path hash, what is to be there of older epochs.
        heads: the entries at the memories' places: their versions are in the history.
        paths: the paths whose listing follows from these, and their hashes.
        stragglers: versions that are to be divergent.
    """

    store_id: str
    present: str
    memories: dict[str, tuple[str | None, MemoryRow | None]] = field(default_factory=dict)
    logs: dict[str, LogRow] = field(default_factory=dict)
    heads: list[Entry] = field(default_factory=list)
    paths: dict[str, str] = field(default_factory=dict)
    stragglers: list[VersionRow] = field(default_factory=list)


class EpochRows:
    """Writes rows of memories, logs, paths and versions that a move or a failover has made wrong."""

    def __init__(self, transactions: RowTransactions) -> None:
        self._transactions = transactions

    def restore(self, view: View, restored: RestoredRows) -> bool:
        """Restore rows of older epochs to the snapshot, where they are unchanged since the check; return whether any
        changed.

        A read and a transaction.

        Raises:
            Unavailable, OutcomeUnknown: the rows could not be brought so far; repeat it.
        """
        changed: list[Change] = []
        self._transactions.commit_everywhere(view, partial(self._restore, restored=restored, changed=changed))
        return bool(changed)

    def _restore(self, rows: RowChanges, restored: RestoredRows, changed: list[Change]) -> list[Change]:
        store_id = restored.store_id
        memory_keys = {id: MemoryRow.key(store_id, id) for id in restored.memories}
        log_keys = {hash: LogRow.key(store_id, hash) for hash in restored.logs}
        path_keys = {path: PathRow.key(store_id, path) for path in restored.paths}
        rows.load([*memory_keys.values(), *log_keys.values(), *path_keys.values()])
        for id, (slot, row) in restored.memories.items():
            stored = rows.memory(memory_keys[id])
            if (None if stored is None else stored.slot) == slot:
                rows.after[memory_keys[id]] = row
        for hash, log in restored.logs.items():
            rows.after[log_keys[hash]] = fold.rebased(log, rows.log(log_keys[hash]), restored.present)
        rows.relist(store_id, restored.paths)
        for entry in restored.heads:
            self._join_history(rows, entry)
        for version in restored.stragglers:
            self._move_out(rows, version)
        changes = rows.changes()
        changed += changes
        return changes

    def mark_divergent(self, view: View, entry: Entry) -> None:
        """Move a straggler's version out of the history as divergent, unless it was replayed. A read and a transaction.

        Raises as `restore`.
        """
        row = fold.join_version(None, entry)
        self._transactions.commit_everywhere(view, partial(self._mark_divergent, row=row))

    def _mark_divergent(self, rows: RowChanges, row: VersionRow) -> list[Change]:
        self._move_out(rows, row)
        return rows.changes()

    def return_to_history(self, view: View, entry: Entry, instead_of: str | None = None) -> None:
        """Move a version into the history at its entry, which counts, and nowhere else.

        `instead_of` is the position that its row may name: of a copy that does not count. A read; if need be a
        transaction. Raises as `restore`.
        """
        work_out = partial(self._return_to_history, entry=entry, instead_of=instead_of)
        self._transactions.commit_everywhere(view, work_out)

    def _return_to_history(self, rows: RowChanges, entry: Entry, instead_of: str | None) -> list[Change]:
        self._join_history(rows, entry, instead_of)
        return rows.changes()

    def _join_history(self, rows: RowChanges, entry: Entry, instead_of: str | None = None) -> None:
        key = VersionRow.key(entry.key.store_id, entry.version_id)
        late_key = VersionRow.late_key(entry.key.store_id, entry.version_id)
        rows.load([key, late_key])
        stored = rows.version(key)
        if stored is not None and instead_of is not None and stored.position == instead_of:
            stored = replace(stored, position=None)
        rows.after[key] = fold.join_version(stored, entry)
        rows.after[late_key] = None

    def _move_out(self, rows: RowChanges, row: VersionRow) -> None:
        """Move a version out of the history; one in the history at another position was replayed, and stays.

        Of a straggler at several positions, as where a home that lost its epoch had replayed it, the row names the
        last.
        """
        key = VersionRow.key(row.store_id, row.version_id)
        late_key = VersionRow.late_key(row.store_id, row.version_id)
        rows.load([key, late_key])
        stored, divergent = rows.version(key), rows.version(late_key)
        if stored is not None and stored.position not in (None, row.position):
            rows.after[late_key] = None
            return
        if divergent is not None and divergent.position and fold.is_behind(row.position, divergent.position):
            blank = divergent.blank or row.blank
            row = replace(divergent, redacted_at=row.redacted_at, redacted_by=row.redacted_by, blank=blank)
        blank = any(one is not None and one.blank for one in (stored, divergent, row))
        row = fold.late_version(fold.blanked_version(row) if blank else row)
        for one in (stored, divergent):
            if one is not None and one.redacted_at is not None:
                row = fold.blanked_version(replace(row, redacted_at=one.redacted_at, redacted_by=one.redacted_by))
        rows.after[late_key] = row
        if stored is not None:
            order = VersionRow(
                store_id=row.store_id,
                version_id=row.version_id,
                redacted_at=row.redacted_at,
                redacted_by=row.redacted_by,
                blank=row.blank,
                unseen=[UNSEEN_ORDER] if UNSEEN_ORDER in (stored.unseen or ()) else None,
            )
            rows.after[key] = None if row.redacted_at is None else order
