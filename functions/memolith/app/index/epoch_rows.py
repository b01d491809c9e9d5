"""Rows of closed epochs: restored to the epoch snapshot, with stragglers kept out of the history as divergent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from memolith.app.index.ack_journal import AckJournal
from memolith.app.index.row_transactions import RowChanges, RowTransactions
from memolith.app.kernel.batching import batches
from memolith.app.kernel.region import Region, View
from memolith.core import fold
from memolith.core.epochs import current_epoch, has_snapshot
from memolith.core.errors import Unavailable
from memolith.core.log_position import LogKey, LogRef
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Entry
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import UNSEEN_ORDER, LogRow, MemoryRow, PathRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.sealing import entry_digest
from memolith.ports.index import Change

STRAGGLERS_PER_TRANSACTION = 20
"""Each of which may change two rows; a transaction has room for a hundred."""


def _counts(_: VersionRow) -> bool:
    """Say of no row that its position is a straggler's."""
    return False


@dataclass(slots=True)
class RestoredRows:
    """Rows of one store as an epoch snapshot has them.

    Attributes:
        store: the record that names the snapshot. Facts of the epoch that began with it stay as they are.
        memories: by memory_id, the position in the row that gives way (None: of no row), and the entry at its place in
            the snapshot (None: it has none), whose version is in the history then.
        logs: by path hash, what is to be there of older epochs.
        paths: the paths whose listing follows from these, and their hashes.
        stragglers: versions that are to be divergent.
        elsewhere: entries of `memories` that were read in another region's bucket.
    """

    store: StoreRow
    memories: dict[str, tuple[LogRef | None, Entry | None]] = field(default_factory=dict)
    logs: dict[str, LogRow] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    stragglers: list[VersionRow] = field(default_factory=list)
    elsewhere: set[LogKey] = field(default_factory=set)

    @property
    def store_id(self) -> str:
        """Return whose rows these are."""
        return self.store.store_id


