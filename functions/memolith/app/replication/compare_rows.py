"""Once a day: rows of `memories`, `logs` and `paths` beside each other; where they disagree, the log is folded again.

    a page of rows of one table -> the rows of the others that must agree -> those that still disagree at a second look
    -> the tail of the path's log goes through the index queue

A fold writes the three in one transaction, so that they agree unless rows were changed by hand. A listed path whose
memory is elsewhere, a live memory that is not listed, a log whose occupant is unknown: each names a path, and the tail
of that path's log says what is so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memolith.app.index.resumable_scan import ScanProgress, resume_scan
from memolith.app.kernel.listing import next_store
from memolith.app.kernel.region import Region, View
from memolith.app.log.log_reader import LogReader
from memolith.core import fold
from memolith.core.epochs import has_snapshot
from memolith.core.errors import Damaged
from memolith.core.log_position import LogKey, Slot
from memolith.core.object_keys import StoreKey
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.store_record import StoreState
from memolith.core.paths import path_hash
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Query
from memolith.ports.queue import Queue

ROWS_PER_PAGE = 50
"""Each of which asks for two others, and a read takes a hundred."""
COMPARED = ("memories", "paths", "logs")


class _Place(NamedTuple):
    """Where the comparison goes on: after this row of this table of this store, whose record has this home's prefix."""

    home: str
    store_id: str
    table: str
    after: str

    def __str__(self) -> str:
        return " ".join(self)

    @classmethod
    def parse(cls, text: str) -> _Place:
        return cls(*text.split(" ", 3))


