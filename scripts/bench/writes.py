"""How much slower a whole write is than the one put that commits it, and how fast the index folds (``make bench``).

A ratio to a bare conditional put, on the same backend in the same run, is what can be compared between machines and
over time: both sides wait for the same disk, network or interpreter. The two are taken in turn, so that whatever else
the machine does falls on both. Backends: memory, which shows the work of the code alone; moto, in this process; and the
local cloud, when one is running (``memolith dev up``), whose data plane is asked directly, without Lambda. What sealing
costs a write is measured by `scripts.bench.sealing`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import median

from memolith.adapters.aws.clients import Clients, local_clients
from memolith.adapters.aws.compose import region_on_aws
from memolith.adapters.aws.names import Deployment
from memolith.adapters.memory import MemoryDatabase, MemoryIndex, RecordingMetrics
from memolith.app.api.service import Memolith
from memolith.app.index.parts import IndexParts
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import Credentials, Memory, RequestContext
from memolith.app.safety.write_gate import TextScanner
from memolith.core import decide
from memolith.core.drafts import Draft
from memolith.core.fold import join_memory
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.objects.entry import Actor, Entry, Operation
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from memolith.scanner import Scanner
from memolith.wire.rpc import keys_calls
from tests.contract.moto_world import DEPLOYMENT, HOME, locked_moto, make_bucket, make_tables
from tests.support.cloud import Cloud

CONTENT_BYTES = 4_096
WARM_UP = 10
DEV_FILE = Path(".memolith/dev.json")


@dataclass(frozen=True, slots=True)
class Bench:
    """One backend: a region on it, its use cases, and a key."""

    name: str
    region: Region
    memolith: Memolith
    call: RequestContext


def text(number: int) -> str:
    """Write 4 KB of plain words, each time others."""
    words = f"note {number}: the build is green and the release is planned for the next week. "
    return (words * (CONTENT_BYTES // len(words) + 1))[:CONTENT_BYTES]


def presented(api_key: str) -> RequestContext:
    """Return what a request with this key presents."""
    _, _, workspace, key, _ = api_key.split("-", 4)
    return RequestContext(Credentials(f"wrkspc_{workspace}", f"apikey_{key}", sha256(api_key.encode()).hexdigest()))


def in_memory(scanner: TextScanner) -> Bench:
    """Measure adapters in memory."""
    cloud = Cloud(("us-east-1",), scanner=scanner)
    site = cloud.sites["us-east-1"]
    return Bench("memory", site.region, site.memolith, presented(cloud.key()))


@contextmanager
def on_moto(scanner: TextScanner) -> Iterator[Bench]:
    """Measure S3 and DynamoDB in this process, behind boto3."""
    with locked_moto() as clients:
        make_bucket(clients, HOME)
        make_tables(clients)
        region = region_on_aws(clients, DEPLOYMENT, RecordingMetrics())
        region.index.commit([Change(ControlRow.KEY, None, ControlRow(serving=1, complete=True).to_attributes())])
        memolith = Memolith(region, scanner)
        issued = keys_calls(memolith.api_keys)(
            {"call": "keys.create", "workspace_id": "wrkspc_bench", "name": "bench", "scope": "admin"}
        )
        yield Bench("moto", region, memolith, presented(str(issued["api_key"])))


def on_local_cloud(scanner: TextScanner) -> Bench | None:
    """Measure on the running local cloud's first region; None when no local cloud runs."""
    if not DEV_FILE.exists():
        return None
    dev = json.loads(DEV_FILE.read_text())
    name, facts = next(iter(dev["regions"].items()))
    prefix, account = facts["bucket"].removesuffix(f"-{name}").rsplit("-", 1)
    generation = int(facts["tables"]["memories"].rpartition("-g")[2])
    stage = prefix.removeprefix("memolith-")
    clients: Clients = local_clients(dev["endpoint"])
    region = region_on_aws(
        clients, Deployment(stage, account, tuple(dev["regions"]), name, generation), RecordingMetrics()
    )
    return Bench(f"local cloud, {name}", region, Memolith(region, scanner), presented(dev["api_key"]))


# ---- the write path -------------------------------------------------------------------------------------------------


