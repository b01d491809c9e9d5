"""Folding what stands in the log into the tables: the only place that writes rows of memories, logs, paths, versions.

Each observer of a commit projects it before answering, so that no answer is newer than the index it leaves behind. The
writer folds what it put, the indexer folds it again when the event comes, a rebuild folds everything: the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from memolith.app.index.ack_journal import AckJournal
from memolith.app.kernel.region import Region, View
from memolith.core import fold
from memolith.core.errors import OutcomeUnknown
from memolith.core.log_position import LogKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.redaction_order import Redaction
from memolith.core.rows.base import Attributes, Row, RowKey
from memolith.core.rows.content import (
    UNSEEN_DEPARTURE,
    UNSEEN_ENTRY,
    UNSEEN_ORDER,
    LogRow,
    MemoryRow,
    PathRow,
    VersionRow,
)
from memolith.core.settled import ResolvedEntry
from memolith.ports import errors as port_errors
from memolith.ports.index import Change, Index

FOLD_ATTEMPTS = 20


ENTRIES_PER_TRANSACTION = 8


ROWS_PER_ERASURE = 50


T = TypeVar("T", bound=Row)


@dataclass(slots=True)
class RestoredRows:
    """Rows of one store as a cut has them.

    Attributes:
        store_id, present: whose, and the text of the epoch that began with the cut: its own facts stay as they are.
        memories: by memory_id, the slot of the row that gives way (None: of no row), and what is to stand there.
        logs: by path hash, what is to stand there of older epochs.
        paths: the paths whose listing follows from these, and their hashes.
        late: versions that are to stand apart.
    """

    store_id: str
    present: str
    memories: dict[str, tuple[str | None, MemoryRow | None]] = field(default_factory=dict)
    logs: dict[str, LogRow] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    late: list[VersionRow] = field(default_factory=list)


@dataclass(slots=True)
class _Rows:
    """Rows of one index while a change to them is worked out: what was read, and what it becomes."""

    region: Region
    index: Index
    before: dict[RowKey, Attributes | None]
    after: dict[RowKey, Row | None] = field(default_factory=dict)

    def load(self, keys: Sequence[RowKey]) -> None:
        missing = [key for key in dict.fromkeys(keys) if key not in self.before]
        if missing:
            rows = self.region.read(self.index, missing)
            self.before.update({key: rows.get(key) for key in missing})

    def memory(self, key: RowKey) -> MemoryRow | None:
        return self._row(key, MemoryRow)

    def log(self, key: RowKey) -> LogRow | None:
        return self._row(key, LogRow)

    def path(self, key: RowKey) -> PathRow | None:
        return self._row(key, PathRow)

    def version(self, key: RowKey) -> VersionRow | None:
        return self._row(key, VersionRow)

    def _row(self, key: RowKey, kind: type[T]) -> T | None:
        if key in self.after:
            row = self.after[key]
            return row if isinstance(row, kind) else None
        attributes = self.before.get(key)
        return None if attributes is None else kind.from_attributes(attributes)

    def changes(self, read_also: set[RowKey]) -> list[Change]:
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


class Projector:
    """Folds settled entries and orders of redaction into every generation of tables that is written."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def fold(
        self,
        view: View,
        settled: Sequence[ResolvedEntry],
        known: Mapping[RowKey, Attributes | None] | None = None,
        journal: bool = True,
        paths_too: bool = False,
        own: bool = False,
        elsewhere: Collection[LogKey] = (),
    ) -> None:
        """Make the index hold at least what these entries say, and the acknowledgement log those committed here.

        What the caller is about to acknowledge as its `own` is logged even if the index knew it; anything else, where
        it was new to the index, so that no writer builds on a version that no checkpoint will name.

        An update that keeps the path does not touch the path's rows. A caller that knows them to lag the log passes
        `paths_too`.

        `elsewhere` are the entries that the caller has from another region's answer or bucket: the rows say that their
        objects were not seen here, until a projection of the objects themselves.

        One transaction when `known` gives every row concerned as it is now; otherwise a read before it, or a few. More
        than a handful of entries go in several transactions: between them a path may be listed late, never twice.

        Raises:
            Unavailable, OutcomeUnknown: the index could not be brought so far; the entries themselves stand.
        """
        for index in view.indexes:
            serving = index.generation == view.index.generation
            for start in range(0, len(settled), ENTRIES_PER_TRANSACTION):
                some = settled[start : start + ENTRIES_PER_TRANSACTION]
                period = AckJournal(self._region, view.period) if journal and serving else None
                work_out = partial(
                    self._work_out, settled=some, journal=period, paths_too=paths_too, own=own, elsewhere=elsewhere
                )
                self._commit_until_done(index, work_out, known if serving else None, period)

    def restore(self, view: View, restored: RestoredRows) -> bool:
        """Restore rows of older epochs to the snapshot, where they are unchanged since the check; return whether any
        changed.

        A read and a transaction. Raises as `fold`.
        """
        changed: list[Change] = []
        for index in view.indexes:
            self._commit_until_done(index, partial(self._restore, restored=restored, changed=changed), None, None)
        return bool(changed)

    def _restore(self, rows: _Rows, restored: RestoredRows, changed: list[Change]) -> list[Change]:
        store_id = restored.store_id
        memory_keys = {id: MemoryRow.key(store_id, id) for id in restored.memories}
        log_keys = {hash: LogRow.key(store_id, hash) for hash in restored.logs}
        path_keys = {path: PathRow.key(store_id, path) for path in restored.paths}
        rows.load([*memory_keys.values(), *log_keys.values(), *path_keys.values()])
        for id, (slot, row) in restored.memories.items():
            standing = rows.memory(memory_keys[id])
            if (None if standing is None else standing.slot) == slot:
                rows.after[memory_keys[id]] = row
        for hash, log in restored.logs.items():
            rows.after[log_keys[hash]] = fold.rebased(log, rows.log(log_keys[hash]), restored.present)
        self._list_anew(rows, store_id, restored.paths)
        for version in restored.late:
            self._set_apart(rows, version)
        changes = rows.changes(set())
        changed += changes
        return changes

    def _list_anew(self, rows: _Rows, store_id: str, paths: Mapping[str, str]) -> None:
        """Recompute the listing's rows of these paths from the rows of their logs and occupants."""
        log_keys = {path: LogRow.key(store_id, hash) for path, hash in paths.items()}
        rows.load([*log_keys.values(), *(PathRow.key(store_id, path) for path in paths)])
        occupants = {path: fold.occupant_of(rows.log(key)) for path, key in log_keys.items()}
        rows.load([MemoryRow.key(store_id, id) for id in occupants.values() if id is not None])
        for path, id in occupants.items():
            key = PathRow.key(store_id, path)
            occupant = None if id is None else rows.memory(MemoryRow.key(store_id, id))
            rows.after[key] = fold.path_row(rows.path(key), store_id, path, rows.log(log_keys[path]), occupant)

    def fold_late(self, view: View, entry: Entry) -> None:
        """Move a straggler's version out of the history as divergent, unless it was replayed. A read and a transaction.

        Raises as `fold`.
        """
        row = fold.join_version(None, entry)
        for index in view.indexes:
            self._commit_until_done(index, partial(self._fold_late, row=row), None, None)

    def _fold_late(self, rows: _Rows, row: VersionRow) -> list[Change]:
        self._set_apart(rows, row)
        return rows.changes(set())

    def fold_where_it_stands(self, view: View, entry: Entry, instead_of: str | None = None) -> None:
        """Move a version into the history at its entry, which counts, and nowhere else.

        `instead_of` is the position that its row may name: of a copy that does not count. A read; if need be a
        transaction. Raises as `fold`.
        """
        for index in view.indexes:
            work_out = partial(self._place, entry=entry, instead_of=instead_of)
            self._commit_until_done(index, work_out, None, None)

    def _place(self, rows: _Rows, entry: Entry, instead_of: str | None) -> list[Change]:
        key = VersionRow.key(entry.key.store_id, entry.version_id)
        late_key = VersionRow.late_key(entry.key.store_id, entry.version_id)
        rows.load([key, late_key])
        standing = rows.version(key)
        if standing is not None and instead_of is not None and standing.position == instead_of:
            standing = replace(standing, position=None)
        rows.after[key] = fold.join_version(standing, entry)
        rows.after[late_key] = None
        return rows.changes(set())

    def _set_apart(self, rows: _Rows, row: VersionRow) -> None:
        """Move a version out of the history; one in the history at another position was replayed, and stays.

        Of a straggler at several positions, as where a home that lost its epoch had replayed it, the row names the
        last.
        """
        key = VersionRow.key(row.store_id, row.version_id)
        late_key = VersionRow.late_key(row.store_id, row.version_id)
        rows.load([key, late_key])
        standing, apart = rows.version(key), rows.version(late_key)
        if standing is not None and standing.position not in (None, row.position):
            rows.after[late_key] = None
            return
        if apart is not None and apart.position is not None and fold.is_behind(row.position, apart.position):
            row = replace(
                apart, redacted_at=row.redacted_at, redacted_by=row.redacted_by, blank=apart.blank or row.blank
            )
        blank = any(one is not None and one.blank for one in (standing, apart, row))
        row = fold.late_version(fold.blanked_version(row) if blank else row)
        for one in (standing, apart):
            if one is not None and one.redacted_at is not None:
                row = fold.blanked_version(replace(row, redacted_at=one.redacted_at, redacted_by=one.redacted_by))
        rows.after[late_key] = row
        if standing is not None:
            order = VersionRow(
                store_id=row.store_id,
                version_id=row.version_id,
                redacted_at=row.redacted_at,
                redacted_by=row.redacted_by,
                blank=row.blank,
                unseen=[UNSEEN_ORDER] if UNSEEN_ORDER in (standing.unseen or ()) else None,
            )
            rows.after[key] = None if row.redacted_at is None else order

    def fold_redaction(
        self, view: View, order: Redaction, name: Named | None = None, own: bool = False, unseen: bool = False
    ) -> None:
        """Mark the version's row as redacted, whether or not the version is known yet.

        `name` is the order's object, if it is of this home: it is logged as acknowledged where the order was new to the
        index, or the caller is about to acknowledge it as its `own`. `unseen`: the order is known from another region's
        answer, and its object may not be in this bucket; the row says so until `order_carried_out`.
        """
        key = VersionRow.key(order.store_id, order.version_id)
        for index in view.indexes:
            here = name is not None and index.generation == view.index.generation
            journal = AckJournal(self._region, view.period) if here else None
            names = [] if name is None else [name]
            work_out = partial(self._redact, key=key, order=order, journal=journal, names=names, own=own, unseen=unseen)
            self._commit_until_done(index, work_out, None, journal)

    def _redact(
        self,
        rows: _Rows,
        key: RowKey,
        order: Redaction,
        journal: AckJournal | None,
        names: list[Named],
        own: bool,
        unseen: bool,
    ) -> list[Change]:
        late_key = VersionRow.late_key(order.store_id, order.version_id)
        rows.load([key, late_key])
        rows.after[key] = fold.join_redaction(rows.version(key), order, unseen)
        apart = rows.version(late_key)
        if apart is not None:
            rows.after[late_key] = fold.join_redaction(apart, order)
        changes = rows.changes(set())
        return changes + journal.changes(names) if journal is not None and (own or changes) else changes

    def order_carried_out(self, view: View, order: Redaction) -> None:
        """Note that the order's object was projected here and its text erased. A read; a write where that is news."""
        key = VersionRow.key(order.store_id, order.version_id)
        for index in view.indexes:
            self._commit_until_done(index, partial(self._carried_out, key=key), None, None)

    def _carried_out(self, rows: _Rows, key: RowKey) -> list[Change]:
        rows.load([key])
        row = rows.version(key)
        if row is not None:
            rows.after[key] = fold.order_seen(row)
        return rows.changes(set())

    def fold_erasure(self, view: View, keys: Sequence[RowKey]) -> None:
        """Remove the text from these rows of `memories` and `versions`, as projecting their blanks would.

        Removes rows of `paths` altogether. For text that is erased, or never to be shown again; missing rows stay
        missing. A read and a transaction for every few.
        """
        for index in view.indexes:
            for start in range(0, len(keys), ROWS_PER_ERASURE):
                some = keys[start : start + ROWS_PER_ERASURE]
                self._commit_until_done(index, partial(self._erase, keys=some), None, None)

    def _erase(self, rows: _Rows, keys: Sequence[RowKey]) -> list[Change]:
        rows.load(keys)
        for key in keys:
            if rows.before[key] is not None:
                rows.after[key] = _without_text(rows, key)
        return rows.changes(set())

    def _commit_until_done(
        self,
        index: Index,
        work_out: Callable[[_Rows], list[Change]],
        known: Mapping[RowKey, Attributes | None] | None,
        journal: AckJournal | None,
    ) -> None:
        rows = _Rows(self._region, index, dict(known or {}))
        for attempt in range(FOLD_ATTEMPTS):
            try:
                changes = work_out(rows)
                if changes:
                    index.commit(changes)
                return
            except port_errors.Contended:
                self._region.back_off(attempt)
            except port_errors.OutcomeUnknown:
                pass
            rows = _Rows(self._region, index, {})
            if journal is not None:
                journal.look_again()
        raise OutcomeUnknown("the index stayed contended; read before trying again")

    def _work_out(
        self,
        rows: _Rows,
        settled: Sequence[ResolvedEntry],
        journal: AckJournal | None,
        paths_too: bool,
        own: bool,
        elsewhere: Collection[LogKey],
    ) -> list[Change]:
        rows.load([key for one in settled for key in _own_keys(one)])
        paths: dict[str, str] = {}
        news: set[str] = set()
        occupancy: list[ResolvedEntry] = []
        for one in settled:
            stays = False
            if one.is_version:
                if self._join_version(rows, one.entry, elsewhere) or own:
                    news.add(one.entry.version_id)
                stays = self._join_memory(rows, one, paths)
            if not stays or paths_too:
                occupancy.append(one)
        read_also = self._join_occupancy(rows, occupancy, paths)
        changes = rows.changes(read_also)
        return changes if journal is None else changes + journal.changes(self._names(settled, news))

    def _join_version(self, rows: _Rows, entry: Entry, elsewhere: Collection[LogKey]) -> bool:
        """Join the version; return whether it is new to the index."""
        key = VersionRow.key(entry.key.store_id, entry.version_id)
        before = rows.version(key)
        rows.after[key] = fold.join_version(before, entry, _unseen(entry, elsewhere))
        if entry.adopts is not None:
            late_key = VersionRow.late_key(entry.key.store_id, entry.version_id)
            rows.load([late_key])
            rows.after[late_key] = None
        return before is None or before.memory_id is None

    def _join_memory(self, rows: _Rows, one: ResolvedEntry, paths: dict[str, str]) -> bool:
        """Join the head, and note the paths concerned; return whether the memory keeps its path, as in updates."""
        entry = one.entry
        key = MemoryRow.key(entry.key.store_id, entry.memory_id)
        before = rows.memory(key)
        after = fold.join_memory(before, entry)
        rows.after[key] = after
        stays = before is not None and before.arrived == str(entry.arrived) and before.path_hash == entry.key.path_hash
        if stays and before is not None and entry.operation is not Operation.DELETED and before.path == after.path:
            return True
        for row in (before, after):
            if row is not None and row.path is not None:
                paths[row.path] = row.path_hash
        return False

    def _join_occupancy(self, rows: _Rows, occupancy: Sequence[ResolvedEntry], paths: dict[str, str]) -> set[RowKey]:
        """Join the logs' rows, then recompute the listing's rows of every path concerned."""
        if not occupancy:
            return set()
        store_id = occupancy[0].entry.key.store_id
        paths.update({one.entry.path: one.entry.key.path_hash for one in occupancy if one.entry.path is not None})
        log_keys = {path: LogRow.key(store_id, path_hash) for path, path_hash in paths.items()}
        path_keys = {path: PathRow.key(store_id, path) for path in paths}
        joined_keys = [LogRow.key(store_id, one.entry.key.path_hash) for one in occupancy]
        rows.load([*joined_keys, *log_keys.values(), *path_keys.values()])
        for one, key in zip(occupancy, joined_keys, strict=True):
            rows.after[key] = fold.join_log(rows.log(key), fold.log_facts(one.entry, void=one.void))
        occupants = {path: fold.occupant_of(rows.log(key)) for path, key in log_keys.items()}
        memory_keys = {path: MemoryRow.key(store_id, id) for path, id in occupants.items() if id is not None}
        rows.load(list(memory_keys.values()))
        for path in paths:
            occupant = rows.memory(memory_keys[path]) if path in memory_keys else None
            rows.after[path_keys[path]] = fold.path_row(
                rows.path(path_keys[path]), store_id, path, rows.log(log_keys[path]), occupant
            )
        return {*log_keys.values(), *memory_keys.values()}

    def _names(self, settled: Sequence[ResolvedEntry], version_ids: set[str]) -> list[Named]:
        """Return what a checkpoint must name of this home's versions: their entries, and those that completed them."""
        here = [one.entry for one in settled if not one.void and one.entry.slot.epoch.home == self._region.name]
        pairs = [(entry, _shown_as(entry)) for entry in here]
        return [Named(str(entry.key), version_id) for entry, version_id in pairs if version_id in version_ids]


