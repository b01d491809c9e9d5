"""The thread of a laptop that does dreams, one after the other, and what stores have done by themselves."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from memolith.app.api.service import Memolith
from memolith.app.kernel.region import Region
from memolith.app.pipelines.run_log import RunLog
from memolith.app.replication.due_stores import automatic_stores
from memolith.core.errors import MemolithError
from memolith.entry.laptop_log import reason_of
from memolith.ports.errors import PortError
from memolith.wire.errors import trace

if TYPE_CHECKING:
    from memolith.app.api.dream_runner import DreamRunner

LOOK_EVERY_S = 1.0
STORES_EVERY_S = 60.0
DREAM_LEASE_US = 300_000_000
"""For how long a process that was killed still has its dream: a little longer than the longest answer of a model."""

_log = logging.getLogger(__name__)


class LaptopDreamer:
    """Looks once a second for a dream that waits, and once a minute for stores whose pipelines run by themselves; one
    query in SQLite each where there is none. What does them is put together when there is the first one to do.
    """

    def __init__(self, region: Region, memolith: Memolith, workspace_id: str) -> None:
        self._region = region
        self._memolith = memolith
        self._runs = RunLog(region)
        self._workspace_id = workspace_id
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memolith-dreams", daemon=True)

    def start(self) -> None:
        """Start, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Stop once the dream at hand is over, and wait for that no longer than a few seconds: it can be resumed."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)

    def _run(self) -> None:
        looked_at = time.monotonic() - STORES_EVERY_S
        while not self._stopped.wait(LOOK_EVERY_S):
            with _reporting("dreams"):
                if self._runs.open_runs(self._region.view(), self._workspace_id, limit=1):
                    self._runner.tick(self._workspace_id)
            if time.monotonic() - looked_at >= STORES_EVERY_S:
                looked_at = time.monotonic()
                with _reporting("pipelines"):
                    self._look_at_stores()

    @cached_property
    def _runner(self) -> DreamRunner:
        return self._memolith.dream_runner(DREAM_LEASE_US)

    def _look_at_stores(self) -> None:
        for store_id in automatic_stores(self._region):
            with _reporting("pipelines", store=store_id):
                self._look_at(store_id)

    def _look_at(self, store_id: str) -> None:
        done = self._memolith.automatic.run(store_id)
        if done.extracted or done.dream_id is not None:
            outcome = {"store": store_id, "extracted": done.extracted, "dream": done.dream_id}
            _log.info("pipelines ran by themselves", extra=outcome)
        if done.failure is not None:
            _log.warning("an extraction failed", extra={"reason": reason_of(done.failure), "store": store_id})


@contextmanager
def _reporting(what: str, **facts: str) -> Iterator[None]:
    """Log whatever fails, and go on: with the other dreams, or the next store."""
    try:
        yield
    except (PortError, MemolithError) as error:
        _log.warning("%s wait", what, extra={**facts, "reason": reason_of(error), "trace": trace(error)})
    except Exception as error:  # noqa: BLE001 - a defect that one dream or store meets stops no other
        _log.error("%s failed unexpectedly", what, extra={**facts, "reason": reason_of(error), "trace": trace(error)})