class CompareRows:
    """Compares the rows of one region's tables with each other. `queue` is the region's index queue."""

    def __init__(self, region: Region, queue: Queue, logs: LogReader) -> None:
        self._region = region
        self._queue = queue
        self._logs = logs

    def run(self, deadline_us: int) -> ScanProgress:
        """Go on where time ran out. A LIST for a store; of fifty rows a query and a read.

        Where rows disagree, a few HEADs and a message; a message for each store that has had another home. Leaves out a
        store that is being failed over: nothing says yet which entries count, and its rows are repaired at the end of
        that. Raises as `resume_scan`.
        """
        return resume_scan(self._region, "rows", self._page, deadline_us)

    def _page(self, view: View, after: str | None) -> tuple[ScanProgress, str | None]:
        place = self._first_store(sorted(self._region.origins), "") if after is None else _Place.parse(after)
        if place is None:
            return ScanProgress(), None
        attributes = self._region.read(view.index, [StoreRow.key(place.store_id)]).get(StoreRow.key(place.store_id))
        store = None if attributes is None else StoreRow.from_attributes(attributes)
        if store is None or store.state == StoreState.DELETED or not has_snapshot(store):
            return ScanProgress(), self._following(place)
        if place.table == COMPARED[0] and not place.after:
            self._look_for_late_records(store)
        found, last = self._rows(view, place)
        wrong = self._disagreeing(view, store, found)
        if wrong:
            wrong &= self._disagreeing(view, store, self._rows(view, place)[0])
        sent = self._fold_again(store, sorted(wrong))
        further = str(place._replace(after=last)) if last is not None else self._following(place)
        return ScanProgress(len(found), sent), further

    def _look_for_late_records(self, store: StoreRow) -> None:
        """Have the record of a store that was taken over handled again at its home, which looks for late ones then.

        The event of one may have been lost. Nothing shows that it is missing: a later record of the store is here.
        """
        if store.home == self._region.name and len(store.epochs) > 1:
            key = StoreKey(store.store_id, Slot.parse(store.slot))
            self._queue.send([json.dumps({"fold_again": {"key": str(key)}})])

    # ---- places -------------------------------------------------------------------------------------------------

    def _following(self, place: _Place) -> str | None:
        """Return the next table of the store, the next store of its home, the first one of the next home."""
        position = COMPARED.index(place.table) + 1
        if position < len(COMPARED):
            return str(_Place(place.home, place.store_id, COMPARED[position], ""))
        homes = [home for home in sorted(self._region.origins) if home >= place.home]
        found = self._first_store(homes, place.store_id)
        return None if found is None else str(found)

    def _first_store(self, homes: Sequence[str], after_id: str) -> _Place | None:
        for home in homes:
            key = next_store(self._region.objects, home, after_id)
            if key is not None:
                return _Place(home, key.store_id, COMPARED[0], "")
            after_id = ""
        return None

    def _rows(self, view: View, place: _Place) -> tuple[list[Attributes], str | None]:
        """Return a page of rows; after which to go on, None at the end."""
        query = Query(place.table, place.store_id, after=place.after or None, limit=ROWS_PER_PAGE)
        found = view.index.query(query)
        rows: list[Attributes] = [{"table": place.table, **one.attributes} for one in found]
        return rows, found[-1].sort_key if len(found) == ROWS_PER_PAGE else None

    # ---- what must agree ----------------------------------------------------------------------------------------

    def _disagreeing(self, view: View, store: StoreRow, rows: Iterable[Attributes]) -> set[str]:
        """Return the hashes of the paths of these rows of one table that others contradict."""
        memories = [MemoryRow.from_attributes(row) for row in rows if row["table"] == "memories"]
        paths = [PathRow.from_attributes(row) for row in rows if row["table"] == "paths"]
        logs = [LogRow.from_attributes(row) for row in rows if row["table"] == "logs"]
        keys = {LogRow.key(store.store_id, row.path_hash) for row in memories}
        keys |= {PathRow.key(store.store_id, row.path) for row in memories if row.path is not None}
        keys |= {MemoryRow.key(store.store_id, row.memory_id) for row in paths if row.memory_id is not None}
        occupants = {row.path_hash: fold.occupant_of(row) for row in logs}
        keys |= {MemoryRow.key(store.store_id, id) for id in occupants.values() if id is not None}
        others = self._region.read(view.index, list(keys)) if keys else {}
        salt = bytes.fromhex(store.salt)
        return {
            *(row.path_hash for row in memories if not _is_listed(row, others)),
            *(path_hash(salt, row.path) for row in paths if row.memory_id is not None and not _is_there(row, others)),
            *(hash for hash, id in occupants.items() if id is not None and not _occupies(store, hash, id, others)),
        }

    def _fold_again(self, store: StoreRow, path_hashes: Sequence[str]) -> int:
        """Send the tails of these paths' logs, with what is before them if they are aborts. Return how many paths."""
        sent = 0
        for hash in path_hashes:
            keys = self._entries(store, hash)
            messages = [json.dumps({"fold_again": {"key": str(key)}}) for key in keys]
            if messages:
                self._queue.send(messages)
                sent += 1
        return sent

    def _entries(self, store: StoreRow, hash: str) -> list[LogKey]:
        try:
            entry = self._logs.tail(store, hash)
            keys = [] if entry is None else [entry.key]
            while entry is not None and self._is_void(entry) and entry.slot.sequence > 1:
                before = Slot(entry.slot.epoch, entry.slot.sequence - 1)
                entry = self._logs.entry(LogKey(store.store_id, hash, before))
                keys += [] if entry is None else [entry.key]
        except (ValueError, Damaged):
            return []
        return keys

    def _is_void(self, entry: Entry) -> bool:
        return entry.operation is Operation.VOID or any(one.void for one in self._logs.resolve(entry))


def _is_listed(row: MemoryRow, others: Mapping[RowKey, Attributes]) -> bool:
    """Tell whether a live memory occupies its path and the listing shows it; True for any other memory."""
    if not fold.is_live(row) or row.path is None:
        return True
    log, path = others.get(LogRow.key(row.store_id, row.path_hash)), others.get(PathRow.key(row.store_id, row.path))
    if log is None or path is None:
        return False
    return fold.occupant_of(LogRow.from_attributes(log)) == row.memory_id == path.get("memory_id")


def _is_there(row: PathRow, others: Mapping[RowKey, Attributes]) -> bool:
    """Tell whether the memory that is listed at a path has that path itself."""
    found = others.get(MemoryRow.key(row.store_id, row.memory_id or ""))
    return found is not None and fold.is_live(memory := MemoryRow.from_attributes(found)) and memory.path == row.path


def _occupies(store: StoreRow, hash: str, memory_id: str, others: Mapping[RowKey, Attributes]) -> bool:
    """Tell whether a log's occupant is known, and has that path itself."""
    found = others.get(MemoryRow.key(store.store_id, memory_id))
    return found is not None and not found.get("gone") and found["path_hash"] == hash
