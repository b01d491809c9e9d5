"""The tick: what fails of it is counted by ticks, as its alarm compares it with how many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call
from memolith.ports import errors as port_errors
from tests.unit.app.scene import HOME, Scene

T = TypeVar("T")


def silent(call: Call, act: Callable[[], T]) -> T:
    """Nothing of the home's index or bucket answers."""
    if call.origin == HOME:
        raise port_errors.Unavailable("silent")
    return act()


@pytest.mark.parametrize("ticks", [1, 3])
def test_a_tick_of_which_several_parts_fail_is_counted_as_one_that_failed(ticks: int) -> None:
    scene = Scene()
    with scene.intercepted_by(silent):
        failed = [scene.cloud.sites[HOME].reconciling.tick().failures for _ in range(ticks)]
    assert all(len(failures) > 1 for failures in failed), "several parts of each"
    assert scene.cloud.metrics.total("reconcile_failed") == ticks


def test_a_tick_that_gets_its_work_done_is_not_counted_as_one_that_failed() -> None:
    scene = Scene()
    assert scene.cloud.sites[HOME].reconciling.tick().failures == []
    assert scene.cloud.metrics.total("reconcile_failed") == 0