class EpochRows:
    """Writes rows of memories, logs, paths and versions that a move or a failover has made wrong.

    A process may still go by an epoch that another has ended since, or by a snapshot of its own where two fail over at
    once and the record names the other's. So each transaction is conditional on the store's row: nothing changes once
    these tables know a later epoch, or another snapshot of this one.
    """

    def __init__(self, region: Region, transactions: RowTransactions) -> None:
        self._region = region
        self._transactions = transactions

    def restore(self, view: View, restored: RestoredRows) -> bool:
        """Restore rows of older epochs to the snapshot, where they are unchanged since the check; return whether any
        changed.

        A version of this region's own that the snapshot brings into the history is logged as acknowledged: its writer
        may have died before it was, and its event, which then brings nothing new, does not log it.

        A read and a transaction; where there are many stragglers, as many as are needed, the last one with the other
        rows: who repairs a head finds it late until then.

        Raises:
            Unavailable, OutcomeUnknown: the rows could not be brought so far; repeat it.
        """
        *before, last = list(batches(restored.stragglers, STRAGGLERS_PER_TRANSACTION)) or [[]]
        for some in before:
            self._restore_rows(view, RestoredRows(restored.store, stragglers=list(some)))
        return self._restore_rows(view, replace(restored, stragglers=list(last)))

    def _restore_rows(self, view: View, restored: RestoredRows) -> bool:
        store_id = restored.store_id
        keys = [
            *(MemoryRow.key(store_id, id) for id in restored.memories),
            *(LogRow.key(store_id, hash) for hash in restored.logs),
            *(PathRow.key(store_id, path) for path in restored.paths),
        ]
        change = partial(self._restore, restored=restored)
        entries = [entry for _, entry in restored.memories.values() if entry is not None]
        return self._commit(view, restored.store, keys, change, entries) is True

    def _restore(self, rows: RowChanges, restored: RestoredRows) -> list[RowKey]:
        """Change the rows; return those that the listing follows from, also where they tell of no memory at a path.

        Where a memory's row has changed since the check and is older than the entry, its version does not come into the
        history before its head does: a read that demands the version would be answered with the older head. Whoever
        changed the row repairs it.

        A version that comes meanwhile, over an erased one, changes its memory's row alone: by the row of the log, which
        is yet to be restored, the memory is not at the path.
        """
        store_id, read_also = restored.store_id, set[RowKey]()
        paths = restored.paths | self._paths_now(rows, restored)
        for id, (before, entry) in restored.memories.items():
            key = MemoryRow.key(store_id, id)
            stored = rows.memory(key)
            if (None if stored is None else stored.ref) == before:
                rows.after[key] = None if entry is None else fold.join_memory(None, entry)
            elif entry is not None and _is_older(stored, entry):
                continue
            if entry is not None:
                read_also |= self._join_history(rows, entry, elsewhere=restored.elsewhere)
                self._take_erased(rows, key, entry)
        for hash, log in restored.logs.items():
            key = LogRow.key(store_id, hash)
            rows.after[key] = fold.rebased(log, rows.log(key), str(current_epoch(restored.store)))
        read_also |= rows.relist(store_id, paths | self._paths_now(rows, restored))
        for version in restored.stragglers:
            read_also |= self._move_out(rows, version)
        return sorted(read_also | {MemoryRow.key(store_id, id) for id in restored.memories})

    @staticmethod
    def _take_erased(rows: RowChanges, key: RowKey, entry: Entry) -> None:
        """Take the text out of a memory's row whose version was erased after the entry was read."""
        memory = rows.memory(key)
        version = rows.version(VersionRow.key(entry.key.store_id, entry.version_id))
        if memory is not None and memory.version_id == entry.version_id and version is not None and version.blank:
            rows.after[key] = fold.without_text(memory)

    @staticmethod
    def _paths_now(rows: RowChanges, restored: RestoredRows) -> dict[str, str]:
        """Return at which of the paths the memories are, by their rows: a write since the check may be all that tells.

        The entry that the snapshot names has no path any more once it is erased, nor has the row that is made of it:
        so the rows tell before they change, and after.
        """
        stored = (rows.memory(MemoryRow.key(restored.store_id, id)) for id in restored.memories)
        here = [row for row in stored if row is not None and row.path_hash in restored.logs]
        return {row.path: row.path_hash for row in here if row.path is not None}

    def mark_divergent(
        self,
        view: View,
        store: StoreRow,
        entry: Entry,
        is_straggler: Callable[[VersionRow], bool] = _counts,
        departure: Entry | None = None,
    ) -> None:
        """Move a straggler's version out of the history as divergent, unless it was replayed. A read and a transaction.

        `is_straggler` says of its row in the history whether the position that it names is a straggler's too. One of
        this region's own that is new to the tables is logged, with the `departure` that completed it: its writer may
        have died before it was, and no other region would ever miss what was lost on the way there.
        Raises as `restore`, and what `is_straggler` raises; Unavailable also where the tables know a later record, by
        which the version may count.
        """
        row = fold.join_version(None, entry)
        keys = _version_keys(store.store_id, row.version_id)
        change = partial(self._move_out, row=row, is_straggler=is_straggler)
        entries = [entry] if departure is None else [entry, departure]
        _require_decided(self._commit(view, store, keys, change, entries))

    def return_to_history(
        self,
        view: View,
        store: StoreRow,
        entry: Entry,
        instead_of: str | None = None,
        elsewhere: Collection[LogKey] = (),
    ) -> None:
        """Move a version into the history at its entry, which counts, and nowhere else.

        `instead_of` is the position that its row may name: of a copy that does not count. `elsewhere` are those of the
        version's objects that were read in another region's bucket: its row goes on saying that they are still to come.
        One of this region's own is logged as acknowledged where it is new, as by `restore`. A read; if need be a
        transaction. Raises as `mark_divergent`.
        """
        keys = _version_keys(store.store_id, entry.version_id)
        change = partial(self._join_history, entry=entry, instead_of=instead_of, elsewhere=elsewhere)
        _require_decided(self._commit(view, store, keys, change, [entry]))

    def _commit(
        self,
        view: View,
        store: StoreRow,
        keys: Sequence[RowKey],
        change: Callable[[RowChanges], Collection[RowKey] | None],
        entries: Sequence[Entry] = (),
    ) -> bool | None:
        """Commit a change of these rows to each generation that knows nothing later than `store` of its epochs.

        `change` may return keys of rows that it went by without changing them.

        Returns whether any changed, or None where a generation knows something later, and stays as it is. Of the
        `entries`, which come into the history or become divergent, those are logged that are of this home and new.
        """
        store_key, changed, overtaken = StoreRow.key(store.store_id), list[Change](), False

        def work_out(rows: RowChanges, journal: AckJournal | None) -> list[Change]:
            nonlocal overtaken
            rows.load([store_key, *keys])
            if _is_overtaken(store, rows.before[store_key]):
                overtaken = True
                return []
            read_also = change(rows) or ()
            changes = rows.changes([store_key, *read_also])
            changed.extend(changes)
            return changes if journal is None else changes + journal.changes(self._names(rows, store_key, entries))

        for index in view.indexes:
            serving = view.complete and index.generation == view.index.generation
            journal = AckJournal(self._region, view.period) if serving else None
            self._transactions.commit(index, partial(work_out, journal=journal), journal=journal)
        return None if overtaken else bool(changed)

    def _names(self, rows: RowChanges, store_key: RowKey, entries: Sequence[Entry]) -> list[Named]:
        attributes = rows.before[store_key]
        salt = "" if attributes is None else StoreRow.from_attributes(attributes).salt
        own = [entry for entry in entries if entry.slot.epoch.home == self._region.name]
        return [
            Named(str(entry.key), entry.projected_version_id, entry_digest(entry, salt))
            for entry in own
            if _comes_in(rows, entry) or _is_first_divergent(rows, entry)
        ]

    def _join_history(
        self, rows: RowChanges, entry: Entry, instead_of: str | None = None, elsewhere: Collection[LogKey] = ()
    ) -> set[RowKey]:
        """Join the version where it counts; return the two rows that were looked at for it."""
        key, late_key = _version_keys(entry.key.store_id, entry.version_id)
        rows.load([key, late_key])
        stored = rows.version(key)
        if stored is not None and instead_of is not None and stored.position == instead_of:
            stored = replace(stored, position=None)
        rows.after[key] = fold.join_version(stored, entry, fold.unseen_objects(entry, elsewhere))
        rows.after[late_key] = None
        return {key, late_key}

    def _move_out(
        self, rows: RowChanges, row: VersionRow, is_straggler: Callable[[VersionRow], bool] = _counts
    ) -> set[RowKey]:
        """Move a version out of the history; one in the history at another position that counts was replayed, and
        stays. Return the two rows that were looked at for it: the history's row may come in before the commit.

        Of a straggler at several positions, as where a home that lost its epoch had replayed it, the row names the
        last.
        """
        key, late_key = _version_keys(row.store_id, row.version_id)
        rows.load([key, late_key])
        stored, divergent = rows.version(key), rows.version(late_key)
        if stored is not None and stored.position not in (None, row.position):
            if not is_straggler(stored):
                rows.after[late_key] = None
                return {key, late_key}
            row = stored if fold.is_behind(row.position, stored.position) else row
        if divergent is not None and divergent.position and fold.is_behind(row.position, divergent.position):
            blank = divergent.blank or row.blank
            row = replace(divergent, redacted_at=row.redacted_at, redacted_by=row.redacted_by, blank=blank)
        blank = any(one is not None and one.blank for one in (stored, divergent, row))
        row = fold.late_version(fold.blanked_version(row) if blank else row, (stored, divergent))
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
        return {key, late_key}


