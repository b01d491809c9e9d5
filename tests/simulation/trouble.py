"""What is planned to befall a world: when clocks, links, tables and texts are struck, and how tables are rebuilt."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from memolith.adapters.memory import MemoryTables
from memolith.app.indexer.rebuild import Rebuild
from memolith.app.indexer.service import make_indexer
from memolith.core import errors
from tests.simulation.ports import LONGEST_LIFE_S

if TYPE_CHECKING:
    from tests.simulation.sites import Site
    from tests.simulation.world import World


class Trouble:
    """Has the options' faults happen at instants of chance's choosing, and operators rebuild what they took."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._operated: set[str] = set()

    def plan(self) -> None:
        world = self._world
        options, regions = world.options, list(world.options.regions)
        for _ in range(options.freezes):
            clock = world.sites[world.chance.choice(regions)].clock
            if world.chance.random() < 0.5:
                self._sometime("freeze", partial(clock.freeze, world.chance.uniform(0.1, options.leap_s)))
            else:
                self._sometime("step", partial(clock.step, world.chance.uniform(-0.75, 0.75) * options.leap_s))
        for _ in range(options.links.cuts if len(regions) > 1 else 0):
            source, destination = world.chance.sample(regions, 2)
            seconds = world.chance.uniform(0, options.links.cut_s)
            self._sometime("cut", partial(world.network.cut, source, destination, seconds))
        for _ in range(options.rebuilds):
            site = world.sites[world.chance.choice(regions)]
            self._sometime("rebuild", partial(self.rebuild_until_done, site))
        for _ in range(options.wipes):
            self._sometime("wipe", partial(self._wipe, world.chance.choice(regions)))
        for _ in range(options.damaged):
            self._sometime("text damaged", world.damages.strike)
        for _ in range(options.emptied):
            self._sometime("tables emptied", partial(world.losses.empty, world.chance.choice(regions)))
        for _ in range(options.journals_lost):
            self._sometime("journal lost", world.sites[world.chance.choice(regions)].lose_journal)
        for site in world.sites.values():
            world.scheduler.spawn(f"schedule of {site.name}", partial(world.reconcile_now_and_then, site))
        for region in world.network.absent:
            world.scheduler.spawn("joining", partial(world.losses.join, region), world.chance.uniform(0.5, 5.0))
        for region in regions if options.packs else ():
            world.scheduler.spawn(f"packing in {region}", partial(world.losses.pack_now_and_then, region))
        if options.lagging:
            world.scheduler.spawn("indexes catch up", self._settle_now_and_then)

    def _sometime(self, name: str, happen: Callable[[], None]) -> None:
        self._world.scheduler.spawn(name, happen, self._world.chance.uniform(0, 3.0))

    def _wipe(self, region: str) -> None:
        """The tables lose every row; an operator has them rebuilt, as often as it takes."""
        world = self._world
        site = world.sites[region]
        if region in world.wiped:
            return
        site.wipe()
        world.wiped[region] = world.scheduler.tick()
        world.scheduler.sleep(world.chance.uniform(0, 30.0))
        self.rebuild_until_done(site)

    def rebuild_until_done(self, site: Site) -> None:
        """One operator a region, who begins again until it is done."""
        world = self._world
        if site.name in self._operated:
            return
        self._operated.add(site.name)
        began = world.scheduler.tick()
        while True:
            task = world.scheduler.spawn(f"rebuild of {site.name}", partial(self._rebuild, site))
            world.scheduler.wait(task)
            if not task.crashed:
                break
        self._operated.discard(site.name)
        world.rebuilds.setdefault(site.name, []).append((began, world.scheduler.tick()))
        world.defects += [] if task.error is None else [f"rebuild of {site.name}: {task.error!r}"]

    def _rebuild(self, site: Site) -> None:
        region = site.open().region
        rebuild = Rebuild(
            region,
            make_indexer(region),
            MemoryTables(site.database),
            self._world.network.index_queue(site.name),
            LONGEST_LIFE_S,
        )
        while True:
            try:
                rebuild.run(lambda progress: None)
                if (control := site.control()) is not None and control.complete:
                    return
            except (errors.Busy, errors.Unavailable):
                self._world.scheduler.sleep(1.0)

    def _settle_now_and_then(self) -> None:
        world = self._world
        while not world.calm:
            world.scheduler.sleep(world.chance.uniform(0.1, 3.0))
            world.sites[world.chance.choice(list(world.sites))].database.settle()