def not_of(region: str, settled: Sequence[ResolvedEntry]) -> set[LogKey]:
    """Return the keys of entries that another region wrote: known from an answer, their objects may not be here."""
    return {one.entry.key for one in settled if one.entry.slot.epoch.home != region}


def _shown_as(entry: Entry) -> str | None:
    """Return the version that the index has once the entry is projected."""
    return entry.moved_version_id if entry.operation is Operation.MOVED_OUT else entry.version_id


def _unseen(entry: Entry, elsewhere: Collection[LogKey]) -> list[str]:
    """List a version's objects that are `elsewhere`: its own, and the second half of the rename that made it."""
    if not elsewhere:
        return []
    unseen = [UNSEEN_ENTRY] if entry.key in elsewhere else []
    renamed = entry.operation is Operation.MOVED_IN and entry.source is not None
    if renamed and entry.source is not None and entry.source.key_in(entry.key.store_id) in elsewhere:
        unseen.append(UNSEEN_DEPARTURE)
    return unseen


def _without_text(rows: _Rows, key: RowKey) -> Row | None:
    if key.table == "memories":
        memory = rows.memory(key)
        return None if memory is None else fold.without_text(memory)
    if key.table == "versions":
        version = rows.version(key)
        return None if version is None else fold.blanked_version(version)
    return None


def _own_keys(one: ResolvedEntry) -> list[RowKey]:
    if not one.is_version:
        return []
    store_id = one.entry.key.store_id
    return [MemoryRow.key(store_id, one.entry.memory_id), VersionRow.key(store_id, one.entry.version_id)]
