"""What a change of a store ends for writes under way: once it was told, none is acknowledged as if it were not; ours.

A store that is archived or deleted takes no writes any more; one that asks for two regions none that stand in one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.core.errors import MemolithError, OutcomeUnknown
from memolith.core.limits import DRAIN_S, LAPTOP_DRAIN_S, LAPTOP_LEASE_US, LEASE_US
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")
THIRD = "ap-south-1"
ENDS: dict[str, Callable[[Scene, str], object]] = {
    "archive": lambda scene, at: scene.at(at).stores.archive(scene.call(), scene.store),
    "delete": lambda scene, at: scene.at(at).stores.delete(scene.call(), scene.store),
}


class Frozen:
    """A writer that stands still before its put, while somebody ends or changes the store."""

    def __init__(self, end: Callable[[], object]) -> None:
        self._end, self._done = end, False

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "objects.put_if_absent" and not self._done:
            self._done = True
            self._end()
        return act()


@pytest.mark.parametrize("region", [HOME, AWAY])
@pytest.mark.parametrize(("end", "erase_delay_us"), [("archive", 0), ("delete", 0), ("delete", 1_000_000_000)])
def test_a_write_under_way_is_not_acknowledged_after_the_store_was_ended(
    end: str, erase_delay_us: int, region: str
) -> None:
    scene = Scene(erase_delay_us=erase_delay_us)
    memory = scene.create("/a", "one")
    scene.deliver()
    with scene.intercepted_by(Frozen(lambda: ENDS[end](scene, region))), pytest.raises(OutcomeUnknown):
        scene.update(memory, "two")


class FrozenAt:
    """A writer that stands still before its port call of this number (from 0), while somebody ends the store."""

    def __init__(self, number: int, end: Callable[[], object]) -> None:
        self._number, self._end = number, end
        self._home_answered, self.had_answer, self.ended = False, False, False

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        """`had_answer` is whether the home had answered the writer's own call before the store was ended."""
        if self.ended:
            return act()
        self._number -= 1
        if self._number < 0:
            self.ended, self.had_answer = True, self._home_answered
            self._end()
            return act()
        result = act()
        if not self.ended and call.name == "peers.call" and "peerwriter" in call.subjects:
            self._home_answered = True
        return result


@pytest.mark.parametrize("region", [HOME, AWAY])
@pytest.mark.parametrize("end", list(ENDS))
def test_a_write_is_told_after_its_store_was_ended_only_where_its_home_had_answered_before(
    end: str, region: str
) -> None:
    """The writer stands still at each of its port calls in turn."""
    told: list[bool] = []
    while True:
        scene = Scene()
        memory = scene.create("/a", "one")
        scene.deliver()
        frozen = FrozenAt(len(told), partial(ENDS[end], scene, HOME))
        with scene.intercepted_by(frozen):
            try:
                scene.update(memory, "two", at=region)
                told.append(True)
            except MemolithError:
                told.append(False)
        if not frozen.ended:
            break
        assert told[-1] == frozen.had_answer, f"at port call {len(told)}"
    assert told[-1] and any(told[:-1]) == (region == AWAY), "a call that lands elsewhere is folded there afterwards"


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
    with pytest.raises(MemolithError):
        ENDS["delete"](scene, HOME)
    store = scene.create_store("other")
    scene.at(HOME).stores.update(scene.call(), store.id, name="n", description="", metadata={})
    assert scene.clock.ticks_us() == before


def ask(scene: Scene, at: str, name: str = "n", **wish: str) -> None:
    """Asks for a durability, as an admin's call that lands in this region."""
    scene.at(at).stores.update(scene.call(), scene.store, name=name, description="", metadata={}, **wish)


def waited(scene: Scene, act: Callable[[], object]) -> bool:
    """Whether a call waited until every lease had run out."""
    before = scene.clock.ticks_us()
    act()
    return scene.clock.ticks_us() - before >= DRAIN_S * 1_000_000


@pytest.mark.parametrize("region", [HOME, AWAY])
@pytest.mark.parametrize("before", [{}, {"durability": "two_regions", "second_region": THIRD}])
def test_a_write_under_way_is_not_acknowledged_without_the_second_region_after_that_was_asked_for(
    before: dict[str, str], region: str
) -> None:
    scene = Scene(regions=(HOME, AWAY, THIRD))
    if before:
        ask(scene, HOME, **before)
    memory = scene.create("/a", "one")
    scene.deliver()
    wish = {"durability": "two_regions", "second_region": AWAY}
    with scene.intercepted_by(Frozen(lambda: ask(scene, region, **wish))), pytest.raises(OutcomeUnknown):
        scene.update(memory, "two")
    scene.drop_events()
    acknowledged = scene.update(memory, "three")
    ids = {entry.version_id for entry in scene.entries(AWAY)}
    assert acknowledged.version_id in ids and len(ids) == 3, "and what it builds on"


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_asking_for_two_regions_waits_until_every_lease_has_run_out_and_so_does_asking_again(region: str) -> None:
    scene = Scene(regions=(HOME, AWAY, THIRD))
    assert waited(scene, lambda: ask(scene, region, durability="two_regions"))
    assert waited(scene, lambda: ask(scene, region, durability="two_regions")), "who asked first may have died waiting"
    assert waited(scene, lambda: ask(scene, region, second_region=THIRD))


def test_other_changes_of_a_store_in_two_regions_do_not_wait() -> None:
    scene = Scene()
    ask(scene, HOME, durability="two_regions")
    assert not waited(scene, lambda: ask(scene, HOME, name="other"))
    assert not waited(scene, lambda: ask(scene, HOME, durability="one_region"))
    assert not waited(scene, lambda: ask(scene, HOME, durability="one_region"))


def test_a_write_that_outlived_its_lease_is_acknowledged_though_one_region_is_enough_by_now() -> None:
    scene = Scene()
    ask(scene, HOME, durability="two_regions")
    memory = scene.create("/a", "one")

    def slowly() -> None:
        ask(scene, HOME, durability="one_region")
        scene.clock.advance(DRAIN_S)

    with scene.intercepted_by(Frozen(slowly)):
        assert scene.update(memory, "two").content_sha256


@pytest.mark.parametrize("end", list(ENDS))
def test_ending_a_store_waits_for_as_long_as_its_deployment_s_leases_last(end: str) -> None:
    scene = Scene()
    for site in scene.cloud.sites.values():
        site.region.lease_us, site.region.drain_s = LAPTOP_LEASE_US, LAPTOP_DRAIN_S
    before = scene.clock.ticks_us()
    ENDS[end](scene, HOME)
    assert LAPTOP_LEASE_US < scene.clock.ticks_us() - before < DRAIN_S * 1_000_000


def test_a_write_that_outlived_a_shorter_lease_is_not_acknowledged_after_the_store_was_ended() -> None:
    scene = Scene()
    for site in scene.cloud.sites.values():
        site.region.lease_us, site.region.drain_s = LAPTOP_LEASE_US, LAPTOP_DRAIN_S
    memory = scene.create("/a", "one")
    with scene.intercepted_by(Frozen(lambda: ENDS["archive"](scene, HOME))), pytest.raises(OutcomeUnknown):
        scene.update(memory, "two")
