"""Projecting entries of the log into the tables: rows of memories, logs, paths and versions.

Each observer of a commit projects it before answering, so that no answer is newer than the index it leaves behind. The
writer projects what it put, the indexer does so again when the event comes, a rebuild does so with everything: the same
code. What a move or a failover changes in these rows is in `epoch_rows`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from memolith.app.index.ack_journal import AckJournal
from memolith.app.index.row_transactions import RowChanges, RowTransactions
from memolith.app.kernel.batching import batches
from memolith.app.kernel.damage_report import report_damage
from memolith.app.kernel.region import Region, View
from memolith.core import fold, integrity
from memolith.core.integrity import Damage
from memolith.core.log_position import LogKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.redaction_order import Redaction
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.base import Attributes, Row, RowKey
from memolith.core.rows.content import (
    UNSEEN_ENTRY,
    LogRow,
    MemoryRow,
    PathRow,
    VersionRow,
)
from memolith.core.rows.identity import StoreRow
from memolith.core.sealing import entry_digest
from memolith.core.tables import BY_MEMORY
from memolith.ports.index import Change, Query

ENTRIES_PER_TRANSACTION = 8


ROWS_PER_ERASURE = 50


class Projector:
    """Folds settled entries and orders of redaction into every generation of tables that is written."""

    def __init__(self, region: Region, transactions: RowTransactions) -> None:
        self._region = region
        self._transactions = transactions

    def fold(
        self,
        view: View,
        resolved: Sequence[ResolvedEntry],
        known: Mapping[RowKey, Attributes | None] | None = None,
        journal: bool = True,
        paths_too: bool = False,
        own: bool = False,
        elsewhere: Collection[LogKey] = (),
        salt: str = "",
        over: bool = False,
    ) -> list[LogKey]:
        """Make the index hold at least what these entries say, and the acknowledgement log those committed here.

        What the caller is about to acknowledge as its `own` is logged even if the index knew it; anything else, where
        it was new to the index, so that no writer builds on a version that no checkpoint will name.

        An update that keeps the path does not touch the path's rows. A caller that knows them to lag the log passes
        `paths_too`.

        `elsewhere` are the entries that the caller has from another region's answer or bucket: the rows say that their
        objects were not seen here, until a projection of the objects themselves.

        `salt` is the store's, for the digests that are logged with what was committed here; without it, and where the
        view does not have the store's record either, the log has none.

        `over` are entries that the caller knows to be no memory's present state: they enter the history alone.

        One transaction when `known` gives every row concerned as it is now; otherwise a read before it, or a few. More
        than a handful of entries go in several transactions: between them a path may be listed late, never twice.

        An entry that contradicts the rows is left out, logged and counted: its object was changed after its slot was
        taken (`core.integrity.contradicts`). The keys of these are returned.

        Raises:
            Unavailable, OutcomeUnknown: the index could not be brought so far; the entries themselves stand.
        """
        salt = salt or _salt_in(view, resolved)
        changed: dict[LogKey, None] = {}
        for index in view.indexes:
            serving = index.generation == view.index.generation
            for start in range(0, len(resolved), ENTRIES_PER_TRANSACTION):
                some = resolved[start : start + ENTRIES_PER_TRANSACTION]
                period = AckJournal(self._region, view.period) if journal and serving else None
                work_out = partial(
                    self._work_out,
                    resolved=some,
                    journal=period,
                    paths_too=paths_too,
                    own=own,
                    elsewhere=elsewhere,
                    salt=salt,
                    over=over,
                    changed=changed,
                )
                self._transactions.commit(index, work_out, known if serving else None, period)
        if changed:
            report_damage(self._region, {(key, self._region.name): Damage.REPLACED for key in changed})
        return list(changed)

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
            self._transactions.commit(index, work_out, journal=journal)

    def _redact(
        self,
        rows: RowChanges,
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
        changes = rows.changes()
        return changes + journal.changes(names) if journal is not None and (own or changes) else changes

    def order_carried_out(self, view: View, order: Redaction) -> None:
        """Note that the order's object was projected here and its text erased. A read; a write where that is news."""
        key = VersionRow.key(order.store_id, order.version_id)
        self._transactions.commit_everywhere(view, partial(self._carried_out, key=key))

    def _carried_out(self, rows: RowChanges, key: RowKey) -> list[Change]:
        rows.load([key])
        row = rows.version(key)
        if row is not None:
            rows.after[key] = fold.order_seen(row)
        return rows.changes()

    def fold_erasure(self, view: View, keys: Sequence[RowKey]) -> None:
        """Remove the text from these rows of `memories` and `versions`, as projecting their blanks would.

        Removes rows of `paths` altogether. For text that is erased, or never to be shown again; missing rows stay
        missing. A read and a transaction for every few.
        """
        for some in batches(keys, ROWS_PER_ERASURE):
            self._transactions.commit_everywhere(view, partial(self._erase, keys=some))

    def _erase(self, rows: RowChanges, keys: Sequence[RowKey]) -> list[Change]:
        rows.load(keys)
        for key in keys:
            if rows.before[key] is not None:
                rows.after[key] = _without_text(rows, key)
        return rows.changes()

    def _work_out(
        self,
        rows: RowChanges,
        resolved: Sequence[ResolvedEntry],
        journal: AckJournal | None,
        paths_too: bool,
        own: bool,
        elsewhere: Collection[LogKey],
        salt: str,
        over: bool,
        changed: dict[LogKey, None],
    ) -> list[Change]:
        rows.load([key for one in resolved for key in _own_keys(one)])
        rows.load([key for one in resolved for key in _places_of_new(rows, one)])
        paths: dict[str, str] = {}
        news: set[str] = set()
        occupancy: list[ResolvedEntry] = []
        for one in resolved:
            secondhand = False
            if one.is_version:
                if self._is_contradicted(rows, one.entry):
                    changed[one.entry.key] = None
                    continue
                secondhand = self._is_secondhand(rows, one.entry, elsewhere)
                if self._join_version(rows, one.entry, elsewhere) or own:
                    news.add(one.entry.version_id)
            if over:
                continue
            stays = one.is_version and self._join_memory(rows, one, paths, secondhand)
            if not stays or paths_too:
                occupancy.append(one)
        read_also = self._join_occupancy(rows, occupancy, paths)
        changes = rows.changes(read_also | _late_keys(resolved) | _heads_of_blanks(resolved))
        return changes if journal is None else changes + journal.changes(self._names(resolved, news, salt))

    def _is_contradicted(self, rows: RowChanges, entry: Entry) -> bool:
        """Tell whether the entry's slot was taken with something else, as far as the rows say.

        A query where a later version of its memory is known and this one is not; a read where another memory is at its
        path.
        """
        store_id, joined = entry.key.store_id, fold.join_version(None, entry)
        version = rows.version(VersionRow.key(store_id, entry.version_id))
        head = rows.memory(MemoryRow.key(store_id, entry.memory_id))
        if integrity.contradicts(version, head, joined):
            return True
        if version is not None and version.memory_id is not None:
            return False
        if head is not None:
            return integrity.is_overtaken(head, joined) and self._has_generation(rows, joined)
        log = rows.log(LogRow.key(store_id, entry.key.path_hash))
        occupant_id = fold.occupant_of(log)
        if occupant_id in (None, entry.memory_id):
            return False
        occupant = MemoryRow.key(store_id, occupant_id or "")
        rows.load([occupant])
        return integrity.is_of_another(log, rows.memory(occupant), joined)

    @staticmethod
    def _has_generation(rows: RowChanges, joined: VersionRow) -> bool:
        """Tell whether another version has this one's slot, or its generation in the same log and epoch."""
        after = f"{(joined.generation or 0) - 1:010d}" if joined.generation else None
        query = Query("versions", joined.memory_key or "", after=after, index=BY_MEMORY.name, limit=2)
        found = [VersionRow.from_attributes(one.attributes) for one in rows.index.query(query)]
        return any(integrity.is_in_place_of(one, joined) for one in found)

    def _join_version(self, rows: RowChanges, entry: Entry, elsewhere: Collection[LogKey]) -> bool:
        """Join the version; return whether it is new to the index where this entry has it.

        A call that went by an earlier record may have put the late original of an adopted version into the history:
        that row does not stand for the copy. An import that was repeated at a later home is in two logs as well.
        """
        key = VersionRow.key(entry.key.store_id, entry.version_id)
        before = known = rows.version(key)
        is_own = entry.slot.epoch.home == self._region.name and entry.key not in elsewhere
        if before is not None and is_own and not entry.blank and fold.is_blank_elsewhere(before):
            known = replace(before, blank=False)  # as in tables that had the text first: this region erases its own
        after = fold.join_version(known, entry, fold.unseen_objects(entry, elsewhere))
        rows.after[key] = after
        for late_key in _late_keys([ResolvedEntry(entry)]):
            rows.load([late_key])
            rows.after[late_key] = None
        return before is None or before.position != after.position

    @staticmethod
    def _is_secondhand(rows: RowChanges, entry: Entry, elsewhere: Collection[LogKey]) -> bool:
        """Tell whether the rows have from another region alone what this entry says by its own object."""
        row = rows.version(VersionRow.key(entry.key.store_id, entry.version_id))
        return row is not None and UNSEEN_ENTRY in (row.unseen or ()) and entry.key not in elsewhere

    def _join_memory(self, rows: RowChanges, one: ResolvedEntry, paths: dict[str, str], secondhand: bool) -> bool:
        """Join the head, and note the paths concerned; return whether the memory keeps its path, as in updates.

        A head that is `secondhand` becomes what its own object says: the other region's may have been altered.
        """
        entry = one.entry
        key = MemoryRow.key(entry.key.store_id, entry.memory_id)
        before = rows.memory(key)
        again = secondhand and before is not None and before.ref == entry.ref and fold.is_live(before)
        after = fold.join_memory(None if again and not entry.blank else before, entry)
        rows.after[key] = after
        stays = before is not None and before.arrived == str(entry.arrived) and before.path_hash == entry.key.path_hash
        if stays and before is not None and entry.operation is not Operation.DELETED and before.path == after.path:
            return True
        for row in (before, after):
            if row is not None and row.path is not None:
                paths[row.path] = row.path_hash
        return False

    def _join_occupancy(
        self, rows: RowChanges, occupancy: Sequence[ResolvedEntry], paths: dict[str, str]
    ) -> set[RowKey]:
        """Join the logs' rows, then recompute the listing's rows of every path concerned."""
        if not occupancy:
            return set()
        store_id = occupancy[0].entry.key.store_id
        paths.update({one.entry.path: one.entry.key.path_hash for one in occupancy if one.entry.path is not None})
        joined_keys = [LogRow.key(store_id, one.entry.key.path_hash) for one in occupancy]
        logs_and_paths = [
            key for path, hash in paths.items() for key in (LogRow.key(store_id, hash), PathRow.key(store_id, path))
        ]
        rows.load([*joined_keys, *logs_and_paths])
        for one, key in zip(occupancy, joined_keys, strict=True):
            rows.after[key] = fold.join_log(rows.log(key), fold.log_facts(one.entry, void=one.void))
        return rows.relist(store_id, paths)

    def _names(self, resolved: Sequence[ResolvedEntry], version_ids: set[str], salt: str) -> list[Named]:
        """Return what a checkpoint must name of this home's versions: their entries, and those that completed them."""
        here = [one.entry for one in resolved if not one.void and one.entry.slot.epoch.home == self._region.name]
        return [
            Named(str(entry.key), entry.projected_version_id, entry_digest(entry, salt), _put_as(entry))
            for entry in here
            if entry.projected_version_id in version_ids
        ]


