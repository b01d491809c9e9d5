"""A whole deployment from one seed: regions, clients, everything that may go wrong, and what is left at the end.

`World(seed).run()` is deterministic: the same seed gives the same history. What it returns is evidence; whether any
promise was broken is for the checkers to say (`tests.simulation.checkers`), which know nothing of what is in here.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Faulty, RandomFaults
from memolith.adapters.memory import MemoryBuckets, SeededRandomness
from memolith.app.kernel.no_models import NO_MODELS
from memolith.app.kernel.results import Credentials, RequestContext
from memolith.core.objects.store_record import StoreState
from memolith.core.retention import DAY_US
from memolith.ports.errors import OutcomeUnknown, Unavailable
from memolith.wire.rpc import keys_calls
from tests.simulation.calls import Calls
from tests.simulation.claims import hear
from tests.simulation.clients import Client, Shared
from tests.simulation.damages import Damages
from tests.simulation.doomed import DoomedStore
from tests.simulation.evidence import Evidence
from tests.simulation.gathering import gather
from tests.simulation.history import History
from tests.simulation.losses import Losses
from tests.simulation.network import Network
from tests.simulation.operators import Operators
from tests.simulation.options import Options, drawn
from tests.simulation.plans import Plan, drawn_plans
from tests.simulation.ports import BIRTH_US, LIVES_S, LONGEST_LIFE_S, Passage, SkewedClock, TaskPeers, drawn_passage
from tests.simulation.sites import BATCH_MAX_US, Site
from tests.simulation.sweeps import Sweeps
from tests.simulation.tampering import Tampering
from tests.simulation.tasks import Crash, Scheduler
from tests.simulation.trouble import Trouble
from tests.simulation.workers import SlowModels, Workers

T = TypeVar("T")
WORKSPACE = "wrkspc_default"
REPAIRS_MAX = 4
REPAIR_PERIOD_US = 200_000_000
WATCHES = 5
_LATE = frozenset({"objects.put_if_absent", "index.commit"})


class World:
    """One run.

    Args:
        seed: everything that is drawn comes from it.
        options, plans: given instead of drawn, by scenarios and by whoever shrinks a failure.
        schedule: draws the interleaving and the faults anew for the same plans.
    """

    def __init__(
        self,
        seed: int,
        options: Options | None = None,
        plans: Sequence[Plan] | None = None,
        schedule: int = 0,
    ) -> None:
        self.seed = seed
        self.options = options or drawn(seed)
        self.plans = tuple(plans) if plans is not None else drawn_plans(seed, self.options)
        self.chance = random.Random(f"world {seed} {schedule}")
        self.scheduler = Scheduler(self.chance)
        self.history = History()
        self.defects: list[str] = []
        self.calm = True
        self.buckets = MemoryBuckets(self.options.regions)
        self._faulty = Faulty(
            RandomFaults(self.options.rates, SeededRandomness(self.chance.randrange(1 << 62))), crash=Crash
        )
        peers = TaskPeers(self.scheduler, self.patience_s, self._passage)
        self.sites: dict[str, Site] = {}
        for region in self.options.regions:
            skew_us = round(self.chance.uniform(-1, 1) * self.options.skew_s * 1_000_000)
            pace = self.chance.uniform(*self.options.paces)
            clock = SkewedClock(self.scheduler, skew_us, pace)
            self.sites[region] = Site(
                region,
                self.options.regions,
                self.buckets,
                clock,
                self.chance,
                self._around,
                peers,
                self.options.lagging,
                self._tear,
                round(self.options.day_s * 1_000_000) or DAY_US,
                self.options.processes,
                self.options.apart_s,
                self.options.packs,
                self.options.joins and region == self.options.regions[-1],
                self._hold if self.options.hold_s else None,
                self.options.remembered_s,
                SlowModels(self._pause_of_a_model) if self.options.workers else NO_MODELS,
            )
        self.peers = peers
        peers.sites.update(self.sites)
        self.network = Network(self.scheduler, self.chance, self.options, self.buckets, self.sites)
        self.network.calm = True
        for region, site in self.sites.items():
            site.queue = self.network.index_queue(region)
        self.wiped: dict[str, int] = {}
        self.rebuilds: dict[str, list[tuple[int, int]]] = {}
        self.losses = Losses(self)
        self.damages = Damages(self)
        self.tampering = Tampering(self)
        self.doomed: DoomedStore | None = None
        self.workers: Workers | None = None
        self.sweeps = Sweeps(self) if self.options.doomed or self.options.day_s or self.options.days else None
        self.operators = Operators(self)
        self.trouble = Trouble(self)
        self.calls = Calls(self)
        self.api_key = ""
        self.stores: tuple[str, ...] = ()

    # ---- the run ------------------------------------------------------------------------------------------------

    def run(self) -> Evidence:
        """Sets up, lets clients and faults loose, ends the faults, repairs, and gathers what is left."""
        self.set_up()
        self.let_loose()
        self.come_to_rest()
        return gather(self)

    def set_up(self) -> None:
        """A key and the stores, known everywhere; no fault strikes yet."""
        first = self.options.regions[0]
        answer = self.sites[first].use(
            lambda sandbox: keys_calls(sandbox.memolith.api_keys)(
                {"call": "keys.create", "workspace_id": WORKSPACE, "name": "simulation", "scope": "admin"}
            )
        )
        self.api_key = str(answer["api_key"])
        self.scheduler.run()
        self.stores = tuple(self._store(number) for number in range(self.options.stores))
        if self.options.doomed:
            self.doomed = DoomedStore(self)
        if self.options.workers:
            self.workers = Workers(self)
        self.scheduler.run()

    def _store(self, number: int) -> str:
        region = self.options.regions[number % len(self.options.regions)]
        durability = "two_regions" if self.options.two_regions else "one_region"
        retention = {"days": 1, "versions": self.options.kept} if self.options.day_s else None
        return self.sites[region].use(
            lambda sandbox: (
                sandbox.memolith.stores.create(
                    self.call(),
                    name=f"store {number}",
                    description="",
                    metadata={},
                    retention=retention,
                    durability=durability,
                ).id
            )
        )

    @property
    def movable(self) -> tuple[str, ...]:
        """The stores whose homes move, and are lost: the clients', and the workers'."""
        return self.stores if self.workers is None else (*self.stores, self.workers.store_id)

    def _pause_of_a_model(self) -> None:
        if self.workers is not None:
            self.workers.pause()

    def home(self, store_id: str) -> str:
        """The region that accepts writes for the store, or is about to."""
        return self.operators.record(store_id).home

    def is_home(self, region: str, store_id: str) -> bool:
        """Tell whether a region decides the store's writes. Between the two records of a move none does."""
        record = self.operators.record(store_id)
        return record.home == region and record.state is not StoreState.MOVED

    def let_loose(self) -> None:
        """Clients and faults, until every client is through and every call has ended."""
        self.calm = self.network.calm = False
        shared = Shared()
        clients = [self.client(plan, shared) for plan in self.plans]
        tasks = [self.scheduler.spawn(one.plan.client, one.live) for one in clients]
        self.trouble.plan()
        self.operators.let_loose()
        if self.doomed is not None:
            self.doomed.let_loose()
        if self.sweeps is not None:
            self.sweeps.let_loose()
        if self.workers is not None:
            tasks += self.workers.let_loose()
        self.scheduler.run(lambda: all(task.done for task in tasks))
        self.defects += [f"{task.name}: {task.error!r}" for task in tasks if task.error is not None]

    def client(self, plan: Plan, shared: Shared) -> Client:
        return Client(
            plan, self.stores, self.call, shared, self.calls.invoke, self._think, self._now_us, self.options.page
        )

    def _now_us(self) -> int:
        """What a client's own clock shows, which is right."""
        return BIRTH_US + self.scheduler.now_us

    def _think(self) -> None:
        if not self.calm and self.options.think_s:
            self.scheduler.sleep(self.chance.random() * self.options.think_s)

    # ---- reconcilers --------------------------------------------------------------------------------------------

    def reconcile_now_and_then(self, site: Site) -> None:
        while not self.calm:
            self.scheduler.sleep(self.chance.uniform(0.1, 2 * self.options.tick_s))
            self.tick(site)
            hear(self, site)
            self.losses.compare_now_and_then(site)

    def tick(self, site: Site) -> None:
        """One invocation. It may die, and the next one may come before it is through."""

        def invoke() -> None:
            try:
                site.use(lambda sandbox: sandbox.reconciling.tick())
            except Exception as error:  # noqa: BLE001 - reported at the end of the run
                self.defects.append(f"reconciler of {site.name}: {error!r}")

        self.scheduler.spawn(f"reconciler of {site.name}", invoke, life_s=LIVES_S["reconciler"])

    def turn(self) -> None:
        """Run every region's reconciler once, as their schedule has it every minute, also at rest.

        A home whose acknowledgement log was lost may refuse every write until then: the reconciler that began to close
        a period before the loss may close the new log's period of that number.
        """
        for site in self.sites.values():
            self.tick(site)
            self.scheduler.run()

    def _watch(self) -> None:
        """At rest: every region's reconciler has its way, until what it knows has settled.

        From one tick to the next by more than a batch may take, whichever process's clock is asked.
        """
        step_us = 2 * BATCH_MAX_US + round(2 * self.options.apart_s * 1_000_000)
        step_us += round(LONGEST_LIFE_S * 1_000_000) if self.options.failovers else 0
        for _ in range(WATCHES):
            self.turn()
            self.scheduler.now_us += step_us
        for site in self.sites.values():
            hear(self, site)

    def come_to_rest(self) -> None:
        """No fault any more; what was dropped is repaired, and everything that is under way arrives.

        It takes longer than any clock was set back: until such a clock shows again what it had shown, a home's
        checkpoints end before what was told in between.
        """
        self.calm = self.network.calm = True
        self.operators.come_to_rest()
        for _ in range(REPAIRS_MAX):
            until_us = self.scheduler.now_us + REPAIR_PERIOD_US
            self.scheduler.run(lambda: self.scheduler.now_us > until_us)  # noqa: B023 - called before the next round
            self.network.repair()
        self.scheduler.run()
        self.operators.come_to_rest()  # the first record of a failover may have been under way until now
        if self.network.broken:
            self.turn()  # what was given up is sent again to a home that refuses nothing any more
        self.network.repair()
        self.scheduler.run()
        if self.workers is not None:
            self.workers.come_to_rest()
        self.scheduler.now_us += REPAIR_PERIOD_US
        self.damages.come_to_rest()
        self.losses.pack_all()
        if self.sweeps is not None:
            self.sweeps.come_to_rest()
        self.losses.days()
        self.defects += [f"never done: {one}" for one in self.network.broken]
        self._watch()
        if self.sweeps is not None:  # what a reconciler fetched last is erased like anything that comes late
            self.sweeps.come_to_rest()
        for site in self.sites.values():
            site.database.settle()
        self.tampering.come_to_rest()

    # ---- what stands at every port call -------------------------------------------------------------------------

    def _around(self, call: PortCall, act: Callable[[], T]) -> T:
        if self.scheduler.current is None:
            return act()
        self._give_way()
        if not self.calm and self.network.is_parted(call.origin, call.target):
            raise Unavailable(f"{call.target} cannot be reached from {call.origin}")
        if not self.calm and call.name in _LATE and self.chance.random() < self.options.late:
            return self._act_late(call, act)
        result = act() if self.calm else self._faulty(call, act)
        self._give_way()
        return result

    def _give_way(self) -> None:
        if not self.calm and self.chance.random() < self.options.stall:
            self.scheduler.sleep(self.chance.random() * self.options.stall_s)
        else:
            self.scheduler.give_way()

    def _tear(self) -> None:
        if not self.calm and self.chance.random() < self.options.torn:
            self.scheduler.give_way()
            if self.chance.random() < self.options.rates.crash_after:
                raise Crash

    def _hold(self) -> None:
        """A transaction holds its rows; whoever comes to them meanwhile is refused."""
        if not self.calm:
            self.scheduler.sleep(self.chance.random() * self.options.hold_s)

    def _act_late(self, call: PortCall, act: Callable[[], T]) -> T:
        """The request is still under way when its caller has given it up."""
        self.scheduler.spawn(f"late {call.name}", act, self.chance.random() * self.options.stall_s)
        raise OutcomeUnknown(f"{call.name}: timed out on purpose")

    def patience_s(self) -> float | None:
        if self.calm or self.chance.random() >= self.options.impatience:
            return None
        return self.chance.random() * 2.0

    def _passage(self) -> Passage:
        return Passage() if self.calm else drawn_passage(self.chance, self.options.passing_s, self.options.repeated)

    @property
    def struck(self) -> Counter[str]:
        """How often what befell the world that has a switch of its own in `Options`."""
        conflicts = Counter({"transactions in conflict": sum(site.database.refused for site in self.sites.values())})
        others = self.network.struck + self.peers.struck + self.losses.struck + self.damages.struck
        worked = Counter[str]() if self.workers is None else self.workers.struck
        return others + self.operators.struck + self.tampering.struck + conflicts + worked

    # ---- calls --------------------------------------------------------------------------------------------------

    def call(self) -> RequestContext:
        """What a request with the key presents: an admin's, shown withheld texts too, to compare every text."""
        _, _, workspace, key, _ = self.api_key.split("-", 4)
        return RequestContext(
            Credentials(f"wrkspc_{workspace}", f"apikey_{key}", hashlib.sha256(self.api_key.encode()).hexdigest()),
            shows_withheld=True,
        )
