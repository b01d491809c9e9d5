"""Keeping the index: an event says that an object is here; the object itself says what is so."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from memolith.app.auth.api_keys import ApiKeys
from memolith.app.auth.session_log import SessionLog
from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.epochs.ownership import Ownership
from memolith.app.index.projector import Projector, not_of
from memolith.app.index.redaction_places import places_of
from memolith.app.kernel.eraser_client import ask_eraser, erase
from memolith.app.kernel.port_calls import find, repeatable
from memolith.app.kernel.region import Region, View
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.app.safety.verdicts import Verdicts
from memolith.core.epochs import begins_an_epoch, current_epoch
from memolith.core.errors import NotFound, Unavailable
from memolith.core.log_position import LogKey, LogRef
from memolith.core.object_keys import (
    LOCAL_PREFIX,
    ApiKeyKey,
    CheckpointKey,
    CheckpointPartKey,
    CutKey,
    RedactionKey,
    SessionKey,
    StoreKey,
    VerdictKey,
    parse_key,
)
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.redaction_order import Redaction
from memolith.core.objects.search_pack import PREFIX as PACKS_PREFIX
from memolith.core.objects.search_pack import REFRESH_DELAY_S, PackKey
from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.store_record import StoreRecord, StoreState
from memolith.core.objects.verdict_record import VerdictRecord
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.settled import ResolvedEntry
from memolith.core.store_records import PlacedRecord
from memolith.ports.queue import Queue

NOTED_BEFORE_S = 10
"""How long before a segment is made a change still counts as known to its packer."""


NOTED_STORES_MAX = 10_000


EPOCH_REPAIR_US = 10_000_000
"""How long the event that brings an epoch judges its store's rows at most; `memolith.app.homes.epoch_sweep` judges the
rest.
"""


class Malformed(Exception):
    """An object that no version of Memolith made: for the dead-letter queue, with the reason, never retried.

    Attributes:
        key: the object's. It holds no path and no content.
        reason: what of it cannot be read.
    """

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}")
        self.key = key
        self.reason = reason


class Indexer:
    """Folds whatever arrives in this region's bucket."""

    def __init__(self, region: Region, inspections: Queue | None = None, packings: Queue | None = None) -> None:
        """Project into `region`'s tables.

        What is to be scanned after the commit (`app.safety.deep_scan`) goes to `inspections`, and which store's search
        segment (`app.search.packer`) is behind, to `packings`.
        """
        self._region = region
        self._inspections = inspections
        self._packings = packings
        self._noted: dict[str, int] = {}
        self._cuts = EpochSnapshots(region)
        self._logs = LogReader(region, self._cuts)
        self._folder = Projector(region)
        self._judging = EpochRepair(region, self._cuts, self._logs, self._folder)
        self._records = Ownership(region, self._judging)
        self._keys = ApiKeys(region)
        self._sessions = SessionLog(region)
        self._verdicts = Verdicts(region)

    def object_arrived(self, key: str, paths_too: bool = False) -> None:
        """Project one object. Repeatable, in any order. One HEAD or GET, an index read, at most one transaction.

        `paths_too`: with what it says of its path, though the memory's row knew it; where rows were found to disagree.

        Raises:
            Malformed: it cannot be read, and never will be. Unavailable, OutcomeUnknown: try again later.
        """
        if key.startswith(LOCAL_PREFIX):
            self._local_arrived(key)
            return
        view = self._region.view(store_of(key))
        reactions = self.fold_object(view, key, paths_too=paths_too)
        for react in reactions:
            react()

    def _local_arrived(self, key: str) -> None:
        """Remove a search segment that was put after its store's end."""
        if not key.startswith(PACKS_PREFIX):
            return
        store_id = PackKey.parse(key).store_id
        if self._is_deleted(self._region.view(), store_id):
            ask_eraser(self._region, {"call": "erase_packs", "store_id": store_id})

    def fold_object(
        self, view: View, key: str, journal: bool = True, paths_too: bool = False
    ) -> list[Callable[[], object]]:
        """Project one object into the tables that `view` writes; return what is left to do beyond the index."""
        try:
            name = parse_key(key)
            if isinstance(name, LogKey):
                return self._fold_entry(view, name, journal, paths_too)
            if isinstance(name, (CutKey, CheckpointKey, CheckpointPartKey)):
                return []
            body = self._body(key)
            if body is None:
                return []
            if isinstance(name, StoreKey):
                return self._fold_record(view, PlacedRecord(name.slot, StoreRecord.from_json(body)), journal)
            if isinstance(name, VerdictKey):
                self._fold_verdict(view, name, VerdictRecord.from_json(body), journal)
                return self._packed_anew(name.store_id)
            own = Named(key) if journal and name.region == self._region.name else None
            if isinstance(name, ApiKeyKey):
                self._keys.fold(view, ApiKeyRecord.from_json(body), own)
            elif isinstance(name, SessionKey):
                self._sessions.fold(view, SessionRecord.from_json(body), name, own)
            elif isinstance(name, RedactionKey):
                return self._fold_redaction(view, Redaction.from_json(body), own)
        except ValueError as error:
            raise Malformed(key, str(error)) from error
        return []

    def _fold_record(self, view: View, placed: PlacedRecord, journal: bool) -> list[Callable[[], object]]:
        """Project a store's record; erase the store here after its deletion, or an older record that comes after that.

        Of a deletion that can be undone, the eraser notes when it may be final. Tables that are being rebuilt may not
        know of the deletion: then the eraser looks for it. A record that begins an epoch has every row of the store
        repaired; one of a closed epoch may be a straggler.
        """
        standing = self._records.fold(view, placed, journal)
        store_id, slot, final = standing.store_id, placed.slot, standing.state == StoreState.DELETED
        text_late = placed.record.has_text and (final or not view.complete)
        reactions: list[Callable[[], object]] = []
        if text_late or (standing.is_deleted and str(slot) == standing.slot):
            reactions.append(lambda: ask_eraser(self._region, {"call": "erase_store", "store_id": store_id}))
        if view.complete and not final and begins_an_epoch(slot):
            reactions.append(lambda: self.judge(store_id))
        elif view.complete and self._is_home(standing) and slot.epoch != current_epoch(standing):
            reactions.append(lambda: self._ask_to_adopt({"call": "adopt_records", "store_id": store_id}))
        return reactions

    def judge(self, store_id: str, memory_id: str | None = None, view: View | None = None) -> None:
        """Repair the rows of a store, or of one memory, by the snapshot of its present epoch. Repeatable.

        Of a store as many as there is time for; all of them for tables that do not serve yet, whose `view` is given.

        Raises:
            Unavailable, OutcomeUnknown: try again later.
        """
        if memory_id is None:
            self.sweep(store_id, None, self._region.clock.now_us() + EPOCH_REPAIR_US if view is None else None, view)
            return
        view = view or self._region.view()
        keys = [StoreRow.key(store_id), MemoryRow.key(store_id, memory_id)]
        rows = self._region.read(view.index, keys)
        if all(key in rows for key in keys):
            store = StoreRow.from_attributes(rows[keys[0]])
            self._judging.memory(view, store, MemoryRow.from_attributes(rows[keys[1]]))

    def sweep(
        self, store_id: str, after: str | None, deadline_us: int | None = None, view: View | None = None
    ) -> str | None:
        """Repair a store's rows, as many as there is time for; return the place to go on `after`, None at the end.

        Raises:
            Unavailable, OutcomeUnknown: try again later.
        """
        view = view or self._region.view()
        attributes = self._region.read(view.index, [StoreRow.key(store_id)]).get(StoreRow.key(store_id))
        if attributes is None:
            return None
        store = StoreRow.from_attributes(attributes)
        if after is None and len(store.epochs) > 1 and self._is_home(store):
            self._ask_to_adopt({"call": "adopt_records", "store_id": store_id})
        for place in self._judging.sweep(view, store, lambda key: self._fold_again(view, store, key), after):
            if deadline_us is not None and self._region.clock.now_us() > deadline_us:
                return place
        return None

    def _fold_again(self, view: View, store: StoreRow, key: str) -> None:
        known = replace(
            view,
            rows={**view.rows, StoreRow.key(store.store_id): store.to_attributes()},
            asked=view.asked | {StoreRow.key(store.store_id)},
        )
        for react in self.fold_object(known, key, journal=False):
            react()

    def _is_deleted(self, view: View, store_id: str) -> bool:
        key = StoreRow.key(store_id)
        row = self._region.read(view.index, [key]).get(key)
        return row is not None and row["state"] == StoreState.DELETED

    def fold_key(self, record: ApiKeyRecord) -> str:
        """Fold the record of a key, before its event does, so that its revocation holds here; this region's name."""
        self._keys.fold(self._region.view(), record)
        return self._region.name

    def _fold_entry(self, view: View, key: LogKey, journal: bool, paths_too: bool) -> list[Callable[[], object]]:
        entry = self._logs.entry(key)
        if entry is None:
            return []
        store = self._store(view, key.store_id)
        settled = self._logs.settle(entry, store=store)
        if not settled and store is not None and key.slot.epoch != current_epoch(store):
            came_late = self._came_late(view, store, entry)
            if came_late is not None:
                return [*came_late, lambda: self._erase(key)] if entry.blank else came_late
        if entry.blank and settled and entry.memory_id:
            self._overtaken(view, entry.key, entry.memory_id, entry.generation)
        self._folder.fold(view, settled, journal=journal, paths_too=paths_too)
        if store is not None and key.slot.epoch != current_epoch(store):
            self._judging.stands(view, store, settled)
        if journal and not entry.blank:
            self._measure(entry)
        reactions: list[Callable[[], object]] = []
        if entry.blank:
            reactions.append(lambda: self._erase(key))
        if settled or entry.operation is not Operation.MOVED_IN:
            reactions.append(lambda: self._erase_all(view, settled))
        else:
            reactions.append(lambda: self._follow(view, entry))
        reactions += self._packed_anew(key.store_id)
        inspections = self._inspections
        if inspections is not None and entry.has_content and key.slot.epoch.home == self._region.name:
            reactions.append(lambda: self._pass_on(inspections, key))
        return reactions

    def _packed_anew(self, store_id: str) -> list[Callable[[], object]]:
        packings = self._packings
        return [] if packings is None else [lambda: self._note(packings, store_id)]

    def _note(self, packings: Queue, store_id: str) -> None:
        """Request a new search segment once all that changes until then is projected: one message for many changes.

        A message is taken `REFRESH_DELAY_S` after it was sent. What is projected shortly before that is in the segment
        that it brings, and needs none of its own.
        """
        now_us = self._region.clock.now_us()
        if self._noted.get(store_id, 0) > now_us:
            return
        covered_us = now_us + (REFRESH_DELAY_S - NOTED_BEFORE_S) * 1_000_000
        packings.send([json.dumps({"pack": store_id, "since": covered_us})])
        if len(self._noted) >= NOTED_STORES_MAX:
            self._noted.clear()
        self._noted[store_id] = covered_us

    def _store(self, view: View, store_id: str) -> StoreRow | None:
        """Return the store's record as these tables have it. A read, where the view has not asked for it."""
        key = StoreRow.key(store_id)
        rows = view.rows if key in view.asked else self._region.read(view.index, [key])
        return StoreRow.from_attributes(rows[key]) if key in rows else None

    def _came_late(self, view: View, store: StoreRow, entry: Entry) -> list[Callable[[], object]] | None:
        """Return what follows from an entry that does not count in the present epoch; None where that is still open.

        The version is divergent from then on, and the home's writer checks whether to replay it. The first half of a
        rename whose second is not here is no version, and is not to be completed any more: where it was written an
        abort entry ends it, unless the second was written there too.
        """
        raw = self._logs.settle(entry)
        version = next((one.entry for one in raw if one.is_version), None)
        if version is None:
            half = entry.operation is Operation.MOVED_IN and entry.source is not None and not raw
            if half and not self._logs.is_late(store, entry) and not self._is_source_late(store, entry):
                return None
            if half and view.complete and entry.slot.epoch.home == self._region.name:
                return [lambda: self._seal(entry.key)]
            return [] if entry.path is None else [lambda: self._erase(entry.key)]
        self._judging.came_late(view, store, version)
        reactions: list[Callable[[], object]] = [lambda: self._erase_all(view, raw)]
        if view.complete and store.home == self._region.name:
            reactions.append(lambda: self._ask_to_adopt({"call": "adopt", "key": str(version.key)}))
        return reactions

    def _is_source_late(self, store: StoreRow, moved_in: Entry) -> bool:
        source = moved_in.source
        return source is not None and self._cuts.is_late(store, source.path_hash, source.slot)

    def _is_home(self, store: StoreRow) -> bool:
        return store.home == self._region.name and store.state == StoreState.ACTIVE

    def _ask_to_adopt(self, payload: Mapping[str, str]) -> None:
        """Asks this region's writer to adopt what came late; it decides whether that can be."""
        with repeatable():
            answer = self._region.peers.call(self._region.name, "writer", payload)
        failure = answer.get("error")
        if failure is not None and failure["type"] != NotFound.__name__:
            raise Unavailable("what came late was not adopted yet; try again")

    def _seal(self, moved_in: LogKey) -> None:
        """Has this region's writer see to it that half a rename of an epoch that is over stays half; its text goes."""
        with repeatable():
            answer = self._region.peers.call(self._region.name, "writer", {"call": "seal", "key": str(moved_in)})
        if "error" in answer:
            raise Unavailable("a rename of an epoch that is over was not ended yet; try again")
        self._erase(moved_in)

    def _pass_on(self, inspections: Queue, key: LogKey) -> None:
        """Has a new version of this home looked at again. A rebuild, which only folds, passes nothing on."""
        inspections.send([json.dumps({"inspect": str(key)})])

    def _measure(self, entry: Entry) -> None:
        """Record how long after it was written at its home an entry arrived here; a blank has no age of its own."""
        lag_us = self._region.clock.now_us() - entry.created_at
        self._region.metrics.milliseconds("replication_lag_ms", max(lag_us, 0) / 1000, home=entry.slot.epoch.home)

    def _follow(self, view: View, moved_in: Entry) -> None:
        """Follow a rename met half-way: at home the writer completes it, elsewhere the home's bucket tells its outcome.

        This is the only chance: once its source slot has arrived here with another entry, no event leads back to it.
        While that slot is free at home too, the entry that takes it brings another event: the other half, or the blank.
        """
        ended = not view.complete or self._is_deleted(view, moved_in.key.store_id)
        if ended and self._erase(moved_in.key):
            return
        home = moved_in.slot.epoch.home
        if home == self._region.name and not self._help(moved_in):
            return
        settled = self._logs.settle(moved_in, region=home)
        elsewhere = not_of(self._region.name, settled) - {moved_in.key}
        if not settled and home == self._region.name:
            raise Unavailable("the writer did not finish a rename; try again")
        if moved_in.blank and settled:
            self._overtaken(view, moved_in.key, moved_in.memory_id, moved_in.generation)
        self._folder.fold(view, settled, elsewhere=elsewhere)
        self._erase_all(view, settled)

    def _erase_all(self, view: View, settled: Sequence[ResolvedEntry]) -> None:
        """Erase text of aborted entries, and text that came after its reason: an order, a blank, its store's end.

        Tables that are being rebuilt may not know of the reason: then the eraser looks for it.
        """
        with_text = [one for one in settled if one.entry.path is not None]
        for one in with_text:
            if one.void and not self._erase(one.entry.key):
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
                self._erase(log_key)

    def _erase(self, key: LogKey) -> bool:
        return erase(self._region, str(key))

    def _fold_redaction(self, view: View, order: Redaction, own: Named | None) -> list[Callable[[], object]]:
        """Erase the text where the order says that it is, and wherever the rows have it once the order is projected.

        Only what is read after the projection shows a replay that ran beside it; see `places_of`.
        """
        key = VersionRow.key(order.store_id, order.version_id)
        attributes = self._region.read(view.index, [key]).get(key)
        before = None if attributes is None else VersionRow.from_attributes(attributes)
        if before is not None and before.memory_id is not None:
            self._overtaken(view, order.ref.key_in(order.store_id), before.memory_id, before.generation or 0)
        self._folder.fold_redaction(view, order, own)
        version, keys = places_of(self._region, view, order)
        if version is not None and version.memory_id is not None and version.position is not None:
            place = LogRef.parse(version.position).key_in(order.store_id)
            if before is None or before.position != version.position:
                self._overtaken(view, place, version.memory_id, version.generation or 0)
        erasures: list[Callable[[], object]] = [partial(self._erase, key) for key in keys]
        return [*erasures, lambda: self._folder.order_carried_out(view, order)]

    def _fold_verdict(self, view: View, key: VerdictKey, verdict: VerdictRecord, journal: bool) -> None:
        if verdict.key != key:
            raise ValueError(f"{key}: the verdict says that it stands elsewhere")
        self._verdicts.fold(view, verdict, journal)

    def _overtaken(self, view: View, key: LogKey, memory_id: str, generation: int) -> None:
        """Handle an erasure that came before what followed the version: the home has it, and a live memory stays
        readable.

        No head of a live memory is ever erased, so a head that is to be blank here lags behind. What followed is
        projected from its end: at no moment is the head one of those that are blank. Stragglers are no part of it.
        """
        row_key = MemoryRow.key(key.store_id, memory_id)
        attributes = self._region.read(view.index, [row_key]).get(row_key)
        head = None if attributes is None else MemoryRow.from_attributes(attributes)
        if head is None or head.gone or head.generation > generation:
            return
        home, store = key.slot.epoch.home, self._store(view, key.store_id)
        followed: list[tuple[ResolvedEntry, ...]] = []
        while (entry := self._logs.entry(replace(key, slot=key.slot.following), home)) is not None:
            settled = self._logs.settle(entry, region=home, store=store)
            followed.append(settled)
            followers = [one.entry for one in settled if one.is_version and one.entry.memory_id == memory_id]
            if any(not follower.blank for follower in followers):
                break
            key = followers[0].key if followers else entry.key
        for settled in reversed(followed):
            self._folder.fold(view, settled, elsewhere=not_of(self._region.name, settled))

    def _help(self, moved_in: Entry) -> bool:
        """Ask the writer to complete a rename; False when its store is deleted, or has another home now."""
        payload = {"call": "help", "key": str(moved_in.key)}
        with repeatable():
            answer = self._region.peers.call(self._region.name, "writer", payload)
        failure = answer.get("error")
        return "elsewhere" not in answer and (failure is None or failure["type"] != NotFound.__name__)

    def _body(self, key: str) -> bytes | None:
        found = find(self._region.objects, key)
        return None if found is None else found.body


def store_of(key: str) -> list[RowKey]:
    """Return the record of the store that a log entry belongs to: it decides whether the entry is a straggler."""
    try:
        name = parse_key(key)
    except ValueError:
        return []
    return [StoreRow.key(name.store_id)] if isinstance(name, LogKey) else []
