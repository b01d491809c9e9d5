"""A whole deployment of one region in one process, over one folder: what ``memolith serve`` runs.

    ROOT/objects/       the truth: one file a version, written once
    ROOT/index-….sqlite the tables; may be deleted while nothing runs, and is then made anew from the objects
    ROOT/queue.sqlite   keys to look at, each on disk before it is put; versions to be scanned after their commit
    ROOT/scanner.hsdb   the scanner's patterns, compiled for this machine
    ROOT/key            the API key of the folder's owner
    ROOT/signing.json   the keys that sign the tokens of sessions
    ROOT/set-aside/     broken files that a start replaced, until something is erased

    ~/.config/memolith/ the key that seals checkpoints, and which one was sealed last: outside the folder on purpose

Reader, writer, peerwriter, eraser, indexer and scanner are the same use cases as in Lambda. Several processes may serve
one folder: objects, tables and queue are shared between them, and whatever a dead one left in the queue another one
folds, or the next.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memolith.adapters.encoders import NONE, encoder_of
from memolith.adapters.layered.translated import translated, translated_erasable
from memolith.adapters.local import (
    LocalBucket,
    LocalErasableObjects,
    LocalIndex,
    LocalObjects,
    LocalQueue,
    LocalSealing,
    LocalSealMemory,
    LocalSigningKeys,
)
from memolith.adapters.local.database import Database
from memolith.adapters.local.files import locked, make_folder, shared, write_new
from memolith.adapters.local.index import LocalTables
from memolith.adapters.memory import MemoryPeers
from memolith.adapters.models.extractive import ExtractiveModels
from memolith.adapters.sqlite import SqlitePacks
from memolith.adapters.system import SystemClock, SystemRandomness, ThreadParallel, Unmeasured
from memolith.app.api.service import Memolith
from memolith.app.auth.api_keys import ApiKeys
from memolith.app.auth.key_searches import KeySearches
from memolith.app.erasure.service import make_erasures
from memolith.app.indexer.rebuild import BatchProjector
from memolith.app.indexer.service import make_indexer
from memolith.app.kernel.region import Region
from memolith.app.replication.due_proposals import DueProposals
from memolith.app.replication.service import make_checkpoints
from memolith.app.safety.deep_scan import DeepScanner, make_deep_scan
from memolith.app.safety.write_gate import TextScanner
from memolith.core.errors import Busy, Damaged, MemolithError, Unavailable
from memolith.core.limits import ERASE_DELAY_DAYS_DEFAULT, LAPTOP_DRAIN_S, LAPTOP_LEASE_US, MEMORIES_PER_STORE_DEFAULT
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import sha256_of
from memolith.core.objects.search_pack import REFRESH_DELAY_S
from memolith.core.retention import DAY_US
from memolith.core.rows.base import mark_key
from memolith.core.rows.control import CompletenessRow, ControlRow
from memolith.core.tables import TABLES
from memolith.core.times import rfc3339
from memolith.entry.laptop_dreamer import LaptopDreamer
from memolith.entry.laptop_files import (
    SERVING,
    forget_set_aside,
    index_path,
    open_databases,
    remove_others,
    require_alone,
    starting,
)
from memolith.entry.laptop_packing import LaptopPacker
from memolith.entry.laptop_rebuild import make_index
from memolith.entry.laptop_rescan import LaptopRescan
from memolith.entry.laptop_worker import Delayed, LaptopConsumer, LaptopWorker
from memolith.entry.settings import seal_folder
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness
from memolith.ports.index import Change
from memolith.ports.metrics import Metrics
from memolith.ports.model import Models
from memolith.ports.rerank import Reranker
from memolith.ports.vectors import Encoder
from memolith.wire import auth
from memolith.wire.event_streams import LiveStreams
from memolith.wire.http import HttpApi
from memolith.wire.routes.table import KEY_ROUTES, ROUTES
from memolith.wire.rpc import Rpc, eraser_calls, indexer_calls, packer_calls, peerwriter_calls

_log = logging.getLogger(__name__)

REGION = "laptop"
"""Not ``local``: what begins with that is outside the index in every region
(`memolith.core.object_keys.LOCAL_PREFIX`).
"""

WORKSPACE = "wrkspc_default"
ERASURES = ("erased", "done", "ended", "pending", "blanked", "mended")
"""What the eraser answers where it has erased something, or may have."""

SEALING_US = 5_000_000
"""How long one checkpoint is worked on; the next minute goes on."""

DUE_BUDGET_US = 20_000_000
"""How long the laptop's worker goes on with what is due of proposals before it leaves the rest to the next minute."""

