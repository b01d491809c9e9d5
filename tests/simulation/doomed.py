"""A store that is written from every region, and deleted while it is: nothing of it may be left, anywhere, at rest."""

from __future__ import annotations

import base64
from functools import partial
from typing import TYPE_CHECKING

from memolith.core.errors import MemolithError, NotFound

if TYPE_CHECKING:
    from tests.simulation.sites import Sandbox
    from tests.simulation.world import World

NAME = "a doomed name"
WRITES = 5


class DoomedStore:
    """Writers in every region, and one who deletes. What they are told is no matter.

    Attributes:
        needles: all that was written into the store, as bodies, metadata and rows have it; empty if it was not deleted.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._home = world.options.regions[0]
        made = world.sites[self._home].use(
            lambda sandbox: sandbox.memolith.stores.create(
                world.call(), name=NAME, description=NAME, metadata={"x": NAME}
            )
        )
        self.store_id = made.id
        self._memories: list[str] = []
        self._texts: list[str] = []
        self._deleted = False

    @property
    def needles(self) -> list[bytes]:
        if not self._deleted:
            return []
        texts = [text.encode() for text in (NAME, *self._texts)]
        return [*texts, *(base64.urlsafe_b64encode(text)[: len(text)] for text in texts if text.startswith(b"/"))]

    def let_loose(self) -> None:
        """Everybody begins."""
        for region in self._world.options.regions:
            self._world.scheduler.spawn(f"doomed writer in {region}", partial(self._write, region))
        self._world.scheduler.spawn("doom", self._delete, self._world.chance.uniform(0.5, 6.0))

    def _write(self, region: str) -> None:
        world = self._world
        for number in range(WRITES):
            world.scheduler.sleep(world.chance.random() * 2.0)
            text, path = f"doomed text {number} of {region}.", f"/doomed/{region}/{number}"
            self._texts += [text, path]
            task = world.scheduler.spawn(
                f"doomed write in {region}",
                partial(world.sites[region].use, partial(self._one, text, path)),
                life_s=29.0,
            )
            world.scheduler.wait(task)

    def _one(self, text: str, path: str, sandbox: Sandbox) -> None:
        world = self._world
        try:
            if self._memories and world.chance.random() < 0.5:
                memory_id = world.chance.choice(self._memories)
                moved = path if world.chance.random() < 0.6 else None
                sandbox.memolith.memories.update(
                    world.call(),
                    self.store_id,
                    memory_id,
                    content=text,
                    path=moved,
                    expected_content_sha256=None,
                    full=False,
                )
            else:
                made = sandbox.memolith.memories.create(
                    world.call(), self.store_id, path=path, content=text, full=False
                )
                self._memories.append(made.id)
        except MemolithError:
            pass

    def _delete(self) -> None:
        """Until it is acknowledged, or known to be done."""
        world = self._world
        while not self._deleted:
            task = world.scheduler.spawn(
                "deletion",
                lambda: world.sites[self._home].use(
                    lambda sandbox: sandbox.memolith.stores.delete(world.call(), self.store_id)
                ),
                life_s=29.0,
            )
            world.scheduler.wait(task)
            gone = task.error is None or isinstance(task.error, NotFound)
            self._deleted = gone and not task.crashed
            world.scheduler.sleep(1.0)
