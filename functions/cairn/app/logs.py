"""Reading the logs themselves: the truth that the index is made of.

A log has no holes within an epoch, and an epoch after the first begins with a cut; so the position after any known one
is always known, and the tail of a log of which nothing is known is found by galloping and bisecting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cairn.app.folding import Settled
from cairn.app.region import Region
from cairn.core.errors import Unavailable
from cairn.core.records import Cut, Entry, Operation, parse_epoch
from cairn.core.rows import StoreRow
from cairn.core.slots import CutKey, Epoch, LogKey, LogRef, Slot
from cairn.ports import errors as port_errors

T = TypeVar("T")


def current_epoch(store: StoreRow) -> Epoch:
    """The term in which a store's logs are written now."""
    return parse_epoch(store.epochs[-1])


class Logs:
    """Entries, positions and tails of the logs of any store, in this region's bucket."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def entry(self, key: LogKey, region: str | None = None) -> Entry | None:
        """What stands in a slot, or None while it is free. One HEAD. Raises Unavailable."""
        try:
            return Entry.from_metadata(key, self._region.objects.head(str(key), region).metadata)
        except port_errors.ObjectNotFound:
            return None
        except port_errors.Unavailable as error:
            raise Unavailable("the bucket does not answer; try again") from error

    def next_slot(self, store: StoreRow, path_hash: str, known: Slot | None) -> Slot:
        """The position to look at, or to put, after `known`; the first one, when nothing is known.

        A position of an epoch other than the present one is taken for certain, and never to be put. No call in the
        store's first epoch, nor for a slot of its present one; otherwise one GET of the cut's shard: an epoch's own
        slots follow the tail that it began with, never what the index believes of an older epoch.
        """
        epoch = current_epoch(store)
        if known is not None and known.epoch == epoch:
            return known.following
        tail = self.cut_tail(store, path_hash)
        if tail is None or (known is not None and known >= tail):
            return Slot(epoch, 1)
        return tail if known is None or known.epoch != tail.epoch else known.following

    def cut_tail(self, store: StoreRow, path_hash: str) -> Slot | None:
        """The tail that the present epoch began with; None in the first, or where the path was new."""
        epoch = current_epoch(store)
        return None if len(store.epochs) == 1 else self._cut_tail(store.store_id, epoch, path_hash)

    def _cut_tail(self, store_id: str, epoch: Epoch, path_hash: str) -> Slot | None:
        key = CutKey(store_id, epoch, Cut.shard_of(path_hash))
        try:
            cut = Cut.from_json(self._region.objects.get(str(key)).body)
        except port_errors.ObjectNotFound as error:
            raise Unavailable("the cut of the store's present epoch has not arrived here; try again") from error
        except port_errors.Unavailable as error:
            raise Unavailable("the bucket does not answer; try again") from error
        text = cut.tails.get(path_hash)
        return None if text is None else Slot.parse(text)

    def tail(self, store: StoreRow, path_hash: str) -> Entry | None:
        """The last entry of a log of which the index knows nothing. About two HEADs per doubling of its length."""
        epoch = current_epoch(store)

        def probe(sequence: int) -> Entry | None:
            return self.entry(LogKey(store.store_id, path_hash, Slot(epoch, sequence)))

        found = gallop(probe)
        if found is not None:
            return found
        tail = self.cut_tail(store, path_hash)
        return None if tail is None else self.entry(LogKey(store.store_id, path_hash, tail))

    def settle(
        self, entry: Entry, help_with: Callable[[Entry], None] | None = None, region: str | None = None
    ) -> tuple[Settled, ...]:
        """What an entry means, with the other half of its rename. Empty while that cannot be told.

        `help_with` is the writer's way of finishing a rename whose source slot is still free; without it such a
        `moved_in` is left pending. `region` says whose bucket has the other half (default: this one's).
        """
        if entry.operation is Operation.MOVED_OUT:
            arrival = self._at(entry, entry.destination, region)
            if arrival is None or arrival.version_id != entry.moved_version_id:
                return ()
            return (Settled(arrival), Settled(entry))
        if entry.operation is not Operation.MOVED_IN:
            return (Settled(entry),)
        departure = self._at(entry, entry.source, region)
        if departure is None and help_with is not None:
            help_with(entry)
            departure = self._at(entry, entry.source, region)
        if departure is None:
            return ()
        if departure.moved_version_id == entry.version_id:
            return (Settled(entry), Settled(departure))
        return (Settled(entry, void=True),)

    def _at(self, entry: Entry, ref: LogRef | None, region: str | None) -> Entry | None:
        return None if ref is None else self.entry(LogKey(entry.key.store_id, ref.path_hash, ref.slot), region)


def gallop(probe: Callable[[int], T | None]) -> T | None:
    """The last of a run of taken positions 1..n, by doubling and then bisecting; None when position 1 is free."""
    last, low, step = None, 0, 1
    while (found := probe(low + step)) is not None:
        last, low, step = found, low + step, step * 2
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        found = probe(middle)
        if found is None:
            high = middle
        else:
            last, low = found, middle
    return last
