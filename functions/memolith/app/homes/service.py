"""Where stores have their homes, and how that changes: the one facade over it, as a region's reconciler answers it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from memolith.app.commit.sync_replica import SyncReplica
from memolith.app.epochs.parts import EpochParts
from memolith.app.homes.failover import Failover
from memolith.app.homes.handoff import Handoff
from memolith.app.homes.snapshot_builder import EpochSnapshotBuilder
from memolith.app.homes.snapshot_claims import SnapshotClaims
from memolith.app.homes.snapshot_progress import SnapshotProgress
from memolith.app.homes.store_backfill import StoreBackfill
from memolith.app.homes.transfer import Transfer, TransferStep
from memolith.app.indexer.service import make_indexer
from memolith.app.kernel.listing import next_store
from memolith.app.kernel.region import Region, View
from memolith.app.log.store_log import StoreLog
from memolith.core.errors import Damaged, NotFound
from memolith.core.log_position import Slot
from memolith.core.object_keys import StoreKey
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.identity import StoreRow
from memolith.core.sync_replica import is_stand_in, second_of

MOVE_BUDGET_S = 12.0
"""How long one call copies and looks before it answers: what follows has to fit into its caller's patience of 25 s."""

STORES_PER_PAGE = 100

_log = logging.getLogger(__name__)


class Homes:
    """Lists, moves and takes over stores, for one region."""

    def __init__(
        self,
        region: Region,
        transfer: Transfer,
        failover: Failover,
        handoff: Handoff,
        replica: SyncReplica,
        records: StoreLog,
    ) -> None:
        self._region = region
        self._transfer = transfer
        self._failover = failover
        self.handoff = handoff
        self._replica = replica
        self._records = records

    def move(self, store_id: str) -> TransferStep:
        """Move a store's home here, or as much of that as one call has time for (`Transfer.move`)."""
        return self._transfer.move(store_id, budget_s=MOVE_BUDGET_S)

    def fail_over(self, store_id: str, old: str) -> TransferStep:
        """Make this region the home of a store whose home was `old` (`Failover.take_over`)."""
        return self._failover.take_over(store_id, old, budget_s=MOVE_BUDGET_S)

    def is_held(self, store_id: str) -> dict[str, Any]:
        """Tell whether a failover to this region begins with all that the store has acknowledged in two regions.

        Decides by the record as this region knows it. An index read, and what `SyncReplica.is_held` costs; what
        `StoreLog.find` costs where the index lacks the record.

        Raises:
            NotFound: this region has never heard of the store. Unavailable: the region does not answer.
        """
        store = self._records.known(self._region.view([StoreRow.key(store_id)], marked=["stores"]), store_id)
        if store is None:
            raise NotFound("memory_store", store_id)
        return {"store_id": store_id, "held": self._replica.is_held(store)}

    def page(self, after: str | None) -> dict[str, Any]:
        """List up to a hundred stores that this region knows, in no meaningful order; ``next`` goes on after them.

        A LIST for each, and a read for a hundred. While the index is incomplete, as after its tables were emptied, what
        `StoreLog.find` costs for each besides: a failover is to leave out none that is in the bucket.

        Raises:
            Unavailable: the region does not answer.
        """
        regions = sorted(self._region.origins)
        birth, _, last = (after or f"{regions[0]} ").partition(" ")
        ids, further = self._ids(birth, last)
        found = self._found(ids) if ids else []
        if further is None and birth != regions[-1]:
            further = f"{regions[regions.index(birth) + 1]} "
        listed = [_to_json(row, self._region.regions) for row in found if row.state != StoreState.DELETED]
        return {"stores": listed, "next": further}

    def _found(self, ids: Sequence[str]) -> list[StoreRow]:
        view = self._region.view([StoreRow.key(id) for id in ids], marked=["stores"])
        found = self._region.parallel.run([partial(self._known, view, id) for id in ids])
        return [row for row in found if row is not None]

    def _known(self, view: View, store_id: str) -> StoreRow | None:
        try:
            return self._records.known(view, store_id)
        except (ValueError, Damaged):
            _log.exception("a store is not listed, because its record cannot be read", extra={"store": store_id})
            return None

    def _ids(self, birth: str, last: str) -> tuple[list[str], str | None]:
        """List stores that were born in a region: their first record is under its prefix."""
        ids = list[str]()
        while len(ids) < STORES_PER_PAGE:
            key = next_store(self._region.objects, birth, last)
            if key is None:
                return ids, None
            last = key.store_id
            if key.slot.epoch.number == 1:
                ids.append(last)
        return ids, f"{birth} {ids[-1]}"


def _to_json(row: StoreRow, regions: Sequence[str]) -> dict[str, Any]:
    return {
        "store_id": row.store_id,
        "name": row.name,
        "home": row.home,
        "state": row.state,
        "epochs": row.epochs,
        "moving_to": row.moving_to,
        "apart": [str(StoreKey(row.store_id, Slot.parse(slot))) for slot in row.apart or ()],
        "second_region": second_of(row.home, row.epochs, row.second_region, regions),
        "second_stands_in": is_stand_in(row.home, row.second_region),
        "erase_after": row.erase_after,
    }


def make_homes(region: Region) -> Homes:
    """Put together what changes the homes of a region's stores. No call."""
    parts = EpochParts.of(region)
    indexer, records = make_indexer(region, parts), parts.records
    builder = EpochSnapshotBuilder(region, parts.snapshots, parts.logs, SnapshotProgress(region))
    handoff = Handoff(region, records)
    backfill = StoreBackfill(region, indexer.object_arrived)
    transfer = Transfer(region, indexer, records, builder, backfill, handoff)
    claims = SnapshotClaims(region)
    failover = Failover(
        region, indexer, records, builder, parts.snapshots, parts.store_repair, transfer, handoff, claims
    )
    replica = SyncReplica(region, parts.logs, parts.snapshots)
    return Homes(region, transfer, failover, handoff, replica, StoreLog(region))
