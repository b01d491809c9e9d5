"""A deleted store is out of reach at once, and erased a week later, in every region and whatever is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.api.transcripts import EventDraft, EventFilter
from memolith.app.kernel.results import Memory, StoreToAttach
from memolith.core.errors import NotFound, PermissionDenied
from memolith.core.object_keys import StoreKey, parse_key
from memolith.core.objects.store_record import StoreRecord, StoreState
from tests.unit.app.erasure.deleted_stores.calls import (
    DAY_S,
    TEXT,
    WEEK_US,
    delete,
    is_erased,
    let_pass,
    row,
    sweep,
    texts,
)
from tests.unit.app.failing import hold_back
from tests.unit.app.scene import AWAY, HOME, Scene

# ---- until then -----------------------------------------------------------------------------------------------------


def test_a_deleted_store_is_out_of_reach_everywhere_and_nothing_of_it_is_erased_before_its_time(
    scene: Scene, memory: Memory
) -> None:
    delete(scene)
    before = {region: texts(scene, region) for region in (HOME, AWAY)}
    assert len(before[HOME]) == len(before[AWAY]) == 2
    let_pass(scene, 6.99)
    for region in (HOME, AWAY):
        assert texts(scene, region) == before[region]
        with pytest.raises(NotFound):
            scene.read(memory, at=region)
    let_pass(scene, 0.01)
    assert is_erased(scene, HOME) and is_erased(scene, AWAY)
    assert row(scene).state == row(scene, AWAY).state == StoreState.DELETED


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_no_call_reaches_into_a_deleted_store(scene: Scene, memory: Memory, region: str) -> None:
    delete(scene)
    here, call, store = scene.at(region), scene.call, scene.store
    calls: list[Callable[[], object]] = [
        lambda: here.stores.retrieve(call(), store),
        lambda: here.stores.update(call(), store, name="x", description="", metadata={}),
        lambda: here.stores.archive(call(), store),
        lambda: here.stores.delete(call(), store),
        lambda: scene.create("/b", at=region),
        lambda: scene.update(memory, "x", at=region),
        lambda: scene.delete(memory, at=region),
        lambda: scene.page(at=region),
        lambda: scene.versions(at=region),
        lambda: scene.version(memory.version_id, at=region),
        lambda: scene.redact(memory.version_id, at=region),
        lambda: here.search.search(call(), store, query="secret", path_prefix=None, limit=1),
        lambda: here.bulk_read.page(call(), store, after=None),
        lambda: here.divergent.page(call(), store, limit=1, after=None),
        lambda: here.quarantine.page(call(), store, include_released=True, limit=1, after=None),
    ]
    for one in calls:
        with pytest.raises(NotFound):
            one()


def test_a_region_that_has_not_heard_of_the_deletion_is_refused_by_the_home(scene: Scene, memory: Memory) -> None:
    """It lands where the store still seems to be there."""
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    for write in (
        lambda: scene.update(memory, "x", at=AWAY),
        lambda: scene.redact(memory.version_id, at=AWAY),
        lambda: scene.at(AWAY).stores.archive(scene.call(), scene.store),
    ):
        with pytest.raises(NotFound):
            write()
    assert len(texts(scene, HOME)) == 2


def test_the_stores_that_wait_are_listed_for_admins_and_no_others(scene: Scene) -> None:
    kept = scene.create_store("kept")
    began_us = scene.clock.now_us()
    delete(scene)
    for region in (HOME, AWAY):
        assert [one.id for one in scene.stores(at=region).items] == [kept.id]
        [waiting] = scene.stores(at=region, deleted=True).items
        assert (waiting.id, waiting.erase_after) == (scene.store, waiting.updated_at + WEEK_US)
        assert began_us <= waiting.updated_at <= scene.clock.now_us()
    writer = scene.cloud.key("write")
    with pytest.raises(PermissionDenied):
        scene.at(HOME).stores.page(
            scene.call(writer), created_at_gte=None, created_at_lte=None, include_archived=False, limit=9, after=None,
            deleted=True,
        )  # fmt: skip
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    assert scene.stores(deleted=True).items == ()
    assert scene.store in [one.id for one in scene.stores().items]
    delete(scene)
    let_pass(scene, 7)
    assert scene.stores(deleted=True).items == scene.stores(at=AWAY, deleted=True).items == ()


# ---- the delay ------------------------------------------------------------------------------------------------------


def test_without_a_delay_a_store_is_erased_at_once_and_cannot_be_restored(memory: Memory, scene: Scene) -> None:
    for site in scene.cloud.sites.values():
        site.region.erase_delay_us = 0
    delete(scene)
    assert row(scene).state == StoreState.DELETED
    assert texts(scene, HOME) == texts(scene, AWAY) == []
    with pytest.raises(NotFound, match="erasure has begun"):
        scene.at(HOME).stores.restore(scene.call(), scene.store)


@pytest.mark.parametrize("changed_to", [0, 30 * WEEK_US])
def test_the_delay_is_the_one_that_held_when_the_store_was_deleted(
    scene: Scene, memory: Memory, changed_to: int
) -> None:
    delete(scene)
    for site in scene.cloud.sites.values():
        site.region.erase_delay_us = changed_to
    let_pass(scene, 6.9)
    assert len(texts(scene, HOME)) == 2
    let_pass(scene, 0.1)
    assert is_erased(scene, HOME) and is_erased(scene, AWAY)


def test_transcripts_of_its_sessions_stay_while_it_can_be_restored_and_go_when_it_is_erased(scene: Scene) -> None:
    attached = [StoreToAttach(scene.store, "read_write", "")]
    session = (
        scene.at(HOME)
        .sessions.create(scene.call(), attached, title=None, metadata={}, token_lifetime_s=3_600)
        .record.session_id
    )
    scene.deliver()
    draft = EventDraft("user.message", {"content": [{"type": "text", "text": "said"}]}, "a", None)
    scene.at(AWAY).transcripts.record(scene.call(), session, [draft])
    scene.deliver()

    def kept(region: str) -> list[str]:
        page = scene.at(region).transcripts.page(scene.call(), session, filter=EventFilter(), limit=9, after=None)
        return [event.fields["content"][0]["text"] for event in page.items]

    delete(scene)
    let_pass(scene, 6)
    scene.at(HOME).stores.restore(scene.call(), scene.store)
    scene.deliver()
    let_pass(scene, 2)
    assert kept(HOME) == kept(AWAY) == ["said"]
    delete(scene)
    let_pass(scene, 6.9)
    assert kept(HOME) == kept(AWAY) == ["said"]
    let_pass(scene, 0.2)
    assert kept(HOME) == kept(AWAY) == []
    bodies = [body for region in (HOME, AWAY) for key, body in scene.objects(region) if "/transcript/" in key]
    assert len(bodies) == 2
    assert not any(b"said" in body for body in bodies)


def test_the_record_of_an_older_release_says_that_the_store_is_erased_at_once(scene: Scene, memory: Memory) -> None:
    key = max(key for key, _ in scene.objects() if isinstance(parse_key(key), StoreKey))
    found = scene.cloud.buckets.current(HOME, key)
    assert found is not None
    record = StoreRecord.from_json(found.body)
    name = parse_key(key)
    assert isinstance(name, StoreKey)
    old = record.ended(scene.clock.now_us()).to_json()
    assert b"erase_after" not in old and b"erase_after" not in record.to_json()
    scene.cloud.sites[HOME].region.objects.put_if_absent(str(StoreKey(scene.store, name.slot.following)), old, {})
    scene.deliver()
    assert texts(scene, HOME) == texts(scene, AWAY) == []


# ---- regions, clocks and lost notes ---------------------------------------------------------------------------------


def test_a_region_that_was_down_at_the_deadline_erases_when_the_final_record_arrives(
    scene: Scene, memory: Memory
) -> None:
    delete(scene)
    scene.clock.advance(7 * DAY_S)
    scene.cloud.peers.call(HOME, "eraser", {"call": "sweep"})
    held = hold_back(scene)
    scene.clock.advance(3 * DAY_S)
    scene.cloud.peers.call(AWAY, "eraser", {"call": "sweep"})
    assert len(texts(scene, AWAY)) == 2, "its own clock decides nothing"
    with pytest.raises(NotFound):
        scene.read(memory, at=AWAY)
    scene.cloud.pending.extend(held)
    scene.deliver()
    let_pass(scene, 0)
    assert is_erased(scene, HOME) and is_erased(scene, AWAY)


def test_another_region_whose_clock_is_ahead_erases_nothing(scene: Scene, memory: Memory) -> None:
    delete(scene)
    let_pass(scene, 8, AWAY)
    assert len(texts(scene, HOME)) == len(texts(scene, AWAY)) == 2
    assert row(scene).state == row(scene, AWAY).state == StoreState.ACTIVE
    scene.at(AWAY).stores.restore(scene.call(), scene.store)
    assert scene.read(memory).content == f"{TEXT} again"


def test_a_deletion_whose_note_was_never_made_is_found_by_the_daily_pass(scene: Scene, memory: Memory) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.drop_events()
    let_pass(scene, 1, HOME)
    let_pass(scene, 6, HOME)
    assert is_erased(scene, HOME)


def test_a_final_record_whose_event_is_lost_is_found_by_the_daily_pass(scene: Scene, memory: Memory) -> None:
    delete(scene)
    scene.clock.advance(7 * DAY_S)
    assert scene.cloud.peers.call(HOME, "eraser", {"call": "sweep"})["ended"] == 1
    scene.drop_events()
    for _ in range(3):
        scene.clock.advance(DAY_S)
        scene.cloud.peers.call(HOME, "eraser", {"call": "sweep"})
        scene.drop_events()
    assert texts(scene, HOME) == []


def test_a_sweep_that_cannot_put_the_final_record_erases_nothing_and_the_next_one_does(
    scene: Scene, memory: Memory
) -> None:
    delete(scene)
    scene.clock.advance(7 * DAY_S)
    with scene.struck_by(Strike(Fault.REFUSED, "objects.put_if_absent")):
        assert sweep(scene, HOME)["ended"] == 0
    assert len(texts(scene, HOME)) == 2
    assert row(scene).state == StoreState.ACTIVE
    let_pass(scene, 0)
    assert is_erased(scene, HOME)


def test_a_sweep_without_deleted_stores_puts_nothing(scene: Scene, memory: Memory) -> None:
    before = scene.objects()
    assert sweep(scene, HOME)["ended"] == 0
    assert scene.objects() == before


def test_tables_that_are_rebuilt_know_that_a_store_is_deleted(scene: Scene, memory: Memory) -> None:
    before = scene.remember_index(AWAY)
    delete(scene)
    before()
    for key, _ in scene.objects(AWAY):
        scene.cloud.sites[AWAY].indexing.object_arrived(key)
    with pytest.raises(NotFound):
        scene.read(memory, at=AWAY)
    assert [one.id for one in scene.stores(at=AWAY, deleted=True).items] == [scene.store]
