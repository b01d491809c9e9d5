"""Once somebody was told that a store is archived or deleted, no write to it is acknowledged any more; ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from cairn.adapters.layered import Call as PortCall
from cairn.core.errors import CairnError, OutcomeUnknown
from cairn.core.limits import DRAIN_S, LEASE_US
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")
ENDS: dict[str, Callable[[Scene, str], object]] = {
    "archive": lambda scene, at: scene.at(at).archive_store(scene.call(), scene.store),
    "delete": lambda scene, at: scene.at(at).delete_store(scene.call(), scene.store),
}


class Frozen:
    """A writer that stands still before its put, while somebody ends the store."""

    def __init__(self, end: Callable[[], object]) -> None:
        self._end, self._done = end, False

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "objects.put_if_absent" and not self._done:
            self._done = True
            self._end()
        return act()


@pytest.mark.parametrize("region", [HOME, AWAY])
@pytest.mark.parametrize("end", list(ENDS))
def test_a_write_under_way_is_not_acknowledged_after_the_store_was_ended(end: str, region: str) -> None:
    scene = Scene()
    memory = scene.create("/a", "one")
    scene.deliver()
    with scene.intercepted_by(Frozen(lambda: ENDS[end](scene, region))), pytest.raises(OutcomeUnknown):
        scene.update(memory, "two")


@pytest.mark.parametrize("end", list(ENDS))
def test_ending_a_store_waits_until_every_lease_has_run_out(end: str) -> None:
    scene = Scene()
    before = scene.clock.ticks_us()
    ENDS[end](scene, HOME)
    assert scene.clock.ticks_us() - before >= DRAIN_S * 1_000_000 > LEASE_US


def test_archiving_again_waits_too_as_the_first_who_did_may_have_died_waiting() -> None:
    scene = Scene()
    ENDS["archive"](scene, HOME)
    before = scene.clock.ticks_us()
    ENDS["archive"](scene, AWAY)
    assert scene.clock.ticks_us() - before >= DRAIN_S * 1_000_000


def test_other_changes_of_a_store_and_refusals_do_not_wait() -> None:
    scene = Scene()
    ENDS["delete"](scene, HOME)
    before = scene.clock.ticks_us()
    with pytest.raises(CairnError):
        ENDS["delete"](scene, HOME)
    store = scene.create_store("other")
    scene.at(HOME).update_store(scene.call(), store.id, name="n", description="", metadata={})
    assert scene.clock.ticks_us() == before
