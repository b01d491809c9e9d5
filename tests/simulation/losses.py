"""What nobody repairs and nobody announces: the product's own schedules have to notice it, and to mend it.

Copies and events that are lost for good (`Options.days`) come back by the daily comparisons and by what the reconciler
fetches, or not at all. Tables that were emptied (`Options.emptied`) are rebuilt once the region itself has said that it
is not complete, and no sooner.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from memolith.app.replication.region_backfill import RegionBackfill
from memolith.core.errors import MemolithError
from memolith.wire.rpc import packer_calls
from tests.simulation.ports import LIVES_S
from tests.simulation.sites import BATCH_MAX_US
from tests.simulation.tasks import Task

if TYPE_CHECKING:
    from tests.simulation.sites import Sandbox, Site
    from tests.simulation.world import World

DAY_US = 24 * 3600 * 1_000_000
MORE_THAN_A_DAY_US = DAY_US + 100_000_000
"""A comparison begins a day after the last one began, by a clock that may have been set meanwhile."""

MINUTE_US = 61_000_000
MINUTES_A_DAY = 8
"""How many minutes of each day are lived through: longer than what is missing is waited for before it is fetched."""

INVOCATIONS_MAX = 200
BUDGETS_US = (0, 1_000, 20_000_000)
"""How long an invocation of the comparisons goes on: a page, a few, all of it."""

COMPARED = 0.15
"""The share of a reconciler's rounds in which the comparisons run too, while clients write."""

NOTICED_WITHIN = 10
"""How many ticks emptied tables may go unnoticed, once nothing fails any more."""


