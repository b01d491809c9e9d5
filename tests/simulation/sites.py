"""One region of a world: its tables, its clock, and the sandboxes in which its functions run."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from memolith.adapters.layered import (
    InterceptedErasableObjects,
    InterceptedIndex,
    InterceptedObjects,
    InterceptedPeers,
    Interceptor,
)
from memolith.adapters.layered.translated import translated, translated_erasable
from memolith.adapters.memory import (
    MemoryBuckets,
    MemoryDatabase,
    MemoryIndex,
    MemoryObjects,
    MemorySealing,
    MemorySigningKeys,
    RecordingMetrics,
    SeededRandomness,
)
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.api import service
from memolith.app.erasure import service as erasure_service
from memolith.app.homes import service as homes_service
from memolith.app.index.resumable_scan import ScanProgress
from memolith.app.indexer import rebuild
from memolith.app.indexer import service as indexer_service
from memolith.app.kernel.no_models import NO_MODELS
from memolith.app.kernel.no_packs import NO_PACKS
from memolith.app.kernel.object_events import event_objects
from memolith.app.kernel.region import Region
from memolith.app.replication import service as replication_service
from memolith.app.replication.compare_listing import ComparedPage
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.app.search import packer
from memolith.core.rows.base import RowKey
from memolith.core.rows.control import CompletenessRow, ControlRow
from memolith.core.tables import TABLES
from memolith.ports.errors import Unavailable
from memolith.ports.index import Change
from memolith.ports.model import Models
from memolith.ports.objects import ErasableObjects
from memolith.ports.packs import Packs
from memolith.ports.peers import Peers
from memolith.ports.queue import Queue
from memolith.wire.rpc import eraser_calls, homes_calls, indexer_calls, packer_calls, peerreader_calls, peerwriter_calls
from tests.simulation.ports import AnyOrder, ProcessClock, SkewedClock, TornErasableObjects, TornIndex

T = TypeVar("T")
BATCH_MAX_US = 1_000_000
"""Longer than a batch of reads takes here, however slow its task is."""


class Sandbox:
    """The memory of one function's process: whatever the use cases keep between two calls lives and dies with it."""

    def __init__(
        self,
        region: Region,
        erasable: ErasableObjects,
        day_us: int,
        queue: Queue,
        packs: Packs,
        models: Models = NO_MODELS,
    ) -> None:
        self.region = region
        self.memolith = service.Memolith(
            region, LettingAllThrough(), MemorySigningKeys({"k1": b"1" * 32}), packs, models
        )
        self.packing = packer.make_packer(region, packs)
        self.indexing = indexer_service.make_indexer(region)
        self.batches = rebuild.BatchProjector(region, self.indexing)
        self.erasures = erasure_service.make_erasures(region, erasable, packs, day_us)
        self.reconciling = replication_service.make_reconciler(
            region, MemorySealing(MemorySealing.keys_of(region.regions), region.name), BATCH_MAX_US
        )
        self.homes = homes_service.make_homes(region)
        compare = replication_service.make_comparisons(region, queue)
        self.comparisons: list[Callable[[int], ComparedPage | ScanProgress]] = [
            lambda _: compare.listing.divide(2),
            partial(compare.listing.run_part, 1),
            partial(compare.listing.run_part, 2),
            compare.checkpoints.run,
            compare.rows.run,
        ]

    def message(self, text: str) -> None:
        """What the indexer does with one message of its queue: an object's key, or what a use case sent."""
        if not text.startswith("{"):
            self.indexing.object_arrived(text)
            return
        payload = json.loads(text)
        if "fold_again" in payload:
            self.indexing.object_arrived(payload["fold_again"]["key"], paths_too=True)
        elif "Records" in payload:
            for key, version in event_objects(payload):
                self.indexing.object_arrived(key, object_version=version)
        else:
            for malformed in self.batches.fold(payload["rebuild"]):
                raise malformed

    def compare(self, budget_us: int) -> tuple[bool, int]:
        """One invocation of the daily comparisons: whether all of them are through, and what they had mended."""
        compared = [compare(self.region.clock.now_us() + budget_us) for compare in self.comparisons]
        return all(one.finished for one in compared), sum(one.repaired for one in compared)

    def direct(self, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the handlers of the functions do with a direct invocation."""
        if function == "peerwriter":
            return peerwriter_calls(self.memolith)(payload)
        if function == "peerreader":
            return peerreader_calls(self.memolith)(payload)
        if function == "indexer":
            return indexer_calls(self.indexing)(payload)
        if function == "packer":
            return packer_calls(self.packing)(payload)
        if function == "reconciler":
            return homes_calls(self.homes)(payload)
        return eraser_calls(self.erasures)(payload)


class Site:
    """One region. A sandbox serves one call at a time, then waits for the next; one that crashed is gone."""

    def __init__(
        self,
        name: str,
        regions: Sequence[str],
        buckets: MemoryBuckets,
        clock: SkewedClock,
        chance: random.Random,
        interceptor: Interceptor,
        peers: Peers,
        lagging: bool,
        tear: Callable[[], None],
        day_us: int,
        processes: float = 0.0,
        apart_s: float = 0.0,
        packs: bool = False,
        joins: bool = False,
        hold: Callable[[], None] | None = None,
        remembered_s: float = 0.0,
        models: Models = NO_MODELS,
    ) -> None:
        """`processes`, `apart_s` and `packs` are those of `Options`; who `joins` knows nothing, and says so.

        `hold` lasts for as long as one transaction holds its rows; `remembered_s` is that of `Options`.
        """
        self._remembered_us = round(remembered_s * 1_000_000)
        self._packs = packs
        self._models = models
        self.name = name
        self.queue: Queue = _NoQueue()
        self._processes = processes
        self._apart_s = apart_s
        self._day_us = day_us
        self.clock = clock
        self.database = MemoryDatabase(lagging=lagging, hold=hold)
        self.randomness = SeededRandomness(chance.randrange(1 << 62))
        self._regions = tuple(regions)
        self._buckets = buckets
        self._chance = chance
        self._interceptor = interceptor
        self._peers = peers
        self._idle: list[Sandbox] = []
        self._tear = tear
        control = ControlRow(serving=1, complete=not joins).to_attributes()
        MemoryIndex(self.database).commit([Change(ControlRow.KEY, None, control)])

    def use(self, call: Callable[[Sandbox], T]) -> T:
        """Runs one call in a sandbox."""
        is_new = not self._idle or (self._processes and self._chance.random() < self._processes)
        sandbox = self.open() if is_new else self._idle.pop(self._chance.randrange(len(self._idle)))
        try:
            result = call(sandbox)
        except Exception:
            self._idle.append(sandbox)
            raise
        self._idle.append(sandbox)
        return result

    def open(self, database: MemoryDatabase | None = None, buckets: MemoryBuckets | None = None) -> Sandbox:
        """A new sandbox, with the tables that its deployment names; it finds out by itself if others serve.

        Its objects are those of its world, or in other `buckets`.
        """
        name, around = self.name, self._interceptor
        region = translated(
            Region(
                name=name,
                regions=self._regions,
                objects=InterceptedObjects(MemoryObjects(buckets or self._buckets, name), name, around),
                index=InterceptedIndex(TornIndex(database or self.database, self._chance, self._tear), name, around),
                clock=self._clock(),
                randomness=self.randomness,
                metrics=RecordingMetrics(),
                peers=InterceptedPeers(self._peers, name, around),
                parallel=AnyOrder(self._chance),
                erase_delay_us=0,
                control_age_us=self._remembered_us,
            )
        )
        torn = TornErasableObjects(self._buckets, name, self._tear)
        erasable = translated_erasable(InterceptedErasableObjects(torn, name, around), name)
        packs = SqlitePacks() if self._packs else NO_PACKS
        return Sandbox(region, erasable, self._day_us, self.queue, packs, self._models)

    def _clock(self) -> SkewedClock | ProcessClock:
        """Of a new process: its region's, or one of its own where the region's processes do not agree."""
        if not self._apart_s:
            return self.clock
        return ProcessClock(
            self.clock,
            round(self._chance.uniform(-1, 1) * self._apart_s * 1_000_000),
            self._chance.randrange(1 << 40),
        )

    def wipe(self) -> None:
        """Every row of the tables that serve is gone, and the region says that it is not complete."""
        index = MemoryIndex(self.database)
        attributes = index.read([ControlRow.KEY])[ControlRow.KEY]
        control = ControlRow.from_attributes(attributes)
        self.database.drop(control.serving)
        self.database.make(control.serving)
        index.commit([Change(ControlRow.KEY, attributes, replace(control, complete=False).to_attributes())])

    def empty(self) -> None:
        """Every row of the tables that serve is gone, or of one of them; nobody is told, the control row stands."""
        serving = self.serving
        names = [table.name for table in TABLES if table.generational]
        chosen = names if self._chance.random() < 0.7 else [self._chance.choice(names)]
        with self.database.lock:
            for name in chosen:
                for pk, sk in list(self.database.table(name, serving).order.rows):
                    self.database.put(self.database.table(name, serving), RowKey(name, pk, sk), None)
            self.database.settle()

    def is_marked(self) -> bool:
        """Whether the tables that serve have been marked, so that their emptying can be noticed."""
        return bool(MemoryIndex(self.database).read([CompletenessRow.key(self.serving)]))

    def lose_journal(self) -> None:
        """Every row of the journal is gone."""
        with self.database.lock:
            table = self.database.table("journal", 0)
            for pk, sk in list(table.order.rows):
                self.database.put(table, RowKey("journal", pk, sk), None)

    def control(self) -> ControlRow | None:
        """Which generation of tables serves."""
        found = MemoryIndex(self.database).read([ControlRow.KEY]).get(ControlRow.KEY)
        return None if found is None else ControlRow.from_attributes(found)

    @property
    def serving(self) -> int:
        """The generation of tables that serves."""
        control = self.control()
        return 1 if control is None else control.serving


class _NoQueue:
    """`ports.queue.Queue` of a region that has no network yet."""

    def send(self, messages: Sequence[str]) -> None:
        raise Unavailable("no queue yet")
