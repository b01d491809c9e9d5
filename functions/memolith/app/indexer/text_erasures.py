"""Texts that must go from this region, and heads that an erasure would blank because it came before what followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.index.projector import Projector, not_of
from memolith.app.indexer.writer_client import WriterClient
from memolith.app.kernel.eraser_client import erase
from memolith.app.kernel.region import Region, View
from memolith.app.log.log_reader import LogReader
from memolith.core.errors import Unavailable
from memolith.core.log_position import LogKey, Slot
from memolith.core.objects.entry import Entry
from memolith.core.objects.store_record import StoreState, parse_epoch
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow


class TextErasures:
    """Texts that are not to be in this region any more."""

    def __init__(
        self, region: Region, logs: LogReader, projector: Projector, repair: EpochRepair, writer: WriterClient
    ) -> None:
        self._region = region
        self._writer = writer
        self._logs = logs
        self._projector = projector
        self._repair = repair

    def erase(self, key: LogKey) -> bool:
        """Have the eraser erase one entry's text, if there is a reason; return whether there was."""
        return erase(self._region, str(key))

    def erase_replays(self, view: View, version_id: str, keys: Sequence[LogKey]) -> None:
        """Have the text of a redacted version erased where it is besides its positions `keys`.

        A read, where the view has not asked for the store, and what `EpochRepair.replays` costs. Raises as that.
        """
        for key in self._repair.replays(stored_store(self._region, view, keys[0].store_id), keys, version_id):
            self.erase(key)

    def is_deleted(self, view: View, store_id: str) -> bool:
        """Tell whether these tables know of the store's deletion. One read."""
        key = StoreRow.key(store_id)
        row = self._region.read(view.index, [key]).get(key)
        return row is not None and row["state"] == StoreState.DELETED

    def erase_all(self, view: View, resolved: Sequence[ResolvedEntry]) -> None:
        """Erase text of aborted entries, and text that came after its reason: an order, a blank, its store's end.

        Tables that are being rebuilt may not know of the reason: then the eraser looks for it.
        """
        with_text = [one for one in resolved if one.entry.path is not None]
        for one in with_text:
            if one.void and not self.erase(one.entry.key):
                raise Unavailable("what makes this text void has not arrived here yet; try again")
        versions = {
            VersionRow.key(one.entry.key.store_id, one.entry.version_id): one.entry.key
            for one in with_text
            if one.is_version
        }
        stores = [StoreRow.key(key.store_id) for key in versions.values()]
        rows = self._region.read(view.index, [*versions, *dict.fromkeys(stores)]) if versions else {}
        for (key, log_key), store in zip(versions.items(), stores, strict=True):
            ended = store in rows and rows[store]["state"] == StoreState.DELETED
            blank = key in rows and VersionRow.from_attributes(rows[key]).blank
            if ended or blank or not view.complete:
                self.erase(log_key)

    def project_followers(self, view: View, key: LogKey, memory_id: str, generation: int) -> None:
        """Handle an erasure that came before what followed the version: the home has it, and a live memory stays
        readable.

        No head of a live memory is ever erased, so a head that is to be blank here lags behind, and so do tables that
        have none yet. What followed is projected from its end: at no moment is the head one of those that are blank.
        Stragglers are no part of it, nor is a memory that had ended before the present epoch: nothing would take that
        head away again. Tables that are being rebuilt have what followed a new memory from the listing.
        """
        row_key = MemoryRow.key(key.store_id, memory_id)
        attributes = self._region.read(view.index, [row_key]).get(row_key)
        head = None if attributes is None else MemoryRow.from_attributes(attributes)
        if head is None and not view.complete:
            return
        if head is not None and (head.gone or head.generation > generation):
            return
        store = stored_store(self._region, view, key.store_id)
        if store is not None and self._repair.had_ended(store, key.slot.epoch, memory_id):
            return
        followed: list[tuple[ResolvedEntry, ...]] = []
        erased = key
        while (entry := self._following(store, key)) is not None:
            resolved = self._logs.resolve(entry, region=entry.slot.epoch.home, store=store)
            followed.append(resolved)
            followers = [one.entry for one in resolved if one.is_version and one.entry.memory_id == memory_id]
            if any(not follower.blank for follower in followers):
                break
            key = followers[0].key if followers else entry.key
        else:
            if view.complete and store is not None and head is not None and self._is_at_home(store, head, generation):
                self._writer.vacate(erased)
        for resolved in reversed(followed):
            self._projector.fold(view, resolved, elsewhere=not_of(self._region.name, resolved))

    def _is_at_home(self, store: StoreRow, head: MemoryRow, generation: int) -> bool:
        """Tell whether the blank of this generation may be of the head, and this is the home of its store."""
        is_home = store.home == self._region.name and store.state != StoreState.DELETED
        return is_home and head.generation == generation

    def _following(self, store: StoreRow | None, key: LogKey) -> Entry | None:
        """Return what follows in a log, in the same epoch or a later one, from the bucket of the home that wrote it.

        A HEAD, and another for each later epoch until one has something.
        """
        epochs = [] if store is None else [parse_epoch(text) for text in store.epochs]
        later = [Slot(epoch, 1) for epoch in epochs if epoch.rank > key.slot.epoch.rank]
        for slot in (key.slot.following, *later):
            entry = self._logs.entry(replace(key, slot=slot), slot.epoch.home)
            if entry is not None:
                return entry
        return None


def stored_store(region: Region, view: View, store_id: str) -> StoreRow | None:
    """Return the store's record as these tables have it. A read, where the view has not asked for it."""
    key = StoreRow.key(store_id)
    rows = view.rows if key in view.asked else region.read(view.index, [key])
    return StoreRow.from_attributes(rows[key]) if key in rows else None
