"""What a region holds of a store's logs, as the cut that an epoch begins with says it.

    the bucket's keys -> of each path the tail that counts -> what stands there -> one place for each live memory

A rename counts if both its halves are held, or something that followed it at its destination is; otherwise the memory
stays at its source. Nothing here trusts a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from memolith.app.homes.snapshot_progress import ENTRIES_PER_PART, SnapshotProgress
from memolith.app.kernel.batching import batches
from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.region import Region
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.app.log.verified_reads import REPAIR
from memolith.core.epochs import current_epoch, has_snapshot, homes_of
from memolith.core.errors import Damaged
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.object_keys import parsed_key
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.epoch_cut import Cut
from memolith.core.objects.schema import LaterSchema
from memolith.core.rows.identity import StoreRow

HEADS_AT_ONCE = 32
_HEX = "0123456789abcdef"


@dataclass(slots=True)
class LogScan:
    """What was found.

    Attributes:
        tails: by path hash, the highest slot that counts.
        residents: by path hash, the head of the live memory there.
        deleted: by memory_id, the generation of its deletion.
        pending: first halves of renames whose second is not held, and which nothing followed.
        entries: what was read for it.
    """

    tails: dict[str, Slot] = field(default_factory=dict)
    residents: dict[str, Entry] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)
    pending: list[LogKey] = field(default_factory=list)
    entries: dict[LogKey, Entry] = field(default_factory=dict)

    def cut(self) -> list[Cut]:
        """Return its shards."""
        shards = [(dict[str, str](), dict[str, str](), dict[str, str]()) for _ in range(Cut.SHARDS)]
        for hash, slot in self.tails.items():
            shards[Cut.shard_of(hash)][0][hash] = str(slot)
        for hash, entry in self.residents.items():
            shards[Cut.shard_of(hash)][1][hash] = entry.memory_id
            shards[Cut.shard_of_memory(entry.memory_id)][2][entry.memory_id] = str(entry.ref)
        return [Cut(*shard) for shard in shards]


class EpochSnapshotBuilder:
    """Surveys stores in one region's bucket."""

    def __init__(self, region: Region, snapshots: EpochSnapshots, logs: LogReader, progress: SnapshotProgress) -> None:
        self._region = region
        self._snapshots = snapshots
        self._logs = logs
        self._progress = progress

    def run(self, store: StoreRow, ahead: LogScan | None = None) -> LogScan:
        """Scan everything that is here of the store. A LIST for a thousand objects, a HEAD for each path or a few.

        It does not read again what an earlier scan has read: `ahead` leaves the paths that were written since.

        Raises:
            Unavailable: the bucket does not answer, or a snapshot that is needed is not here.
        """
        scan = LogScan(tails=self._tails(store), entries={} if ahead is None else dict(ahead.entries))
        for some in batches(list(scan.tails), HEADS_AT_ONCE):
            self._look(store, scan, some)
        self._one_place_each(scan)
        return scan

    def in_parts(self, store: StoreRow, deadline_us: int) -> LogScan | None:
        """Scan in as many calls as it takes: return None once `deadline_us` has come; the next call goes on.

        What was read of a store that takes more than one call is kept (`memolith.app.homes.snapshot_progress`) until
        `forget`. The listing is the last call's, and whole.

        Raises:
            as `run`.
        """
        scan = LogScan(tails=self._tails(store), entries=self._progress.load(store.store_id))
        known = len(scan.entries)
        batched = list(batches(list(scan.tails), HEADS_AT_ONCE))
        for number, some in enumerate(batched, 1):
            self._look(store, scan, some)
            is_straggler = self._region.clock.now_us() > deadline_us and number < len(batched)
            if is_straggler or len(scan.entries) - known >= ENTRIES_PER_PART:
                self._progress.keep(store.store_id, list(scan.entries.values())[known:])
                known = len(scan.entries)
            if is_straggler:
                return None
        self._one_place_each(scan)
        return scan

    def forget(self, store_id: str) -> None:
        """Remove what was kept between the calls of `in_parts`. A query, and a write for five hundred entries."""
        self._progress.forget(store_id)

    def _look(self, store: StoreRow, scan: LogScan, hashes: list[str]) -> None:
        found = self._region.parallel.run([partial(self._last, store, scan, hash) for hash in hashes])
        for hash, entry in zip(hashes, found, strict=True):
            if entry is not None and entry.operation is Operation.DELETED:
                scan.deleted[entry.memory_id] = entry.generation
            elif entry is not None and entry.operation is not Operation.MOVED_OUT:
                scan.residents[hash] = entry

    def _tails(self, store: StoreRow) -> dict[str, Slot]:
        """Return each path's last slot that counts. What an epoch wrote that is not in the chain counts nowhere."""
        tails: dict[str, Slot] = {}
        for key in self._keys(store):
            stored = tails.get(key.path_hash)
            if str(key.slot.epoch) not in store.epochs or (stored is not None and stored > key.slot):
                continue
            if not self._snapshots.is_straggler(store, key.path_hash, key.slot):
                tails[key.path_hash] = key.slot
        return tails

    def _keys(self, store: StoreRow) -> Iterator[LogKey]:
        """Yield every log's keys: of a small store in one LIST for each home, of another in sixteen side by side."""
        places = [f"{home}/log/{store.store_id}/" for home in sorted(homes_of(store))]
        pages = self._region.parallel.run([partial(self._region.objects.list, place) for place in places])
        for place, page in zip(places, pages, strict=True):
            if page.next_after is None:
                yield from _log_keys(page.keys)
                continue
            for keys in self._region.parallel.run([partial(self._all_under, f"{place}{digit}") for digit in _HEX]):
                yield from keys

    def _all_under(self, prefix: str) -> list[LogKey]:
        return _log_keys(keys_under(self._region.objects, prefix))

    # ---- who is at a path ---------------------------------------------------------------------------------------

    def _last(self, store: StoreRow, scan: LogScan, hash: str) -> Entry | None:
        """Return the first entry, from a path's tail down, that says which memory is there, or that none is.

        What is missing below a tail that says nothing might have said it: then the tail is what is below that. So it is
        where half a rename is missing that no entry followed: what is here of it becomes a straggler then, as the
        missing half would.

        For a closed epoch the snapshot is authoritative: the entry that removed the memory may be older than the tail
        of this path.
        """
        entry: Entry | None = None
        for slot in self._logs.slots_down(store, hash, scan.tails[hash]):
            if self._is_as_it_began(store, scan, hash, slot):
                place = self._place(store, hash)
                return None if place is None else self._entry(scan, place)
            above, entry = entry, self._entry(scan, LogKey(store.store_id, hash, slot))
            if entry is not None and above is not None and _follows(above, entry):
                return entry
            if entry is None or self._is_torn(store, scan, entry):
                before = self._logs.slot_before(store, hash, slot)
                if before is None:
                    del scan.tails[hash]
                    return None
                scan.tails[hash] = before
                continue
            if self._says_nothing(scan, entry):
                continue
            return entry
        return None

    def _is_as_it_began(self, store: StoreRow, scan: LogScan, hash: str, slot: Slot) -> bool:
        """Tell whether nothing that counts was written since the present epoch began, and the entry of then is held."""
        if slot.epoch == current_epoch(store) or not has_snapshot(store) or self._snapshots.tail(store, hash) != slot:
            return False
        place = self._place(store, hash)
        return place is None or self._entry(scan, place) is not None

    def _place(self, store: StoreRow, hash: str) -> LogKey | None:
        """Return the place of the memory that was at a path as the present epoch began."""
        resident = self._snapshots.resident(store, hash)
        place = None if resident is None else self._snapshots.place(store, resident)
        return None if place is None else place.key_in(store.store_id)

    def _entry(self, scan: LogScan, key: LogKey) -> Entry | None:
        """Read the entry there. A slot once taken stays taken, and what is read of it here is never erased.

        Raises:
            Damaged: it cannot be read. To go past it could lose a version that a later release wrote, or whose copy
                here alone is damaged.
        """
        try:
            entry = scan.entries.get(key) or self._logs.entry(key)
        except ValueError as error:
            hint = "deploy the release that reads it in this region" if isinstance(error, LaterSchema) else REPAIR
            raise Damaged(
                "an entry of a log cannot be read, so that the head at its path is not known",
                region=self._region.name,
                object=str(key),
                cause=str(error),
                hint=f"{hint}, and repeat the call",
            ) from error
        if entry is not None:
            scan.entries[key] = entry
        return entry

    def _says_nothing(self, scan: LogScan, entry: Entry) -> bool:
        """Tell whether an entry is an abort, or half a rename that does not count: a lower slot has the occupant."""
        if entry.operation is Operation.MOVED_OUT:
            return not self._is_held(scan, entry.destination)
        if entry.operation is not Operation.MOVED_IN or entry.source is None:
            return entry.operation is Operation.VOID
        departure = self._entry(scan, entry.source.key_in(entry.key.store_id))
        return departure is None or not departure.ends(entry)

    def _is_torn(self, store: StoreRow, scan: LogScan, entry: Entry) -> bool:
        """Tell whether it is the first half of a rename whose second is not here, and may never be, or be another's.

        One of the present epoch is pending. One of a closed epoch is as that one's snapshot left it.
        """
        if entry.operation is not Operation.MOVED_IN or entry.source is None:
            return False
        if self._is_held(scan, entry.source):
            return self._entry(scan, entry.source.key_in(entry.key.store_id)) is None
        if entry.slot.epoch == current_epoch(store):
            scan.pending.append(entry.key)
        return True

    def _is_held(self, scan: LogScan, ref: LogRef | None) -> bool:
        """Tell whether a position counts. Tails only ever fall to what is below a gap."""
        return ref is not None and ref.path_hash in scan.tails and ref.slot <= scan.tails[ref.path_hash]

    def _one_place_each(self, scan: LogScan) -> None:
        """Remove a memory from its source once an entry followed it at its destination, whether or not that is held."""
        last = dict(scan.deleted)
        for entry in scan.residents.values():
            last[entry.memory_id] = max(last.get(entry.memory_id, 0), entry.generation)
        scan.residents = {
            hash: entry for hash, entry in scan.residents.items() if last[entry.memory_id] == entry.generation
        }


def _follows(after: Entry, entry: Entry) -> bool:
    """Tell whether the entry in the next slot was built on this one, so that this one counts in any case.

    An abort leaves its generation to a rival, so that the generation alone does not tell: the parent does.
    """
    return (after.memory_id, after.parent_version_id) == (entry.memory_id, entry.version_id)


def _log_keys(keys: Iterable[str]) -> list[LogKey]:
    return [key for key in map(parsed_key, keys) if isinstance(key, LogKey)]
