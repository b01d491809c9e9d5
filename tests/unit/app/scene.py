"""A deployment with one store at home, and short ways to use it: what most tests of the use cases begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Faulty, Interceptor, ScriptedFaults, Strike
from memolith.adapters.memory import ManualClock
from memolith.app.api.service import Memolith
from memolith.app.kernel.results import Memory, MemoryPrefix, Page, RequestContext, Store, Version, VersionFilter
from memolith.app.safety.verdicts import SCANNER, Verdicts
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from memolith.core.objects.entry import Entry
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change
from memolith.ports.parallel import Parallel
from tests.support.cloud import Cloud, straight

T = TypeVar("T")
HOME, AWAY = "us-east-1", "eu-west-1"
INDEXED = ("memories", "logs", "paths", "versions", "verdicts", "stores", "keys")
"""Every table that a rebuild brings back."""


class Switch:
    """An interceptor that can be changed while the deployment runs."""

    def __init__(self) -> None:
        self.around: Interceptor = straight

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        return self.around(call, act)


class Scene:
    """Two regions, a key that may do everything, and a store whose home is `HOME`, known in both.

    Attributes:
        cloud: the whole deployment.
        clock: stands still, but for pauses.
        store: the store's id.
        salt: of the store's hashes, in hex; for a test that has asked for it.
    """

    def __init__(self, regions: Sequence[str] = (HOME, AWAY), parallel: Parallel | None = None, **options: Any) -> None:
        self.switch = Switch()
        self.clock = ManualClock()
        self.cloud = Cloud(regions, interceptor=self.switch, clock=self.clock, parallel=parallel, **options)
        self.api_key = self.cloud.key()
        self.store = self.create_store().id
        self.salt = ""
        self.cloud.deliver()

    # ---- who and where ------------------------------------------------------------------------------------------

    def at(self, region: str) -> Memolith:
        return self.cloud.sites[region].memolith

    def call(self, api_key: str | None = None) -> RequestContext:
        """What a request with this key presents; by default, with the key that may do everything."""
        return self.cloud.call(api_key or self.api_key)

    def deliver(self) -> None:
        """Everything that was put arrives everywhere and is indexed."""
        self.cloud.deliver()

    @contextmanager
    def struck_by(self, *strikes: Strike) -> Iterator[None]:
        """Meanwhile these faults strike; each of them must, or the test has tested nothing."""
        script = ScriptedFaults(*strikes)
        try:
            with self.intercepted_by(Faulty(script)):
                yield
        finally:
            assert not script.pending, f"never struck: {script.pending}"

    @contextmanager
    def intercepted_by(self, interceptor: Interceptor) -> Iterator[None]:
        """Meanwhile somebody stands at every port call."""
        self.switch.around = interceptor
        try:
            yield
        finally:
            self.switch.around = straight

    def journaled(self, *, at: str = HOME) -> list[str]:
        """The key of every object that the region's journal names."""
        return [row["object_key"] for row in self.cloud.rows(at, "journal").values() if "object_key" in row]

    # ---- stores -------------------------------------------------------------------------------------------------

    def create_store(self, name: str = "notes", *, at: str = HOME, key: str | None = None) -> Store:
        return self.at(at).stores.create(self.call(key), name=name, description="", metadata={})

    def stores(self, *, at: str = HOME, **options: Any) -> Page[Store]:
        given = {"created_at_gte": None, "created_at_lte": None, "include_archived": False, "limit": 100, "after": None}
        return self.at(at).stores.page(self.call(), **{**given, **options})

    # ---- memories -----------------------------------------------------------------------------------------------

    def create(
        self, path: str = "/a", content: str = "first", *, at: str = HOME, store: str | None = None, full: bool = False
    ) -> Memory:
        return self.at(at).memories.create(self.call(), store or self.store, path=path, content=content, full=full)

    def update(
        self,
        memory: Memory | str,
        content: str | None = None,
        *,
        path: str | None = None,
        expected: str | None = None,
        at: str = HOME,
        full: bool = False,
    ) -> Memory:
        return self.at(at).memories.update(
            self.call(),
            self.store,
            _id(memory),
            content=content,
            path=path,
            expected_content_sha256=expected,
            full=full,
        )

    def delete(self, memory: Memory | str, *, expected: str | None = None, at: str = HOME) -> str:
        return self.at(at).memories.delete(self.call(), self.store, _id(memory), expected_content_sha256=expected)

    def read(self, memory: Memory | str, *, at: str = HOME, full: bool = True, key: str | None = None) -> Memory:
        return self.at(at).memories.retrieve(self.call(key), self.store, _id(memory), full=full)

    def page(
        self,
        *,
        at: str = HOME,
        path_prefix: str | None = None,
        depth: int = 0,
        limit: int = 100,
        after: str | None = None,
        full: bool = False,
    ) -> Page[Memory | MemoryPrefix]:
        return self.at(at).memories.page(
            self.call(), self.store, path_prefix=path_prefix, depth=depth, limit=limit, after=after, full=full
        )

    def paths(self, *, at: str = HOME) -> list[str]:
        """The paths of every memory, as a listing shows them."""
        return [item.path for item in self.page(at=at).items]

    # ---- versions -----------------------------------------------------------------------------------------------

    def versions(
        self, *, at: str = HOME, limit: int = 100, after: str | None = None, full: bool = False, **filter: Any
    ) -> Page[Version]:
        return self.at(at).versions.page(
            self.call(), self.store, VersionFilter(**filter), limit=limit, after=after, full=full
        )

    def history(self, memory: Memory | str, *, at: str = HOME) -> list[str]:
        """A memory's operations, newest first."""
        return [version.operation for version in self.versions(at=at, memory_id=_id(memory)).items]

    def version(self, version_id: str, *, at: str = HOME, full: bool = True) -> Version:
        return self.at(at).versions.retrieve(self.call(), self.store, version_id, full=full)

    def redact(self, version_id: str, *, at: str = HOME) -> Version:
        return self.at(at).redactions.redact(self.call(), self.store, version_id)

    # ---- verdicts -----------------------------------------------------------------------------------------------

    def verdict(
        self,
        memory: Memory,
        outcome: VerdictOutcome = VerdictOutcome.WITHHOLD,
        rules: tuple[str, ...] = ("deep-rule",),
        by: str = SCANNER,
    ) -> VerdictRecord:
        """A verdict on the text of a memory's version, as the scanner or a person decides it."""
        version = VersionRow.from_attributes(self.cloud.rows(HOME, "versions")[self.store, memory.version_id])
        store = StoreRow.from_attributes(self.cloud.rows(HOME, "stores")[self.store, "record"])
        return VerdictRecord(
            store_id=self.store,
            version_id=memory.version_id,
            position=version.position or "",
            content_hmac=Verdicts.hmac(store, memory.content_sha256),
            outcome=outcome,
            decided_at=self.clock.now_us(),
            decided_by=by,
            reason="it turns its reader around",
            findings=tuple({"rule": rule, "reason": "a reason", "excerpt": "what stands there"} for rule in rules),
        )

    def judge(self, memory: Memory, *decision: Any, **more: Any) -> VerdictRecord:
        """Puts such a verdict at home."""
        return Verdicts(self.cloud.sites[HOME].region).put(self.verdict(memory, *decision, **more))

    # ---- behind the scene ---------------------------------------------------------------------------------------

    def log_keys(self, region: str = HOME) -> list[str]:
        """Every key of a log in a region's bucket."""
        keys = self.cloud.buckets.page(region, "", None, 100_000).keys
        return [key for key in keys if isinstance(parse_key(key), LogKey)]

    def entries(self, region: str = HOME) -> list[Entry]:
        """What stands in every slot of every log."""
        found = []
        for key in self.log_keys(region):
            name, current = parse_key(key), self.cloud.buckets.current(region, key)
            if isinstance(name, LogKey) and current is not None:
                found.append(Entry.from_metadata(name, current.metadata))
        return found

    def objects(self, region: str = HOME) -> list[tuple[str, bytes]]:
        """Every key with the body that is current."""
        keys = self.cloud.buckets.page(region, "", None, 100_000).keys
        found = [(key, self.cloud.buckets.current(region, key)) for key in keys]
        return [(key, current.body) for key, current in found if current is not None]

    def bodies(self, region: str = HOME) -> list[bytes]:
        """Every body that is current."""
        return [body for _, body in self.objects(region)]

    def remember_index(self, region: str = HOME) -> Callable[[], None]:
        """What brings the index of a region back to how it is now, whatever is written until then."""
        then = {name: self.cloud.rows(region, name) for name in INDEXED}
        index = self.cloud.sites[region].region.index

        def restore() -> None:
            for name, rows in then.items():
                for pk, sk in self.cloud.rows(region, name).keys() | rows.keys():
                    row = rows.get((pk, sk))
                    index.commit([Change(RowKey(name, pk, sk), None, row, unconditional=True)])

        return restore

    def drop_events(self) -> None:
        """What was put stays where it is: nothing replicates it, no indexer hears of it."""
        self.cloud.pending.clear()


def _id(memory: Memory | str) -> str:
    return memory if isinstance(memory, str) else memory.id
