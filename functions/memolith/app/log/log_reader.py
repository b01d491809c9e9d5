"""Reading the logs themselves: the truth that the index is made of.

A log has no holes within an epoch, and an epoch after the first begins with a cut; so the position after any known one
is always known, and the tail of a log of which nothing is known is found by galloping and bisecting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from memolith.app.kernel.batching import gallop
from memolith.app.kernel.damage_report import report_damage
from memolith.app.kernel.port_calls import find_head
from memolith.app.kernel.region import Region
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.core.epochs import current_epoch
from memolith.core.errors import Unavailable
from memolith.core.integrity import Damage
from memolith.core.log_position import Epoch, LogKey, LogRef, Slot
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.store_record import parse_epoch
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.identity import StoreRow


class LogReader:
    """Entries, positions and tails of the logs of any store, in this region's bucket."""

    def __init__(self, region: Region, snapshots: EpochSnapshots) -> None:
        self._region = region
        self._snapshots = snapshots

    def entry(self, key: LogKey, region: str | None = None) -> Entry | None:
        """Return the entry in a slot, or None while it is free. One HEAD. Raises Unavailable."""
        found = find_head(self._region.objects, str(key), region)
        return None if found is None else Entry.from_metadata(key, found.metadata)

    def acknowledged_entry(self, key: LogKey, is_acknowledged: Callable[[Entry], bool]) -> Entry | None:
        """Return the entry in a slot, as this region's tables have it; None where no region's object says the same.

        One HEAD. Where this region's object was changed after its slot was taken, it is reported, and each further
        region costs one more. Raises Unavailable.
        """
        for at in dict.fromkeys((self._region.name, *self._region.regions)):
            entry = self.entry(key, at)
            if entry is not None and is_acknowledged(entry):
                return entry
            if entry is not None:
                report_damage(self._region, {(key, at): Damage.REPLACED})
        return None

    def next_slot(self, store: StoreRow, path_hash: str, known: Slot | None) -> Slot:
        """Return the slot to look at, or to put, after `known`; the first one, when nothing is known.

        A slot of an epoch other than the present one is certainly taken, and never to be put. No call in the store's
        first epoch, nor for a slot of its present one; otherwise one GET of the snapshot's shard: an epoch's own slots
        follow the tail that it began with, never what the index believes of an older epoch. Slots beyond that tail are
        stragglers and do not count: the caller first has such a row repaired (`memolith.app.epochs.epoch_repair`).

        Raises:
            Unavailable: what is known is of a later epoch than the record, which is not the home's any more; or as
                `EpochSnapshots.tail`.
        """
        epoch = current_epoch(store)
        if known is not None and known.epoch.rank > epoch.rank:
            raise Unavailable("the store has another home by now, whose record has not arrived here yet; try again")
        if known is not None and known.epoch == epoch:
            return known.following
        tail = self._snapshots.tail(store, path_hash)
        if tail is None or (known is not None and known >= tail):
            return Slot(epoch, 1)
        return tail if known is None or known.epoch != tail.epoch else known.following

    def slot_before(self, store: StoreRow, path_hash: str, slot: Slot) -> Slot | None:
        """Return the taken slot before one: of the first of an epoch, the tail that the epoch began with.

        No call but for the first; then at most one GET of a shard. Raises as `next_slot`.
        """
        if slot.preceding is not None:
            return slot.preceding
        if str(slot.epoch) not in store.epochs:
            raise Unavailable("the store has another home by now, whose record has not arrived here yet; try again")
        number = store.epochs.index(str(slot.epoch))
        return self._snapshots.tail_of(store, number, path_hash) if number else None

    def slots_down(self, store: StoreRow, path_hash: str, slot: Slot | None) -> Iterator[Slot]:
        """Yield a slot and the taken ones before it. Each costs what `slot_before` does."""
        while slot is not None:
            yield slot
            slot = self.slot_before(store, path_hash, slot)

    def snapshot_tail(self, store: StoreRow, path_hash: str) -> Slot | None:
        """Return the snapshot's tail. See `EpochSnapshots.tail`."""
        return self._snapshots.tail(store, path_hash)

    def tail(self, store: StoreRow, path_hash: str) -> Entry | None:
        """Find the last entry of a log that the index does not know. About two HEADs per doubling of its length."""
        epoch = current_epoch(store)

        def probe(sequence: int) -> Entry | None:
            return self.entry(LogKey(store.store_id, path_hash, Slot(epoch, sequence)))

        found = gallop(probe)
        if found is not None:
            return found
        tail = self._snapshots.tail(store, path_hash)
        return None if tail is None else self.entry(LogKey(store.store_id, path_hash, tail))

    def resolve(
        self,
        entry: Entry,
        help_with: Callable[[Entry], None] | None = None,
        region: str | None = None,
        store: StoreRow | None = None,
    ) -> tuple[ResolvedEntry, ...]:
        """Resolve an entry with the other half of its rename. Empty while that cannot be decided.

        `help_with` is the writer's way of completing a rename whose source slot is still free; without it such a
        `moved_in` is left pending. `region` says whose bucket has the other half (default: this one's). With `store`, a
        straggler resolves to nothing, and a rename that is half late to what the snapshot made of it.
        """
        over = store is not None and entry.slot.epoch != current_epoch(store)
        resolved = self._resolve_alone(entry, None if over else help_with, region)
        return resolved if store is None else self.accepted(store, entry, resolved)

    def _resolve_alone(
        self, entry: Entry, help_with: Callable[[Entry], None] | None, region: str | None
    ) -> tuple[ResolvedEntry, ...]:
        if entry.operation is Operation.MOVED_OUT:
            arrival = self._at(entry, entry.destination, region)
            if arrival is None or arrival.version_id != entry.moved_version_id:
                return ()
            return (ResolvedEntry(arrival), ResolvedEntry(entry))
        if entry.operation is not Operation.MOVED_IN:
            return (ResolvedEntry(entry),)
        departure = self._at(entry, entry.source, region)
        if departure is None and help_with is not None:
            help_with(entry)
            departure = self._at(entry, entry.source, region)
        if departure is None:
            return ()
        if departure.ends(entry):
            return (ResolvedEntry(entry), ResolvedEntry(departure))
        return (ResolvedEntry(entry, void=True),)

    def accepted(self, store: StoreRow, entry: Entry, resolved: tuple[ResolvedEntry, ...]) -> tuple[ResolvedEntry, ...]:
        """Return what of an entry, as it was resolved without the store, counts in the store's present epoch.

        Of a closed epoch's, a rename counts if both its halves are below the snapshot, or the first is and the second
        is here all the same, or another entry followed the first there, or a snapshot names it as its memory's place.
        No call for the present epoch.
        """
        if entry.slot.epoch == current_epoch(store):
            return resolved
        if entry.operation is Operation.MOVED_OUT and not resolved and entry.destination is not None:
            return ()
        arrival = next((one.entry for one in resolved if one.entry.operation is Operation.MOVED_IN), entry)
        if self.is_straggler(store, arrival):
            return ()
        is_version = arrival.operation is not Operation.VOID and not any(one.void for one in resolved)
        if is_version and self.is_passed_over(store, arrival.ref, arrival.memory_id, arrival.generation):
            return ()
        if arrival.operation is not Operation.MOVED_IN or arrival.source is None:
            return resolved
        if not self._snapshots.is_straggler(store, arrival.source.path_hash, arrival.source.slot):
            return resolved
        is_committed = is_version and bool(resolved)  # and not passed over: what a later epoch began with follows it
        counts = (
            is_committed
            or self._was_followed(store, arrival)
            or self._snapshots.is_place(store, arrival.memory_id, arrival.ref)
        )
        return (ResolvedEntry(arrival),) if counts else ()

    def _was_followed(self, store: StoreRow, arrival: Entry) -> bool:
        """Tell whether a version that was built on this one is below the snapshot."""
        child = self.entry(LogKey(arrival.key.store_id, arrival.key.path_hash, arrival.slot.following))
        return (
            child is not None
            and child.parent_version_id == arrival.version_id
            and not self._snapshots.is_straggler(store, child.key.path_hash, child.slot)
        )

    def is_straggler(self, store: StoreRow, entry: Entry) -> bool:
        """Tell whether it is late. See `EpochSnapshots.is_straggler`."""
        return self._snapshots.is_straggler(store, entry.key.path_hash, entry.slot)

    def is_passed_over(
        self, store: StoreRow, at: LogRef, memory_id: str, generation: int, head: Epoch | None = None
    ) -> bool:
        """Tell whether a version of a closed epoch, below the tail of its path, is no part of its memory's history.

        A failover finds what is last at each path. It does not find a memory that came to a path, changed there and
        left before another one came, if none of that had arrived. So a later epoch may have begun with an earlier
        version of the memory. It may also have begun the memory anew, without any of its versions: `head`, the epoch of
        the memory's head where that is known, shows it.

        No call for a version at the path at which its memory is since; otherwise a GET of a shard, unless it is known,
        and a HEAD of the entry that the snapshot names.

        Raises:
            Unavailable: what decides has not arrived.
        """
        epochs = [parse_epoch(text) for text in store.epochs]
        written = epochs.index(at.slot.epoch) if at.slot.epoch in epochs else len(epochs)
        known = epochs.index(head) if head in epochs else -1
        number, continues = min(len(epochs) - 1, len(store.cuts or ())), False
        while written < number:
            place = self._snapshots.place_of(store, number, memory_id)
            if place is None and (continues or known == number):
                return True
            if place is None and not written < known < number:
                return False
            before = known if place is None else epochs.index(place.slot.epoch)
            if place is not None and before <= written:
                return self._is_beyond(store, at, generation, place)
            number, continues = before, True
        return False

    def _is_beyond(self, store: StoreRow, at: LogRef, generation: int, place: LogRef) -> bool:
        """Tell whether a version is newer than the one at the place where a snapshot found its memory."""
        if place.path_hash == at.path_hash:
            return at.slot.rank > place.slot.rank
        key, home = place.key_in(store.store_id), current_epoch(store).home
        entry = self.entry(key) or (None if home == self._region.name else self.entry(key, home))
        if entry is None:
            raise Unavailable("what the store's epoch began with has not arrived here yet; try again")
        return generation > entry.generation

    def _at(self, entry: Entry, ref: LogRef | None, region: str | None) -> Entry | None:
        return None if ref is None else self.entry(ref.key_in(entry.key.store_id), region)
