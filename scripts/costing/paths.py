"""The calls that are counted: each is played on a deployment in this process, and everything it sets off with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import ManualClock
from memolith.app.api.service import Memolith
from memolith.app.kernel.results import Memory, RequestContext, VersionFilter
from memolith.app.safety.deep_scan import DeepScanner
from memolith.core.commands import ImportedVersion
from memolith.core.rows.base import RowKey
from memolith.core.tables import BY_NAME
from memolith.scanner import Family, Finding, Policy, Report, Severity, Verdict
from scripts.costing.meter import Meter, MeteredIndex, Units, item_bytes
from scripts.costing.prices import BATCH_SIZE, CONTENT_BYTES, PATH, PRICES
from tests.support.cloud import Cloud

T = TypeVar("T")
REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-1")
HOME, AWAY = REGIONS[0], REGIONS[1]
LISTED = 20
IMPORTED = 20
"""Versions in one call of an import: the command line sends fifty at most, and at most 700 KB."""
TEXT, OTHER = "x" * CONTENT_BYTES, "y" * CONTENT_BYTES


class NothingFound:
    """A second look at what nearly every text is: nothing is found in it."""

    def scan_deeply(
        self, text: str, path: str | None = None, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()
    ) -> Report:
        return Report(Verdict.ALLOW, (), policy)


class Suspicious(NothingFound):
    """A second look that flags."""

    def scan_deeply(
        self, text: str, path: str | None = None, policy: Policy = Policy.STANDARD, allow: frozenset[str] = frozenset()
    ) -> Report:
        finding = Finding("deep", Family.UNICODE, Severity.MEDIUM, "found", "remove it", 1, 1, "")
        return Report(Verdict.FLAG, (finding,), policy)


class Played:
    """A deployment with a store of some memories, whose every use of AWS is metered from `begin` on."""

    def __init__(
        self, regions: int, path: str = PATH, deep_scanner: DeepScanner | None = None, durability: str = "one_region"
    ) -> None:
        self.meter = Meter()
        self.path = path
        self.took_ms = 0.0
        self._measuring = False
        self.clock = ManualClock()
        self.cloud = Cloud(
            REGIONS[:regions],
            interceptor=self.intercept,
            clock=self.clock,
            parallel=self.meter,
            deep_scanner=deep_scanner or NothingFound(),
        )
        for name, site in self.cloud.sites.items():
            site.region.index = MeteredIndex(site.region.index, name, self.meter)
        self.key = self.cloud.key()
        self.call = self.cloud.call(self.key)
        self.session = self.newest = self.second = self.dream = ""
        self.instant = 0
        self.store = self.home.stores.create(
            self.call, name="notes", description="", metadata={}, durability=durability
        ).id
        self.memories = [self.create(f"/projects/folder/{number}.md") for number in range(LISTED - 1)]
        self.memories.append(self.create(path))
        self.update(self.memories[-1], OTHER)
        self.cloud.deliver()

    def intercept(self, call: PortCall, act: Callable[[], T]) -> T:
        """Intercept every port call: meter it while measuring."""
        return self.meter(call, act) if self._measuring else act()

    @property
    def home(self) -> Memolith:
        return self.cloud.sites[HOME].memolith

    @property
    def away(self) -> Memolith:
        return self.cloud.sites[AWAY].memolith

    @property
    def last(self) -> Memory:
        return self.memories[-1]

    def admitted(self, at: str, *named: str) -> RequestContext:
        """Return a call as the wire hands it on once its caller was looked up, before its body is read."""
        call = replace(self.call)
        self.cloud.sites[at].memolith.admit(call, named)
        return call

    def create(self, path: str, at: str = HOME) -> Memory:
        memolith = self.cloud.sites[at].memolith
        call = self.admitted(at, self.store)
        return memolith.memories.create(call, self.store, path=path, content=TEXT, full=False)

    def update(self, memory: Memory, content: str | None, path: str | None = None, at: str = HOME) -> Memory:
        return self.cloud.sites[at].memolith.memories.update(
            self.admitted(at, self.store, memory.id),
            self.store,
            memory.id,
            content=content,
            path=path,
            expected_content_sha256=None,
            full=False,
        )

    def packed(self, stores: int) -> None:
        """Make that many stores searchable, and search them once, so that their packs are at hand."""
        if stores > 1:
            self.second = self.home.stores.create(self.call, name="more", description="", metadata={}).id
            call = self.admitted(HOME, self.second)
            self.home.memories.create(call, self.second, path=PATH, content=TEXT, full=False)
        self.cloud.deliver()
        self.clock.advance(3_600)
        for name in self.cloud.regions:
            self.cloud.claim_complete(name, self.clock.now_us())
        self.search(stores)

    def search(self, stores: int) -> object:
        """Search for a word that every text has: ten are found."""
        if stores == 1:
            return self.home.search.search(self.call, self.store, query="folder", limit=10)
        return self.home.search.search_several(self.call, [self.store, self.second], query="folder", limit=10)

    def told(self, number: int) -> ImportedVersion:
        """Return the number-th version of a memory in another Memolith."""
        names = ("mem_01m80gqgrfyn8361t51thggc0e", f"memver_01m80gqgrfyn8361t51thgg{number:03d}")
        operation = "created" if number == 1 else "modified"
        return ImportedVersion(
            *names, operation, "user:user_1", number, "/projects/atlas/brought.md", f"{TEXT}{number}"
        )

    def bring(self, *versions: ImportedVersion, at: str = HOME) -> object:
        call = self.admitted(at, self.store)
        return self.cloud.sites[at].memolith.imports.import_versions(call, self.store, versions)

    def measure(self, path: Path) -> dict[str, Units]:
        """Measure what a call of this kind uses, and what its events use in every region."""
        path.before(self)
        self.cloud.pending.clear()
        self.meter.units.clear()
        self._measuring = True
        self.meter.control_share = 1 / path.batch if path.by_http else 1
        if path.by_http:
            self.meter.add(path.at, "http")
        with self.meter.function(path.at, path.function):
            path.act(self)
        self.took_ms = self.meter.took_ms
        while self.cloud.pending:
            self._event(path.batch)
        self._measuring = False
        return {
            name: {unit: amount / path.shared_by for unit, amount in self.meter.units[name].items()}
            for name in self.cloud.regions
        }

    def _event(self, batch: int) -> None:
        """Deliver one event: its copies, its message, its share of an indexer's batch."""
        event = self.cloud.pending[0]
        if not event.replica and event.key.startswith(f"{event.region}/"):
            size = self.object_bytes(event.key)
            for other in self.cloud.regions:
                if other != event.region:
                    self.meter.add(other, "put")
                    self.meter.add(event.region, "transfer_bytes", size)
                    self.meter.add(event.region, "timed_bytes", size)
        self.meter.add(event.region, "sqs", 1 + 2 / batch)
        with self.meter.function(event.region, "indexer", 1 / batch):
            self.cloud.deliver_one(0)
        if self.cloud.sites[event.region].inspections.messages:
            self.meter.add(event.region, "sqs", 2 / batch)
            with self.meter.function(event.region, "scanner", 1 / batch):
                self.cloud.inspect_all(event.region)

    def object_bytes(self, key: str) -> int:
        """Return the size of an object at home, body and metadata."""
        stored = self.cloud.buckets.current(HOME, key)
        if stored is None:
            raise ValueError(f"{key} is not at home")
        return stored.size_bytes + sum(len(name + value) for name, value in stored.metadata.items())