def not_of(region: str, resolved: Sequence[ResolvedEntry]) -> set[LogKey]:
    """Return the keys of entries that another region wrote: known from an answer, their objects may not be here."""
    return {one.entry.key for one in resolved if one.entry.slot.epoch.home != region}


def _late_keys(resolved: Sequence[ResolvedEntry]) -> set[RowKey]:
    """Return where the versions would be divergent that have been adopted, or may have been imported at two homes."""
    entries = [one.entry for one in resolved if one.is_version]
    return {
        VersionRow.late_key(entry.key.store_id, entry.version_id)
        for entry in entries
        if entry.adopts is not None or (entry.imported and entry.key.slot.epoch.number > 1)
    }


def _heads_of_blanks(resolved: Sequence[ResolvedEntry]) -> set[RowKey]:
    """Return the rows of memories that blanks may leave as they are: one may be put back to its version meanwhile."""
    blanks = [one.entry for one in resolved if one.is_version and one.entry.blank]
    return {MemoryRow.key(entry.key.store_id, entry.memory_id) for entry in blanks}


def _salt_in(view: View, resolved: Sequence[ResolvedEntry]) -> str:
    """Return the salt of the entries' store, where the view has its record."""
    row = view.rows.get(StoreRow.key(resolved[0].entry.key.store_id)) if resolved else None
    return "" if row is None else StoreRow.from_attributes(row).salt