FOLD_AFTER_S = 1.0
"""When the indexer looks at what was announced: by then a writer that lives has folded it."""

Handler = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Machine:
    """What a laptop site takes from its machine; a test gives others. `seals` is outside every data folder."""

    clock: Clock
    randomness: Randomness
    metrics: Metrics
    seals: Path = field(default_factory=seal_folder)
    encoder: Encoder | None = None
    reranker: Reranker | None = None

    @classmethod
    def real(cls, search_model: str = NONE, reranker: Reranker | None = None) -> Machine:
        """Return this machine's. Raises EncoderMissing: the search model is not installed."""
        return cls(SystemClock(), SystemRandomness(), Unmeasured(), encoder=encoder_of(search_model), reranker=reranker)


class LocalSite:
    """One process's share of a folder: the API, and the indexer that runs beside it.

    Attributes:
        api: answers requests.
        region: the ports, for callers that look behind it.
        memolith: the use cases.
        arrivals: the indexer; `start` begins it.
        streams: the streams of events that are open.
    """

    def __init__(
        self,
        root: Path,
        scanner: TextScanner,
        deep: DeepScanner | None,
        machine: Machine,
        memories_per_store: int,
        erase_delay_days: int,
        models: Models | None = None,
    ) -> None:
        """Put the ports together. Nothing is served or projected yet; `open_site` does the rest."""
        moment = rfc3339(machine.clock.now_us()).replace(":", "-")
        self._databases = files = open_databases(root, moment)
        self._serving = ExitStack()
        self._serving.enter_context(shared(root / SERVING))
        queue, announced = LocalQueue(files.queue, machine.clock), LocalQueue(files.announced, machine.clock)
        self.bucket = bucket = LocalBucket(root, lambda key: announced.send([key], FOLD_AFTER_S))
        self.tables = LocalTables(files.tables)
        peers = MemoryPeers()
        self.region = translated(
            Region(
                name=REGION,
                regions=(REGION,),
                objects=LocalObjects({REGION: bucket}, REGION),
                index=LocalIndex(files.tables),
                clock=machine.clock,
                randomness=machine.randomness,
                metrics=machine.metrics,
                peers=peers,
                parallel=ThreadParallel(),
                memories_per_store=memories_per_store,
                erase_delay_us=erase_delay_days * DAY_US,
                lease_us=LAPTOP_LEASE_US,
                drain_s=LAPTOP_DRAIN_S,
            )
        )
        packs = SqlitePacks(machine.encoder)
        self.sealing = LocalSealing(machine.seals)
        chosen, signing = models or ExtractiveModels(), LocalSigningKeys(root)
        self.memolith = Memolith(self.region, scanner, signing, packs, chosen, machine.reranker, self.sealing)
        self.api = _http_api(self.memolith, machine, streams := LiveStreams(machine.clock))
        indexing = make_indexer(
            self.region, inspections=None if deep is None else queue, packings=Delayed(queue, REFRESH_DELAY_S)
        )
        inspecting = None if deep is None else make_deep_scan(self.region, deep)
        self.queue, self.streams = queue, streams
        packing = LaptopPacker(self.region, packs, queue)
        batches = BatchProjector(self.region, indexing)
        folding = LaptopConsumer(self.region, indexing, batches, inspecting, packing)
        erasable = translated_erasable(LocalErasableObjects(bucket), REGION)
        erasing = _erasing(eraser_calls(make_erasures(self.region, erasable, packs)), files.tables, root)
        sweep = _sweep(erasing, DueProposals(self.region), machine.clock)
        self.dreamer = LaptopDreamer(self.region, self.memolith, WORKSPACE)
        self.seal_memory = LocalSealMemory(machine.seals, root, lambda: _first_sealed(bucket))
        self.checkpoints = make_checkpoints(self.region, self.sealing, self.seal_memory)
        rescan = _nothing if deep is None else LaptopRescan(self.region, queue).go_on
        self.arrivals = LaptopWorker(queue, folding, bucket, self.tables, sweep, self._seal, machine.clock, rescan)
        peers.register(REGION, "peerwriter", peerwriter_calls(self.memolith))
        peers.register(REGION, "indexer", indexer_calls(indexing))
        peers.register(REGION, "eraser", erasing)
        peers.register(REGION, "packer", packer_calls(packing))

    def seal(self) -> None:
        """Seal what was acknowledged until now in a checkpoint; nothing where nothing was.

        Raises:
            MemolithError: it is sealed later, by this process or another one.
        """
        if self.checkpoints.has_news():
            self.checkpoints.turn(self.region.clock.now_us() + SEALING_US)

    def _seal(self) -> None:
        """Seal, or leave it to the next minute."""
        try:
            self.seal()
        except Busy:  # another process of the folder is at it
            return
        except MemolithError as error:
            _log.warning("what was written is not sealed yet", extra={"cause": error.message})

    def close(self) -> None:
        """End streams and indexer, seal what was acknowledged, close the databases. Calls under way get Unavailable."""
        self.streams.close()
        self.dreamer.stop()
        if self.arrivals.stop():
            self._seal()
        for database in self._databases:
            database.close()
        self._serving.close()


