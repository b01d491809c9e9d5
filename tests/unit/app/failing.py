"""A fail-over as an operator makes it, and what it leaves behind: what tests of that begin with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from memolith.adapters.memory import PutEvent
from memolith.app.indexer.writer_client import WriterClient
from memolith.app.kernel.results import Memory
from memolith.core.errors import Unavailable
from tests.unit.app.scene import AWAY, HOME, Scene


def fail_over(scene: Scene, to: str = AWAY, old: str = HOME) -> dict[str, object]:
    """As an operator asks the new home's reconciler."""
    payload = {"call": "homes.fail_over", "store_id": scene.store, "old": old}
    answer = scene.cloud.peers.call(to, "reconciler", payload)
    assert "error" not in answer, answer
    return dict(answer)


def hold_back(scene: Scene) -> list[PutEvent]:
    """What was put since is on no wire any more, until it is sent again."""
    held = list(scene.cloud.pending)
    scene.cloud.pending.clear()
    return held


def diverged(scene: Scene, theirs: str = "theirs") -> tuple[Memory, Memory]:
    """A memory that both homes wrote: as it is, and the old home's version of it."""
    memory = scene.create("/a", "one")
    scene.deliver()
    lost = scene.update(memory, theirs)
    held = hold_back(scene)
    fail_over(scene)
    scene.update(memory, "ours", at=AWAY)
    scene.cloud.pending.extend(held)
    scene.deliver()
    return memory, lost


def fail_replays(patch: pytest.MonkeyPatch, store_id: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Have the home fail to replay anything of one store."""
    replay = WriterClient._replay

    def failing(self: WriterClient, payload: Mapping[str, str]) -> None:
        if store_id in str(payload):
            meanwhile()
            raise Unavailable("a straggler was not replayed yet; try again")
        replay(self, payload)

    patch.setattr(WriterClient, "_replay", failing)
