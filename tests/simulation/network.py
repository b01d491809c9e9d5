"""What travels: copies between buckets, events to indexers; late, twice, out of order, at the repair, or never."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote_plus

from memolith.adapters.memory import MemoryBuckets, PutEvent, StoredVersion
from memolith.app.indexer.indexer import Malformed
from memolith.core.errors import MemolithError
from memolith.ports.queue import Queue
from tests.simulation.options import Options
from tests.simulation.ports import LIVES_S
from tests.simulation.sites import Site
from tests.simulation.tasks import Crash, Scheduler

RECEIVES_MAX = 5
VISIBILITY_S = 5.0


@dataclass(eq=False, slots=True)
class _Message:
    """An object's key, or a batch of a rebuild, in a region's queue; and how often it has been received."""

    text: str
    receives: int = 0


@dataclass(slots=True)
class _Queue:
    """One region's: what waits, and what was given up."""

    waiting: list[_Message] = field(default_factory=list)
    dead: list[_Message] = field(default_factory=list)


class Network:
    """Carries copies and events. `calm` ends every fault; `repair` then brings what was dropped.

    Attributes:
        absent: regions that have not joined yet: nothing is copied to them.
        unfilled: those that lack what is older still: no client turns to them, whose key they may not know.
        put_at: after which tick each object was put first, in any region.
        struck: how often what happened: "event lost", "copy lost" and "message lost" are for ever (`Options.days`).
    """

    def __init__(
        self,
        scheduler: Scheduler,
        chance: random.Random,
        options: Options,
        buckets: MemoryBuckets,
        sites: Mapping[str, Site],
    ) -> None:
        self.calm = False
        self._scheduler = scheduler
        self._chance = chance
        self._options = options
        self._buckets = buckets
        self._sites = sites
        self._queues = {region: _Queue() for region in sites}
        self.struck: Counter[str] = Counter()
        self._dropped: list[tuple[str, Callable[[], None]]] = []
        self._cut_until: dict[tuple[str, str], int] = {}
        self._dark: set[str] = set()
        self.absent: set[str] = set(options.regions[-1:]) if options.joins else set()
        self.unfilled: set[str] = set(self.absent)
        self.malformed: list[str] = []
        self.defects: list[str] = []
        self.put_at: dict[str, int] = {}
        buckets.observers.append(self._put)

    @property
    def broken(self) -> list[str]:
        """What only a repair brings: copies and events that were dropped, messages that were given up.

        Nothing where there is no repair (`Options.days`): then it is for the product to notice.
        """
        if self._options.days:
            return []
        return [
            *(name for name, _ in self._dropped),
            *(one.text for queue in self._queues.values() for one in queue.dead),
        ]

    def cut(self, source: str, destination: str, seconds: float) -> None:
        """Nothing passes in this direction for so long; it waits."""
        self._cut_until[source, destination] = self._scheduler.now_us + round(seconds * 1_000_000)

    def isolate(self, region: str, seconds: float) -> None:
        """Nothing passes between this region and any other for so long: copies wait, requests are refused."""
        for other in self._sites:
            if other != region:
                self.cut(region, other, seconds)
                self.cut(other, region, seconds)

    def darken(self, region: str) -> None:
        """As long as a region is cut off, no client reaches it either."""
        self._dark.add(region)

    def is_parted(self, one: str, other: str) -> bool:
        """Whether no request gets through between two regions: it needs both directions."""
        now_us = self._scheduler.now_us
        return one != other and any(now_us < self._cut_until.get(pair, 0) for pair in ((one, other), (other, one)))

    def nearest(self, region: str) -> str:
        """Where a client of a region turns to: to the region itself, or to the next one, while it is dark."""
        regions = list(self._sites)
        following = regions[(regions.index(region) + 1) % len(regions)]
        if region in self.unfilled:
            return following
        return following if region in self._dark and self.is_parted(region, following) and not self.calm else region

    def repair(self) -> None:
        """The sweep: what was dropped is sent again, and what was given up."""
        again, self._dropped = self._dropped, []
        for name, deliver in again:
            self._send(name, deliver)
        for region, queue in self._queues.items():
            given_up, queue.dead = queue.dead, []
            for message in given_up:
                self._wait(region, _Message(message.text))

    # ---- copies and events --------------------------------------------------------------------------------------

    def _put(self, event: PutEvent) -> None:
        self.put_at.setdefault(event.key, self._scheduler.steps)
        self._send(f"event in {event.region}", lambda: self._notify(event))
        if event.replica or not event.key.startswith(f"{event.region}/"):
            return
        copy = next(
            one for one in self._buckets.versions(event.region, event.key) if one.version_id == event.version_id
        )
        for other in self._sites:
            if other in self.absent:
                self.struck["put before a region joined"] += 1
            elif other != event.region:
                self._send(f"copy to {other}", partial(self._copy, copy, event.region, other))

    def _send(self, name: str, deliver: Callable[[], None]) -> None:
        links = self._options.links
        if not self.calm and self._chance.random() < links.dropped:
            if self._options.days:
                self.struck[f"{name.partition(' ')[0]} lost"] += 1
            else:
                self._dropped.append((name, deliver))
            return
        for _ in range(2 if not self.calm and self._chance.random() < links.duplicated else 1):
            slow = not self.calm and self._chance.random() < links.slow
            delay_s = self._chance.random() * (links.slow_s if slow else links.delay_s)
            self._scheduler.spawn(name, deliver, delay_s)

    def _copy(self, copy: StoredVersion, source: str, destination: str) -> None:
        """A copy that has left arrives, even if its source has been erased since: the worst that S3 may do."""
        while not self.calm and self._scheduler.now_us < self._cut_until.get((source, destination), 0):
            self._scheduler.sleep(1.0)
        self._buckets.arrive(copy, destination)

    def _notify(self, event: PutEvent) -> None:
        if not self._options.told:
            self._wait(event.region, _Message(event.key))
            return
        self.struck["events that tell their version"] += 1
        told = {"s3": {"object": {"key": quote_plus(event.key), "versionId": event.version_id}}}
        self._wait(event.region, _Message(json.dumps({"Records": [told]})))

    def index_queue(self, region: str) -> Queue:
        """`ports.queue.Queue` to the region's indexer."""
        return _IndexQueue(lambda text: self._wait(region, _Message(text)))

    def _wait(self, region: str, message: _Message) -> None:
        queue = self._queues[region]
        queue.waiting.append(message)
        if len(queue.waiting) == 1:
            self._scheduler.spawn(f"poller of {region}", lambda: self._poll(region))

    # ---- the indexer's queue ------------------------------------------------------------------------------------

    def _poll(self, region: str) -> None:
        """Wakes an indexer with a batch as long as there is something; several may be at it at once."""
        queue = self._queues[region]
        while queue.waiting:
            size = self._chance.randint(1, self._options.batch)
            batch = self._chance.sample(queue.waiting, min(size, len(queue.waiting)))
            queue.waiting[:] = [one for one in queue.waiting if one not in batch]
            self._scheduler.spawn(
                f"indexer in {region}", partial(self._index, region, batch), life_s=LIVES_S["indexer"]
            )
            self._scheduler.sleep(self._chance.random() * 0.05)

    def _index(self, region: str, batch: list[_Message]) -> None:
        """One invocation; what it does not finish comes back, and all of it when it dies."""
        for message in batch:
            message.receives += 1
        again = list(batch)
        try:
            self._sites[region].use(lambda sandbox: self._each(sandbox.message, batch, again))
        except Crash:
            again = list(batch)
        for message in again:
            self._scheduler.spawn(f"redelivery in {region}", partial(self._again, region, message), VISIBILITY_S)

    def _each(self, arrived: Callable[[str], None], batch: list[_Message], again: list[_Message]) -> None:
        for message in batch:
            if not self.calm and self._chance.random() < self._options.batch_crash:
                raise Crash
            try:
                arrived(message.text)
            except Malformed as error:
                self.malformed.append(str(error))
            except MemolithError:
                continue
            except Exception as error:  # noqa: BLE001 - reported at the end of the run
                self.defects.append(f"indexing {message.text}: {error!r}")
            again.remove(message)

    def _again(self, region: str, message: _Message) -> None:
        if message.receives >= RECEIVES_MAX and self._options.days:
            self.struck["message lost"] += 1
        elif message.receives >= RECEIVES_MAX:
            self._queues[region].dead.append(message)
        else:
            self._wait(region, message)


class _IndexQueue:
    """`ports.queue.Queue` into a region's one queue of messages."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send

    def send(self, messages: Sequence[str]) -> None:
        for message in messages:
            self._send(message)
