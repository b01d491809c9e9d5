"""What every writer of a region commits with: each part is built once and handed to all of them."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.app.commit.quota import Quota
from memolith.app.commit.sync_replica import SyncReplica
from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.epochs.fence import Fence
from memolith.app.index.projector import Projector
from memolith.app.log.log_reader import LogReader
from memolith.app.safety.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class WriterParts:
    """The shared parts of the writers of one region."""

    logs: LogReader
    second: SyncReplica
    projector: Projector
    quota: Quota
    verdicts: Verdicts
    fence: Fence
    repair: EpochRepair
