"""What comes late while it is adopted, written on, redacted or erased: each race steered by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.adapters.memory import PutEvent, StoredVersion
from memolith.core.errors import InvalidRequest, MemolithError
from memolith.wire.rpc import peerwriter_calls
from tests.simulation.late_versions import REGIONS, everywhere, late, written
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import PUT

# ---- what comes late ------------------------------------------------------------------------------------------------


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def test_a_late_version_is_adopted_once_however_often_and_wherever_it_is_met(stage: MovingStage) -> None:
    memory = stage.create("/a", "one")
    (key,) = late(stage, lambda: stage.update(memory.id, "late"))
    stage.reach(AWAY, key)
    for _ in range(2):
        for region in REGIONS:
            stage.index(key, region)
        stage.deliver()
    stage.update(memory.id, "three", region=THIRD)
    stage.index(key, AWAY)
    stage.at_rest()
    assert len(stage.history(memory.id, THIRD)) == 3
    assert len([key for key in stage.keys(AWAY) if stage.hash_of("/a") in key]) == 4


def test_two_adoptions_at_once_are_one(stage: MovingStage) -> None:
    """Both have decided that it can be; the slot is taken once."""
    memory = stage.create("/a", "one")
    (key,) = late(stage, lambda: stage.update(memory.id, "late"))
    stage.cloud.buckets.arrive(stage.under_way(key), AWAY)
    slow = stage.actor(lambda: stage.index(key, AWAY)).until(PUT)
    stage.index(key, AWAY)
    slow.finish()
    stage.at_rest()
    assert len(stage.history(memory.id, THIRD)) == 2


def test_an_adopted_change_of_a_memory_that_is_listed_says_that_it_has_been_at_its_path_all_along(
    stage: MovingStage,
) -> None:
    memory = stage.create("/a", "one")
    came = stage.cloud.rows(HOME, "logs")
    (key,) = late(stage, lambda: stage.update(memory.id, "late"))
    stage.come_late(key)
    assert everywhere(stage, memory.id) == {"late"}
    assert stage.cloud.rows(AWAY, "logs") == came


def test_a_late_memory_that_came_and_went_is_not_created_again_by_a_second_adoption(stage: MovingStage) -> None:
    """The second one read that there is no such memory before the first adopted both, and finds the path free."""
    stage.create("/other", "one")

    def come_and_go() -> None:
        stage.delete(stage.create("/a", "late").id)

    created, deleted = late(stage, come_and_go)
    for key in (created, deleted):
        stage.cloud.buckets.arrive(stage.under_way(key), AWAY)
    slow = stage.actor(lambda: stage.index(created, AWAY)).until("index.read", "paths")
    stage.index(created, AWAY)
    slow.finish()
    own = [key for key in stage.keys(AWAY) if key.startswith(f"{AWAY}/log/") and stage.hash_of("/a") in key]
    assert len(own) == 2
    stage.at_rest()
    assert stage.create("/a", "again", region=AWAY).path == "/a"


def test_a_late_version_that_came_before_its_parent_is_adopted_though_who_adopted_that_died(
    stage: MovingStage,
) -> None:
    """It was left apart first. The parent's event comes again, and the parent is in the history by then."""
    memory = stage.create("/a", "one")

    def write_twice() -> None:
        stage.update(memory.id, "two")
        stage.update(memory.id, "three")

    parent, child = late(stage, write_twice)
    stage.deliver()
    stage.come_late(child)
    assert len(stage.divergent(AWAY)) == 1
    stage.cloud.buckets.arrive(stage.under_way(parent), AWAY)
    adopting = stage.actor(lambda: stage.index(parent, AWAY)).until("index.commit", "memories", after=True)
    assert stage.read(memory.id, AWAY).content == "two"
    adopting.die()
    stage.clock.advance(60)
    stage.index(parent, AWAY)
    assert stage.read(memory.id, AWAY).content == "three"
    stage.at_rest()


