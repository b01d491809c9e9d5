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
from memolith.core.errors import Unavailable
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
        call that is older than `_home_stays_us`, an index read before, and one after it where that took as long.

        Raises:
            Unavailable: the home did it, but it could not be indexed here.
        """
        # Of what this region wrote, too, another may have blanked its copy alone.
        blank = {one.entry.key for one in resolved if one.entry.blank}
        began_us = self._region.clock.ticks_us()
        moved = self._moved(view, store, view.ticks_us)
        over = moved is not None and self._repair.is_over(moved, resolved)
        self._projector.fold(view, resolved, elsewhere=not_of(self._region.name, resolved) | blank, over=over)
        moved = self._moved(view, store, began_us)
        if moved is not None and self._repair.is_over(moved, resolved):
            self._repair.versions(view, moved, resolved)
        self._records.learn(view, store, {one.entry.slot.epoch for one in resolved})

    @property
    def _home_stays_us(self) -> int:
        """For how long from a call's begin on no other region's term can begin by a move, if the home answers it."""
        return int(self._region.drain_s * 1_000_000) - self._region.lease_us

    def _moved(self, view: View, store: StoreRow, since_us: int | None) -> StoreRow | None:
        """Return the store's record as this region has it now, if its home has changed since; else None.

        Then what the old home answered may have ended, and the end not have arrived here: nothing but a look at what
        the new home began with keeps the rows from showing a memory again that was deleted. A read, or no call.
        """
        if since_us is not None and self._region.clock.ticks_us() - since_us < self._home_stays_us:
            return None
        key = StoreRow.key(store.store_id)
        attributes = self._region.read(view.index, [key]).get(key)
        now = store if attributes is None else StoreRow.from_attributes(attributes)
        return None if now.epochs == store.epochs or not view.complete else now

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
