"""The schedules of the erasers, and who looks over their shoulders: what regions show of memories in between."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memolith.app.api.service import Memolith
from memolith.app.kernel.results import Version, VersionFilter
from memolith.core.errors import MemolithError, NotFound
from tests.simulation.history import Glimpse, Seen

if TYPE_CHECKING:
    from tests.simulation.sites import Sandbox
    from tests.simulation.world import World

SWEEP_LIFE_S = 300.0
REST_S = 30.0
SWEEPS_MAX = 40
LOOKED_AT = 3
VERSIONS_LOOKED_AT = 20


class Sweeps:
    """Each region's eraser is woken now and then; at rest, until nothing is left to erase in any region."""

    def __init__(self, world: World) -> None:
        self._world = world

    def let_loose(self) -> None:
        """The schedules begin."""
        for region in self._world.options.regions:
            self._world.scheduler.spawn(f"sweeps in {region}", partial(self._sweep_now_and_then, region))

    def _sweep_now_and_then(self, region: str) -> None:
        world = self._world
        while not world.calm:
            world.scheduler.sleep(world.chance.uniform(0.1, world.options.sweep_s))
            self._sweep(region)
            if world.options.day_s and region not in world.network.unfilled:
                self._look(region)

    def _sweep(self, region: str) -> int:
        """One invocation: how much it erased, or left to the next. It may die, and leaves something then."""
        site, left = self._world.sites[region], list[int]()
        task = self._world.scheduler.spawn(
            f"sweep in {region}",
            lambda: site.use(lambda sandbox: left.append(sum(sandbox.erasures.sweep().values()))),
            life_s=SWEEP_LIFE_S,
        )
        self._world.scheduler.wait(task)
        return left[0] if left else 1

    def come_to_rest(self) -> None:
        """The schedules go on, long after the last day has gone by, until nothing is found in any region.

        Two rounds in a row: the first may be the end of a way through that somebody began long before, and died.
        """
        self._world.scheduler.spawn("last sweeps", self._sweep_until_done)
        self._world.scheduler.run()

    def _sweep_until_done(self) -> None:
        found = [1, 1]
        for _ in range(SWEEPS_MAX):
            self._world.scheduler.sleep(REST_S + 3 * self._world.options.day_s)
            for site in self._world.sites.values():
                site.database.settle()
            found.append(sum(self._sweep(region) for region in self._world.options.regions))
            if not any(found[-2:]):
                return
        self._world.defects.append("what is to be erased never ends")

    # ---- looking ------------------------------------------------------------------------------------------------

    def _look(self, region: str) -> None:
        """Reads a few memories as a client would, and notes which of their versions have text."""
        world = self._world
        answers = {
            one.answer.memory_id: one.store_id
            for one in world.history.operations
            if one.acknowledged and isinstance(one.answer, Seen)
        }
        chosen = world.chance.sample(sorted(answers.items()), min(LOOKED_AT, len(answers)))
        for memory_id, store_id in chosen:
            invoked = world.scheduler.tick()
            try:
                shown, versions = world.sites[region].use(partial(self._see, store_id, memory_id))
            except MemolithError:
                continue
            world.history.glimpses.append(
                Glimpse(region, store_id, memory_id, invoked, world.scheduler.tick(), shown, versions)
            )

    def _see(self, store_id: str, memory_id: str, sandbox: Sandbox) -> tuple[str, tuple[tuple[str, bool], ...]]:
        memolith = sandbox.memolith
        return _shown(memolith, self._world, store_id, memory_id), tuple(
            (version.id, version.content is not None)
            for version in _versions(memolith, self._world, store_id, memory_id)
        )


def _shown(memolith: Memolith, world: World, store_id: str, memory_id: str) -> str:
    try:
        memory = memolith.memories.retrieve(world.call(), store_id, memory_id, full=True)
    except NotFound:
        return "not found"
    return "blank" if memory.content is None else "text"


def _versions(memolith: Memolith, world: World, store_id: str, memory_id: str) -> list[Version]:
    """Without deletions, which have no text to lose."""
    page = memolith.versions.page(
        world.call(), store_id, VersionFilter(memory_id=memory_id), limit=VERSIONS_LOOKED_AT, after=None, full=True
    )
    return [version for version in page.items if version.operation != "deleted"]
