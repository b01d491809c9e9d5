"""One region of a world: its tables, its clock, and the sandboxes in which its functions run."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from cairn.adapters.layered import (
    InterceptedErasableObjects,
    InterceptedIndex,
    InterceptedObjects,
    InterceptedPeers,
    Interceptor,
)
from cairn.adapters.memory import (
    MemoryBuckets,
    MemoryDatabase,
    MemoryIndex,
    MemoryObjects,
    RecordingMetrics,
    SeededRandomness,
)
from cairn.app import cairn, erasures, homes, indexing, rebuilding, reconciling
from cairn.app.no_packs import NO_PACKS
from cairn.app.region import Region
from cairn.app.scanning import LettingAllThrough
from cairn.core.rows import ControlRow, RowKey
from cairn.ports.index import Change
from cairn.ports.peers import Peers
from tests.simulation.ports import AnyOrder, SkewedClock, TornErasableObjects, TornIndex

T = TypeVar("T")
SETTLED_US = 1_000_000
"""Longer than a batch of reads takes here, however slow its task is."""


class Sandbox:
    """The memory of one function's process: whatever the use cases keep between two calls lives and dies with it."""

    def __init__(self, region: Region, erasable: InterceptedErasableObjects, day_us: int) -> None:
        self.region = region
        self.cairn = cairn.Cairn(region, LettingAllThrough())
        self.indexing = indexing.Indexing(region)
        self.batches = rebuilding.BatchFolder(region, self.indexing)
        self.erasures = erasures.Erasures(region, erasable, NO_PACKS, day_us)
        self.reconciling = reconciling.Reconciling(region, SETTLED_US)
        self.homes = homes.Homes(region)

    def message(self, text: str) -> None:
        """What the indexer does with one message of its queue: an object's key, or a batch of a rebuild."""
        if not text.startswith("{"):
            self.indexing.object_arrived(text)
            return
        for malformed in self.batches.fold(json.loads(text)["rebuild"]):
            raise malformed

    def direct(self, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the handlers of the functions do with a direct invocation."""
        if function == "writer":
            return self.cairn.direct(payload)
        if function == "reader":
            return self.cairn.read_direct(payload)
        if function == "indexer":
            return self.indexing.direct(payload)
        if function == "reconciler":
            return self.homes.direct(payload)
        return self.erasures.direct(payload)


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
    ) -> None:
        self.name = name
        self._day_us = day_us
        self.clock = clock
        self.database = MemoryDatabase(lagging=lagging)
        self.randomness = SeededRandomness(chance.randrange(1 << 62))
        self._regions = tuple(regions)
        self._buckets = buckets
        self._chance = chance
        self._interceptor = interceptor
        self._peers = peers
        self._idle: list[Sandbox] = []
        self._tear = tear
        control = ControlRow(serving=1, complete=True).to_attributes()
        MemoryIndex(self.database).commit([Change(ControlRow.KEY, None, control)])

    def use(self, call: Callable[[Sandbox], T]) -> T:
        """Runs one call in a sandbox."""
        sandbox = self._idle.pop(self._chance.randrange(len(self._idle))) if self._idle else self.open()
        try:
            result = call(sandbox)
        except Exception:
            self._idle.append(sandbox)
            raise
        self._idle.append(sandbox)
        return result

    def open(self, database: MemoryDatabase | None = None) -> Sandbox:
        """A new sandbox, with the tables that its deployment names; it finds out by itself if others serve."""
        name, around = self.name, self._interceptor
        region = Region(
            name=name,
            regions=self._regions,
            objects=InterceptedObjects(MemoryObjects(self._buckets, name), name, around),
            index=InterceptedIndex(TornIndex(database or self.database, self._chance, self._tear), name, around),
            clock=self.clock,
            randomness=self.randomness,
            metrics=RecordingMetrics(),
            peers=InterceptedPeers(self._peers, name, around),
            parallel=AnyOrder(self._chance),
        )
        erasable = InterceptedErasableObjects(TornErasableObjects(self._buckets, name, self._tear), name, around)
        return Sandbox(region, erasable, self._day_us)

    def wipe(self) -> None:
        """Every row of the tables that serve is gone, and the region says that it is not complete."""
        index = MemoryIndex(self.database)
        attributes = index.read([ControlRow.KEY])[ControlRow.KEY]
        control = ControlRow.from_attributes(attributes)
        self.database.drop(control.serving)
        self.database.make(control.serving)
        index.commit([Change(ControlRow.KEY, attributes, replace(control, complete=False).to_attributes())])

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
