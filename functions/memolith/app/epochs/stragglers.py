"""Stragglers: versions that an older epoch's home wrote above the snapshot that the next epoch began with.

What such a snapshot passes over (`LogReader.is_passed_over`) is a straggler too, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memolith.app.index.epoch_rows import EpochRows
from memolith.app.kernel.listing import keys_of
from memolith.app.kernel.region import Region, View
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.core.epochs import current_epoch, has_snapshot
from memolith.core.log_position import Epoch, LogKey, LogRef, Slot
from memolith.core.objects.entry import Entry
from memolith.core.objects.store_record import parse_epoch
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.tables import BY_MEMORY
from memolith.ports.index import Query


class Stragglers:
    """Finds the versions of a store that are stragglers and count nowhere else."""

    def __init__(self, region: Region, snapshots: EpochSnapshots, logs: LogReader, rows: EpochRows) -> None:
        self._region = region
        self._snapshots = snapshots
        self._logs = logs
        self._rows = rows

    def of_memory(self, view: View, store: StoreRow, memory_id: str, head: MemoryRow | None) -> list[VersionRow]:
        """List the memory's straggling versions: those of a global index, and from the table `head` and what it
        follows.

        The index may lag behind the newest, which are found by each version's parent. Neither may know one whose child
        has not arrived here; the sweep of the store finds it, which reads the table itself.
        """
        partition = f"{store.store_id}#{memory_id}"
        found = view.index.query(Query("versions", partition, index=BY_MEMORY.name, limit=1_000))
        rows = {one.key.sk: VersionRow.from_attributes(one.attributes) for one in found}
        version_id = None if head is None else head.version_id
        while version_id is not None and version_id not in rows:
            key = VersionRow.key(store.store_id, version_id)
            attributes = self._region.read(view.index, [key]).get(key)
            row = None if attributes is None else VersionRow.from_attributes(attributes)
            if row is None or row.memory_id != memory_id:
                break
            rows[version_id], version_id = row, row.parent_version_id
        return self.among(view, store, rows.values())

    def among(self, view: View, store: StoreRow, rows: Iterable[VersionRow]) -> list[VersionRow]:
        """Return the stragglers that count nowhere else.

        A read for a hundred memories that the snapshot does not have, a HEAD for each straggler, and one for each other
        version whose memory has changed its path since.
        """
        positions = [(row, LogRef.parse(row.position)) for row in rows if row.position is not None]
        heads = self._heads(
            view, store, [row.memory_id for row, at in positions if at.slot.epoch != current_epoch(store)]
        )
        late = [
            (row, at)
            for row, at in positions
            if self._snapshots.is_straggler(store, at.path_hash, at.slot)
            or self._logs.is_passed_over(store, at, row.memory_id or "", row.generation or 0, heads.get(row.memory_id))
        ]
        return [
            row
            for row, at in late
            if not self.counts_elsewhere(view, store, self._logs.entry(at.key_in(store.store_id)))
        ]

    def _heads(self, view: View, store: StoreRow, memory_ids: Iterable[str | None]) -> dict[str | None, Epoch]:
        """Return the epochs of the heads of those memories that had no place as the present epoch began."""
        ids = dict.fromkeys(id for id in memory_ids if id is not None)
        keys = [MemoryRow.key(store.store_id, id) for id in ids if self._snapshots.place(store, id) is None]
        found = self._region.read(view.index, keys) if keys else {}
        heads = [MemoryRow.from_attributes(attributes) for attributes in found.values()]
        return {head.memory_id: Slot.parse(head.slot).epoch for head in heads}

    def counts_elsewhere(self, view: View, store: StoreRow, version: Entry | None) -> bool:
        """Tell whether a straggler's version counts at another position of its log; then its row says so.

        A home that lost its epoch may have replayed what the accepted one has too: from the old home itself, or as a
        replay of its own. And what a home of a closed epoch replayed may have been a straggler by the record that was
        known before: then the row names the original. No call for an original after whose epoch no other was closed;
        else a LIST a region, a HEAD for each later entry, and what it costs to know that one is not passed over.
        """
        if version is None or (version.adopts is None and not _was_another_closed(store, version.slot.epoch)):
            return False
        for key in self._later(store, version, self._first_epoch(version)):
            if version.adopts is None and key.slot.epoch == current_epoch(store):
                continue  # the event of a replay in the present epoch projects it
            entry = self._logs.entry(key)
            if entry is None or entry.version_id != version.version_id or entry.key == version.key:
                continue
            if not self._is_passed_over(view, store, entry.ref, entry.memory_id, entry.generation):
                self._rows.return_to_history(view, store, entry, instead_of=str(version.ref))
                return True
        return False

    def _first_epoch(self, version: Entry) -> int:
        """Return the number of the epoch in which a version was first, as far as is known: a copy may be of a copy.

        A HEAD for each copy that another one is of.
        """
        adopts = version.adopts
        while adopts is not None:
            entry = self._logs.entry(replace(version.key, slot=adopts))
            if entry is None:
                return 1
            version, adopts = entry, entry.adopts
        return version.slot.epoch.number

    def _is_passed_over(self, view: View, store: StoreRow, at: LogRef, memory_id: str, generation: int) -> bool:
        if at.slot.epoch == current_epoch(store):
            return False
        heads = self._heads(view, store, [memory_id]) if has_snapshot(store) else {}
        return self._logs.is_passed_over(store, at, memory_id, generation, heads.get(memory_id))

    def is_straggler(self, view: View, store: StoreRow, row: VersionRow) -> bool:
        """Tell whether what stands at the position that a version's row names is a straggler, wherever else it counts.

        No call for the present epoch; otherwise what `among` costs for one. Raises Unavailable.
        """
        at = row.ref
        return self._snapshots.is_straggler(store, at.path_hash, at.slot) or self._is_passed_over(
            view, store, at, row.memory_id or "", row.generation or 0
        )

    def copies(self, store: StoreRow, rows: Sequence[VersionRow]) -> list[Entry]:
        """Return the copies of these versions that homes replayed whose epochs were not accepted.

        One that an accepted epoch replayed is not looked for: the snapshot of that epoch makes the original late, in
        whichever order they come. A LIST a region for each path, and a HEAD for each entry of an epoch that was not
        accepted. Raises Unavailable.
        """
        versions = {row.version_id for row in rows}
        hashes = sorted({row.ref.path_hash for row in rows})
        keys = [key for hash in hashes for key in self._logged(store, hash)]
        lost = [key for key in keys if str(key.slot.epoch) not in store.epochs]
        entries = [
            self._logs.entry(key) for key in lost if self._snapshots.is_straggler(store, key.path_hash, key.slot)
        ]
        return [entry for entry in entries if entry is not None and entry.version_id in versions]

    def of_version(self, store: StoreRow, path_hash: str, version_id: str) -> list[LogKey]:
        """Return where one version is a straggler, or of an epoch that this region does not know.

        A LIST a region, and a HEAD for each such entry of its log. Raises Unavailable.
        """
        keys = [
            key
            for key in self._logged(store, path_hash)
            if str(key.slot.epoch) not in store.epochs or self._snapshots.is_straggler(store, path_hash, key.slot)
        ]
        entries = [self._logs.entry(key) for key in keys]
        return [entry.key for entry in entries if entry is not None and entry.version_id == version_id]

    def _later(self, store: StoreRow, version: Entry, first: int) -> list[LogKey]:
        """Return what counts of a version's log, from the epoch of this number on."""
        hash = version.key.path_hash
        logged = [key for key in self._logged(store, hash) if key.slot.epoch.number >= first]
        return sorted(
            (key for key in logged if not self._snapshots.is_straggler(store, hash, key.slot)),
            key=lambda key: key.slot.rank,
        )

    def _logged(self, store: StoreRow, path_hash: str) -> list[LogKey]:
        places = [f"{region}/log/{store.store_id}/{path_hash}/" for region in self._region.origins]
        return [key for place in places for key in keys_of(self._region.objects, LogKey, place)]


def _was_another_closed(store: StoreRow, epoch: Epoch) -> bool:
    """Tell whether a closed epoch may have replayed what was written in this one."""
    closed = [parse_epoch(text) for text in store.epochs[:-1]]
    return any(one != epoch and one.number >= epoch.number for one in closed)
