"""Ports as a world has them: clocks that are wrong, reads that are torn, functions that outlive their callers."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from memolith.adapters.memory import MemoryBuckets, MemoryDatabase, MemoryErasableObjects, MemoryIndex
from memolith.core.commands import from_payload, version_ids
from memolith.core.rows.base import Attributes, RowKey
from memolith.ports.errors import ObjectNotFound, OutcomeUnknown, Unavailable
from memolith.ports.index import Found, Query, RowMap
from memolith.ports.objects import StoredObject
from tests.simulation.tasks import Scheduler, Task

if TYPE_CHECKING:
    from tests.simulation.sites import Site

T = TypeVar("T")
BIRTH_US = 1_790_000_000_000_000

LIVES_S = {
    "writer": 29.0,
    "peerreader": 29.0,
    "peerwriter": 29.0,
    "indexer": 60.0,
    "eraser": 60.0,
    "reconciler": 60.0,
    "packer": 60.0,
}
"""How long an invocation of each function may last before it is killed."""

LONGEST_LIFE_S = 60.0

SLOW_PASSAGES = 0.4
REPEATED_AFTER_S = (0.0, 0.05, 5.0)
"""How long after the first copy of an invocation the second comes, at most."""


class SkewedClock:
    """`ports.clock.Clock` of one region: off by `skew_us`, and now and then it stands still."""

    def __init__(self, scheduler: Scheduler, skew_us: int, pace: float = 1.0) -> None:
        """`pace` is how fast its ticks go; they are never set, and do not stand still within an invocation."""
        self.scheduler = scheduler
        self.skew_us = skew_us
        self.pace = pace
        self.highest_us = 0
        self.processes_us: list[int] = []
        self._frozen: tuple[int, int] | None = None

    def now_us(self, skew_us: int = 0) -> int:
        """What it shows, or a process's that is off by `skew_us`; `highest_us` is the most that was ever shown."""
        shown_us = self._shown_us() + skew_us
        self.highest_us = max(self.highest_us, shown_us)
        return shown_us

    def highest_shown_us(self) -> int:
        """The most that the clock of any process of the region has shown up to now, now included."""
        self.now_us(max(self.processes_us, default=0))
        return self.highest_us

    def _shown_us(self) -> int:
        if self._frozen is not None and self.scheduler.now_us < self._frozen[1]:
            return self._frozen[0]
        return BIRTH_US + self.scheduler.now_us + self.skew_us

    def ticks_us(self) -> int:
        return round(self.scheduler.now_us * self.pace)

    def freeze(self, seconds: float) -> None:
        """Stands still for so long, then leaps."""
        self._frozen = (self.now_us(), self.scheduler.now_us + round(seconds * 1_000_000))

    def step(self, seconds: float) -> None:
        """Leaps, forwards or backwards, as a clock does that is set."""
        self.skew_us += round(seconds * 1_000_000)

    def pause(self, seconds: float) -> None:
        self.scheduler.sleep(seconds)


class ProcessClock:
    """`ports.clock.Clock` of one process: its region's, and off by `skew_us`; its ticks count from where they like."""

    def __init__(self, region: SkewedClock, skew_us: int, birth_us: int) -> None:
        self._region = region
        self._skew_us = skew_us
        self._birth_us = birth_us
        region.processes_us.append(skew_us)

    def now_us(self) -> int:
        """What it shows."""
        return self._region.now_us(self._skew_us)

    def ticks_us(self) -> int:
        return self._birth_us + self._region.ticks_us()

    def pause(self, seconds: float) -> None:
        self._region.pause(seconds)