@dataclass(frozen=True, slots=True)
class Path:
    """One kind of call: where it lands, and which function serves it.

    Attributes:
        before: what is done first and not counted.
        by_http: whether the call comes through the HTTP API.
        shared_by: how many things one call does; what it uses is told of one of them.
        batch: how many events come to the indexer together, and how many calls a process serves in two seconds.
    """

    name: str
    act: Callable[[Played], object]
    function: str = "writer"
    at: str = HOME
    before: Callable[[Played], object] = lambda played: None
    by_http: bool = True
    shared_by: int = 1
    batch: int = BATCH_SIZE


WRITES = (
    Path("update", lambda p: p.update(p.last, TEXT)),
    Path("create", lambda p: p.create("/projects/atlas/new.md")),
    Path("rename", lambda p: p.update(p.last, None, "/projects/atlas/renamed.md")),
    Path("delete", lambda p: p.home.memories.delete(p.call, p.store, p.last.id, expected_content_sha256=None)),
    Path("no change, or refused with 409", lambda p: p.update(p.last, OTHER)),
)
ALONE = (
    Path("an update that comes alone", lambda p: p.update(p.last, TEXT), batch=1),
    Path("a creation that comes alone", lambda p: p.create("/projects/atlas/new.md"), batch=1),
)
"""Of which each event is a batch, and each call the first of its process in two seconds."""
FORWARDED = (
    Path("update, landing elsewhere", lambda p: p.update(p.last, TEXT, at=AWAY), at=AWAY),
    Path("create, landing elsewhere", lambda p: p.create("/projects/atlas/new.md", at=AWAY), at=AWAY),
)
IMPORTS = (
    Path("a file, new: as a creation", lambda p: p.create("/projects/atlas/new.md")),
    Path(
        f"a history's version, of {IMPORTED} in a call",
        lambda p: p.bring(*(p.told(number) for number in range(2, IMPORTED + 2))),
        before=lambda p: p.bring(p.told(1)),
        shared_by=IMPORTED,
    ),
    Path(
        f"a version of {IMPORTED}, landing elsewhere",
        lambda p: p.bring(*(p.told(number) for number in range(2, IMPORTED + 2)), at=AWAY),
        at=AWAY,
        before=lambda p: p.bring(p.told(1)),
        shared_by=IMPORTED,
    ),
    Path(
        f"one that is there already, of {IMPORTED} in a call",
        lambda p: p.bring(*(p.told(number) for number in range(1, IMPORTED + 1))),
        before=lambda p: p.bring(*(p.told(number) for number in range(1, IMPORTED + 1))),
        shared_by=IMPORTED,
    ),
)
READS = (
    Path(
        "one memory, with content",
        lambda p: p.home.memories.retrieve(p.call, p.store, p.last.id, full=True),
        "reader",
    ),
    Path("one memory, without", lambda p: p.home.memories.retrieve(p.call, p.store, p.last.id, full=False), "reader"),
    Path(f"a page of {LISTED} memories", lambda p: _page(p, 0, False), "reader"),
    Path(f"a page of {LISTED} memories, with content", lambda p: _page(p, 0, True), "reader"),
    Path("a page of folders", lambda p: _page(p, 1, False), "reader"),
    Path(
        "one version, with content",
        lambda p: p.home.versions.retrieve(p.call, p.store, p.last.version_id, full=True),
        "reader",
    ),
    Path(
        "the versions of one memory",
        lambda p: p.home.versions.page(
            p.call, p.store, VersionFilter(memory_id=p.last.id), limit=LISTED, after=None, full=False
        ),
        "reader",
    ),
    Path("a search, its pack at hand", lambda p: p.search(1), "reader", before=lambda p: p.packed(1)),
    Path("a search of two stores, their packs at hand", lambda p: p.search(2), "reader", before=lambda p: p.packed(2)),
)