def timed_ms(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1_000


def bare_put(bench: Bench, number: int) -> None:
    """Put a version and do nothing else: the same body, as much metadata, the same condition."""
    region = bench.region
    key = LogKey("memstore_bench", f"{number:064x}", Slot(Epoch(1, region.name), 1))
    draft = Draft(region.new_id("memver"), region.new_id("mem"), Actor("api_key", "apikey_bench"), number)
    entry = decide.created(draft, key, "/bench/notes.md", text(number))
    body = text(number).encode()
    region.objects.put_if_absent(f"local/bench/{entry.version_id}", body, entry.to_metadata(), entry.content_sha256)


class Agent:
    """A client that writes and reads in a store of its own, once a round each kind of call."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._store = bench.memolith.stores.create(bench.call, name="bench", description="", metadata={}).id
        self._memory = self._create("/bench/notes.md", -1)
        row = MemoryRow.key(self._store, self._memory.id)
        first = MemoryRow.from_attributes(bench.region.index.read([row])[row])
        self._key = str(LogKey(self._store, first.path_hash, Slot.parse(first.slot)))

    def round(self, number: int) -> dict[str, float]:
        """Return the milliseconds of each kind of call, one after the other."""
        return {
            "bare put": timed_ms(lambda: bare_put(self._bench, number)),
            "update": timed_ms(lambda: self._update(number)),
            "create": timed_ms(lambda: self._create(f"/made/{number}.md", number)),
            "bare get": timed_ms(lambda: self._bench.region.objects.get(self._key)),
            "read": timed_ms(self._read),
        }

    def leave(self) -> None:
        self._bench.memolith.stores.delete(self._bench.call, self._store)

    def _create(self, path: str, number: int) -> Memory:
        memolith, call = self._bench.memolith, self._bench.call
        return memolith.memories.create(call, self._store, path=path, content=text(number), full=False)

    def _update(self, number: int) -> None:
        self._memory = self._bench.memolith.memories.update(
            self._bench.call,
            self._store,
            self._memory.id,
            content=text(number),
            path=None,
            expected_content_sha256=self._memory.content_sha256,
            full=False,
        )

    def _read(self) -> None:
        self._bench.memolith.memories.retrieve(self._bench.call, self._store, self._memory.id, full=True)


def measure(bench: Bench, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each kind of call, once the first few rounds are over."""
    agent = Agent(bench)
    taken = [agent.round(number) for number in range(rounds + WARM_UP)][WARM_UP:]
    agent.leave()
    return {kind: [one[kind] for one in taken] for kind in taken[0]}


def report_writes(name: str, times: dict[str, list[float]]) -> None:
    """Print a line for each kind of call: its p50, and the ratio to the bare request that it needs at least."""
    print(f"{name}: p50 of {len(times['update'])}")
    for kind, bare in (("update", "bare put"), ("create", "bare put"), ("read", "bare get")):
        base, own = median(times[bare]), median(times[kind])
        print(f"  {kind:<8} {own:8.2f} ms   {bare:<10} {base:8.2f} ms   ratio {own / base:6.2f}")


# ---- the fold -------------------------------------------------------------------------------------------------------


def entries(count: int, memories: int = 100) -> list[Entry]:
    """Make versions of some memories, in the order they were written."""
    heads: list[MemoryRow | None] = [None] * memories
    made: list[Entry] = []
    actor, epoch = Actor("api_key", "apikey_bench"), Epoch(1, "us-east-1")
    for number in range(count):
        place = number % memories
        head, path = heads[place], f"/folder/{place}.md"
        key = LogKey("memstore_bench", f"{place:064x}", Slot(epoch, number // memories + 1))
        draft = Draft(f"memver_{number:026d}", f"mem_{place:026d}", actor, number)
        content = f"text {number}"
        if head is None:
            entry = decide.created(draft, key, path, content)
        else:
            entry = decide.follows(draft, head, key, decide.Commit(Operation.MODIFIED, path, content))
        heads[place] = join_memory(head, entry)
        made.append(entry)
    return made


def fold_per_second(count: int, at_once: int) -> float:
    """Measure the entries that are projected a second into tables in memory, so many in one call."""
    site = Cloud(("us-east-1",)).sites["us-east-1"]
    index = MemoryIndex(MemoryDatabase())
    folder, view = IndexParts.of(site.region).projector, View(index, {}, complete=True, building=None)
    settled = [ResolvedEntry(entry) for entry in entries(count)]

    def fold() -> None:
        for start in range(0, count, at_once):
            folder.fold(view, settled[start : start + at_once], journal=False)

    return count / (timed_ms(fold) / 1_000)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200, help="how often each call is made on each backend")
    rounds = parser.parse_args().rounds
    scanner = Scanner.load(None)
    bench = in_memory(scanner)
    report_writes(bench.name, measure(bench, rounds))
    with on_moto(scanner) as moto:
        report_writes(moto.name, measure(moto, rounds))
    local = on_local_cloud(scanner)
    if local is not None:
        report_writes(local.name, measure(local, rounds))
    else:
        print(f"local cloud: not running ({DEV_FILE} is not there)")
    print("fold, tables in memory:")
    for at_once in (1, 8, 64):
        print(f"  {at_once:3} at once {fold_per_second(rounds * 20, at_once):10,.0f} entries/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