def _comes_in(rows: RowChanges, entry: Entry) -> bool:
    """Tell whether the change brings a version into the history at its entry, be it that it was there at another."""
    key, position = VersionRow.key(entry.key.store_id, entry.version_id), str(entry.ref)
    before, after = rows.before.get(key) or {}, rows.version(key)
    return after is not None and after.position == position and before.get("position") != position


def _is_older(stored: MemoryRow | None, entry: Entry) -> bool:
    """Tell whether a memory's row is of a version before the entry's, or is missing."""
    return stored is None or fold.join_memory(stored, entry).version_id != stored.version_id


def _is_first_divergent(rows: RowChanges, entry: Entry) -> bool:
    """Tell whether the change makes the entry's version divergent, which the tables had nowhere."""
    key, late_key = _version_keys(entry.key.store_id, entry.projected_version_id or "")
    before = [rows.before.get(one) or {} for one in (key, late_key)]
    return rows.after.get(late_key) is not None and all(one.get("position") is None for one in before)


def _version_keys(store_id: str, version_id: str) -> tuple[RowKey, RowKey]:
    """Return where a version's row is in the history, and where a divergent one's is."""
    return VersionRow.key(store_id, version_id), VersionRow.late_key(store_id, version_id)


def _require_decided(changed: bool | None) -> None:
    """Raise Unavailable for a change that was decided by a record which the tables know to be followed by another."""
    if changed is None:
        raise Unavailable("the store's home changed while a version was projected; try again")


def _is_overtaken(store: StoreRow, attributes: Attributes | None) -> bool:
    """Tell whether tables with this row of a store know a later epoch than `store`, or another snapshot of its own."""
    if attributes is None:
        return False
    known = StoreRow.from_attributes(attributes)
    epoch, latest = current_epoch(store), current_epoch(known)
    return latest.rank > epoch.rank or (latest == epoch and has_snapshot(known) and known.cuts != store.cuts)
