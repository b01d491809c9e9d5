"""Writes of a store that asks for two regions: acknowledged once a second bucket holds them and all they build on.

    everything below the slot is there -> put the slot at home -> put it there too -> no newer record there -> answer

Replication brings the same objects some seconds later; the writer does not wait for it and puts them itself, under the
same key, into a bucket that replicates only what is its own. Whoever fails over to that region puts the record of the
new epoch there first and lists what the cut is made of after it. So of a write and a fail-over, either the write's
second put came before the listing, or the writer sees the record and acknowledges nothing.

What stands below an entry is known to be there without a walk: an entry says in its metadata that everything below
it was there before it was put (`Entry.second`). Where the one before does not say so (it is older than the store's
wish, or somebody finished another's rename), the log is compared with a listing, and what is missing is brought.
"""

from __future__ import annotations

from dataclasses import replace

from memolith.app.kernel.listing import keys_of, keys_under
from memolith.app.kernel.port_calls import find_head, require
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import ConditionalPut
from memolith.app.log.copy import put_copy
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.core.epochs import current_epoch, has_snapshot, homes_of
from memolith.core.errors import OutcomeUnknown, Unavailable, in_doubt
from memolith.core.log_position import LogKey, LogRef, Slot, epoch_number_text
from memolith.core.object_keys import StoreKey
from memolith.core.objects.entry import Entry, Operation
from memolith.core.rows.identity import StoreRow
from memolith.core.sync_replica import is_stand_in, second_of
from memolith.ports.objects import StoredObject


