"""What a lost home had done to a store itself comes late: it holds, or is told; ours."""

from __future__ import annotations

from itertools import permutations

import pytest

from memolith.adapters.layered import Crash, Fault, Strike
from memolith.adapters.memory import PutEvent
from memolith.app.kernel.results import UNSET
from memolith.core.errors import InvalidRequest, NotFound
from memolith.core.rows.identity import StoreRow
from tests.unit.app.failing import fail_over, hold_back
from tests.unit.app.scene import AWAY, HOME, Scene

THIRD = "ap-south-1"
REGIONS = (HOME, AWAY, THIRD)


@pytest.fixture
def scene() -> Scene:
    return Scene(regions=REGIONS)


def send(scene: Scene, held: list[PutEvent]) -> None:
    scene.cloud.pending.extend(held)
    scene.deliver()


def row(scene: Scene, region: str) -> StoreRow:
    return StoreRow.from_attributes(scene.cloud.rows(region, "stores")[scene.store, "record"])


def rename_store(scene: Scene, name: str, at: str = HOME) -> None:
    scene.at(at).stores.update(scene.call(), scene.store, name=name, description="", metadata={})


@pytest.mark.parametrize("written_since", [False, True])
def test_a_store_that_the_lost_home_deleted_is_deleted_everywhere_whatever_was_written_since(
    scene: Scene, written_since: bool
) -> None:
    memory = scene.create("/a", "SECRET")
    scene.deliver()
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    held = hold_back(scene)
    fail_over(scene)
    if written_since:
        scene.update(memory, "SECRET too", at=AWAY)
        rename_store(scene, "SECRET", at=AWAY)
    scene.deliver()
    send(scene, held)
    for region in REGIONS:
        with pytest.raises(NotFound):
            scene.read(memory, at=region)
        assert row(scene, region) == row(scene, AWAY)
    scene.clock.advance(120)
    for region in REGIONS:
        assert scene.cloud.peers.call(region, "eraser", {"call": "sweep"})["pending"] == 0
    for region in REGIONS:
        assert not any(b"SECRET" in body for body in scene.bodies(region))


@pytest.mark.parametrize("written_since", [False, True])
def test_a_store_that_the_lost_home_archived_is_archived_everywhere(scene: Scene, written_since: bool) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    archived = scene.at(HOME).stores.archive(scene.call(), scene.store)
    held = hold_back(scene)
    fail_over(scene)
    if written_since:
        scene.update(memory, "two", at=AWAY)
        rename_store(scene, "ours", at=AWAY)
    send(scene, held)
    for region in REGIONS:
        assert scene.at(region).stores.retrieve(scene.call(), scene.store).archived_at == archived.archived_at
        with pytest.raises(InvalidRequest):
            scene.create("/b", "new", at=region)
        assert scene.read(memory, at=region).content == ("two" if written_since else "one")
        assert row(scene, region) == row(scene, AWAY)


def test_another_second_region_that_the_lost_home_gave_an_archived_store_is_taken_up(scene: Scene) -> None:
    for change in ({"durability": "two_regions", "second_region": AWAY}, {"archive": True}, {"second_region": THIRD}):
        if "archive" in change:
            scene.at(HOME).stores.archive(scene.call(), scene.store)
            scene.deliver()
        else:
            fields = {"name": UNSET, "description": UNSET, "metadata": UNSET, **change}
            scene.at(HOME).stores.update(scene.call(), scene.store, **fields)
    held = hold_back(scene)
    fail_over(scene)
    send(scene, held)
    for region in REGIONS:
        assert (row(scene, region).second_region, row(scene, region).apart) == (THIRD, None)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_what_was_acknowledged_before_the_archiving_is_adopted_in_whatever_order_it_arrives(
    scene: Scene, order: tuple[int, ...]
) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    scene.update(memory, "two")
    last = scene.update(memory, "three")
    rename_store(scene, "renamed")
    scene.at(HOME).stores.archive(scene.call(), scene.store)
    held = hold_back(scene)
    assert len(held) == len(order)
    fail_over(scene)
    scene.deliver()
    for number in order:
        send(scene, [held[number]])
    for region in REGIONS:
        store = scene.at(region).stores.retrieve(scene.call(), scene.store)
        assert (store.name, store.archived_at is not None) == ("renamed", True)
        assert scene.read(memory, at=region).version_id == last.version_id
        assert row(scene, region).apart is None
        assert scene.at(region).divergent.page(scene.call(), scene.store, limit=9, after=None).items == ()


def test_a_setting_that_both_homes_changed_stays_as_the_new_one_has_it_and_the_other_is_named(scene: Scene) -> None:
    rename_store(scene, "theirs")
    held = hold_back(scene)
    fail_over(scene)
    rename_store(scene, "ours", at=AWAY)
    send(scene, held)
    for region in REGIONS:
        assert scene.at(region).stores.retrieve(scene.call(), scene.store).name == "ours"
        assert row(scene, region).apart == [f"0001-0.{HOME}.0000000002"]


