"""Cuts: what each epoch of a store began with, and so which entries of older epochs count.

A cut names, for every path, the tail that the new home held, and for every live memory its one place. From then on the
epoch's own slots alone decide. An older entry above the cut's tail is **late**: it is never head by itself, however it
got there; the home adopts it, or it is divergent. A cut never changes, so that what was read of it is kept.
"""

from __future__ import annotations

from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.core.errors import Unavailable
from memolith.core.log_position import Epoch, LogRef, Slot
from memolith.core.object_keys import CutKey
from memolith.core.objects.epoch_cut import Cut
from memolith.core.objects.store_record import parse_epoch
from memolith.core.rows.identity import StoreRow

SHARDS_KEPT = 64


NAMES_KEPT = 500_000
"""Paths and memories that the shards which a process keeps may name in all: some 150 MB. One shard is always kept."""


class EpochSnapshots:
    """The cuts of any store's epochs, as this region's bucket has them, or else their home's.

    A cut never changes, so the shards that were read are kept: one object of this class serves a whole process.
    """

    def __init__(self, region: Region) -> None:
        self._region = region
        self._kept: dict[str, Cut] = {}

    def tail(self, store: StoreRow, path_hash: str) -> Slot | None:
        """Return the tail that the present epoch began with; None in the first, or where the path was new.

        At most one GET, of one shard. Raises Unavailable: the snapshot has not arrived, or is not made yet.
        """
        return None if len(store.epochs) == 1 else self.tail_of(store, len(store.epochs) - 1, path_hash)

    def place(self, store: StoreRow, memory_id: str) -> LogRef | None:
        """Return where a live memory was as the present epoch began; None where it did not exist. At most one GET.

        Raises as `tail`.
        """
        return self.place_of(store, len(store.epochs) - 1, memory_id)

    def place_of(self, store: StoreRow, number: int, memory_id: str) -> LogRef | None:
        """Return where a live memory was as the `number`-th epoch, from 0, began. Raises as `tail`."""
        text = self._shard(store, number, Cut.shard_of_memory(memory_id)).occupants.get(memory_id)
        return None if text is None else LogRef.parse(text)

    def is_place(self, store: StoreRow, memory_id: str, ref: LogRef) -> bool:
        """Tell whether a later epoch began with the memory there. A GET for each such epoch. Raises as `tail`."""
        return any(self.place_of(store, number, memory_id) == ref for number in _later(store, ref.slot.epoch))

    def resident(self, store: StoreRow, path_hash: str) -> str | None:
        """Return the live memory at a path as the present epoch began. At most one GET. Raises as `tail`."""
        return self._shard(store, len(store.epochs) - 1, Cut.shard_of(path_hash)).residents.get(path_hash)

    def places(self, store: StoreRow) -> dict[str, LogRef]:
        """Return every live memory's place as the present epoch began: 16 GETs at most. Raises as `tail`."""
        shards = [self._shard(store, len(store.epochs) - 1, shard) for shard in range(Cut.SHARDS)]
        return {id: LogRef.parse(text) for shard in shards for id, text in shard.occupants.items()}

    def tails(self, store: StoreRow) -> dict[str, Slot]:
        """Return every path's tail as the present epoch began: 16 GETs at most. Raises as `tail`."""
        shards = [self._shard(store, len(store.epochs) - 1, shard) for shard in range(Cut.SHARDS)]
        return {hash: Slot.parse(text) for shard in shards for hash, text in shard.tails.items()}

    def is_here(self, store: StoreRow, number: int) -> bool:
        """Tell whether this region's bucket has the whole snapshot of the `number`-th epoch, from 0. One LIST.

        Raises:
            Unavailable: the bucket does not answer.
        """
        epoch, run = parse_epoch(store.epochs[number]), (store.cuts or ())[number - 1]
        return not self.missing(store.store_id, epoch, run, self._region.name)

    def missing(self, store_id: str, epoch: Epoch, run: str, region: str) -> list[str]:
        """Return the keys of a snapshot's shards that a region's bucket does not have. One LIST. Raises Unavailable."""
        keys = [str(CutKey(store_id, epoch, run, shard)) for shard in range(Cut.SHARDS)]
        prefix = keys[0].rpartition("/")[0] + "/"
        there = set(self._region.objects.list(prefix, region=region).keys)
        return [key for key in keys if key not in there]

    def is_straggler(self, store: StoreRow, path_hash: str, slot: Slot) -> bool:
        """Tell whether a slot is of a closed or never accepted epoch, and above the snapshot that a later epoch began
        with.

        No call for the present epoch. An epoch that is newer than the record is not late yet, nor is any slot while a
        failover is making its snapshot: the projection of that record checks again.

        Raises:
            Unavailable: a snapshot that decides has not arrived.
        """
        epochs = [parse_epoch(text) for text in store.epochs]
        if slot.epoch == epochs[-1]:
            return False
        if slot.epoch not in epochs:
            return slot.epoch.rank <= epochs[-1].rank
        later = _later(store, slot.epoch)
        return any((tail := self.tail_of(store, number, path_hash)) is None or slot > tail for number in later)

    def tail_of(self, store: StoreRow, number: int, path_hash: str) -> Slot | None:
        """Return the tail that the `number`-th epoch, from 0, began with. Raises as `tail`."""
        text = self._shard(store, number, Cut.shard_of(path_hash)).tails.get(path_hash)
        return None if text is None else Slot.parse(text)

    def _shard(self, store: StoreRow, number: int, shard: int) -> Cut:
        """Read one shard of the snapshot that the `number`-th epoch, from 0, began with."""
        epoch, cuts = parse_epoch(store.epochs[number]), store.cuts or ()
        if not 0 < number <= len(cuts):
            raise Unavailable("the store's present epoch is only beginning; try again")
        key = str(CutKey(store.store_id, epoch, cuts[number - 1], shard))
        found = self._kept.get(key)
        if found is None:
            found = self._read(key, epoch.home)
            self._make_room(found)
            self._kept[key] = found
        return found

    def _make_room(self, cut: Cut) -> None:
        """Lets go of what was kept longest."""
        kept = self._kept
        names = cut.size + sum(one.size for one in list(kept.values()))
        while kept and (len(kept) >= SHARDS_KEPT or names > NAMES_KEPT):
            gone = kept.pop(next(iter(kept), ""), None)
            names -= 0 if gone is None else gone.size

    def _read(self, key: str, home: str) -> Cut:
        for region in (None,) if home == self._region.name else (None, home):
            found = find(self._region.objects, key, region)
            if found is not None:
                return Cut.from_json(found.body)
        raise Unavailable("the cut of the store's present epoch has not arrived here; try again")


def _later(store: StoreRow, epoch: Epoch) -> range:
    """Return the numbers of the epochs after this one, from 0, that have a snapshot."""
    return range(store.epochs.index(str(epoch)) + 1, min(len(store.epochs), len(store.cuts or ()) + 1))
