"""A whole deployment in one process: the real use cases of every region over adapters in memory.

Nothing moves by itself: `deliver` plays the network, copying what was put and waking the indexers, all at once or one
event at a time. What stands at every port call is the caller's to choose (`adapters.layered`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import (
    InterceptedErasableObjects,
    InterceptedIndex,
    InterceptedObjects,
    InterceptedPeers,
    InterceptedQueue,
    Interceptor,
)
from memolith.adapters.layered.former import WithoutFormerRegions
from memolith.adapters.layered.translated import translated, translated_erasable, translated_queue
from memolith.adapters.memory import (
    ManualClock,
    MemoryBuckets,
    MemoryDatabase,
    MemoryErasableObjects,
    MemoryIndex,
    MemoryObjects,
    MemoryPeers,
    MemoryQueue,
    MemorySealing,
    MemorySigningKeys,
    MemoryTables,
    PutEvent,
    RecordingMetrics,
    SeededRandomness,
)
from memolith.adapters.memory.parallel import OneByOne
from memolith.adapters.models.extractive import ExtractiveModels
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.api.service import Memolith
from memolith.app.erasure.service import Erasures, make_erasures
from memolith.app.homes.service import Homes, make_homes
from memolith.app.indexer.indexer import Indexer
from memolith.app.indexer.service import make_indexer
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import Credentials, RequestContext
from memolith.app.replication.reconciler import Reconciler
from memolith.app.replication.service import make_reconciler
from memolith.app.safety.deep_scan import DeepScan, DeepScanner, DeepScanResult, make_deep_scan
from memolith.app.safety.write_gate import LettingAllThrough, TextScanner
from memolith.app.search.packer import Packer, make_packer
from memolith.core.errors import MemolithError
from memolith.core.rows.base import mark_key
from memolith.core.rows.control import CompletenessRow, ControlRow
from memolith.core.tables import TABLES
from memolith.ports.clock import Clock
from memolith.ports.guardrail import Guardrail
from memolith.ports.index import Change
from memolith.ports.parallel import Parallel
from memolith.ports.rerank import Reranker
from memolith.ports.vectors import Encoder
from memolith.wire.rpc import (
    eraser_calls,
    homes_calls,
    indexer_calls,
    keys_calls,
    packer_calls,
    peerreader_calls,
    peerwriter_calls,
)

T = TypeVar("T")
WORKSPACE = "wrkspc_default"


def straight(call: PortCall, act: Callable[[], T]) -> T:
    """The interceptor that does nothing."""
    return act()


@dataclass(slots=True)
class Site:
    """One region of the cloud."""

    region: Region
    memolith: Memolith
    indexing: Indexer
    reconciling: Reconciler
    homes: Homes
    database: MemoryDatabase
    inspections: MemoryQueue
    inspecting: DeepScan | None
    packings: MemoryQueue
    packing: Packer

    def direct(self, function: str, payload: Mapping[str, Any], erasures: Erasures) -> Mapping[str, Any]:
        if function == "peerwriter":
            return peerwriter_calls(self.memolith)(payload)
        if function == "peerreader":
            return peerreader_calls(self.memolith)(payload)
        if function == "keys":
            return keys_calls(self.memolith.api_keys)(payload)
        if function == "indexer":
            return indexer_calls(self.indexing)(payload)
        if function == "packer":
            return packer_calls(self.packing)(payload)
        if function == "reconciler":
            return homes_calls(self.homes)(payload)
        return eraser_calls(erasures)(payload)


class Cloud:
    """Regions, what travels between them, and a key to each."""

    def __init__(
        self,
        regions: Sequence[str] = ("us-east-1", "eu-west-1"),
        seed: int = 0,
        interceptor: Interceptor = straight,
        clock: Clock | None = None,
        parallel: Parallel | None = None,
        memories_per_store: int = 10_000,
        scanner: TextScanner | None = None,
        lagging: bool = False,
        deep_scanner: DeepScanner | None = None,
        guardrail: Guardrail | None = None,
        packs_by_events: bool = False,
        erase_delay_us: int = 0,
        encoder: Encoder | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        """Without a `deep_scanner` nobody looks again, and what the indexers pass on is not kept.

        With `packs_by_events`, which stores' packs are behind is noted; `pack_all` then makes them.
        """
        self._packs_by_events, self._erase_delay_us = packs_by_events, erase_delay_us
        self._encoder, self._reranker = encoder, reranker
        self.regions = tuple(regions)
        self._deep_scanner, self._guardrail = deep_scanner, guardrail
        self.clock = clock or ManualClock()
        self.randomness = SeededRandomness(seed)
        self.metrics = RecordingMetrics()
        self.buckets = MemoryBuckets(self.regions)
        self.buckets.observers.append(self._put)
        self.peers = MemoryPeers()
        self.signing = MemorySigningKeys({"k1": b"1" * 32})
        self.seal_keys = MemorySealing.keys_of(self.regions)
        self.pending: list[PutEvent] = []
        self.sites: dict[str, Site] = {}
        for region in self.regions:
            self._open(
                region, interceptor, parallel or OneByOne(), memories_per_store, lagging, scanner or LettingAllThrough()
            )

    def _open(
        self,
        name: str,
        interceptor: Interceptor,
        parallel: Parallel,
        memories_per_store: int,
        lagging: bool,
        scanner: TextScanner,
        complete: bool = True,
    ) -> None:
        database = MemoryDatabase(lagging=lagging)
        index = MemoryIndex(database)
        control = ControlRow(serving=1, complete=complete).to_attributes()
        index.commit([Change(ControlRow.KEY, None, control)])
        region = translated(
            Region(
                name=name,
                regions=self.regions,
                objects=InterceptedObjects(MemoryObjects(self.buckets, name), name, interceptor),
                index=InterceptedIndex(index, name, interceptor),
                clock=self.clock,
                randomness=self.randomness,
                metrics=self.metrics,
                peers=InterceptedPeers(self.peers, name, interceptor),
                parallel=parallel,
                memories_per_store=memories_per_store,
                erase_delay_us=self._erase_delay_us,
            )
        )
        intercepted = InterceptedErasableObjects(MemoryErasableObjects(self.buckets, name), name, interceptor)
        erasable = translated_erasable(intercepted, name)
        packs, packings = SqlitePacks(self._encoder), MemoryQueue()
        erasures = make_erasures(region, erasable, packs)
        deep, inspections = self._deep_scanner, MemoryQueue()
        inspecting = None if deep is None else make_deep_scan(region, deep, self._guardrail)
        passed_on = None if deep is None else translated_queue(InterceptedQueue(inspections, name, interceptor), name)
        noted = translated_queue(InterceptedQueue(packings, name, interceptor), name) if self._packs_by_events else None
        indexing, reconciling = (
            make_indexer(region, None, passed_on, noted),
            make_reconciler(region, self.sealing_of(name)),
        )
        sealing = self.sealing_of(name)
        memolith = Memolith(region, scanner, self.signing, packs, ExtractiveModels(), self._reranker, sealing)
        site = Site(
            region,
            memolith,
            indexing,
            reconciling,
            make_homes(region),
            database,
            inspections,
            inspecting,
            packings,
            make_packer(region, packs, packings),
        )
        self.sites[name] = site
        for function in ("peerreader", "peerwriter", "keys", "indexer", "eraser", "packer", "reconciler"):
            self.peers.register(name, function, _function(site, function, erasures))
        site.reconciling.tick()

    def sealing_of(self, region: str) -> MemorySealing:
        """The keys that seal checkpoints, as this region has them."""
        return MemorySealing(self.seal_keys, region)

    def tables(self, region: str) -> MemoryTables:
        return MemoryTables(self.sites[region].database)

    def _put(self, event: PutEvent) -> None:
        self.pending.append(event)

    def claim_complete(self, region: str, until_us: int) -> None:
        """Has the region say that it has all that was acknowledged anywhere until then; what is so is the caller's."""
        index = self.sites[region].region.index
        claimed = {home: str(until_us) for home in self.regions}
        row = CompletenessRow(mark="claimed", until=claimed, before=claimed, folded={})
        rows = {CompletenessRow.key(index.generation): row.to_attributes()}
        rows |= {mark_key(table.name): {"mark": row.mark} for table in TABLES if table.generational}
        index.commit([Change(key, None, after, unconditional=True) for key, after in rows.items()])

    # ---- the network --------------------------------------------------------------------------------------------

    def deliver(self) -> None:
        """Copies, indexes and looks again until nothing is under way."""
        while self.pending or any(site.inspections.messages for site in self.sites.values()):
            while self.pending:
                self.deliver_one(0)
            for region in self.regions:
                self.inspect_all(region)

    def remove(self, region: str) -> None:
        """The region is gone, bucket and functions, and the others know that it is a former one."""
        self.regions = tuple(other for other in self.regions if other != region)
        del self.sites[region], self.buckets._buckets[region]
        self.peers.forget(region)
        for site in self.sites.values():
            site.region.regions = self.regions
            site.region.former = (*site.region.former, region)
            site.region.objects = WithoutFormerRegions(site.region.objects, site.region.former)

    def bring_back(self, region: str, interceptor: Interceptor = straight) -> None:
        """A region that was removed is one again: with an empty bucket, and empty tables that say so of themselves."""
        self.regions = (region, *self.regions)
        self.buckets._buckets[region] = MemoryBuckets([region])._buckets[region]
        for site in self.sites.values():
            site.region.regions = self.regions
            site.region.former = tuple(other for other in site.region.former if other != region)
            assert isinstance(site.region.objects, WithoutFormerRegions)
            site.region.objects = site.region.objects._objects
        self._open(region, interceptor, OneByOne(), 10_000, False, LettingAllThrough(), complete=False)

    def pack_all(self) -> None:
        """The packers take every message that waits, in every region."""
        for site in self.sites.values():
            for message in site.packings.take(1_000):
                noted = json.loads(message)
                site.packing.pack(noted["pack"], noted["since"])

    def unwatched(self) -> None:
        """From now on nobody looks again, and nothing is passed on for it."""
        for site in self.sites.values():
            site.indexing = make_indexer(site.region)

    def inspect_all(self, region: str) -> list[DeepScanResult]:
        """The scanner takes every message that waits; what became of each. Raises as `DeepScan.inspect`."""
        site, became = self.sites[region], []
        for message in site.inspections.take(1_000):
            if site.inspecting is not None:
                became.append(site.inspecting.inspect(json.loads(message)["inspect"]))
        return became

    def deliver_one(self, position: int) -> None:
        """Plays one event: its copies are made, and its region's indexer is woken."""
        event = self.pending.pop(position)
        if not event.replica and event.key.startswith(f"{event.region}/"):
            for other in self.regions:
                if other != event.region:
                    self.buckets.replicate(event, other)
        try:
            self.sites[event.region].indexing.object_arrived(event.key, object_version=event.version_id)
        except MemolithError:
            self.pending.append(event)

    # ---- callers ------------------------------------------------------------------------------------------------

    def key(self, scope: str = "admin", workspace_id: str = WORKSPACE, region: str | None = None, **limits: Any) -> str:
        """A new API key, known in every region."""
        answer = keys_calls(self.sites[region or self.regions[0]].memolith.api_keys)(
            {"call": "keys.create", "workspace_id": workspace_id, "name": "test", "scope": scope, **limits}
        )
        self.deliver()
        return str(answer["api_key"])

    def call(self, api_key: str) -> RequestContext:
        """What a request with this key presents."""
        _, _, workspace, key, _ = api_key.split("-", 4)
        digest = hashlib.sha256(api_key.encode()).hexdigest()
        return RequestContext(Credentials(f"wrkspc_{workspace}", f"apikey_{key}", digest))

    def rows(self, region: str, table: str) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Every row of a table, as it stands, for comparisons between regions."""
        site = self.sites[region]
        order = site.database.table(table, site.region.index.generation).order
        mark = mark_key(table)
        return {key: row for key, (_, _, row) in order.rows.items() if key != (mark.pk, mark.sk)}


def _function(site: Site, function: str, erasures: Erasures) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    return lambda payload: site.direct(function, payload, erasures)