def _put_as(entry: Entry) -> str | None:
    """Return the object's version that this process has put for an ordinary text of the present epoch, or None."""
    return entry.object_version if entry.has_content and entry.adopts is None else None


def _without_text(rows: RowChanges, key: RowKey) -> Row | None:
    if key.table == "memories":
        memory = rows.memory(key)
        return None if memory is None else fold.without_text(memory)
    if key.table == "versions":
        version = rows.version(key)
        return None if version is None else fold.blanked_version(version)
    return None


def _places_of_new(rows: RowChanges, one: ResolvedEntry) -> list[RowKey]:
    """Return the rows of an unknown memory's path, which are needed for its occupancy in any case."""
    entry = one.entry
    if not one.is_version or rows.memory(MemoryRow.key(entry.key.store_id, entry.memory_id)) is not None:
        return []
    log_key = LogRow.key(entry.key.store_id, entry.key.path_hash)
    return [log_key] if entry.path is None else [log_key, PathRow.key(entry.key.store_id, entry.path)]


def _own_keys(one: ResolvedEntry) -> list[RowKey]:
    if not one.is_version:
        return []
    store_id = one.entry.key.store_id
    return [MemoryRow.key(store_id, one.entry.memory_id), VersionRow.key(store_id, one.entry.version_id)]
