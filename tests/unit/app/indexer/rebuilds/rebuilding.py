"""A rebuild whose operator pauses while the indexer works, and the tables that come of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from memolith.adapters.memory import ManualClock, MemoryQueue
from memolith.app.indexer.indexer import Malformed
from memolith.app.indexer.rebuild import BatchProjector, Rebuild
from memolith.app.indexer.rebuild_pages import Progress
from tests.support.rebuilds import handled_event
from tests.unit.app.scene import HOME, INDEXED, Scene

LONGEST_LIFE_S = 60.0


class Pauses(ManualClock):
    """A clock whose pauses are when others work: each one runs what is to happen meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[float], None] = lambda seconds: None

    def pause(self, seconds: float) -> None:
        super().pause(seconds)
        meanwhile, self.meanwhile = self.meanwhile, lambda _: None
        meanwhile(seconds)
        self.meanwhile = meanwhile


class Rebuilding:
    """A rebuild of one region: the operator's side, and the indexer's, which works in the operator's pauses."""

    def __init__(self, scene: Scene, region: str = HOME) -> None:
        self.scene, self.region = scene, region
        self.site = scene.cloud.sites[region]
        self.queue = MemoryQueue()
        self.progress: list[Progress] = []
        self.malformed: list[Malformed] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self.folder = BatchProjector(self.site.region, self.site.indexing)

    def run(self) -> int:
        clock = self.site.region.clock
        assert isinstance(clock, Pauses)
        clock.meanwhile = self._work
        try:
            rebuild = Rebuild(
                self.site.region, self.site.indexing, self.scene.cloud.tables(self.region), self.queue, LONGEST_LIFE_S
            )
            return rebuild.run(self.progress.append)
        finally:
            clock.meanwhile = lambda seconds: None

    def _work(self, seconds: float) -> None:
        self.meanwhile()
        for message in self.queue.take(1):
            self.handle(message)

    def handle(self, message: str) -> None:
        """Do what the indexer does with a message of its queue."""
        if not handled_event(self.site.indexing, message):
            self.malformed += self.folder.fold(json.loads(message)["rebuild"])


def rows(scene: Scene, region: str = HOME) -> dict[str, Mapping[Any, Any]]:
    """Every table of the generation that serves now."""
    scene.cloud.sites[region].region.view()
    return {name: scene.cloud.rows(region, name) for name in INDEXED}
