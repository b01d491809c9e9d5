"""Exact schedules of calls that are passed on to a store's home, which changes meanwhile.

A call that lands in a replica carries rows of that replica. They decide nothing, whoever turns out to be the home.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.core.errors import InvalidRequest, NotFound
from memolith.wire.rpc import peerwriter_calls
from tests.simulation.deliveries import ACTOR, Torn, version_row
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import PUT
from tests.support.cloud import straight
from tests.unit.app.scene import Scene

WRITES: dict[str, Callable[[MovingStage, str, str], object]] = {
    "update": lambda stage, memory_id, region: stage.update(memory_id, "mine", region=region),
    "rename": lambda stage, memory_id, region: stage.update(memory_id, path="/c", region=region),
    "delete": lambda stage, memory_id, region: stage.delete(memory_id, region),
}


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


# ---- the home comes to the region where the call landed -------------------------------------------------------------


def assert_done(stage: MovingStage, write: str, memory_id: str) -> None:
    """The write that was acknowledged is what every region shows."""
    stage.acknowledged.clear()
    stage.at_rest()
    for region in stage.cloud.regions:
        if write == "delete":
            with pytest.raises(NotFound):
                stage.read(memory_id, region)
        else:
            memory = stage.read(memory_id, region)
            assert (memory.path, memory.content) == (("/b", "mine") if write == "update" else ("/c", "text"))


@pytest.mark.parametrize("write", list(WRITES))
def test_a_call_that_is_passed_on_while_its_region_becomes_the_home_finds_what_was_acknowledged(
    stage: MovingStage, write: str
) -> None:
    memory_id = stage.create("/b", "text").id
    caller = stage.actor(lambda: WRITES[write](stage, memory_id, AWAY)).until("peers.call", "peerwriter")
    stage.move(AWAY)
    caller.finish()
    assert_done(stage, write, memory_id)


@pytest.mark.parametrize("write", list(WRITES))
def test_a_call_that_lasts_a_moment_finds_what_was_acknowledged_though_its_region_becomes_the_home_in_it(
    stage: MovingStage, write: str
) -> None:
    """Its rows are young when the answer comes, so that no lease of theirs has run out; they are a replica's."""
    mover = stage.actor(lambda: stage.move(AWAY)).until("peers.call", "reconciler")
    memory_id = stage.create("/b", "text").id
    mover.until(PUT, f"{HOME}/log/")
    began_us = stage.clock.ticks_us()
    caller = stage.actor(lambda: WRITES[write](stage, memory_id, AWAY)).until("peers.call", "peerwriter")
    mover.finish()
    caller.finish()
    assert stage.clock.ticks_us() == began_us, "nobody waited"
    assert_done(stage, write, memory_id)


@pytest.mark.parametrize("write", list(WRITES))
def test_a_home_that_learns_of_its_term_from_a_call_finds_what_was_acknowledged(stage: MovingStage, write: str) -> None:
    """The mover died when it had committed; the old home alone has heard of it, and sends the caller on.

    The memory's object has reached the new home, and is not indexed there.
    """
    memory = stage.create("/b", "text")
    memory_id = memory.id
    stage.copy(stage.key_of(memory.version_id), AWAY)
    mover = stage.actor(lambda: stage.operate(AWAY, "homes.move"))
    mover.until(PUT, f"{HOME}/store/", occurrence=3, after=True).die()
    stage.index(next(key for key in reversed(stage.all_keys(HOME)) if f"{HOME}/store/{stage.store}" in key), HOME)
    assert (stage.home(HOME), stage.home(AWAY)) == (AWAY, HOME)
    WRITES[write](stage, memory_id, THIRD)
    assert_done(stage, write, memory_id)


def test_a_text_that_a_verdict_withholds_is_not_taken_in_by_rows_from_before_the_home_came() -> None:
    scene = Scene()
    scene.create("/known", at=AWAY)
    scene.judge(scene.create("/b", "withheld"))
    scene.drop_events()

    def moved_first(call: PortCall, act: Callable[[], Any]) -> Any:
        if call.name == "peers.call" and (call.origin, call.target) == (AWAY, HOME) and "peerwriter" in call.subjects:
            scene.switch.around = straight
            scene.cloud.peers.call(AWAY, "reconciler", {"call": "homes.move", "store_id": scene.store})
        return act()

    with scene.intercepted_by(moved_first), pytest.raises(InvalidRequest):
        scene.create("/c", "withheld", at=AWAY)
    assert scene.paths(at=AWAY) == ["/b", "/known"]


def test_a_batch_that_has_the_new_record_and_not_yet_the_memorys_row_is_no_reason_for_a_404() -> None:
    scene = Scene()
    memory = scene.create("/b", "text")
    scene.drop_events()
    moved = {"call": "homes.move", "store_id": scene.store}
    move = Torn(AWAY, ("memories",), lambda: scene.cloud.peers.call(AWAY, "reconciler", moved))
    with scene.intercepted_by(move):
        assert scene.update(memory, "mine", at=AWAY).id == memory.id
    assert scene.read(memory, at=AWAY).content == "mine"


# ---- what stands apart ----------------------------------------------------------------------------------------------


def test_a_version_that_was_adopted_meanwhile_is_not_dismissed(stage: MovingStage) -> None:
    """The region where the call lands still lists it; to erase it would take a text that the memory shows."""
    memory = stage.create("/a", "one")
    stage.deliver()
    adopted = stage.update(memory.id, "two")
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.deliver()
    stage.come_late()
    row = version_row(stage, adopted.version_id)
    late = replace(row, position=str(row.position).replace("0002-0.eu-west-1", "0001-0.us-east-1"))
    request = {"store_id": stage.store, "version_id": late.version_id, "position": late.position, "actor": ACTOR}
    answer = peerwriter_calls(stage.memolith(AWAY))({"call": "dismiss", **request})
    assert answer["error"]["type"] == "NotFound"
    stage.at_rest()
    assert stage.read(memory.id, THIRD).content == "two"