class AnyOrder:
    """`ports.parallel.Parallel`: the tasks one after the other, in an order of chance's choosing."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        results: dict[int, T] = {}
        failures: list[Exception] = []
        for number in self._chance.sample(range(len(tasks)), len(tasks)):
            try:
                results[number] = tasks[number]()
            except Exception as error:  # noqa: BLE001 - raised below, once every task has run
                failures.append(error)
        if failures:
            raise failures[0]
        return [results[number] for number in range(len(tasks))]

    def begin(self, task: Callable[[], T]) -> Callable[[], T]:
        return cache(task)


class TornIndex(MemoryIndex):
    """A batch, or a page, is not one moment: each row is consistent by itself, and others write in between.

    `tear` is called in the middle of it, and may give way.

    Source: DynamoDB developer guide, "Isolation levels for transactions": BatchGetItem and Query are not serializable
    as a unit.
    """

    def __init__(
        self, database: MemoryDatabase, chance: random.Random, tear: Callable[[], None], generation: int = 1
    ) -> None:
        super().__init__(database, generation)
        self._made_of = (database, chance, tear)
        self._chance = chance
        self._tear = tear

    def at(self, generation: int) -> TornIndex:
        return TornIndex(*self._made_of, generation)

    def read(self, keys: Sequence[RowKey]) -> RowMap:
        if len(keys) < 2:
            return super().read(keys)
        order = self._chance.sample(list(keys), len(keys))
        middle = self._chance.randrange(1, len(keys))
        found: dict[RowKey, Attributes] = dict(super().read(order[:middle]))
        self._tear()
        return {**found, **super().read(order[middle:])}

    def query(self, query: Query) -> Sequence[Found]:
        if query.limit < 2:
            return super().query(query)
        middle = self._chance.randrange(1, query.limit)
        first = list(super().query(replace(query, limit=middle)))
        if len(first) < middle:
            return first
        self._tear()
        return [*first, *super().query(replace(query, after=first[-1].sort_key, limit=query.limit - middle))]


class TornErasableObjects(MemoryErasableObjects):
    """Erasing is a put, and then deletions: copies arrive, and erasers die, in between."""

    def __init__(self, buckets: MemoryBuckets, region: str, tear: Callable[[], None]) -> None:
        super().__init__(buckets, region)
        self._here = (buckets, region)
        self._tear = tear

    def erase(self, key: str, body: bytes, metadata: Mapping[str, str]) -> int:
        buckets, region = self._here
        if not buckets.versions(region, key):
            raise ObjectNotFound(key)
        buckets.put(region, StoredObject(key, body, dict(metadata), len(body)), only_if_absent=False)
        blank = buckets.versions(region, key)[-1].version_id
        self._tear()
        return buckets.delete_older(region, key, blank)


@dataclass(frozen=True, slots=True)
class Passage:
    """What becomes of one invocation between regions, in seconds; `again_s` is None where it arrives once."""

    there_s: float = 0.0
    back_s: float = 0.0
    again_s: float | None = None
    answered_by_twin: bool = False


def drawn_passage(chance: random.Random, passing_s: float, repeated: float) -> Passage:
    """Some are under way for up to `passing_s`, there or back; of the share `repeated` a second copy arrives."""
    if not (passing_s or repeated):
        return Passage()
    there_s, back_s = (chance.random() * passing_s if chance.random() < SLOW_PASSAGES else 0.0 for _ in range(2))
    if chance.random() >= repeated:
        return Passage(there_s, back_s)
    again_s = there_s + chance.choice(REPEATED_AFTER_S) * chance.random()
    return Passage(there_s, back_s, again_s, answered_by_twin=chance.random() < 0.3)


class TaskPeers:
    """`ports.peers.Peers`: the invoked function is a task of its own, which lives on when its caller dies.

    `patience_s` says how long a caller waits this time; None is for ever. `passing` says what becomes of one request:
    how long it is under way, how long its answer is, and, where it arrives twice, how long the other copy is.

    Attributes:
        struck: how often an invocation was "repeated", how often "repeated while it ran", and how often a call came to
            a region that was the home no more.
        twice: of each task whose write was passed on, and arrived twice, the ids that its version may come to have.
        decided_by: of each task whose write was passed on, the region that took it last, as its home.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        patience_s: Callable[[], float | None],
        passing: Callable[[], Passage],
    ) -> None:
        self._scheduler = scheduler
        self._patience_s = patience_s
        self._passing = passing
        self.sites: dict[str, Site] = {}
        self.struck: Counter[str] = Counter()
        self.twice: dict[Task | None, frozenset[str]] = {}
        self.decided_by: dict[Task | None, str] = {}

    def call(self, region: str, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        site = self.sites.get(region)
        if site is None:
            raise Unavailable(f"no function {function} in {region}")
        passage = self._passing()
        task = self._invoke(site, function, payload, passage.there_s)
        if passage.again_s is not None:
            if function == "peerwriter":
                self.twice[self._scheduler.current] = _version_ids(payload)
            twin = self._invoke(site, function, payload, passage.again_s, task)
            task = twin if passage.answered_by_twin else task
        if not self._scheduler.wait(task, self._patience_s()):
            raise OutcomeUnknown(f"{function} in {region} did not answer in time")
        if passage.back_s:
            self._scheduler.sleep(passage.back_s)
        if task.error is not None:
            raise OutcomeUnknown(f"{function} in {region} failed: {type(task.error).__name__}")
        answer: Mapping[str, Any] = json.loads(json.dumps(task.result))
        self.struck["the home moved while a call was under way to it"] += "elsewhere" in answer
        if payload.get("call") in ("write", "import") and "elsewhere" not in answer:
            self.decided_by[self._scheduler.current] = region
        return answer

    def _invoke(
        self, site: Site, function: str, payload: Mapping[str, Any], delay_s: float, twin: Task | None = None
    ) -> Task:
        """The function begins after `delay_s`; `twin` is the task of the same request that was there before."""
        request = json.loads(json.dumps(payload))

        def run() -> Mapping[str, Any]:
            if twin is not None:
                self.struck["repeated"] += 1
                self.struck["repeated while it ran"] += twin.greenlet is not None and not twin.done
            return site.use(lambda sandbox: sandbox.direct(function, request))

        return self._scheduler.spawn(f"{function} in {site.name}", run, delay_s, life_s=LIVES_S[function])


def _version_ids(payload: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids that the version of a write that is passed on may come to have; none for what makes no version."""
    if payload.get("call") != "write":
        return frozenset()
    command = {name: value for name, value in payload.items() if name not in ("call", "workspace_id")}
    return frozenset(version_ids(from_payload(command)))