def _nothing() -> bool:
    """Refill no queue: where nothing is scanned after its commit."""
    return False


def _first_sealed(bucket: LocalBucket) -> str | None:
    """Return the hash of a folder's first checkpoint, which every copy of it has; None where there is none."""
    found = bucket.raw(str(CheckpointKey(REGION, 1)))
    return None if found is None else sha256_of(found.body)


def _http_api(memolith: Memolith, machine: Machine, streams: LiveStreams) -> HttpApi:
    routes = (*ROUTES, *KEY_ROUTES)
    return HttpApi(memolith, machine.clock, machine.randomness, machine.metrics, routes, live=streams)


def open_site(
    root: Path,
    scanner: TextScanner,
    machine: Machine,
    memories_per_store: int = MEMORIES_PER_STORE_DEFAULT,
    deep: DeepScanner | None = None,
    erase_delay_days: int = ERASE_DELAY_DAYS_DEFAULT,
    models: Models | None = None,
) -> LocalSite:
    """Open a site that serves: its tables complete, its indexer running. One process at a time begins in a folder.

    Args:
        root: the folder, made where it is missing.
        scanner: reads every text before it is put.
        machine: clock, randomness, metrics.
        memories_per_store: how many live memories a store may hold.
        deep: scans every version again once it is committed; None for no post-commit scan.
        erase_delay_days: for how many days a deleted store can be restored; 0 erases it at once.
        models: what dreams and extractions ask; by default the stand-in, which is no model.

    Raises:
        OSError, PortError, MemolithError: the folder cannot be used.
    """
    make_folder(root)
    with starting(root):
        require_alone(root)
        site = LocalSite(root, scanner, deep, machine, memories_per_store, erase_delay_days, models)
        try:
            if not site.tables.made():
                site.tables.make(1)
            _complete_index(site)
            _claim_complete(site)
            site.checkpoints.begin()
            remove_others(root, lambda name: name.startswith(index_path(root).stem))
            site.arrivals.start()
            site.dreamer.start()
        except BaseException:
            site.close()
            raise
    return site