def _page(played: Played, depth: int, full: bool) -> object:
    prefix = "/" if depth == 0 else "/projects/"
    return played.home.memories.page(
        played.call, played.store, path_prefix=prefix, depth=depth, limit=LISTED, after=None, full=full
    )


@cache
def used(path: Path, regions: int, memory_path: str = PATH) -> dict[str, Units]:
    """Return what one call of this kind uses, by region."""
    return Played(regions, memory_path).measure(path)


def in_two_regions(path: Path, durability: str) -> tuple[dict[str, Units], float]:
    """Return what one call uses in a deployment of two regions, and how many milliseconds its function takes."""
    played = Played(2, durability=durability)
    return played.measure(path), played.took_ms


def second_look(deep_scanner: DeepScanner, regions: int) -> float:
    """Return the dollars that a million post-commit scans cost: a scanned update, less the update itself."""
    looked_at = Played(regions, deep_scanner=deep_scanner)
    unseen = Played(regions)
    unseen.cloud.unwatched()
    used_by = [played.measure(WRITES[0]) for played in (looked_at, unseen)]
    with_look, without = (sum(sum(dollars(units).values()) for units in one.values()) for one in used_by)
    return with_look - without


def dollars(units: Units) -> dict[str, float]:
    """Return the price of each unit used, of a million calls."""
    return {name: amount * PRICES[name].of_one * 1_000_000 for name, amount in units.items()}


def stored_bytes() -> tuple[int, int]:
    """Return what one more version stores in a region: bytes of its object, and of its rows with their index copies."""
    played = Played(1)
    before = _row_bytes(played)
    played.update(played.last, TEXT)
    played.cloud.deliver()
    sizes = [played.object_bytes(key) for key in played.cloud.buckets.page(HOME, f"{HOME}/log/", None, 1_000).keys]
    return max(sizes), _row_bytes(played) - before


def _row_bytes(played: Played) -> int:
    total = 0
    for name, table in BY_NAME.items():
        if name in ("verdicts", "journal"):
            continue
        copies = 1 + len(table.indexes)
        rows = played.cloud.rows(HOME, name)
        total += sum(copies * item_bytes(RowKey(name, *key), row) for key, row in rows.items())
    return total
