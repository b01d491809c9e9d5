"""The rows of stores: one version of a store's record, joined into the tables."""

from __future__ import annotations

from collections.abc import Mapping

from memolith.app.index.ack_journal import AckJournal, commit_joined
from memolith.app.kernel.region import View
from memolith.app.log.store_log import StoreLog
from memolith.core.errors import Unavailable, unindexed
from memolith.core.log_position import Slot
from memolith.core.object_keys import StoreKey
from memolith.core.objects.checkpoint import Named
from memolith.core.pipelines.policy import PipelinesPolicy
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import PlacedRecord, to_row
from memolith.ports.index import Change, Index


class StoreProjector(StoreLog):
    """Writes the rows of stores' records besides."""

    def fold_own(self, view: View, placed: PlacedRecord, name: Named | None = None) -> None:
        """Project what this call put under its `name`: an index that fails now leaves it unacknowledged."""
        try:
            self.fold(view, placed, own=True, name=name)
        except Unavailable as error:
            raise unindexed("the record was written", error) from error

    def fold(
        self, view: View, placed: PlacedRecord, journal: bool = True, own: bool = False, name: Named | None = None
    ) -> StoreRow:
        """Join one version of a record, by id and into its workspace's listing; return the row of the highest slot.

        A record of this home is logged as acknowledged where it was new to the index, or the caller is about to
        acknowledge it; under `name`, which has a digest where the caller put the object, or else its key alone.
        """
        standing = to_row(placed)
        name = name or Named(str(StoreKey(standing.store_id, placed.slot)))
        for index in view.indexes:
            serving = index.generation == view.index.generation
            here = journal and serving and placed.slot.epoch.home == self._region.name
            row = self._fold_into(index, placed, AckJournal(self._region, view.period) if here else None, own, name)
            standing = row if serving else standing
        return standing

    def _fold_into(
        self, index: Index, placed: PlacedRecord, journal: AckJournal | None, own: bool, name: Named
    ) -> StoreRow:
        standing = after = to_row(placed)
        key = StoreRow.key(after.store_id)
        listing = StoreRow.listing_key(after.workspace_id, after.created_at, after.store_id)

        def work_out() -> list[Change]:
            nonlocal standing
            rows = self._region.read(index, [key, listing])
            held = _holds(rows, key, listing, after)
            standing = StoreRow.from_attributes(rows[key]) if held else after
            return [] if held else self._changes(key, listing, rows, after)

        contended = "the store's row stayed contended; read before trying again"
        commit_joined(self._region, index, work_out, journal, [name], own=own, contended=contended)
        return standing

    def _changes(
        self, key: RowKey, listing: RowKey, rows: Mapping[RowKey, Attributes], after: StoreRow
    ) -> list[Change]:
        attributes = after.to_attributes()
        changes = [Change(key, rows.get(key), attributes), Change(listing, rows.get(listing), attributes)]
        was, is_now = key in rows and _is_automatic(StoreRow.from_attributes(rows[key])), _is_automatic(after)
        if was or is_now:  # decided by the store's own row, which the transaction is conditional on
            automatic = StoreRow.automatic_key(after.store_id)
            changes.append(Change(automatic, None, attributes if is_now else None, unconditional=True))
        return changes


def _is_automatic(store: StoreRow) -> bool:
    """Tell whether pipelines of the store run by themselves."""
    policy = None if store.is_deleted or store.pipelines is None else PipelinesPolicy.of(store.pipelines)
    return policy is not None and policy.acts_by_itself


def _holds(rows: Mapping[RowKey, Attributes], key: RowKey, listing: RowKey, after: StoreRow) -> bool:
    """Tell whether the index has this record, or a later one, already."""
    if key not in rows:
        return False
    standing, comes = Slot.parse(StoreRow.from_attributes(rows[key]).slot).rank, Slot.parse(after.slot).rank
    return standing > comes or (standing == comes and listing in rows)
