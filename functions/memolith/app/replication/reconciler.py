"""What the reconciler does every minute: the home's period, the other homes' checkpoints, stores to be judged
again; and, once an hour, a share of an audit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from memolith.app.homes.epoch_sweep import EpochSweep
from memolith.app.kernel.region import Region
from memolith.app.replication.checkpoints import Checkpoints
from memolith.app.replication.due_dreams import DueDreams
from memolith.app.replication.due_proposals import DueProposals
from memolith.app.replication.due_stores import DueStores
from memolith.app.replication.rotating_audit import RotatingAudit
from memolith.app.replication.watermark import Watermark
from memolith.core.errors import MemolithError
from memolith.core.rows.journal import OpenPeriod

_log = logging.getLogger(__name__)

TICK_US = 45_000_000
"""How long a tick works at most before it leaves the rest to the next one."""


@dataclass(slots=True)
class ReconcilerResult:
    """One tick: the journal's open period, where it got that far, and the kinds of errors that stopped parts of it."""

    period: OpenPeriod | None = None
    failures: list[str] = field(default_factory=list)


class Reconciler:
    """The reconciler of one region. Without `due_dreams` and `due_stores` no pipelines run; the tick looks for none."""

    def __init__(
        self,
        region: Region,
        checkpoints: Checkpoints,
        watermark: Watermark,
        epoch_sweep: EpochSweep,
        due_proposals: DueProposals,
        rotating_audit: RotatingAudit,
        due_dreams: DueDreams | None = None,
        due_stores: DueStores | None = None,
    ) -> None:
        self._region = region
        self._due_proposals = due_proposals
        self._rotating_audit = rotating_audit
        self._due_dreams = due_dreams
        self._due_stores = due_stores
        self._checkpoints = checkpoints
        self._watermark = watermark
        self._epoch_sweep = epoch_sweep

    def tick(self) -> ReconcilerResult:
        """Rotate the period, advance the watermarks, go on with sweeps, proposals, dreams and the audit.

        Repeatable, safe beside another.

        What fails is left to the next run, and does not stop the rest.
        """
        ticked = ReconcilerResult()
        deadline_us = self._region.clock.now_us() + TICK_US

        def turn() -> None:
            ticked.period = self._checkpoints.turn(deadline_us)

        def due() -> None:
            self._due_proposals.run(deadline_us)

        self._attempt(ticked, turn)
        self._attempt(ticked, lambda: self._watermark.advance(ticked.period, deadline_us))
        self._attempt(ticked, lambda: self._epoch_sweep.run(deadline_us))
        self._attempt(ticked, due)
        for named in (self._due_dreams, self._due_stores):
            if named is not None:
                self._attempt(ticked, partial(_run, named, deadline_us))
        self._attempt(ticked, lambda: self._rotating_audit.run(deadline_us))
        if ticked.failures:
            self._region.metrics.count("reconcile_failed")  # once: the alarm compares with how many ticks there are
        return ticked

    def _attempt(self, ticked: ReconcilerResult, act: Callable[[], None]) -> None:
        try:
            act()
        except MemolithError as error:
            ticked.failures.append(type(error).__name__)
        except ValueError as error:  # of an object that cannot be read: the other parts do not need it
            _log.exception("a part of a tick met what it cannot read")
            ticked.failures.append(type(error).__name__)


def _run(named: DueDreams | DueStores, deadline_us: int) -> None:
    named.run(deadline_us)