def owner_key(root: Path, region: Region, name: str = "key", holder: str | None = None) -> str:
    """Return the API key in ``ROOT/key``; issue a new one, of scope admin, where it is missing or no longer valid.

    ``ROOT/person.key`` is one that a person holds: what is written with it has the trust class of a person's words.

    Raises:
        OSError: the file cannot be read or written. MemolithError: no key can be issued now.
    """
    path = root / name
    with locked(root / "start.lock"):
        if path.exists() and _holds(text := path.read_text(errors="replace").strip(), region):
            return text
        issued = ApiKeys(region, KeySearches(region.clock)).create(WORKSPACE, "memolith serve", "admin", holder=holder)
        write_new(root, issued.api_key.encode() + b"\n").replace(path)
        return issued.api_key


def _holds(text: str, region: Region) -> bool:
    try:
        credentials = auth.of_key(text)
    except MemolithError:
        return False
    try:
        row = ApiKeys(region, KeySearches(region.clock)).search(credentials.workspace_id, credentials.key_id)
    except Damaged:  # its record says nothing any more; another key does
        return False
    return row is not None and row.revoked_at is None and row.secret_sha256 == credentials.secret_sha256


def _complete_index(site: LocalSite) -> None:
    """Make tables that have what the bucket has; go on where a start died over this."""
    attributes = site.region.read(site.region.index, [ControlRow.KEY]).get(ControlRow.KEY)
    if attributes is not None:
        control = ControlRow.from_attributes(attributes)
        if control.complete and control.retired is None:
            return
    elif not site.region.objects.list("", limit=1).keys:
        row = ControlRow(serving=1, complete=True).to_attributes()
        site.region.index.commit([Change(ControlRow.KEY, None, row)])
        return
    make_index(site.region, site.tables)


def _claim_complete(site: LocalSite) -> None:
    """Mark the tables complete: all that is acknowledged in the only region was projected before.

    There are no other homes whose checkpoints they could lack, so this row never changes.
    """
    generation = ControlRow.from_attributes(
        site.region.read(site.region.index, [ControlRow.KEY])[ControlRow.KEY]
    ).serving
    row = CompletenessRow(mark=REGION, until={}, before={}, folded={})
    key = CompletenessRow.key(generation)
    marks = [mark_key(table.name) for table in TABLES if table.generational]
    changes = [Change(mark, None, {"mark": REGION}, unconditional=True) for mark in marks]
    index = site.region.index.at(generation)
    index.commit([Change(key, None, row.to_attributes(), unconditional=True), *changes])


def _erasing(calls: Rpc, tables: Database, root: Path) -> Handler:
    """Wrap the eraser, so that nothing of what it erased stays in the tables' log or in what was set aside.

    What was set aside and cannot be removed is told in the log, and tried again by every sweep: the erasure is done.
    A sweep that fails may have erased something before.
    """
    kept = False

    def answer(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            answered = calls(payload)
        except Exception:
            forget(payload["call"], {"erased": payload["call"] == "sweep"})
            raise
        forget(payload["call"], answered)
        return answered

    def forget(call: str, answered: Mapping[str, Any]) -> None:
        nonlocal kept
        if answered.get("erased") or call in ("erase_store", "sweep"):
            tables.forget()
        if any(answered.get(name) for name in ERASURES) or (kept and call == "sweep"):
            try:
                forget_set_aside(root)
                kept = False
            except Unavailable as error:
                kept = True
                _log.error("a copy of what was erased may be left", extra={"cause": error.message})

    return answer


def _sweep(erasing: Handler, due: DueProposals, clock: Clock) -> Callable[[], None]:
    """Return what goes on with erasures and with what is due of proposals: in a deployment, two schedules do."""

    def sweep() -> None:
        try:
            erasing({"call": "sweep"})
        finally:
            due.run(clock.now_us() + DUE_BUDGET_US)

    return sweep
