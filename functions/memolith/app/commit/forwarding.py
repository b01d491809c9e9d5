"""Writes land anywhere and run at home: passing a call on, and carrying what came of it back.

A call is passed on once, never again by itself: a repetition could undo somebody's acknowledged write. The ids of the
new version were made where the call landed; every outcome, refusals too, brings back the entries it was decided
against, and the region where the call landed folds them, so that the caller reads its own write there at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memolith.app.epochs.ownership import epochs_in
from memolith.app.epochs.parts import EpochParts
from memolith.app.index.projector import not_of
from memolith.app.kernel.peer_messages import HOPS, NotHome, decode_error, decode_placed
from memolith.app.kernel.port_calls import repeatable
from memolith.app.kernel.region import Region, View
from memolith.core.epochs import has_snapshot, is_same_term
from memolith.core.errors import Unavailable
from memolith.core.limits import INDEXER_LEASE_US
from memolith.core.log_position import Epoch, Slot
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow


class Forwarding:
    """Invokes another region's peerwriter, or its peerreader."""

    def __init__(self, region: Region, epochs: EpochParts) -> None:
        self._region = region
        self._records = epochs.records
        self._projector = epochs.projector
        self._repair = epochs.repair
        self._logs = epochs.logs

    def reach(
        self, view: View, store: StoreRow, payload: Mapping[str, Any], seen: Iterable[Epoch] = ()
    ) -> tuple[StoreRow, Mapping[str, Any] | None]:
        """Return the home's answer; None where the home turns out to be this region: then it is the caller's to do.

        A region that is not the home any more does nothing and answers with the record that says so, which is folded
        here and followed. The store's record, as known in the end, comes first. `seen` are epochs of which this region
        shows something that the call is about: a later one's home is asked, though its record has not come here. No
        call more where none is later (`Ownership.follow`).

        Raises:
            as `call`; Unavailable: the home could not be found.
        """
        store = self._records.follow(view, store, seen)
        for _ in range(HOPS):
            if store.home == self._region.name:
                return self._records.at_home(view, store), None
            try:
                return store, self.call(store.home, payload)
            except NotHome as elsewhere:
                newer = self._records.fold(view, elsewhere.placed)
                if Slot.parse(newer.slot).rank <= Slot.parse(store.slot).rank:
                    raise Unavailable("the store's home is changing; try again") from elsewhere
                store = newer
        raise Unavailable("the store's home is changing; try again")

    def seen_of(self, view: View, store: StoreRow, version_id: str) -> list[Epoch]:
        """Return, for `reach`, the epoch of what this region shows of the memory that a version in `view` is of.

        One index read; none at home, or where `view` has no such version.
        """
        memory_id = view.rows.get(VersionRow.key(store.store_id, version_id), {}).get("memory_id")
        if memory_id is None or store.home == self._region.name:
            return []
        key = MemoryRow.key(store.store_id, memory_id)
        return epochs_in(self._region.read(view.index, [key]), key)

    def fold(self, view: View, store: StoreRow, resolved: Sequence[ResolvedEntry]) -> None:
        """Project here the entries that the home's answer brought, and learn of a home that they show to be later.

        `store` is what `reach` returned beside the answer. Costs what `Projector.fold` and `Ownership.learn` cost. Of a
        call that is older than `INDEXER_LEASE_US`, an index read before, and one after it where that took as long. No
        call where the answer brought nothing.

        Raises:
            Unavailable: the home did it, but it could not be indexed here; or the home was lost, and its successor may
            not have it.
        """
        if not resolved:
            return
        # Of what this region wrote, too, another may have blanked its copy alone.
        blank = {one.entry.key for one in resolved if one.entry.blank}
        known, since_us = self._known(view, store, view.ticks_us)
        self._require_counted(known, store, resolved)
        over = not is_same_term(known, store) and view.complete and self._repair.is_over(known, resolved)
        self._projector.fold(view, resolved, elsewhere=not_of(self._region.name, resolved) | blank, over=over)
        known, _ = self._known(view, known, since_us)
        if not is_same_term(known, store):
            if view.complete:
                self._repair.versions(view, known, resolved)
            self._require_counted(known, store, resolved)
        self._records.learn(view, store, {one.entry.slot.epoch for one in resolved})

    def _known(self, view: View, store: StoreRow, since_us: int | None) -> tuple[StoreRow, int | None]:
        """Return the store's record as this region has it, and when that was read: again, where it is too old.

        A term begins with rows that were repaired, by a move or by a failover; both take longer than a projection by a
        record that is not older. A read, or no call.
        """
        now_us = self._region.clock.ticks_us()
        if since_us is not None and 0 <= now_us - since_us <= INDEXER_LEASE_US:
            return store, since_us
        key = StoreRow.key(store.store_id)
        attributes = self._region.read(view.index, [key]).get(key)
        return (store if attributes is None else StoreRow.from_attributes(attributes)), now_us

    def _require_counted(self, known: StoreRow, store: StoreRow, resolved: Sequence[ResolvedEntry]) -> None:
        """Raise Unavailable where `known` begins a term without some of these entries, or does not say with what.

        The new home's writers go by rows that were repaired. What the lost home answered would hide paths from them;
        its own event brings it to the rows as a late version. No call where the term is that of `store`; otherwise at
        most a GET for each entry.
        """
        if is_same_term(known, store):
            return
        if not has_snapshot(known) or any(self._logs.is_straggler(known, one.entry) for one in resolved):
            raise Unavailable("the store's home was lost meanwhile, and the new one may not have it; read it there")

    def call(self, home: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call the home's writer and return its answer.

        Raises:
            whatever the home raised; Unavailable: it did not run; OutcomeUnknown: it may have.
        """
        answer = self._region.peers.call(home, "peerwriter", payload)
        if "error" in answer:
            raise decode_error(answer["error"])
        if "elsewhere" in answer:
            raise NotHome(decode_placed(answer["elsewhere"]))
        return answer

    def ask(self, home: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer of the home's peerreader. Raises what the home raised; Unavailable: it did not answer."""
        with repeatable():
            answer = self._region.peers.call(home, "peerreader", payload)
        if "error" in answer:
            raise decode_error(answer["error"])
        return answer