@pytest.mark.parametrize("first", ["is refused its put", "dies before its put"])
def test_a_late_version_is_adopted_past_the_archiving_that_came_after_it_though_the_first_attempt_fails(
    stage: MovingStage, first: str
) -> None:
    """The claim of the first attempt is in the way of the second, which reads the record again: it is archived."""
    stage.deliver()
    created = stage.create("/a", "late")
    stage.memolith(HOME).stores.archive(stage.call(), stage.store)
    held = stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        stage.deliver()
    stage.come_late(*{event.key for event in held if "/store/" in event.key})
    assert stage.cloud.rows(AWAY, "stores")[stage.store, "record"].get("archived_at") is not None
    (key,) = {event.key for event in held if "/log/" in event.key}
    stage.cloud.buckets.arrive(stage.under_way(key), AWAY)
    adopting = stage.actor(lambda: stage.index(key, AWAY)).until(PUT, f"{AWAY}/log/")
    if first == "dies before its put":
        adopting.die()
    else:
        adopting.struck_by(Strike(Fault.REFUSED, PUT)).fails(MemolithError)
    stage.clock.advance(60)
    stage.index(key, AWAY)
    assert stage.listed(AWAY) == {"/a": created.id}
    with pytest.raises(InvalidRequest, match="archived"):
        stage.update(created.id, "new", region=AWAY)
    stage.at_rest()


@pytest.mark.parametrize("adopted_first", [False, True])
def test_a_write_and_an_adoption_at_once_follow_each_other_or_the_late_one_stands_apart(
    stage: MovingStage, adopted_first: bool
) -> None:
    memory = stage.create("/a", "one")
    (key,) = late(stage, lambda: stage.update(memory.id, "late"))
    (version_id,) = [id for id in stage.acknowledged if id != memory.version_id]
    stage.cloud.buckets.arrive(stage.under_way(key), AWAY)
    adoption: Callable[[], object] = lambda: stage.index(key, AWAY)  # noqa: E731 - a line for each, with its type
    write: Callable[[], object] = lambda: stage.update(memory.id, "ours", region=AWAY)  # noqa: E731 - a line for each, with its type
    first, then = (adoption, write) if adopted_first else (write, adoption)
    slow = stage.actor(then).until(PUT)
    first()
    slow.finish()
    stage.at_rest(divergent=[] if adopted_first else [version_id])
    assert everywhere(stage, memory.id) == {"ours"}


@pytest.mark.parametrize(
    ("name", "occurrence", "after"),
    [
        pytest.param(PUT, 1, False, id="before it names its epoch"),
        pytest.param(PUT, 1, True, id="once it has"),
        pytest.param("objects.list", 1, False, id="before it lists the logs"),
        pytest.param("objects.list", 1, True, id="once it has listed the old home's"),
        pytest.param(PUT, 2, False, id="before its cut"),
        pytest.param(PUT, 17, True, id="after its cut"),
        pytest.param(PUT, 18, True, id="once writing begins"),
    ],
)
def test_a_version_that_comes_during_a_fail_over_is_in_its_cut_or_adopted_after_it(
    name: str, occurrence: int, after: bool
) -> None:
    stage, memory_id = written()
    (key,) = [event.key for event in stage.hold_back()]
    taking_over = stage.actor(lambda: stage.fail_over(AWAY)).until(name, occurrence=occurrence, after=after)
    stage.reach(AWAY, key)
    taking_over.finish()
    stage.deliver()
    stage.update(memory_id, "three", region=AWAY)
    stage.at_rest()
    assert everywhere(stage, memory_id) == {"three"}
    assert len(stage.history(memory_id, THIRD)) == 3


def test_a_late_change_follows_a_creation_that_was_adopted_though_the_index_does_not_know_it(
    stage: MovingStage,
) -> None:
    """Who adopted the creation died before the fold. Its original is erased since, so that it is not adopted again."""
    before: list[str] = []

    def create_and_change() -> None:
        memory = stage.create("/a", "one")
        before.append(memory.version_id)
        stage.update(memory.id, "late")

    created, changed = late(stage, create_and_change)
    stage.cloud.buckets.arrive(stage.under_way(created), AWAY)
    stage.actor(lambda: stage.index(created, AWAY)).until(PUT, f"{AWAY}/log/", after=True).die()
    stage.redact(before[0])
    (order,) = [event for event in stage.hold_back() if "/redaction/" in event.key]
    stage.reach(AWAY, order.key)
    stage.index(created, AWAY)
    assert stage.listed(AWAY) == {}
    stage.cloud.buckets.arrive(stage.under_way(changed), AWAY)
    stage.index(changed, AWAY)
    assert stage.contents(AWAY) == {"/a": "late"}
    stage.at_rest()


