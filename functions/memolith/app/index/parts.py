"""What reads the log of one region and writes its index: each part is built once and handed to all that use it."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.app.index.epoch_rows import EpochRows
from memolith.app.index.projector import Projector
from memolith.app.index.row_transactions import RowTransactions
from memolith.app.kernel.region import Region
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.app.log.store_log import StoreLog


@dataclass(frozen=True, slots=True)
class IndexParts:
    """The shared parts of one region's log and index."""

    snapshots: EpochSnapshots
    logs: LogReader
    store_log: StoreLog
    projector: Projector
    epoch_rows: EpochRows

    @classmethod
    def of(cls, region: Region) -> IndexParts:
        """Build them. No call."""
        snapshots, transactions = EpochSnapshots(region), RowTransactions(region)
        return cls(
            snapshots=snapshots,
            logs=LogReader(region, snapshots),
            store_log=StoreLog(region),
            projector=Projector(region, transactions),
            epoch_rows=EpochRows(region, transactions),
        )