class Losses:
    """Empties tables, and lets days go by.

    Attributes:
        emptied: the regions whose tables were emptied, and when.
        struck: how often what happened.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.emptied: dict[str, int] = {}
        self.struck: Counter[str] = Counter()

    # ---- tables that are emptied --------------------------------------------------------------------------------

    def empty(self, region: str) -> None:
        """Rows vanish. The region itself finds out; then an operator has it rebuilt.

        Not before the first tick has marked the tables: what vanishes from a region just deployed, nobody misses.
        """
        world, site = self._world, self._world.sites[region]
        while not site.is_marked():
            world.scheduler.sleep(0.5)
            if world.calm:
                world.tick(site)
        if region in world.wiped:
            return
        site.empty()
        world.wiped[region] = self.emptied[region] = world.scheduler.tick()
        self.struck["tables emptied"] += 1
        if self._is_noticed(site):
            self.struck["emptied tables noticed"] += 1
            world.scheduler.sleep(world.chance.uniform(0, 30.0))
        else:
            world.defects.append(f"nobody noticed that the tables of {region} were emptied")
        world.trouble.rebuild_until_done(site)

    def _is_noticed(self, site: Site) -> bool:
        """Waits until the region says that it is not complete; whether it did in time."""
        ticks = 0
        while (control := site.control()) is not None and control.complete:
            if ticks == NOTICED_WITHIN:
                return False
            if self._world.calm:
                ticks += 1
                self._world.tick(site)
                self._world.scheduler.sleep(2 * BATCH_MAX_US / 1_000_000)
            self._world.scheduler.sleep(0.5)
        return True

    # ---- a region that joins ------------------------------------------------------------------------------------

    def join(self, region: str) -> None:
        """Copies begin; an operator has brought what is older, and the tables built, as often as it takes."""
        world, site = self._world, self._world.sites[region]
        world.network.absent.discard(region)
        world.wiped[region] = world.scheduler.tick()
        world.scheduler.sleep(world.chance.random() * 3.0)
        others = [other for other in world.options.regions if other != region]
        copied: list[int] = []
        while not copied:
            filling = world.scheduler.spawn(f"filling of {region}", partial(self._fill, site, others, copied))
            world.scheduler.wait(filling)
            world.scheduler.sleep(1.0)
            if filling.error is not None and not filling.crashed and not isinstance(filling.error, MemolithError):
                world.defects.append(f"filling of {region}: {filling.error!r}")
        self.struck["brought to a region that joined"] += sum(copied)
        world.network.unfilled.discard(region)
        world.trouble.rebuild_until_done(site)

    def _fill(self, site: Site, others: list[str], copied: list[int]) -> None:
        region = site.open().region
        copied.append(RegionBackfill(region, others).run(lambda progress: None))

    # ---- packs --------------------------------------------------------------------------------------------------

    def pack_now_and_then(self, region: str) -> None:
        """As messages say which store's pack is behind; half of the time from nothing, as an operator may ask."""
        world = self._world
        while not world.calm:
            world.scheduler.sleep(world.chance.uniform(0.1, 4.0))
            self._pack_one(region, world.chance.choice(world.stores), anew=world.chance.random() < 0.5)

    def pack_all(self) -> None:
        """Every store once more in every region, as the events of the last writes have it."""
        if self._world.options.packs:
            for region in self._world.options.regions:
                for store_id in self._world.stores:
                    self._world.scheduler.spawn("last packs", partial(self._pack_one, region, store_id, anew=False))
            self._world.scheduler.run()

    def _pack_one(self, region: str, store_id: str, anew: bool) -> None:
        world, payload = self._world, {"call": "pack", "store_id": store_id, "anew": anew}
        packed = world.scheduler.spawn(
            f"packer in {region}",
            partial(world.sites[region].use, partial(self._pack, payload)),
            life_s=LIVES_S["packer"],
        )
        world.scheduler.wait(packed)
        if packed.error is not None and not packed.crashed:
            world.defects.append(f"packing in {region}: {packed.error!r}")

    def _pack(self, payload: dict[str, Any], sandbox: Sandbox) -> None:
        self.struck["packed"] += packer_calls(sandbox.packing)(payload).get("number") is not None

    # ---- days that go by ----------------------------------------------------------------------------------------

    def compare_now_and_then(self, site: Site) -> None:
        """Beside the clients' calls, where anything may be lost for good."""
        if self._world.options.days and self._world.chance.random() < COMPARED:
            self._compare(site, [])

    def days(self) -> None:
        """A few minutes of each day: the comparisons, ticks, a sweep."""
        for _ in range(self._world.options.days):
            self._world.scheduler.now_us += MORE_THAN_A_DAY_US
            for site in self._world.sites.values():
                self._compare_all(site)
            for _ in range(MINUTES_A_DAY):
                self._world.scheduler.now_us += MINUTE_US
                for site in self._world.sites.values():
                    self._world.tick(site)
                self._rest()
            if self._world.sweeps is not None:
                self._world.sweeps.come_to_rest()

    def _rest(self) -> None:
        self._world.scheduler.run()
        for site in self._world.sites.values():
            site.database.settle()

    def _compare_all(self, site: Site) -> None:
        """As many invocations as one day's comparisons take."""
        for _ in range(INVOCATIONS_MAX):
            finished: list[bool] = []
            self._compare(site, finished)
            self._rest()
            if finished == [True]:
                return
        self._world.defects.append(f"the comparisons of {site.name} never end")

    def _compare(self, site: Site, finished: list[bool]) -> Task:
        budget_us = self._world.chance.choice(BUDGETS_US)
        return self._world.scheduler.spawn(
            f"comparison in {site.name}",
            partial(self._invoke, site, budget_us, finished),
            life_s=LIVES_S["reconciler"],
        )

    def _invoke(self, site: Site, budget_us: int, finished: list[bool]) -> None:
        try:
            is_through, repaired = site.use(lambda sandbox: sandbox.compare(budget_us))
        except MemolithError:
            return
        except Exception as error:  # noqa: BLE001 - reported at the end of the run
            self._world.defects.append(f"comparison in {site.name}: {error!r}")
            return
        finished.append(is_through)
        self.struck["mended by a comparison"] += repaired