# ---- erasing what came late -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("adopted", [True, False])
def test_a_late_text_is_erased_wherever_it_stands(stage: MovingStage, adopted: bool) -> None:
    """In every copy that was adopted, of two homes even, and in the original that arrives after the order."""
    memory = stage.create("/a", "one")
    (key,) = late(stage, lambda: stage.update(memory.id, "SECRET"))
    (version_id,) = [id for id in stage.acknowledged if id != memory.version_id]
    original = stage.under_way(key)
    if not adopted:
        stage.update(memory.id, "ours", region=AWAY)
    stage.cloud.buckets.arrive(original, AWAY)
    stage.index(key, AWAY)
    stage.update(memory.id, "clean", region=AWAY)
    if adopted:
        stage.redact(version_id, AWAY)
    else:
        stage.memolith(AWAY).divergent.dismiss(stage.call(), stage.store, version_id)
    stage.at_rest()
    stage.arrive(original, THIRD)
    stage.at_rest()
    assert [stage.found("SECRET", region) for region in REGIONS] == [[], [], []]
    assert everywhere(stage, memory.id) == {"clean"}


def adopted_by_two_homes(stage: MovingStage) -> tuple[str, str]:
    """Two homes of one epoch have adopted one late text: its memory and its version. `AWAY` is the one that counts."""
    memory = stage.create("/a", "one")
    stage.deliver()
    second = stage.update(memory.id, "SECRET")
    (key,) = [event.key for event in stage.hold_back()]
    for region in (THIRD, AWAY):
        stage.fail_over(region)
        stage.reach(region, key)
        stage.hold_back()
    return memory.id, second.version_id


def test_a_text_that_two_homes_of_one_epoch_adopted_is_erased_in_both(stage: MovingStage) -> None:
    memory_id, secret_id = adopted_by_two_homes(stage)
    stage.update(memory_id, "clean", region=AWAY)
    stage.redact(secret_id, AWAY)
    stage.at_rest()
    assert [stage.found("SECRET", region) for region in REGIONS] == [[], [], []]


@pytest.mark.parametrize("order_at", [AWAY, HOME])
def test_a_text_that_two_homes_of_one_epoch_adopted_is_erased_in_both_though_no_row_names_one_any_more(
    stage: MovingStage, order_at: str
) -> None:
    """All of it has arrived before the order: nothing comes later that would have the copy erased."""
    memory_id, secret_id = adopted_by_two_homes(stage)
    stage.come_late()
    stage.update(memory_id, "clean", region=AWAY)
    stage.deliver()
    assert [len(stage.found("SECRET", region)) for region in REGIONS] == [3, 3, 3]
    stage.redact(secret_id, order_at)
    assert stage.found("SECRET", AWAY) == []
    stage.deliver()
    assert [stage.found("SECRET", region) for region in REGIONS] == [[], [], []]
    stage.at_rest()


def test_a_text_that_two_homes_adopted_is_erased_in_both_by_an_order_that_comes_before_any_of_their_records(
    stage: MovingStage,
) -> None:
    memory_id, secret_id = adopted_by_two_homes(stage)
    stage.update(memory_id, "clean", region=AWAY)
    stage.hold_back()
    stage.reach(HOME, *(event.key for event in stage.held if "/log/" in event.key))
    assert (stage.home(HOME), len(stage.found("SECRET", HOME))) == (HOME, 3)
    stage.redact(secret_id, AWAY)
    (order,) = [event.key for event in stage.cloud.pending if "/redaction/" in event.key]
    stage.reach(HOME, order)
    assert (stage.home(HOME), stage.found("SECRET", HOME)) == (HOME, [])
    stage.at_rest()


def test_a_text_that_an_earlier_home_adopted_unheard_of_is_erased_too(stage: MovingStage) -> None:
    """The next failover found no copy, so that the next home adopted the late version itself."""
    memory = stage.create("/a", "one")
    stage.deliver()
    second = stage.update(memory.id, "SECRET")
    (key,) = [event.key for event in stage.hold_back()]
    with stage.dead(HOME):
        stage.fail_over(THIRD)
        stage.deliver()
        stage.reach(THIRD, key)
        stage.hold_back()
    with stage.dead(HOME, THIRD):
        stage.fail_over(AWAY, old=THIRD)
        stage.reach(AWAY, key)
    stage.come_late()
    stage.update(memory.id, "clean", region=AWAY)
    stage.deliver()
    assert [len(stage.found("SECRET", region)) for region in REGIONS] == [3, 3, 3]
    stage.redact(second.version_id, AWAY)
    stage.deliver()
    assert [stage.found("SECRET", region) for region in REGIONS] == [[], [], []]
    stage.at_rest()


