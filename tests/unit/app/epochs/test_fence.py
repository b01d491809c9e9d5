"""A call answers as a store's home only while its lease runs, or on a record that was read again; ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Fault, Faulty, ScriptedFaults, Strike
from memolith.adapters.memory import MemoryIndex
from memolith.app.kernel.results import ReadConsistency, RequestContext
from memolith.app.log.store_log import StoreLog
from memolith.core.errors import OutcomeUnknown, PreconditionFailed, Unavailable
from memolith.core.log_position import Slot
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import PlacedRecord, to_record
from tests.unit.app.scene import HOME, Scene

T = TypeVar("T")


class Overtaken:
    """While a call waits for the reply to one port call, time goes by, and perhaps its store's home is taken away."""

    def __init__(self, scene: Scene, during: str, seconds: float, moving: bool, then: Fault | None = None) -> None:
        self._scene, self._during, self._seconds, self._moving = scene, during, seconds, moving
        self._then = Faulty(ScriptedFaults(*([] if then is None else [Strike(then, "objects.get")])))
        self._done = False

    def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
        if self._done:
            return self._then(call, act)
        try:
            return act()
        finally:
            if call.name == self._during and not self._done:
                self._done = True
                self._scene.clock.advance(self._seconds)
                if self._moving:
                    _begin_to_move(self._scene)


def _begin_to_move(scene: Scene) -> None:
    """A record after which the home takes no more writes; in the log of records, and in no table yet."""
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    key = StoreRow.key(scene.store)
    row = StoreRow.from_attributes(index.read([key])[key])
    region = scene.cloud.sites[HOME].region
    record = replace(to_record(row, "user:mover"), state=StoreState.MOVING, version_id=region.new_id("memver"))
    assert StoreLog(region).put(PlacedRecord(Slot.parse(row.slot).following, record))


PUT, HEAD = "objects.put_if_absent", "objects.head"
LATE_S = 4.0


def test_a_write_whose_lease_ran_out_is_acknowledged_where_the_record_is_unchanged() -> None:
    scene = Scene()
    with scene.intercepted_by(Overtaken(scene, PUT, LATE_S, moving=False)):
        memory = scene.create("/a", "kept")
    assert scene.read(memory).content == "kept"


def test_a_write_that_outlived_its_lease_is_not_acknowledged_once_the_home_is_leaving() -> None:
    scene = Scene()
    with scene.intercepted_by(Overtaken(scene, PUT, LATE_S, moving=True)), pytest.raises(OutcomeUnknown):
        scene.create("/a", "perhaps")


def test_a_write_of_which_it_cannot_be_told_whether_its_home_is_still_there_may_be_committed() -> None:
    scene = Scene()
    late = scene.intercepted_by(Overtaken(scene, PUT, LATE_S, moving=False, then=Fault.REFUSED))
    with late, pytest.raises(OutcomeUnknown):
        scene.create("/a", "perhaps")


def test_within_its_lease_a_write_stands_whatever_happens_to_the_home() -> None:
    scene = Scene()
    with scene.intercepted_by(Overtaken(scene, PUT, 2.0, moving=True)):
        scene.create("/a", "kept")


@pytest.mark.parametrize("moving", [True, False])
def test_a_refusal_is_the_homes_answer_too(moving: bool) -> None:
    scene = Scene()
    memory = scene.create("/a", "text")
    late = scene.intercepted_by(Overtaken(scene, HEAD, LATE_S, moving=moving))
    with late, pytest.raises(Unavailable if moving else PreconditionFailed):
        scene.update(memory, "other", expected="0" * 64)


@pytest.mark.parametrize("moving", [True, False])
def test_an_answer_that_nothing_changed_is_the_homes_answer(moving: bool) -> None:
    scene = Scene()
    memory = scene.create("/a", "text")
    with scene.intercepted_by(Overtaken(scene, HEAD, LATE_S, moving=moving)):
        if not moving:
            assert scene.update(memory, "text").version_id == memory.version_id
            return
        with pytest.raises(Unavailable):
            scene.update(memory, "text")


@pytest.mark.parametrize("moving", [True, False])
def test_what_the_home_is_asked_to_confirm_is_judged_by_the_lease(moving: bool) -> None:
    scene = Scene()
    memory = scene.create("/a", "text")
    call = RequestContext(scene.call().credentials, ReadConsistency(home=True))
    with scene.intercepted_by(Overtaken(scene, HEAD, LATE_S, moving=moving)):
        if not moving:
            assert scene.at(HOME).memories.retrieve(call, scene.store, memory.id, full=True).content == "text"
            return
        with pytest.raises(Unavailable):
            scene.at(HOME).memories.retrieve(call, scene.store, memory.id, full=True)


def test_a_clock_that_is_set_back_does_not_lengthen_a_lease() -> None:
    scene = Scene()

    class SetBack(Overtaken):
        def __call__(self, call: PortCall, act: Callable[[], T]) -> T:
            result = super().__call__(call, act)
            if self._done:
                scene.clock.advance(-100)
            return result

    with scene.intercepted_by(SetBack(scene, PUT, LATE_S, moving=True)), pytest.raises(OutcomeUnknown):
        scene.create("/a", "perhaps")
