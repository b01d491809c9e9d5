"""One pair of buckets at work: a queue, a thread that copies what is due, and what it has to say of itself."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from scripts.local_cloud.aws import Clients
from scripts.local_cloud.replication.copying import Outcome, copy, is_current
from scripts.local_cloud.replication.ledger import Ledger, Owed
from scripts.local_cloud.replication.links import Due, Link
from scripts.local_cloud.replication.rules import Bucket
from scripts.local_cloud.replication.settings import Settings

_RETRY_MS = 250.0
_IDLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Copied:
    """One copy that was made: what, where, how old it was, and whether it was the second of two."""

    key: str
    source: str
    destination: str
    version_id: str
    latency_ms: int
    is_duplicate: bool


@dataclass(slots=True)
class _Counts:
    copied: int = 0
    duplicated: int = 0
    gone: int = 0
    superseded: int = 0
    failed: int = 0
    last_error: str | None = None
    latencies_ms: deque[int] = field(default_factory=lambda: deque(maxlen=200))


class Channel:
    """Copies from one bucket to one other, one object at a time, in the order and at the time its `Link` says.

    Args:
        now_ms: milliseconds since 1970, on the clock that the endpoint stamps objects with.
        on_copied: told of each copy, from the channel's thread.
    """

    def __init__(
        self,
        clients: Clients,
        ledger: Ledger,
        source: Bucket,
        destination: Bucket,
        *,
        now_ms: Callable[[], float],
        random: Random,
        on_copied: Callable[[Copied], None],
    ) -> None:
        self.source = source
        self.destination = destination
        self._clients = clients
        self._ledger = ledger
        self._now_ms = now_ms
        self._on_copied = on_copied
        self._link = Link(random)
        self._paused = False
        self._stopped = False
        self._busy = False
        self._counts = _Counts()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"{source.region}:{destination.region}")

    def start(self) -> None:
        """Begin to copy."""
        self._thread.start()

    def add(self, owed: Owed) -> None:
        """Take on a debt that the ledger holds."""
        with self._changed:
            self._link.add(owed)
            self._changed.notify_all()

    def use(self, settings: Settings) -> None:
        """Apply settings. What they pause or hold is put no more once this has returned."""
        with self._changed:
            self._paused = settings.paused(self.source.region, self.destination.region)
            self._link.use(settings)
            self._changed.notify_all()
            if self._paused or settings.hold:
                self._changed.wait_for(lambda: not self._busy, timeout=60)

    def stop(self) -> None:
        """End the thread after the copy it is making. What is still owed stays in the ledger."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def status(self) -> dict[str, Any]:
        """Return counts since the start, what waits, and how old objects were when they arrived (the last 200)."""
        with self._changed:
            counts, oldest = self._counts, self._link.oldest_ms()
            latencies = list(counts.latencies_ms)
            return {
                "source": self.source.region,
                "destination": self.destination.region,
                "paused": self._paused,
                "pending": len(self._link) + self._busy,
                "oldest_pending_ms": None if oldest is None else max(0, round(self._now_ms() - oldest)),
                "copied": counts.copied,
                "duplicated": counts.duplicated,
                "gone": counts.gone,
                "superseded": counts.superseded,
                "failed": counts.failed,
                "last_error": counts.last_error,
                "latency_p50_ms": round(median(latencies)) if latencies else None,
                "latency_max_ms": max(latencies, default=None),
            }

    def _run(self) -> None:
        while (due := self._next()) is not None:
            try:
                outcome = self._copy(due)
            except (ClientError, BotoCoreError) as error:
                self._failed(due, error)
            else:
                self._settle(due, outcome)

    def _next(self) -> Due | None:
        """Wait for the next object that is due; None when stopped."""
        with self._changed:
            while not self._stopped:
                now_ms = self._now_ms()
                due = None if self._paused else self._link.take(now_ms)
                if due is not None:
                    self._busy = True
                    return due
                next_due_ms = None if self._paused else self._link.next_due_ms()
                wait_s = _IDLE_S if next_due_ms is None else (next_due_ms - now_ms) / 1000
                self._changed.wait(timeout=min(_IDLE_S, max(0.001, wait_s)))
        return None

    def _copy(self, due: Due) -> Outcome:
        """Copy unless a later version of the key has been copied before: the newer one stays current, as in S3."""
        version = due.owed.version
        again = due.is_duplicate or self._ledger.copied_before(due.owed)
        if again and not is_current(self._clients, self.source, version):
            return "superseded"
        return copy(self._clients, self.source, self.destination, version)

    def _settle(self, due: Due, outcome: Outcome) -> None:
        version, now_ms = due.owed.version, self._now_ms()
        if not due.is_duplicate:
            self._ledger.settle(due.owed, copied=outcome == "copied")
        made = Copied(
            version.key,
            self.source.region,
            self.destination.region,
            version.version_id,
            max(0, round(now_ms - version.written_ms)),
            due.is_duplicate,
        )
        if outcome == "copied":
            self._on_copied(made)
        with self._changed:
            name = "duplicated" if due.is_duplicate and outcome == "copied" else outcome
            setattr(self._counts, name, getattr(self._counts, name) + 1)
            if outcome == "copied" and not due.is_duplicate:
                self._counts.latencies_ms.append(made.latency_ms)
            if due.again and outcome == "copied":
                self._link.add_second_copy(due.owed, now_ms)
            self._busy = False
            self._changed.notify_all()

    def _failed(self, due: Due, error: Exception) -> None:
        with self._changed:
            self._counts.failed += 1
            self._counts.last_error = str(error)
            self._link.add(due.owed, not_before_ms=self._now_ms() + _RETRY_MS, is_duplicate=due.is_duplicate)
            self._busy = False
            self._changed.notify_all()
