"""A store with a secret, in a deployment that erases deleted stores after a week."""

from __future__ import annotations

import pytest

from memolith.app.kernel.results import Memory
from tests.unit.app.erasure.deleted_stores.calls import TEXT, WEEK_US
from tests.unit.app.scene import Scene


@pytest.fixture
def scene() -> Scene:
    return Scene(erase_delay_us=WEEK_US)


@pytest.fixture
def memory(scene: Scene) -> Memory:
    made = scene.create("/a", TEXT)
    scene.update(made, f"{TEXT} again")
    scene.deliver()
    return made
