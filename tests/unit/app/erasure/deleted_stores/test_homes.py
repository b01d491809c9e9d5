"""A deleted store whose home is moved, or lost, is erased in time or restored at the new one."""

from __future__ import annotations

import pytest

from memolith.adapters.memory import PutEvent
from memolith.app.kernel.results import Memory
from memolith.core.errors import NotFound, Unavailable
from tests.unit.app.erasure.deleted_stores.calls import DAY_S, TEXT, delete, is_erased, let_pass, row, texts
from tests.unit.app.failing import fail_over, hold_back
from tests.unit.app.scene import AWAY, HOME, Scene


def test_a_deleted_stores_home_can_move_and_the_new_home_erases_it_in_time(scene: Scene, memory: Memory) -> None:
    delete(scene)
    answer = scene.cloud.peers.call(AWAY, "reconciler", {"call": "homes.move", "store_id": scene.store})
    assert answer["state"] == "moved", answer
    scene.deliver()
    with pytest.raises(NotFound):
        scene.read(memory, at=AWAY)
    let_pass(scene, 6.9)
    assert len(texts(scene, HOME)) == len(texts(scene, AWAY)) == 2
    let_pass(scene, 1.1, HOME)
    assert len(texts(scene, HOME)) == 2, "it is the home no more"
    let_pass(scene, 0, AWAY, HOME)
    assert is_erased(scene, HOME) and is_erased(scene, AWAY)


def test_a_deleted_store_whose_home_was_lost_can_be_restored_at_the_new_one(scene: Scene, memory: Memory) -> None:
    delete(scene)
    fail_over(scene)
    scene.deliver()
    let_pass(scene, 3)
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    scene.deliver()
    let_pass(scene, 9)
    for region in (HOME, AWAY):
        assert scene.read(memory, at=region).content == f"{TEXT} again"


def test_a_deletion_that_the_lost_home_acknowledged_holds_and_once_restored_does_not_come_back(
    scene: Scene, memory: Memory
) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    held = hold_back(scene)
    fail_over(scene)
    scene.deliver()
    assert scene.read(memory, at=AWAY).content == f"{TEXT} again"
    scene.cloud.pending.extend(held)
    scene.deliver()
    for region in (HOME, AWAY):
        with pytest.raises(NotFound):
            scene.read(memory, at=region)
    assert len(texts(scene, AWAY)) == 2
    scene.at(AWAY).stores.restore(scene.call(), scene.store)
    scene.deliver()
    for event in held:
        scene.cloud.sites[AWAY].indexing.object_arrived(event.key)
    let_pass(scene, 10)
    for region in (HOME, AWAY):
        assert scene.read(memory, at=region).content == f"{TEXT} again"


def test_a_deletion_that_comes_late_can_be_undone_for_as_long_as_one_that_is_made_then(
    scene: Scene, memory: Memory
) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    held = hold_back(scene)
    fail_over(scene)
    since = scene.create("/b", "written since", at=AWAY)
    scene.deliver()
    scene.clock.advance(8 * DAY_S)
    scene.cloud.pending.extend(held)
    scene.deliver()
    let_pass(scene, 0, AWAY)
    let_pass(scene, 6.9)
    scene.at(AWAY).stores.restore(scene.call(), scene.store)
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.read(since, at=region).content == "written since"
        assert scene.read(memory, at=region).content == f"{TEXT} again"


@pytest.mark.parametrize("deleted_again", [False, True])
def test_a_restoration_that_comes_after_its_late_deletion_undoes_that_and_no_other(
    scene: Scene, memory: Memory, deleted_again: bool
) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    deletion, restoration = hold_back(scene)
    fail_over(scene)
    scene.deliver()
    scene.clock.advance(DAY_S)
    scene.cloud.pending.append(deletion)
    scene.deliver()
    assert row(scene, AWAY).is_deleted
    if deleted_again:
        scene.at(AWAY).stores.restore(scene.call(), scene.store)
        delete(scene, at=AWAY)
    scene.cloud.pending.append(restoration)
    scene.deliver()
    for region in (HOME, AWAY):
        assert row(scene, region).is_deleted is deleted_again


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_deletion_and_its_restoration_that_the_lost_home_acknowledged_leave_the_store_as_it_was(
    scene: Scene, memory: Memory, order: tuple[int, int]
) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    held = hold_back(scene)
    assert len(held) == 2
    fail_over(scene)
    scene.deliver()
    for number in order:
        scene.cloud.pending.append(held[number])
        scene.deliver()
    for region in (HOME, AWAY):
        assert scene.read(memory, at=region).content == f"{TEXT} again"
        assert not row(scene, region).is_deleted