# ---- an order of redaction, and the adoption of what it is about ----------------------------------------------------


@dataclass(frozen=True)
class Lost:
    """What the lost home left on the wire: its secret version as it was, where, and the order to redact it."""

    key: str
    original: StoredVersion
    order: PutEvent


def redacted_by_the_lost_home(stage: MovingStage) -> Lost:
    """`AWAY` took over without a version that its old home then redacted; it has neither the version nor the order."""
    memory = stage.create("/a", "one")
    stage.deliver()
    secret = stage.update(memory.id, "SECRET")
    key = stage.key_of(secret.version_id)
    original = stage.under_way(key)
    stage.update(memory.id, "clean")
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.redact(secret.version_id)
    (order,) = [event for event in stage.hold_back() if "/redaction/" in event.key]
    return Lost(key, original, order)


def copies_of_adopted(stage: MovingStage) -> list[PutEvent]:
    """The events of what `AWAY` has put into its own logs."""
    return [event for event in stage.cloud.pending if event.key.startswith(f"{AWAY}/log/")]


def test_a_version_that_is_adopted_while_the_order_to_redact_it_is_folded_is_erased(stage: MovingStage) -> None:
    """The order's indexer has read that the version is unknown; the adoption and its event fit in before the fold."""
    lost = redacted_by_the_lost_home(stage)
    stage.cloud.buckets.replicate(lost.order, AWAY)
    indexer = stage.actor(lambda: stage.index(lost.order.key, AWAY)).until("index.commit", "versions")
    stage.arrive(lost.original, AWAY)
    stage.index(lost.key, AWAY)
    (adopted,) = copies_of_adopted(stage)
    stage.index(adopted.key, AWAY)
    assert stage.found("SECRET", AWAY) == [adopted.key, lost.key], "it was adopted, and nobody knew of an order"
    indexer.finish()
    assert stage.found("SECRET", AWAY) == []


def test_an_order_that_is_folded_while_its_version_is_adopted_is_carried_out_by_the_one_who_adopts(
    stage: MovingStage,
) -> None:
    """The writer has looked for an order and has not put the copy yet; of the copy no event ever comes."""
    lost = redacted_by_the_lost_home(stage)
    stage.arrive(lost.original, AWAY)
    indexer = stage.actor(lambda: stage.index(lost.key, AWAY)).until(PUT, f"{AWAY}/log/")
    stage.cloud.buckets.replicate(lost.order, AWAY)
    stage.index(lost.order.key, AWAY)
    stage.hold_back()
    indexer.finish()
    assert [event.key for event in copies_of_adopted(stage)], "it was adopted"
    assert stage.found("SECRET", AWAY) == []


def test_a_version_that_comes_late_after_the_order_to_redact_it_is_listed_nowhere(stage: MovingStage) -> None:
    lost = redacted_by_the_lost_home(stage)
    stage.cloud.buckets.replicate(lost.order, AWAY)
    stage.index(lost.order.key, AWAY)
    stage.come_late(lost.key)
    listed = [*stage.divergent(AWAY), *stage.history(stage.listed(AWAY)["/a"], AWAY)]
    assert (lost.order.key.split("/")[-1] in listed, stage.found("SECRET", AWAY)) == (False, [])


@pytest.mark.parametrize("adopter_first", [True, False])
def test_a_version_that_was_adopted_is_not_divergent_beside_it_whoever_commits_late(
    stage: MovingStage, adopter_first: bool
) -> None:
    """A marker and the adopter have read that there is no row of the version; each changes another one."""
    memory = stage.create("/a", "one")
    (key,) = late(stage, lambda: stage.update(memory.id, "late"))
    stage.cloud.buckets.arrive(stage.under_way(key), AWAY)
    marking = stage.actor(lambda: stage.index(key, AWAY)).until("index.commit", "versions")
    adopt = peerwriter_calls(stage.memolith(AWAY))
    adopting = stage.actor(lambda: adopt({"call": "adopt", "key": key})).until("index.commit", "versions")
    if adopter_first:
        adopting.finish()
        marking.finish()
    else:
        marking.step()
        adopting.finish()
        marking.die()
    assert stage.divergent(AWAY) == []
    stage.at_rest()