class SyncReplica:
    """Keeps what a store's home commits in the store's second region too. Nothing is done for a store that has none."""

    def __init__(self, region: Region, logs: LogReader, snapshots: EpochSnapshots) -> None:
        self._region = region
        self._logs = logs
        self._snapshots = snapshots

    def of(self, store: StoreRow) -> str | None:
        """Return the second region of a store whose home this is. Raises Unavailable: it is not deployed any more."""
        second = second_of(self._region.name, store.epochs, store.second_region, self._region.regions)
        if second is not None and (second not in self._region.regions or second == self._region.name):
            raise Unavailable("the store's second region is not deployed; name another, or ask for one_region")
        return second

    def take(self, slots: ConditionalPut, store: StoreRow, entry: Entry, body: bytes) -> Entry | None:
        """`ConditionalPut.take`, with everything below in the second region before, and the entry itself after.

        One HEAD there before the put, so that a second region that does not answer refuses a write before it is
        committed at home; one PUT there after it.

        Raises:
            Unavailable, Busy: nothing was done. OutcomeUnknown: the slot is taken at home, and may be unacknowledged.
        """
        second = self.of(store)
        if second is None:
            return slots.take(entry, body)
        self._secure_below(store, second, entry.key)
        mine = slots.take(replace(entry, second=second), body)
        if mine is not None:
            try:
                self._put(second, StoredObject(str(mine.key), body, mine.to_metadata(), len(body)))
            except Unavailable as error:
                message = f"the write is committed in {self._region.name} and not in {second}"
                raise in_doubt(message, error) from error
        return mine

    def secure(self, store: StoreRow, key: LogKey) -> None:
        """Has the second region hold an entry that stands at home, whoever put it, before it is answered for.

        One HEAD there where it does. Raises Unavailable.
        """
        second = self.of(store)
        if second is not None:
            self._secure(store, second, key)

    def keep(self, store: StoreRow, key: str) -> None:
        """Has the second region hold any other object of this home's. A HEAD there; if need be a GET and a PUT.

        Raises:
            Unavailable: it may not be there; this can be repeated.
        """
        second = self.of(store)
        if second is not None:
            self._copy_unless_there(key, second)

    def keep_record(self, store: StoreRow) -> None:
        """Has the second region hold the store's record, which stands at home, and those before it; then `confirm`.

        Raises:
            OutcomeUnknown: it may not be there, or its second region is not deployed any more.
        """
        slot: Slot | None = Slot.parse(store.slot)
        try:
            second = self.of(store)
            while second is not None and slot is not None:
                key = str(StoreKey(store.store_id, slot))
                if self._is_there(key, second):
                    break
                self._copy(key, second)
                slot = slot.preceding
        except Unavailable as error:
            message = f"the store's record is in {self._region.name} and not in a second region: {error.message}"
            raise in_doubt(message, error) from error
        self.confirm(store)

    def confirm(self, store: StoreRow) -> None:
        """Check that the second region has not become the home since, after reading all that is answered for. One LIST.

        A record there of an epoch that ranks lower says nothing: two regions took the store over at once, or one while
        it was moved to the other, and this one was accepted (`core.log_position.Epoch.rank`). Whoever fails over there
        later meets this home's record first, which stands there before anything of its epoch does.

        Raises:
            OutcomeUnknown: it has, or may have: what was put may not be among what the new epoch began with.
        """
        second = self.of(store)
        if second is None:
            return
        own = current_epoch(store)
        prefix = f"{second}/store/{store.store_id}/"
        older = f"{prefix}{epoch_number_text(own.number - 1)}-~"
        try:
            put_there = list(keys_of(self._region.objects, StoreKey, prefix, after=older, region=second))
        except Unavailable as error:
            raise in_doubt(f"{second} does not say whether it is the home now", error) from error
        if any(key.slot.epoch.rank > own.rank for key in put_there):
            raise OutcomeUnknown(f"the store's home has moved to {second} meanwhile; read before trying again")

    # ---- what a region holds that is to take over ---------------------------------------------------------------

    def is_held(self, store: StoreRow) -> bool:
        """Whether this region is the store's second one, and its bucket holds all that was acknowledged in two regions.

        A region that the store's record names does. One that stands in, since that region became the home itself, holds
        what was written since: of what was before it must have the present epoch's cut, and whatever that names. Then
        a LIST of each home's logs and of the cut, and 16 GETs at most; otherwise no call.

        Raises:
            Unavailable: the bucket does not answer.
        """
        if second_of(store.home, store.epochs, store.second_region, self._region.regions) != self._region.name:
            return False
        if not is_stand_in(store.home, store.second_region):
            return True
        if not has_snapshot(store) or not self._snapshots.is_here(store, len(store.epochs) - 1):
            return False
        named = [LogRef(hash, slot) for hash, slot in self._snapshots.tails(store).items()]
        named += self._snapshots.places(store).values()
        missing = {str(ref.key_in(store.store_id)) for ref in named}
        for home in sorted(homes_of(store)):
            missing -= set(keys_under(self._region.objects, f"{home}/log/{store.store_id}/"))
        return not missing

    # ---- what a slot builds on ----------------------------------------------------------------------------------

    def _secure_below(self, store: StoreRow, second: str, key: LogKey, seen: set[LogKey] | None = None) -> None:
        """Everything that an entry at `key` would build on. One HEAD where it is there already."""
        before = key.slot.preceding
        if before is not None:
            self._secure(store, second, replace(key, slot=before), seen)
            return
        self._copy_unless_there(str(StoreKey(store.store_id, Slot.parse(store.slot))), second)
        if len(store.epochs) > 1:
            self._copy_snapshot(store, second)
            tail = self._logs.snapshot_tail(store, key.path_hash)
            if tail is not None:
                self._secure(store, second, replace(key, slot=tail), seen)

    def _secure(self, store: StoreRow, second: str, key: LogKey, seen: set[LogKey] | None = None) -> None:
        """Copy an entry, the other half of its rename, and everything below both."""
        entry, seen = self._entry(key, second), set() if seen is None else seen
        if entry.second != second:
            self._copy_log(store, second, entry, seen)
        else:
            self._secure_other_half(store, second, entry, seen)

    def _secure_other_half(self, store: StoreRow, second: str, entry: Entry, seen: set[LogKey]) -> None:
        """Copy the other half of a rename, and everything below it; nothing for any other entry.

        Where a departure says that everything below it was there, its writer had put the arrival there before. One that
        somebody else put to finish the rename says nothing: where its memory went may be at home alone.
        """
        ref = entry.source if entry.operation is Operation.MOVED_IN else None
        if entry.operation is Operation.MOVED_OUT and entry.second != second:
            ref = entry.destination
        other = None if ref is None else self._logs.entry(ref.key_in(entry.key.store_id))
        if other is not None:
            self._copy_unless_there(str(other.key), second)
            if other.second != second:
                self._copy_log(store, second, other, seen)

    def _entry(self, key: LogKey, second: str) -> Entry:
        return self._logs.entry(key, second) or Entry.from_metadata(key, self._copy(str(key), second).metadata)

    def _copy_log(self, store: StoreRow, second: str, last: Entry, seen: set[LogKey]) -> None:
        """Copy every slot of a log up to `last` within its epoch, and the other halves of its renames.

        A listing, and a HEAD for each slot before; no call where `seen` says that it was begun: the two halves of a
        rename lead to each other. What is not here cannot be brought.
        """
        key = last.key
        if key in seen:
            return
        seen.add(key)
        prefix = str(key).rpartition(".")[0] + "."
        there = set(keys_under(self._region.objects, prefix, region=second))
        for sequence in range(1, key.slot.sequence + 1):
            one = replace(key, slot=Slot(key.slot.epoch, sequence))
            if str(one) in there or self._is_here(str(one)):
                self._secure_other_half(store, second, last if one == key else self._entry(one, second), seen)
        if key.slot.epoch == current_epoch(store):
            self._secure_below(store, second, replace(key, slot=Slot(key.slot.epoch, 1)), seen)

    def _copy_snapshot(self, store: StoreRow, second: str) -> None:
        """All that the present epoch began with: a fail-over to there can go on from it. One LIST where it is there."""
        for key in self._snapshots.missing(store.store_id, current_epoch(store), (store.cuts or [""])[-1], second):
            self._copy(key, second)

    # ---- single objects -----------------------------------------------------------------------------------------

    def _copy_unless_there(self, key: str, second: str) -> None:
        if not self._is_there(key, second):
            self._copy(key, second)

    def _is_here(self, key: str) -> bool:
        return self._is_there(key, self._region.name)

    def _is_there(self, key: str, region: str) -> bool:
        return find_head(self._region.objects, key, region) is not None

    def _copy(self, key: str, second: str) -> StoredObject:
        """Copy an object of this bucket as it is. Raises Unavailable.

        What the second region wrote itself it lacks only if its bucket was lost. A writer may not put it there, where
        it would be replicated onward: an operator brings it back from the copies of the others.
        """
        if key.startswith(f"{second}/"):
            raise Unavailable(
                "the store's second region lacks an object that it wrote itself",
                region=second,
                object=key,
                cause="its bucket was lost",
                hint=f"run 'memolith regions fill {second}', then try again",
            )
        found = require(self._region.objects, key)
        self._put(second, found)
        return found

    def _put(self, second: str, copied: StoredObject) -> None:
        """Put a copy until it, or what replication has brought meanwhile, is known to be there. Raises Unavailable."""
        put_copy(self._region, copied, second)
