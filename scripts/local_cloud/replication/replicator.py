"""The replicator: observe, write down, copy. Threads, no processes; everything it knows is in its ledger."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from random import Random
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from scripts.local_cloud.aws import Clients
from scripts.local_cloud.replication.channels import Channel, Copied
from scripts.local_cloud.replication.ledger import Ledger, ObjectVersion
from scripts.local_cloud.replication.observing import Hook, sweep
from scripts.local_cloud.replication.rules import Bucket, Rules, read_rules
from scripts.local_cloud.replication.settings import Settings

_FRESH_MS = 3000
_RETRY_S = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the replicator looks.

    Attributes:
        hook_wait_s: how long one request waits for notifications.
        sweep_every_s: between two listings while the hook tells of new objects.
        sweep_share: the listings' share of the time then, at most: they hold the emulator up.
        poll_every_s: between two listings without a hook.
        poll_share: the listings' share of the time then, at most.
    """

    hook_wait_s: int = 20
    sweep_every_s: float = 10.0
    sweep_share: float = 0.02
    poll_every_s: float = 0.2
    poll_share: float = 0.3


def wall_clock_ms() -> float:
    """Return milliseconds since 1970."""
    return time.time() * 1000


class Replicator:
    """Replicates between the buckets of one deployment until it is stopped.

    Args:
        buckets: region to bucket; only these are read and written.
        hooked: whether to ask for notifications at all; without, it lists (for an endpoint that refuses them).
        seed: of the draws for jitter, duplicates and reordering.
    """

    def __init__(
        self,
        clients: Clients,
        buckets: Mapping[str, str],
        ledger: Ledger,
        settings: Settings | None = None,
        *,
        pace: Pace | None = None,
        hooked: bool = True,
        seed: int = 0,
        now_ms: Callable[[], float] = wall_clock_ms,
    ) -> None:
        self._clients = clients
        self._buckets = [Bucket(region, name) for region, name in buckets.items()]
        self._ledger = ledger
        self._settings = settings or Settings()
        self._pace = pace or Pace()
        self._now_ms = now_ms
        self._random = Random(seed)  # noqa: S311  no secret: faults that can be had again
        self._rules = Rules()
        self._channels: dict[tuple[str, str], Channel] = {}
        self._hooks = {bucket: Hook(clients, bucket) for bucket in self._buckets} if hooked else {}
        self._listening: dict[Bucket, float] = {}
        self._recent: deque[Copied] = deque(maxlen=1000)
        self._recent_lock = threading.Lock()
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    def start(self) -> None:
        """Read the rules, take up what an earlier run still owed, and begin. Returns when the hooks are in place."""
        known = not self._ledger.empty
        self.refresh()
        for owed in self._ledger.outstanding():
            if channel := self._channels.get((owed.version.bucket, owed.destination)):
                channel.add(owed)
        self._sweep(present=None if known else self._present())
        self._spawn(self._keep_sweeping, "sweep")

    def stop(self, *, wait: bool = True) -> None:
        """Stop observing and copying. What is owed stays in the ledger; the hooks stay in the buckets.

        ``wait`` for the requests for notifications that are still open (up to `Pace.hook_wait_s`): until they end,
        they could take a message from a successor.
        """
        self._stopped.set()
        for channel in list(self._channels.values()):
            channel.stop()
        for thread in self._threads if wait else ():
            thread.join(timeout=self._pace.hook_wait_s + 5)

    def remove_hooks(self) -> None:
        """Take the notifications out of the buckets again, so that nothing is left at the endpoint."""
        for bucket in self._listening:
            self._hooks[bucket].remove()

    def use(self, settings: Settings) -> None:
        """Replace the settings. When this returns, what they pause or hold stands still."""
        with self._lock:
            self._settings = settings
            for channel in self._channels.values():
                channel.use(settings)

    def status(self) -> dict[str, Any]:
        """Return settings, each pair's counts, ignored bucket configuration, and how it observes."""
        with self._lock:
            return {
                **self._settings.as_json(),
                "pairs": [channel.status() for channel in self._channels.values()],
                "observes_by": {
                    bucket.region: "notification" if bucket in self._listening else "listing"
                    for bucket in self._buckets
                },
                "ignored": list(self._rules.ignored),
            }

    def recent(self, limit: int = 100) -> list[dict[str, Any]]:
        """List the latest copies, newest first."""
        with self._recent_lock:
            return [asdict(copied) for copied in list(self._recent)[: -limit - 1 : -1]]

    def refresh(self) -> None:
        """Read the rules again and see that channels and hooks are as they ask. A few requests for each bucket."""
        rules = read_rules(self._clients, {bucket.region: bucket.name for bucket in self._buckets})
        with self._lock:
            self._rules = rules
            for source, destination in rules.pairs():
                if (source.name, destination.name) not in self._channels:
                    self._open(source, destination)
        for bucket, hook in self._hooks.items():
            prefixes = rules.prefixes(bucket.name)
            if prefixes and hook.ensure(prefixes) and bucket not in self._listening:
                self._listening[bucket] = self._now_ms()
                self._spawn(partial(self._keep_receiving, hook), f"hook {bucket.region}")

    def _open(self, source: Bucket, destination: Bucket) -> None:
        channel = Channel(
            self._clients,
            self._ledger,
            source,
            destination,
            now_ms=self._now_ms,
            random=Random(self._random.random()),  # noqa: S311 - no secret
            on_copied=self._note,
        )
        channel.use(self._settings)
        self._channels[source.name, destination.name] = channel
        channel.start()

    def _record(self, versions: list[ObjectVersion]) -> None:
        rules = self._rules
        found = [
            (version, [bucket.name for bucket in rules.destinations(version.bucket, version.key)])
            for version in versions
        ]
        for owed in self._ledger.record(found):
            self._channels[owed.version.bucket, owed.destination].add(owed)

    def _note(self, copied: Copied) -> None:
        # A lock of its own: `use` holds the other while it waits for a channel that is about to come here.
        with self._recent_lock:
            self._recent.append(copied)

    def _keep_receiving(self, hook: Hook) -> None:
        while not self._stopped.is_set():
            try:
                hook.receive(self._record, wait_s=self._pace.hook_wait_s)
            except (ClientError, BotoCoreError) as error:
                self._complain("receiving notifications", error)

    def _keep_sweeping(self) -> None:
        took_s = 0.0
        while True:
            hooked = bool(self._hooks) and self._listening.keys() >= self._hooks.keys()
            pace = self._pace
            every_s, share = (pace.sweep_every_s, pace.sweep_share) if hooked else (pace.poll_every_s, pace.poll_share)
            if self._stopped.wait(max(every_s, took_s / share)):
                return
            began = time.monotonic()
            try:
                self.refresh()
                self._sweep()
            except (ClientError, BotoCoreError) as error:
                self._complain("listing", error)
            took_s = time.monotonic() - began

    def _sweep(self, present: Mapping[tuple[str, str], int] | None = None) -> None:
        """Record every version not seen yet. ``present``: what a new ledger's destinations hold already."""
        for bucket in self._buckets:
            for page in sweep(self._clients, bucket, self._rules):
                unseen = self._ledger.unseen(page)
                there = {version for version in unseen if present is not None and self._there(version, present)}
                self._ledger.record((version, ()) for version in there)
                owed = [self._dated(bucket, version) for version in unseen if version not in there]
                self._record([version for version in owed if version is not None])

    def _dated(self, bucket: Bucket, version: ObjectVersion) -> ObjectVersion | None:
        """Leave a new version to the notification, else count from now: a listing's times are whole seconds."""
        now_ms = self._now_ms()
        if now_ms - version.written_ms > _FRESH_MS:
            return version
        since_ms = self._listening.get(bucket, math.inf)
        return None if version.written_ms > since_ms else version._replace(written_ms=int(now_ms))

    def _present(self) -> dict[tuple[str, str], int]:
        """Return what every destination has: (bucket, key) to the time it was written."""
        present = {}
        for source, destination in self._rules.pairs():
            paginator = self._clients.s3(destination.region).get_paginator("list_objects_v2")
            for prefix in self._rules.prefixes(source.name):
                for page in paginator.paginate(Bucket=destination.name, Prefix=prefix):
                    for entry in page.get("Contents", []):
                        present[destination.name, entry["Key"]] = int(entry["LastModified"].timestamp() * 1000)
        return present

    def _there(self, version: ObjectVersion, present: Mapping[tuple[str, str], int]) -> bool:
        """Tell whether every destination has the key, written no earlier than this version."""
        wanted = self._rules.destinations(version.bucket, version.key)
        return all(present.get((bucket.name, version.key), -1) >= version.written_ms for bucket in wanted)

    def _spawn(self, target: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=target, daemon=True, name=name)
        self._threads.append(thread)
        thread.start()

    def _complain(self, doing: str, error: Exception) -> None:
        if not self._stopped.is_set():
            print(f"replicator: {doing}: {error}", file=sys.stderr, flush=True)
        self._stopped.wait(_RETRY_S)
