"""A worker that lost its dream to another one leaves that one's work alone."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.app.api.dream_run import Taken
from memolith.app.api.memories import Memories
from tests.api.dreams.stage import Stage
from tests.api.dreams.test_forgotten_steps import pause_after_asking, steps


def test_a_worker_that_wakes_up_without_its_dream_removes_no_step_of_the_one_that_has_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first sleeps while it copies; its lease is over, and the second copies, asks and has no more time."""
    dream = stage.create()
    real, kept = Memories.create, dict[str, str]()

    def sleep_once(self: Memories, *args: Any, **options: Any) -> Any:
        if not kept:
            monkeypatch.setattr(Memories, "create", real)
            stage.scene.clock.advance(61)
            pause_after_asking(stage, dream)
            stage.model.before = lambda: None
            kept.update(steps(stage))
        return real(self, *args, **options)

    monkeypatch.setattr(Memories, "create", sleep_once)
    first, second = stage.memolith.dream_runner(60_000_000), stage.runner
    assert second is not None
    assert first.take_up(dream.id) is Taken.ENDED
    assert steps(stage) == kept
    assert second.take_up(dream.id) is Taken.ENDED
    assert len(stage.model.asks) == 1
    assert stage.client.beta.dreams.retrieve(dream.id).status == "completed"
    assert steps(stage) == {}
