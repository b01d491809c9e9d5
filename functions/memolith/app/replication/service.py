"""Puts together what makes one region complete, and keeps it so."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.app.epochs.parts import EpochParts
from memolith.app.homes.epoch_sweep import EpochSweep
from memolith.app.indexer.service import make_indexer
from memolith.app.kernel.region import Region
from memolith.app.log.sealed_history import SealedHistory
from memolith.app.operations.named_objects import NamedObjects
from memolith.app.replication.checkpoint_sealer import CheckpointSealer
from memolith.app.replication.checkpoints import Checkpoints
from memolith.app.replication.compare_checkpoints import CompareCheckpoints
from memolith.app.replication.compare_listing import CompareListing
from memolith.app.replication.compare_rows import CompareRows
from memolith.app.replication.due_dreams import DueDreams
from memolith.app.replication.due_proposals import DueProposals
from memolith.app.replication.due_stores import DueStores
from memolith.app.replication.missed_erasures import MissedErasures
from memolith.app.replication.missing_objects import MissingObjects
from memolith.app.replication.reconciler import Reconciler
from memolith.app.replication.rotating_audit import RotatingAudit
from memolith.app.replication.watermark import BATCH_MAX_US, Watermark
from memolith.app.replication.witnesses import Witnesses
from memolith.ports.queue import Queue
from memolith.ports.sealing import Sealing, SealMemory


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The three daily comparisons of one region."""

    listing: CompareListing
    checkpoints: CompareCheckpoints
    rows: CompareRows


def make_reconciler(
    region: Region, sealing: Sealing, batch_max_us: int = BATCH_MAX_US, dreams: Queue | None = None
) -> Reconciler:
    """Put a region's reconciler together; `sealing` signs its checkpoints and checks the others'. No call.

    `batch_max_us` is longer than any batch of reads takes; `dreams` is the queue of what does dreams, if they are on.
    """
    parts = EpochParts.of(region)
    indexer = make_indexer(region, parts)
    epoch_sweep = EpochSweep(region, indexer)
    missing_objects, witnesses = MissingObjects(region, indexer, parts.snapshots), Witnesses(region, sealing)
    watermark = Watermark(region, missing_objects, epoch_sweep, witnesses, batch_max_us)
    checkpoints = Checkpoints(region, epoch_sweep, CheckpointSealer(region, sealing))
    due_dreams = None if dreams is None else DueDreams(region, dreams)
    due_stores = None if dreams is None else DueStores(region, dreams)
    rotating_audit = RotatingAudit(region, SealedHistory(region, sealing), NamedObjects(region))
    due = DueProposals(region)
    return Reconciler(region, checkpoints, watermark, epoch_sweep, due, rotating_audit, due_dreams, due_stores)


def make_checkpoints(region: Region, sealing: Sealing, memory: SealMemory) -> Checkpoints:
    """Put together the checkpoints of a deployment of one region, which remembers them itself. No call."""
    epoch_sweep = EpochSweep(region, make_indexer(region, EpochParts.of(region)))
    return Checkpoints(region, epoch_sweep, CheckpointSealer(region, sealing, memory))


def make_comparisons(region: Region, queue: Queue) -> Comparisons:
    """Put a region's comparisons together; what they find goes to `queue`. No call."""
    parts = EpochParts.of(region)
    missing_objects = MissingObjects(region, make_indexer(region, parts), parts.snapshots)
    return Comparisons(
        listing=CompareListing(region, queue, parts.logs, missing_objects, MissedErasures(region)),
        checkpoints=CompareCheckpoints(region, missing_objects),
        rows=CompareRows(region, queue, parts.logs),
    )