def restored_by_the_lost_home(scene: Scene) -> list[PutEvent]:
    """An admin restores the store at its home, which is lost before that is anywhere else."""
    delete(scene)
    scene.clock.advance(6.9 * DAY_S)
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    held = hold_back(scene)
    fail_over(scene)
    scene.deliver()
    assert row(scene, AWAY).is_deleted
    return held


@pytest.mark.parametrize("lost_for", [0.2, 30])
def test_a_restoration_that_the_lost_home_acknowledged_holds_however_late_it_comes(
    scene: Scene, memory: Memory, lost_for: float
) -> None:
    held = restored_by_the_lost_home(scene)
    let_pass(scene, lost_for, AWAY)
    scene.cloud.pending.extend(held)
    scene.deliver()
    let_pass(scene, 1)
    for region in (HOME, AWAY):
        assert scene.read(memory, at=region).content == f"{TEXT} again"


def test_a_restoration_that_came_and_is_not_taken_up_yet_is_not_overtaken(scene: Scene, memory: Memory) -> None:
    """Its event is lost, the day's comparison is done, and the checkpoint that names it is content that it is here."""
    [restored] = restored_by_the_lost_home(scene)
    let_pass(scene, 0, AWAY)
    stored = scene.cloud.buckets.current(HOME, restored.key)
    assert stored is not None
    scene.cloud.buckets.put(AWAY, stored, only_if_absent=False)
    scene.drop_events()
    let_pass(scene, 0.2)
    assert len(texts(scene, AWAY)) == 2
    scene.cloud.sites[AWAY].indexing.object_arrived(restored.key)
    scene.deliver()
    assert scene.read(memory, at=AWAY).content == f"{TEXT} again"


def test_a_deletion_of_before_the_failover_waits_for_the_lost_home_and_ends_once_that_is_back(
    scene: Scene, memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    delete(scene)
    fail_over(scene)
    scene.deliver()
    let_pass(scene, 30, AWAY)
    assert len(texts(scene, AWAY)) == 2
    reasons = [str(one.__dict__["reason"]) for one in caplog.records if "reason" in one.__dict__]
    assert any(HOME in reason and scene.store in reason for reason in reasons), reasons
    let_pass(scene, 0)
    assert is_erased(scene, HOME) and is_erased(scene, AWAY)


@pytest.mark.parametrize("restored_first", [False, True])
def test_a_deletion_at_the_new_home_waits_for_no_other_region(
    scene: Scene, memory: Memory, restored_first: bool
) -> None:
    if restored_first:
        delete(scene)
    fail_over(scene)
    scene.deliver()
    if restored_first:
        scene.at(AWAY).stores.restore(scene.call(), scene.store)
        scene.deliver()
    delete(scene, at=AWAY)
    let_pass(scene, 7, AWAY)
    assert is_erased(scene, AWAY)


def test_a_write_that_comes_late_to_a_deleted_store_is_there_once_it_is_restored(scene: Scene, memory: Memory) -> None:
    late = scene.update(memory, "acknowledged by the old home")
    held = hold_back(scene)
    fail_over(scene)
    scene.deliver()
    delete(scene, at=AWAY)
    scene.cloud.pending.extend(held)
    scene.deliver()
    scene.at(AWAY).stores.restore(scene.call(), scene.store)
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.read(memory, at=region).version_id == late.version_id


def test_the_deleted_store_of_an_unfinished_move_is_not_made_final(scene: Scene, memory: Memory) -> None:
    delete(scene)
    scene.cloud.peers.call(HOME, "reconciler", {"call": "homes.begin", "store_id": scene.store, "to": AWAY})
    let_pass(scene, 8)
    assert len(texts(scene, HOME)) == 2
    with pytest.raises(Unavailable):
        scene.at(HOME).stores.restore(scene.call(), scene.store)
    scene.cloud.peers.call(HOME, "reconciler", {"call": "homes.give_up", "store_id": scene.store})
    scene.deliver()
    let_pass(scene, 0)
    assert is_erased(scene, HOME)
