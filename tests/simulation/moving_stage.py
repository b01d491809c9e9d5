"""A stage on which homes change: moved, failed over, brought back, by the calls that operators make.

    stage.hold_back()                    # what was put since is on no wire
    with stage.dead(HOME):               # and its region answers nothing
        stage.fail_over(AWAY)
    stage.come_late(); stage.at_rest()   # it arrives after all; then nothing acknowledged may be missing anywhere

Every write that was acknowledged through the stage is remembered, and `at_rest` looks for it in every region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import MemoryDatabase, MemoryIndex, PutEvent
from memolith.app.indexer.service import make_indexer
from memolith.app.kernel.region import View
from memolith.app.kernel.results import Memory, VersionFilter
from memolith.core import fold
from memolith.core.object_keys import LOCAL_PREFIX
from memolith.core.rows.content import LogRow, VersionRow
from memolith.ports import errors as port_errors
from memolith.wire.rpc import homes_calls
from tests.simulation.stage import AWAY, HOME, Stage

T = TypeVar("T")
THIRD = "ap-south-1"
TABLES = ("memories", "logs", "paths", "versions", "stores")
"""Those that are equal in every region at rest."""

DELIVERIES_MAX = 20
"""How often what fails is tried: in no scenario does anything wait for more that itself waits."""

__all__ = ["AWAY", "HOME", "THIRD", "MovingStage"]


class MovingStage(Stage):
    """Three regions. `acknowledged` is every version that a caller was told of: its memory's id and its text's hash."""

    def __init__(
        self, regions: Sequence[str] = (HOME, AWAY, THIRD), two_regions: bool = False, lagging: bool = False
    ) -> None:
        self._dead: set[str] = set()
        self.held: list[PutEvent] = []
        self.acknowledged: dict[str, tuple[str, str]] = {}
        super().__init__(regions, lagging)
        if two_regions:
            self.ask_for_two_regions()
            self.cloud.deliver()

    def ask_for_two_regions(self) -> None:
        """Have every write from now on stand in two regions before it is acknowledged."""
        self.memolith().stores.update(
            self.call(), self.store, name="s", description="", metadata={}, durability="two_regions"
        )

    # ---- operators ----------------------------------------------------------------------------------------------

    def operate(self, region: str, call: str, **fields: Any) -> dict[str, Any]:
        """What a region's reconciler answers to an operator, an error too."""
        return dict(homes_calls(self.cloud.sites[region].homes)({"call": call, "store_id": self.store, **fields}))

    def move(self, to: str) -> None:
        answer = self.operate(to, "homes.move")
        assert answer.get("state") in ("moved", "at home"), answer

    def bring_unindexed(self, to: str) -> None:
        """What is under way is in the bucket of `to`, and its events are late, there and everywhere."""
        for event in self.cloud.pending:
            if not event.replica and event.region != to:
                self.cloud.buckets.replicate(event, to)
        self.hold_back()

    def fail_over(self, to: str, old: str = HOME) -> None:
        answer = self.operate(to, "homes.fail_over", old=old)
        assert answer.get("state") in ("moved", "at home"), answer

    def end_what_was_begun(self) -> None:
        """As the errors of a store that stays `moving` tell its operator: a move is given up, a fail-over repeated."""
        home = self.home(AWAY)
        if self.state(AWAY) == "moving":
            if "error" in self.operate(home, "homes.move"):
                self.fail_over(home)
            self.deliver()

    def home(self, region: str) -> str:
        """Where a region believes the store's home to be."""
        return str(self.cloud.rows(region, "stores")[self.store, "record"]["home"])

    def state(self, region: str) -> str:
        """What a region believes of whether the store takes writes."""
        return str(self.cloud.rows(region, "stores")[self.store, "record"]["state"])

    def divergent(self, region: str = HOME) -> list[str]:
        """The ids of the versions that stand apart, as the API lists them."""
        page = self.memolith(region).divergent.page(self.call(), self.store, limit=100, after=None)
        return sorted(version.version_id for version in page.items)

    # ---- regions that die, links that are cut ---------------------------------------------------------------------

    @contextmanager
    def dead(self, *regions: str) -> Iterator[None]:
        """Meanwhile nothing in these regions answers, or asks."""
        self._dead |= set(regions)
        try:
            yield
        finally:
            self._dead -= set(regions)

    def _around(self, call: PortCall, act: Callable[[], T]) -> T:
        if not self._dead.isdisjoint((call.origin, call.target)):
            raise port_errors.Unavailable("dead on purpose")
        return super()._around(call, act)

    def hold_back(self) -> list[PutEvent]:
        """What was put since is on its way to nowhere, until it comes late; what it is."""
        held, self.cloud.pending[:] = list(self.cloud.pending), []
        self.held += held
        return held

    def deliver(self) -> None:
        """Everything that is under way arrives and is indexed; what fails every time waits on."""
        for _ in range(DELIVERIES_MAX):
            waiting = len(self.cloud.pending)
            for _ in range(waiting):
                self.cloud.deliver_one(0)
            if not self.cloud.pending:
                return

    def come_late(self, *keys: str) -> None:
        """What was held back (default: all of it) arrives in every region, and is indexed there."""
        coming = [event for event in self.held if not keys or event.key in keys]
        assert not keys or {event.key for event in coming} == set(keys)
        self.held = [event for event in self.held if event not in coming]
        self.cloud.pending += coming
        self.deliver()

    def reach(self, region: str, *keys: str) -> None:
        """Copies of these objects, or of all that was put, come to one region and are indexed; what fails waits."""
        events = [event for event in [*self.cloud.pending, *self.held] if event.key in keys or not keys]
        for event in events:
            is_own = event.key.startswith(f"{event.region}/")  # what a region erases of another's is replicated nowhere
            if not event.replica and is_own and event.region != region:
                self.cloud.buckets.replicate(event, region)
        arrived = [event for event in self.cloud.pending if event.region == region and (event.key in keys or not keys)]
        for event in arrived:
            self.cloud.deliver_one(self.cloud.pending.index(event))

    # ---- calls, remembered ----------------------------------------------------------------------------------------

    def create(self, path: str, content: str = "x", region: str = HOME) -> Memory:
        return self._told(super().create(path, content, region))

    def update(
        self,
        memory_id: str,
        content: str | None = None,
        path: str | None = None,
        expected: str | None = None,
        region: str = HOME,
        full: bool = False,
    ) -> Memory:
        return self._told(super().update(memory_id, content, path, expected, region, full))

    def restore(self, version_id: str, region: str = HOME) -> Memory:
        """A divergent version is restored."""
        memory = self.memolith(region).divergent.restore(self.call(), self.store, version_id, full=False)
        assert memory is not None
        return self._told(memory)

    def _told(self, memory: Memory) -> Memory:
        self.acknowledged[memory.version_id] = (memory.id, memory.content_sha256)
        return memory

    # ---- at rest --------------------------------------------------------------------------------------------------

    def at_rest(self, divergent: Sequence[str] | None = (), gaps: bool = False) -> None:
        """Everything has arrived everywhere: one home, the same rows, nothing acknowledged lost; divergent are these.

        None: whichever are divergent. Histories begin with a creation, unless `gaps` are allowed: a fail-over may find
        what followed a creation and not the creation, which is divergent then.
        """
        if self.held:
            self.come_late()
        self.deliver()
        for event in self.cloud.pending:
            self.index(event.key, event.region)
        assert not self.cloud.pending
        assert len({self.home(region) for region in self.cloud.regions}) == 1
        for table in TABLES:
            first, *others = [_facts(table, self.cloud.rows(region, table)) for region in self.cloud.regions]
            for other in others:
                assert other == first, f"regions differ in {table}: {_unlike(first, other)}"
        for region in self.cloud.regions:
            self._assert_kept(region, gaps)
            self._assert_one_memory_one_path(region)
            keys = [key for key in self.all_keys(region) if not key.startswith(LOCAL_PREFIX)]  # in no region's index
            self.assert_rebuilt_the_same(region, keys)
            self.assert_rebuilt_the_same(region, sorted(keys, key=lambda key: "/log/" in key))
            assert divergent is None or self.divergent(region) == sorted(divergent)

    def _assert_kept(self, region: str, gaps: bool) -> None:
        apart = [row for row in self._versions(region) if row.memory_key is None and row.position is not None]
        for version_id, (memory_id, sha256) in self.acknowledged.items():
            history = self.history_of(memory_id, region)
            operations = [version.operation for version in reversed(history)]
            assert gaps or operations[:1] in ([], ["created"]), operations
            assert "created" not in operations[1:], operations
            listed = [one for one in history if one.id == version_id]
            divergent = [one for one in apart if one.version_id == version_id]
            assert len(listed) + len(divergent) == 1, f"{region}: {version_id} {len(listed)} times, {divergent}"
            kept = [one.content_sha256 for one in (*listed, *divergent)]
            assert kept in ([sha256], [None]), f"{region}: {version_id} has another text"

    def _versions(self, region: str) -> list[VersionRow]:
        return [VersionRow.from_attributes(row) for row in self.cloud.rows(region, "versions").values()]

    def history_of(self, memory_id: str, region: str) -> Any:
        """Its versions, newest first, as a region shows them."""
        chosen, versions = VersionFilter(memory_id=memory_id), self.memolith(region).versions
        return versions.page(self.call(), self.store, chosen, limit=100, after=None, full=False).items

    def _assert_one_memory_one_path(self, region: str) -> None:
        rows = self.cloud.rows(region, "memories").values()
        live = {row["path"]: row["memory_id"] for row in rows if row.get("path") is not None}
        assert self.listed(region) == live and len(set(live.values())) == len(live)
        for path, memory_id in live.items():
            read = self.read(memory_id, region)
            assert read.path == path and read.content is not None
            assert not any(other.startswith(f"{path}/") for other in live), live

    def assert_rebuilt_the_same(self, region: str, keys: Sequence[str]) -> None:
        """The region's tables are those that its own bucket makes, whose objects are folded in this order."""
        here, database = self.cloud.sites[region].region, MemoryDatabase()
        index, here.index = here.index, MemoryIndex(database)
        try:
            view = View(here.index, {}, complete=False, building=None)
            indexing = make_indexer(here)
            for key in keys:
                indexing.fold_object(view, key, journal=False)
            indexing.repair(self.store, view=view)
        finally:
            here.index = index
        for table in TABLES:
            made = {key: dict(row) for key, (_, _, row) in database.table(table, 1).order.rows.items()}
            made, standing = _facts(table, made), _facts(table, self.cloud.rows(region, table))
            assert made == standing, f"{region} rebuilt differs in {table}: {_unlike(standing, made)}"


def _facts(table: str, rows: Any) -> Any:
    """What rows mean: claims stand in one region alone; of a log, who is at its path; how a memory went is not told."""
    if table == "memories":
        return {key: dict(row) for key, row in rows.items() if not row["gone"]}
    if table == "logs":
        logs = {key: LogRow.from_attributes(row) for key, row in rows.items()}
        return {key: occupant for key, log in logs.items() if (occupant := fold.occupant_of(log)) is not None}
    if table != "paths":
        return {key: dict(row) for key, row in rows.items()}
    kept = {
        key: {name: value for name, value in row.items() if not name.startswith("claim_")} for key, row in rows.items()
    }
    return {key: row for key, row in kept.items() if "memory_id" in row}


def _unlike(some: Any, others: Any) -> list[Any]:
    return [
        (key, some.get(key), others.get(key)) for key in some.keys() | others.keys() if some.get(key) != others.get(key)
    ]
