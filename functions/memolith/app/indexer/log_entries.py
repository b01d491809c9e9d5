"""Log entries as they arrive: one that counts is projected, a straggler becomes divergent, a rename is followed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace

from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.index.projector import Projector, not_of
from memolith.app.indexer.acknowledged_puts import AcknowledgedPuts
from memolith.app.indexer.segment_requests import SegmentRequests
from memolith.app.indexer.text_erasures import TextErasures, stored_store
from memolith.app.indexer.writer_client import WriterClient
from memolith.app.kernel.region import Region, View
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.core.epochs import current_epoch, has_snapshot, is_same_term
from memolith.core.errors import Damaged, Unavailable
from memolith.core.integrity import is_misplaced
from memolith.core.limits import INDEXER_LEASE_US
from memolith.core.log_position import LogKey
from memolith.core.objects.entry import Entry, Operation
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.identity import StoreRow
from memolith.ports.queue import Queue

_REPLACED = "the object was changed after it was acknowledged"


class LogEntries:
    """Projects entries of logs, of any home."""

    def __init__(
        self,
        region: Region,
        logs: LogReader,
        snapshots: EpochSnapshots,
        projector: Projector,
        repair: EpochRepair,
        writer: WriterClient,
        erasures: TextErasures,
        segments: SegmentRequests,
        acknowledged: AcknowledgedPuts,
        inspections: Queue | None,
    ) -> None:
        """Send what is to be scanned after the commit (`app.safety.deep_scan`) to `inspections`, if there is one."""
        self._region = region
        self._logs = logs
        self._snapshots = snapshots
        self._projector = projector
        self._repair = repair
        self._writer = writer
        self._erasures = erasures
        self._segments = segments
        self._inspections = inspections
        self._acknowledged = acknowledged

    def project(self, view: View, key: LogKey, journal: bool, paths_too: bool) -> list[Callable[[], object]]:
        """Project the entry at `key`, if it is here; return what is left to do beyond the index.

        Raises Damaged for an object that was put over another one: it changes no row, and no journal names it.
        """
        entry = self._logs.entry(key)
        if entry is None:
            return []
        store = stored_store(self._region, view, key.store_id)
        if is_misplaced(entry, "" if store is None else store.salt):
            raise Damaged(f"{_REPLACED}: it is of another path, or of another store", region=self._region.name)
        reactions = self._project_entry(view, store, entry, journal, paths_too)
        arrival = None if store is None else self._arrival_that_counts(store, entry)
        if arrival is not None:
            reactions += self._project_entry(view, store, arrival, journal, paths_too)
        return reactions

    def known(self, view: View, key: LogKey, object_version: str) -> list[Callable[[], object]] | None:
        """Return what follows from an entry that its writer projected (`AcknowledgedPuts`); None if it is not known."""
        row = self._acknowledged.find(view, key, object_version)
        if row is None:
            return None
        self._measure(key, row.logged_at)
        return self._follow_up(key)

    def _arrival_that_counts(self, store: StoreRow, entry: Entry) -> Entry | None:
        """Return the first half of a rename that counts because of `entry`, though its second half is a straggler.

        It may have come before and have been divergent until now. No call in the present epoch, nor for an entry that
        is not the first at its path of its memory; otherwise at most a HEAD. Raises Unavailable.
        """
        below = entry.slot.preceding
        if entry.slot.epoch == current_epoch(store) or below is None or entry.parent_version_id is None:
            return None
        if entry.operation is Operation.MOVED_IN or entry.arrived not in (None, below):
            return None
        if self._logs.is_straggler(store, entry):
            return None
        arrival = self._logs.entry(replace(entry.key, slot=below))
        if arrival is None or arrival.version_id != entry.parent_version_id or arrival.source is None:
            return None
        source = arrival.source
        return arrival if self._snapshots.is_straggler(store, source.path_hash, source.slot) else None

    def _project_entry(
        self, view: View, store: StoreRow | None, entry: Entry, journal: bool, paths_too: bool
    ) -> list[Callable[[], object]]:
        key = entry.key
        raw = self._logs.resolve(entry)
        resolved = raw if store is None else self._logs.accepted(store, entry, raw)
        if not resolved and store is not None and key.slot.epoch != current_epoch(store):
            reactions = self._handle_straggler(view, store, entry, raw)
            if reactions is not None:
                return [*reactions, lambda: self._erasures.erase(key)] if entry.blank else reactions
        self._project_what_followed(view, resolved)
        if not self._fold(view, store, entry, resolved, journal=journal, paths_too=paths_too):
            raise Damaged(f"{_REPLACED}: its slot was taken with another version", region=self._region.name)
        if journal and not entry.blank:
            self._measure(key, entry.created_at)
        reactions = []
        if entry.blank:
            reactions.append(lambda: self._erasures.erase(key))
        if resolved or entry.operation is not Operation.MOVED_IN:
            reactions.append(lambda: self._erasures.erase_all(view, resolved))
        else:
            reactions.append(lambda: self._follow(view, store, entry))
        return reactions + self._follow_up(key, entry.has_content)

    def _fold(
        self,
        view: View,
        store: StoreRow | None,
        entry: Entry,
        resolved: tuple[ResolvedEntry, ...],
        journal: bool = True,
        paths_too: bool = False,
        elsewhere: Collection[LogKey] = (),
    ) -> bool:
        """Make the index hold what comes of `entry`, what is of an older epoch only as far as the snapshot goes.

        Return whether that is all of it: nothing contradicted the rows.
        """
        salt = "" if store is None else store.salt
        over = store is not None and view.complete and self._repair.is_over(store, resolved)
        changed = self._projector.fold(
            view, resolved, journal=journal, paths_too=paths_too, elsewhere=elsewhere, salt=salt, over=over
        )
        if changed:
            return False
        is_beginning = store is not None and not has_snapshot(store)
        if view.complete and (is_beginning or not self._region.is_recent(view, INDEXER_LEASE_US)):
            self._require_record(view, store, entry, resolved)
        if store is not None and entry.slot.epoch != current_epoch(store):
            self._repair.mark_counted(view, store, resolved, elsewhere)
        elif store is not None:
            self._repair.mark_passed_over(view, store, entry)
        return True

    def _require_record(
        self, view: View, store: StoreRow | None, entry: Entry, resolved: tuple[ResolvedEntry, ...]
    ) -> None:
        """Repair what was projected by a record that one of another term has followed, and have the event come again.

        A term begins with rows that were repaired. Writers go by them, and nothing comes again that would put right
        what a slow call makes of them. It goes by the last record of a lost home, or by one that says that a term is to
        begin, and not yet with what. A read, for these two.
        """
        attributes = self._region.read(view.index, [StoreRow.key(entry.key.store_id)])
        now = next(map(StoreRow.from_attributes, attributes.values()), None)
        if now is None or (store is not None and is_same_term(now, store)):
            return
        self._repair.versions(view, now, resolved)
        raise Unavailable("the store's home changed while an entry was projected; try again")

    def _project_what_followed(self, view: View, resolved: tuple[ResolvedEntry, ...]) -> None:
        """Look after a version that is blank already; the second half of a rename brings the blank of its first."""
        for version in (one.entry for one in resolved if one.is_version and one.entry.blank):
            self._erasures.project_followers(view, version.key, version.memory_id, version.generation)

    def _follow_up(self, key: LogKey, has_content: bool = True) -> list[Callable[[], object]]:
        """Return what follows from any new version: another search segment, and at its home the scan of its text."""
        reactions: list[Callable[[], object]] = [lambda: self._segments.send(key.store_id)]
        inspections = self._inspections
        if inspections is not None and has_content and key.slot.epoch.home == self._region.name:
            reactions.append(lambda: self._request_scan(inspections, key))
        return reactions

    def _handle_straggler(
        self, view: View, store: StoreRow, entry: Entry, raw: tuple[ResolvedEntry, ...]
    ) -> list[Callable[[], object]] | None:
        """Return what follows from an entry that does not count in the present epoch; None where that is still open.

        `raw` is what the decision was made from: the other half of a rename may have come since.

        The version is divergent from then on, and the home's writer checks whether to replay it. The first half of a
        rename whose second is not here is no version, and is not to be completed any more: where it was written an
        abort entry ends it, unless the second was written there too.
        """
        version = next((one.entry for one in raw if one.is_version), None)
        if version is None:
            half = entry.operation is Operation.MOVED_IN and entry.source is not None and not raw
            if half and not self._is_late(store, entry):
                return None
            if half and view.complete and entry.slot.epoch.home == self._region.name:
                return [lambda: self._fence(entry.key)]
            return [] if entry.path is None else [lambda: self._erasures.erase(entry.key)]
        departure = next((one.entry for one in raw if one.entry.operation is Operation.MOVED_OUT), None)
        self._repair.mark_straggler(view, store, version, departure)
        reactions: list[Callable[[], object]] = [
            lambda: self._erasures.erase_all(view, raw),
            lambda: self._segments.send(store.store_id),
        ]
        if view.complete and store.home == self._region.name:
            reactions.append(lambda: self._writer.replay(version.key))
        return reactions

    def _fence(self, moved_in: LogKey) -> None:
        """End half a rename of a closed epoch, so that it stays half, and erase its text."""
        self._writer.fence(moved_in)
        self._erasures.erase(moved_in)

    def _is_late(self, store: StoreRow, moved_in: Entry) -> bool:
        """Tell whether half a rename is a straggler, by its own slot, its source's, or its memory's later places."""
        source = moved_in.source
        if self._logs.is_straggler(store, moved_in):
            return True
        if source is not None and self._snapshots.is_straggler(store, source.path_hash, source.slot):
            return True
        return self._logs.is_passed_over(store, moved_in.ref, moved_in.memory_id, moved_in.generation)

    def _request_scan(self, inspections: Queue, key: LogKey) -> None:
        """Request the post-commit scan of a new version of this home.

        A rebuild only projects, and requests none: the queue has the request, or a new queue gets it again.
        """
        inspections.send([json.dumps({"inspect": str(key)})])

    def _measure(self, key: LogKey, written_us: int) -> None:
        """Record how long after it was written at its home an entry arrived here; a blank has no age of its own."""
        lag_us = self._region.clock.now_us() - written_us
        self._region.metrics.milliseconds("replication_lag_ms", max(lag_us, 0) / 1000, home=key.slot.epoch.home)

    def _follow(self, view: View, store: StoreRow | None, moved_in: Entry) -> None:
        """Follow a rename met half-way: at home the writer completes it, elsewhere the home's bucket tells its outcome.

        This is the only chance: once its source slot has arrived here with another entry, no event leads back to it.
        While that slot is free at home too, the entry that takes it brings another event: the other half, or the blank.
        What the writer completed and could not project is new to the index here, and so it is logged here.
        The home of a deleted store completes nothing any more; elsewhere its rows still follow the home's.
        """
        ended = not view.complete or self._erasures.is_deleted(view, moved_in.key.store_id)
        erased = ended and self._erasures.erase(moved_in.key)
        home = moved_in.slot.epoch.home
        if home == self._region.name and (erased or not self._writer.complete_rename(moved_in.key)):
            return
        resolved = self._logs.resolve(moved_in, region=home)
        elsewhere = not_of(self._region.name, resolved) - {moved_in.key}
        if not resolved and home == self._region.name:
            raise Unavailable("the writer did not finish a rename; try again")
        self._project_what_followed(view, resolved)
        self._fold(view, store, moved_in, resolved, elsewhere=elsewhere)
        if moved_in.blank:  # again: an original that came meanwhile met a row that was not blank yet
            self._erasures.erase(moved_in.key)
        self._erasures.erase_all(view, resolved)
