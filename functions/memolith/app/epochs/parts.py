"""What keeps the epochs of one region's stores: each part is built once and handed to all that use it."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.epochs.ownership import Ownership
from memolith.app.epochs.store_repair import StoreRepair
from memolith.app.epochs.stragglers import Stragglers
from memolith.app.index.parts import IndexParts
from memolith.app.index.projector import Projector
from memolith.app.kernel.region import Region
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader


@dataclass(frozen=True, slots=True)
class EpochParts:
    """The shared parts of one region, from its log up to the homes of its stores."""

    snapshots: EpochSnapshots
    logs: LogReader
    projector: Projector
    repair: EpochRepair
    store_repair: StoreRepair
    records: Ownership

    @classmethod
    def of(cls, region: Region) -> EpochParts:
        """Build them. No call."""
        index = IndexParts.of(region)
        stragglers = Stragglers(region, index.snapshots, index.logs, index.epoch_rows)
        repair = EpochRepair(region, index.snapshots, index.logs, index.epoch_rows, stragglers)
        store_repair = StoreRepair(region, index.snapshots, index.epoch_rows, stragglers, repair)
        records = Ownership(region, store_repair)
        return cls(index.snapshots, index.logs, index.projector, repair, store_repair, records)
