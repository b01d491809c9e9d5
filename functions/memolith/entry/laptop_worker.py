"""The indexer of a laptop: takes from the queue what was announced, and folds it.

A message is the key of an object that a writer is about to put, a version to be looked at again, a store whose pack is
behind, or a batch of a rebuild. A key whose object is not there yet comes back a few times: its writer may be slow, or
may have died before the put. Whatever else fails comes back too, and is set aside after `TAKEN_AT_MOST` times, with the
reason; it never stops the others.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memolith.adapters.local import LocalBucket, LocalQueue, LocalTables, Message
from memolith.app.indexer.indexer import Indexer, Malformed
from memolith.app.indexer.rebuild import BatchProjector
from memolith.app.kernel.region import Region
from memolith.app.safety.deep_scan import DeepScan
from memolith.core.errors import Damaged
from memolith.entry.laptop_log import reason_of
from memolith.entry.laptop_packing import LaptopPacker
from memolith.ports.clock import Clock
from memolith.ports.errors import ObjectNotFound
from memolith.wire.errors import trace

TAKEN_AT_MOST = 5
LEASE_S = 30.0
BATCH = 20
IDLE_S = 0.2
SWEEP_EVERY_S = 3600.0
ERASE_EVERY_S = 60.0
SEAL_EVERY_S = 60.0
TELL_EVERY_US = 60_000_000

_log = logging.getLogger(__name__)


class Delayed:
    """`ports.queue.Queue` whose messages are taken some time after they were sent, as a queue of SQS may have it."""

    def __init__(self, queue: LocalQueue, delay_s: float) -> None:
        self._queue = queue
        self._delay_s = delay_s

    def send(self, messages: Sequence[str]) -> None:
        """Send after the delay. See `LocalQueue.send`."""
        self._queue.send(messages, self._delay_s)


class LaptopConsumer:
    """What the indexer does with one message."""

    def __init__(
        self,
        region: Region,
        indexing: Indexer,
        batches: BatchProjector,
        inspecting: DeepScan | None,
        packing: LaptopPacker,
    ) -> None:
        self._region = region
        self._indexing = indexing
        self._batches = batches
        self._inspecting = inspecting
        self._packing = packing

    def fold(self, body: str) -> bool:
        """Do all that a message asks for; return False while its object is not there.

        Raises:
            Malformed: it can never be done. MemolithError, PortError, ScannerUnavailableError: it may be repeated.
        """
        if body.startswith("{"):
            self._direct(json.loads(body))
            return True
        try:
            self._region.objects.head(body)
        except ObjectNotFound:
            return False
        self._indexing.object_arrived(body)
        return True

    def _direct(self, payload: Mapping[str, Any]) -> None:
        if "inspect" in payload and self._inspecting is not None:
            self._inspecting.inspect(payload["inspect"])
        elif "pack" in payload:
            self._packing.pack(payload["pack"], payload["since"])
        elif "rebuild" in payload:
            malformed = self._batches.fold(payload["rebuild"])
            if malformed:
                raise Malformed("rebuild", "; ".join(map(str, malformed)))


class LaptopWorker:
    """A thread that empties the queue, once a minute goes on with erasures and seals what was acknowledged, and once an
    hour removes what dead writers left and what has expired."""

    def __init__(
        self,
        queue: LocalQueue,
        folding: LaptopConsumer,
        bucket: LocalBucket,
        tables: LocalTables,
        erase: Callable[[], object],
        seal: Callable[[], object],
        clock: Clock,
        refill: Callable[[], bool],
    ) -> None:
        """Keep what it works with; `refill` adds to a queue that is empty, and returns False for nothing to add."""
        self._clock = clock
        self._refill = refill
        self._seal = seal
        self._queue = queue
        self._folding = folding
        self._bucket = bucket
        self._tables = tables
        self._erase = erase
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memolith-arrivals", daemon=True)

    def start(self) -> None:
        """Start, in a thread of its own."""
        self._thread.start()

    def stop(self) -> bool:
        """Stop once the message at hand is done; tell whether it had been started.

        Messages taken and not done come back, here or elsewhere.
        """
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        return self._thread.ident is not None

    def _run(self) -> None:
        sweeping, erasing = _Interval(SWEEP_EVERY_S), _Interval(ERASE_EVERY_S)
        sealing = _Interval(SEAL_EVERY_S, self._clock.ticks_us())
        waits = _Waits()
        while not self._stopped.is_set():
            try:
                ticks_us = self._clock.ticks_us()
                if sweeping.is_over(ticks_us):
                    now_us = self._clock.now_us()
                    self._bucket.sweep(now_us / 1_000_000 - SWEEP_EVERY_S)
                    self._tables.expire(now_us // 1_000_000)
                if erasing.is_over(ticks_us):
                    self._erase()
                if sealing.is_over(ticks_us):
                    self._seal()
                taken = self._queue.take(BATCH, LEASE_S)
                self._queue.finish([message for message in taken if self._is_done(message)])
                idle = not taken and not self._refill()
                waits.over()
            except Exception as error:  # noqa: BLE001 - nothing else would fold, seal and erase in this process
                waits.told(error, self._clock.ticks_us())
                idle = True
            if idle:
                self._stopped.wait(IDLE_S)

    def _is_done(self, message: Message) -> bool:
        """Tell whether the message need not come back."""
        if self._stopped.is_set():
            return False
        try:
            return self._folding.fold(message.body) or message.taken >= TAKEN_AT_MOST
        except (Malformed, Damaged) as never:
            reason = str(never)
        except Exception as error:  # noqa: BLE001 - whatever one message does to its reader, the others go on
            reason = reason_of(error)
            facts = {"reason": reason, "taken": message.taken, "trace": trace(error)}
            _log.warning("a message failed", extra=facts)
            if message.taken < TAKEN_AT_MOST:
                return False
        _log.error("a message is given up", extra={"reason": reason})
        self._queue.bury(message, reason)
        return True


class _Interval:
    """Says when something is due again, by ticks: the clock may be set while a process runs."""

    def __init__(self, every_s: float, began_us: int | None = None) -> None:
        self._every_us = every_s * 1_000_000
        self._began_us = began_us

    def is_over(self, ticks_us: int) -> bool:
        """Tell whether it is due, which it is at once unless it has begun; the next interval begins then."""
        if self._began_us is not None and ticks_us - self._began_us < self._every_us:
            return False
        self._began_us = ticks_us
        return True


class _Waits:
    """Why the indexer does nothing, told once a reason and once a minute: it tries again five times a second."""

    def __init__(self) -> None:
        self._reason = ""
        self._told_us = 0

    def told(self, error: Exception, ticks_us: int) -> None:
        """Log the reason, unless it was logged within the last minute."""
        reason = reason_of(error)
        if reason != self._reason or ticks_us - self._told_us >= TELL_EVERY_US:
            self._reason, self._told_us = reason, ticks_us
            _log.warning("the indexer waits", extra={"reason": reason, "trace": trace(error)})

    def over(self) -> None:
        """Log that it goes on, if it was told that it does not."""
        if self._reason:
            self._reason = ""
            _log.warning("the indexer goes on")