def test_settings_that_nobody_else_changed_are_taken_up_once(scene: Scene) -> None:
    scene.at(HOME).stores.update(
        scene.call(), scene.store, name="theirs", description="", metadata={}, retention={"days": 7, "versions": None}
    )
    held = hold_back(scene)
    fail_over(scene)
    send(scene, held)
    rename_store(scene, "renamed since", at=AWAY)
    send(scene, held)
    for region in REGIONS:
        store = scene.at(region).stores.retrieve(scene.call(), scene.store)
        assert (store.name, store.retention.days) == ("renamed since", 7)


def test_a_record_that_came_while_the_home_failed_over_is_looked_at_then(scene: Scene) -> None:
    """Its event came before the new epoch did: nobody will tell of it again."""
    scene.at(HOME).stores.archive(scene.call(), scene.store)
    [archived] = hold_back(scene)
    before = scene.remember_index(AWAY)
    scene.cloud.pending.append(archived)
    scene.deliver()
    before()
    fail_over(scene)
    scene.deliver()
    for region in REGIONS:
        assert scene.at(region).stores.retrieve(scene.call(), scene.store).archived_at is not None


def test_a_straggling_record_counts_where_a_home_that_was_only_beginning_was_lost_in_between(scene: Scene) -> None:
    scene.at(HOME).stores.archive(scene.call(), scene.store)
    held = hold_back(scene)
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, "objects.put_if_absent", 1)):
        fail_over(scene)
    scene.deliver()
    fail_over(scene, THIRD, old=AWAY)
    scene.deliver()
    send(scene, held)
    for region in REGIONS:
        assert scene.at(region).stores.retrieve(scene.call(), scene.store).archived_at is not None
        assert row(scene, region) == row(scene, HOME)


def test_what_the_losing_home_of_two_did_holds_too(scene: Scene) -> None:
    fail_over(scene, AWAY)
    fail_over(scene, THIRD)
    for region in (AWAY, THIRD):
        rename_store(scene, f"in {region}", at=region)
    losing = min(AWAY, THIRD)
    scene.at(losing).stores.archive(scene.call(), scene.store)
    scene.deliver()
    for region in REGIONS:
        store = scene.at(region).stores.retrieve(scene.call(), scene.store)
        assert store.archived_at is not None
        assert store.name == f"in {max(AWAY, THIRD)}"
        assert row(scene, region) == row(scene, HOME)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_an_order_of_redaction_that_comes_late_is_carried_out_wherever_the_text_stands(
    scene: Scene, order: tuple[int, ...]
) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    secret = scene.update(memory, "SECRET")
    scene.update(memory, "clean")
    held = hold_back(scene)
    scene.redact(secret.version_id)
    orders = hold_back(scene)
    fail_over(scene)
    scene.deliver()
    waiting = [held[:1], held[1:], orders]
    for number in order:
        send(scene, waiting[number])
    for region in REGIONS:
        assert scene.read(memory, at=region).content == "clean"
        assert not any(b"SECRET" in body for body in scene.bodies(region))
        assert scene.at(region).divergent.page(scene.call(), scene.store, limit=9, after=None).items == ()


def test_an_order_that_the_lost_home_gave_after_its_version_was_adopted_is_carried_out_there_too(scene: Scene) -> None:
    memory = scene.create("/a", "one")
    scene.deliver()
    secret = scene.update(memory, "SECRET")
    scene.update(memory, "clean")
    held = hold_back(scene)
    fail_over(scene)
    epoch = hold_back(scene)
    for event in held:
        scene.cloud.buckets.replicate(event, AWAY)
        scene.cloud.sites[AWAY].indexing.object_arrived(event.key)
    adopted = hold_back(scene)
    scene.redact(secret.version_id)
    send(scene, [*epoch, *adopted, *held])
    for region in REGIONS:
        assert scene.read(memory, at=region).content == "clean"
        assert not any(b"SECRET" in body for body in scene.bodies(region))
        assert scene.version(secret.version_id, at=region).redacted_at is not None


def test_a_store_that_was_deleted_right_after_it_had_moved_is_erased(scene: Scene) -> None:
    scene.create("/a", "SECRET")
    scene.deliver()
    scene.cloud.peers.call(THIRD, "reconciler", {"call": "homes.move", "store_id": scene.store})
    scene.deliver()
    scene.at(THIRD).stores.delete(scene.call(), scene.store)
    scene.deliver()
    for region in REGIONS:
        assert not any(b"SECRET" in body for body in scene.bodies(region))
