"""What other functions ask of a writer and no API call does: finish a rename, adopt what came late."""

from __future__ import annotations

from collections.abc import Sequence

from memolith.app.commit.adoption import Adoption
from memolith.app.commit.late_records import LateRecords
from memolith.app.commit.writer import Writer
from memolith.app.epochs.ownership import Ownership
from memolith.app.kernel.peer_messages import NotHome
from memolith.app.kernel.region import Region, View
from memolith.app.log.log_reader import LogReader
from memolith.core.errors import NotFound
from memolith.core.log_position import LogKey, Slot
from memolith.core.object_keys import parse_key
from memolith.core.objects.entry import Entry
from memolith.core.objects.store_record import StoreState
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import MOVER, PlacedRecord, to_record


class PeerRequests:
    """Work at a store's home that indexers and other regions' writers ask for. All of it may be repeated."""

    def __init__(
        self,
        region: Region,
        logs: LogReader,
        records: Ownership,
        writer: Writer,
        adoption: Adoption,
        late_records: LateRecords,
    ) -> None:
        self._region = region
        self._logs = logs
        self._records = records
        self._writer = writer
        self._adoption = adoption
        self._late_records = late_records

    def own_store(self, store_id: str, ended_by: str | None = None, restoring: bool = False) -> StoreRow:
        """Return the record of a store whose home this is, as a caller of the API names it.

        A deleted store is found by the call that deleted it, if the network repeats that: `ended_by` is its version_id;
        and by one that is `restoring` it, even if it comes too late.

        Raises:
            NotFound, Unavailable. NotHome: another region is the store's home; nothing was done.
        """
        view, row = self._known(store_id)
        if row is None or (row.is_deleted and not restoring and row.version_id != ended_by):
            raise NotFound("memory_store", store_id)
        return self._at_home(view, row)

    def _kept_store(self, store_id: str) -> StoreRow:
        """Return the record of a store whose home this is and which is not final in its deletion.

        What has come late belongs to a deleted store too: if that is restored, all of it is there. Raises as
        `own_store`.
        """
        view, row = self._known(store_id)
        if row is None or row.state == StoreState.DELETED:
            raise NotFound("memory_store", store_id)
        return self._at_home(view, row)

    def _known(self, store_id: str) -> tuple[View, StoreRow | None]:
        view = self._region.view([StoreRow.key(store_id)])
        attributes = view.rows.get(StoreRow.key(store_id))
        return view, self._records.find(store_id) if attributes is None else StoreRow.from_attributes(attributes)

    def _at_home(self, view: View, row: StoreRow) -> StoreRow:
        row = self._records.at_home(view, row)
        if row.home != self._region.name:
            raise NotHome(PlacedRecord(Slot.parse(row.slot), to_record(row, MOVER)))
        return row

    def help(self, key: str) -> Sequence[ResolvedEntry]:
        """Finish the rename whose entry stands at `key`, and return what it came to; nothing if there is none."""
        entry = self._entry(key)
        if entry is None:
            return ()
        view = self._region.view()
        return self._writer.help(view, self._kept_store(entry.key.store_id), entry)

    def vacate(self, key: str) -> bool:
        """Take the memory whose head the blank at `key` is from its path; return whether it is its head."""
        entry = self._entry(key)
        if entry is None or not entry.blank:
            return False
        view = self._region.view()
        return self._writer.vacate(view, self._kept_store(entry.key.store_id), entry)

    def seal(self, key: str) -> bool:
        """End half a rename of an epoch that is over, which the indexer has met here; whether it is ended."""
        entry = self._entry(key)
        if entry is None or entry.slot.epoch.home != self._region.name:
            return False
        row_key = StoreRow.key(entry.key.store_id)
        attributes = self._region.view([row_key]).rows.get(row_key)
        return attributes is not None and self._writer.seal(StoreRow.from_attributes(attributes), entry)

    def adopt(self, key: str) -> list[str]:
        """Adopt the late version at `key`, which the indexer has met, and those after it; the versions adopted.

        Raises:
            ValueError: not a key of a log.
        """
        name = parse_key(key)
        if not isinstance(name, LogKey):
            raise ValueError("not a key of a log")
        return self._adoption.adopt(self._kept_store(name.store_id), name)

    def adopt_records(self, store_id: str) -> list[str]:
        """Adopt the late records of a store, if the indexer has met any; what was adopted."""
        return self._late_records.adopt(self._kept_store(store_id))

    def _entry(self, key: str) -> Entry | None:
        name = parse_key(key)
        return self._logs.entry(name) if isinstance(name, LogKey) else None
