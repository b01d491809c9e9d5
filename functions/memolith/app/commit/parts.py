"""What the writers of a region commit with: each part is built once."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.app.commit.create import Creation
from memolith.app.commit.facts import FactReader
from memolith.app.commit.log_steps import LogSteps
from memolith.app.commit.quota import Quota
from memolith.app.commit.rename import Rename
from memolith.app.commit.reservation import Reservation
from memolith.app.commit.sync_replica import SyncReplica
from memolith.app.commit.vacancy import Vacancy
from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.epochs.fence import Fence
from memolith.app.epochs.parts import EpochParts
from memolith.app.index.path_claims import Claims
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import ConditionalPut
from memolith.app.safety.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class WriterParts:
    """The parts of a writer of one region."""

    verdicts: Verdicts
    steps: LogSteps
    facts: FactReader
    repair: EpochRepair
    creation: Creation
    rename: Rename
    vacancy: Vacancy

    @classmethod
    def of(
        cls, region: Region, epochs: EpochParts, replica: SyncReplica, fence: Fence, verdicts: Verdicts
    ) -> WriterParts:
        """Build them. No call."""
        logs, repair = epochs.logs, epochs.repair
        steps = LogSteps(region, logs, ConditionalPut(region, logs), replica, fence, epochs.projector)
        claims = Claims(region)
        reservation = Reservation(region, steps, claims)
        creation = Creation(region, steps, repair, reservation, Quota(region))
        return cls(
            verdicts=verdicts,
            steps=steps,
            facts=FactReader(region, steps, repair, verdicts),
            repair=repair,
            creation=creation,
            rename=Rename(region, steps, repair, reservation, creation),
            vacancy=Vacancy(region, steps, claims, reservation, epochs.projector),
        )
