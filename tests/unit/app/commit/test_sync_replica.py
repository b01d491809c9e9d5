"""A store that asks for two regions: what is acknowledged stands in a second bucket; a fail-over there has it. Ours.

Nothing is delivered in these tests unless it is said, so that whatever is in the second bucket was put by the writer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Crash, Fault, Strike
from memolith.app.kernel.results import UNSET, Memory, Store
from memolith.core.errors import InvalidRequest, MemolithError, NotFound, OutcomeUnknown, Unavailable
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.object_keys import StoreKey, parse_key
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.store_record import StoreRecord
from memolith.ports import errors as port_errors
from memolith.ports.objects import StoredObject
from tests.unit.app.scene import AWAY, HOME, Scene, T

THIRD = "ap-south-1"


class Durable(Scene):
    """A scene whose store asks for two regions, the second being `AWAY`."""

    def create_store(self, name: str = "notes", *, at: str = HOME, key: str | None = None) -> Store:
        return self.at(at).stores.create(
            self.call(key), name=name, description="", metadata={}, durability="two_regions"
        )

    def keys_in(self, region: str) -> set[str]:
        """Every key of a log of the store, in a region's bucket."""
        return {
            key
            for key in self.cloud.buckets.page(region, HOME, None, 1000).keys
            if isinstance(parse_key(key), LogKey) and self.store in key
        }

    def same_logs(self) -> bool:
        """Whether both buckets have the same objects in the store's logs."""
        keys = self.keys_in(HOME)
        buckets = self.cloud.buckets
        return keys == self.keys_in(AWAY) and all(buckets.current(HOME, k) == buckets.current(AWAY, k) for k in keys)

    def only_one_region(self) -> None:
        self.at(HOME).stores.update(
            self.call(), self.store, name="n", description="", metadata={}, durability="one_region"
        )

    def both_regions_again(self) -> None:
        self.at(HOME).stores.update(
            self.call(), self.store, name="n", description="", metadata={}, durability="two_regions"
        )


@pytest.fixture
def scene() -> Durable:
    return Durable()


def test_every_write_is_in_both_buckets_when_it_is_acknowledged(scene: Durable) -> None:
    memory = scene.create("/a", "first")
    assert scene.same_logs()
    scene.update(memory, "second")
    assert scene.same_logs()
    scene.update(memory, path="/b")
    assert scene.same_logs()
    scene.update(memory, "third", at=AWAY)
    assert scene.same_logs()
    scene.delete(memory)
    assert scene.same_logs()
    assert len(scene.keys_in(AWAY)) == 6


def test_every_store_record_is_in_both_buckets_when_it_is_acknowledged(scene: Durable) -> None:
    store = scene.create_store("another")
    first = StoreKey(store.id, Slot(Epoch(1, HOME), 1))
    assert scene.cloud.buckets.current(AWAY, str(first)) == scene.cloud.buckets.current(HOME, str(first))
    scene.at(HOME).stores.archive(scene.call(), store.id)
    second = StoreKey(store.id, Slot(Epoch(1, HOME), 2))
    assert scene.cloud.buckets.current(AWAY, str(second)) is not None
    scene.at(AWAY).stores.delete(scene.call(), store.id)
    third = StoreKey(store.id, Slot(Epoch(1, HOME), 3))
    assert scene.cloud.buckets.current(AWAY, str(third)) is not None


def test_every_redaction_order_is_in_both_buckets_when_it_is_acknowledged(scene: Durable) -> None:
    memory = scene.create("/a", "first")
    scene.update(memory, "second")
    scene.redact(memory.version_id)
    orders = scene.cloud.buckets.page(AWAY, f"{HOME}/redaction/", None, 10).keys
    assert [key.rpartition("/")[2] for key in orders] == [memory.version_id]


def test_a_write_is_refused_before_it_is_committed_where_the_second_region_does_not_answer(scene: Durable) -> None:
    memory = scene.create("/a", "first")
    with without_second(scene), pytest.raises(Unavailable, match=AWAY):
        scene.update(memory, "second")
    with without_second(scene), pytest.raises(Unavailable, match=AWAY):
        scene.create("/b", "first")
    assert len(scene.keys_in(HOME)) == 1
    assert scene.read(memory).content == "first"


def without_second(scene: Durable) -> AbstractContextManager[None]:
    """Meanwhile the second region's bucket does not answer."""

    def around(call: PortCall, act: Callable[[], T]) -> T:
        if call.target == AWAY:
            raise port_errors.Unavailable("cut off")
        return act()

    return scene.intercepted_by(around)


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.LOST_REQUEST, Fault.LOST_REPLY])
def test_a_put_there_that_fails_once_is_put_again_or_told_as_unknown(scene: Durable, fault: Fault) -> None:
    memory = scene.create("/a", "first")
    strike = Strike(fault, "objects.put_if_absent", occurrence=2)
    with scene.struck_by(strike):
        if fault is Fault.REFUSED:
            with pytest.raises(OutcomeUnknown):
                scene.update(memory, "second")
        else:
            scene.update(memory, "second")
            assert scene.same_logs()


def test_what_a_writer_left_undone_is_brought_by_the_next_that_builds_on_it(scene: Durable) -> None:
    memory = scene.create("/a", "first")
    with scene.struck_by(Strike(Fault.CRASH_BEFORE, "objects.put_if_absent", occurrence=2)), pytest.raises(Crash):
        scene.update(memory, "second")
    assert len(scene.keys_in(HOME)) == 2
    assert len(scene.keys_in(AWAY)) == 1
    scene.update(memory, "third")
    assert scene.same_logs()


def test_an_answer_that_nothing_had_to_change_is_given_only_once_it_is_there(scene: Durable) -> None:
    memory = scene.create("/a", "first")
    with scene.struck_by(Strike(Fault.CRASH_BEFORE, "objects.put_if_absent", occurrence=2)), pytest.raises(Crash):
        scene.update(memory, "second")
    scene.cloud.sites[HOME].indexing.object_arrived(max(scene.keys_in(HOME)))
    assert scene.update(memory, "second").version_id != memory.version_id
    assert scene.same_logs()


def test_a_rename_that_died_half_way_and_was_finished_by_another_is_whole_there(scene: Durable) -> None:
    memory = scene.create("/a", "first")
    with scene.struck_by(Strike(Fault.CRASH_BEFORE, "objects.put_if_absent", occurrence=3)), pytest.raises(Crash):
        scene.update(memory, path="/b")
    scene.update(memory, "second")
    assert scene.same_logs()


def test_a_rename_is_whole_there_before_anything_is_built_on_it(scene: Durable) -> None:
    memory = scene.create("/a", "first")
    with scene.struck_by(Strike(Fault.CRASH_BEFORE, "objects.put_if_absent", occurrence=4)), pytest.raises(Crash):
        scene.update(memory, path="/b")
    moved = [key for key in scene.keys_in(HOME) if operation(scene, key) is Operation.MOVED_OUT]
    assert len(moved) == 1
    assert moved[0] not in scene.keys_in(AWAY)
    scene.cloud.sites[HOME].indexing.object_arrived(moved[0])
    scene.update(memory, "second")
    assert scene.same_logs()


def operation(scene: Durable, key: str) -> Operation:
    found, name = scene.cloud.buckets.current(HOME, key), parse_key(key)
    assert found is not None
    assert isinstance(name, LogKey)
    return Entry.from_metadata(name, found.metadata).operation


def test_once_asked_for_the_next_write_brings_the_whole_log_and_later_ones_do_not_look_again(scene: Durable) -> None:
    scene.only_one_region()
    memory = scene.create("/a", "1")
    for number in range(2, 6):
        scene.update(memory, str(number))
    assert scene.keys_in(AWAY) == set()
    scene.both_regions_again()
    scene.update(memory, "6")
    assert scene.same_logs()
    listed: list[str] = []

    def around(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "objects.list" and "/log/" in call.subjects[0]:
            listed.append(call.subjects[0])
        return act()

    with scene.intercepted_by(around):
        scene.update(memory, "7")
    assert listed == []


def test_a_store_that_asks_for_it_no_more_needs_no_other_region(scene: Durable) -> None:
    memory = scene.create("/a", "first")
    with without_second(scene):
        scene.only_one_region()
        scene.update(memory, "second")
    assert len(scene.keys_in(AWAY)) == 1


# ---- beside a fail-over -------------------------------------------------------------------------------------------


class FailOver:
    """After one port call of a write, somebody makes the second region the home: the record first, then a listing."""

    def __init__(self, scene: Durable, at_call: int) -> None:
        self.scene = scene
        self._at_call = at_call
        self.calls = 0
        self.listed: set[str] | None = None

    def around(self, call: PortCall, act: Callable[[], T]) -> T:
        self.calls += 1
        try:
            return act()
        finally:
            if self.calls == self._at_call:
                self._happen()

    def _happen(self) -> None:
        buckets = self.scene.cloud.buckets
        standing = max(buckets.page(HOME, f"{HOME}/store/{self.scene.store}/", None, 10).keys)
        found = buckets.current(HOME, standing)
        assert found is not None
        epoch = Epoch(2, AWAY)
        before = StoreRecord.from_json(found.body)
        record = replace(before, home=AWAY, epochs=(*before.epochs, str(epoch)), version_id="memver_failover")
        key = str(StoreKey(self.scene.store, Slot(epoch, 1)))
        body = record.to_json()
        buckets.put(AWAY, StoredObject(key, body, {}, len(body)), only_if_absent=True)
        self.listed = self.scene.keys_in(AWAY)


WRITES: dict[str, Callable[[Durable, Memory], object]] = {
    "create": lambda scene, memory: scene.create("/new", "text"),
    "update": lambda scene, memory: scene.update(memory, "changed"),
    "rename": lambda scene, memory: scene.update(memory, path="/z"),
    "delete": lambda scene, memory: scene.delete(memory),
    "no change": lambda scene, memory: scene.update(memory, "second"),
}


@pytest.mark.parametrize("write", WRITES)
def test_whenever_a_fail_over_comes_it_lists_what_was_acknowledged(write: str) -> None:
    """What an epoch begins with is what its home listed after it had put its record."""
    at_call, acknowledged, refused = 0, 0, 0
    while True:
        at_call += 1
        scene = Durable()
        memory = scene.create("/a", "first")
        memory = scene.update(memory, "second")
        fail_over = FailOver(scene, at_call)
        try:
            with scene.intercepted_by(fail_over.around):
                WRITES[write](scene, memory)
        except (OutcomeUnknown, Unavailable, NotFound):
            refused += 1
            continue
        if fail_over.listed is None:
            break
        acknowledged += 1
        assert fail_over.listed == scene.keys_in(HOME)
    assert refused > 0, "some fail-over came before the put there"
    assert acknowledged > 0, "some came after"


# ---- what may be asked for ----------------------------------------------------------------------------------------


def test_the_second_region_is_the_next_one_unless_it_is_named() -> None:
    scene = Durable((HOME, AWAY, THIRD))
    memolith = scene.at(HOME)
    assert memolith.stores.retrieve(scene.call(), scene.store).second_region == AWAY
    named = memolith.stores.create(
        scene.call(), name="n", description="", metadata={}, durability="two_regions", second_region=THIRD
    )
    assert named.second_region == THIRD
    from_the_last = scene.at(THIRD).stores.create(
        scene.call(), name="n", description="", metadata={}, durability="two_regions"
    )
    assert from_the_last.second_region == HOME


def test_writes_are_put_into_the_region_that_is_named_and_no_other() -> None:
    scene = Durable((HOME, AWAY, THIRD))
    scene.at(HOME).stores.update(scene.call(), scene.store, name="n", description="", metadata={}, second_region=THIRD)
    scene.create("/a", "first")
    assert scene.keys_in(THIRD) == scene.keys_in(HOME)
    assert scene.keys_in(AWAY) == set()


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"durability": "two_regions", "second_region": HOME}, "second_region"),
        ({"durability": "two_regions", "second_region": "mars-1"}, "second_region"),
        ({"durability": "one_region", "second_region": AWAY}, "second_region"),
        ({"second_region": AWAY}, "second_region"),
    ],
)
def test_what_cannot_be_meant_is_refused(asked: dict[str, str], field: str) -> None:
    scene = Scene()
    with pytest.raises(InvalidRequest) as refused:
        scene.at(HOME).stores.create(scene.call(), name="n", description="", metadata={}, **asked)  # type: ignore[arg-type]  # keywords of more than one type
    assert refused.value.field == field


def test_a_deployment_of_one_region_has_no_second() -> None:
    scene = Scene((HOME,))
    with pytest.raises(InvalidRequest, match="durability"):
        scene.at(HOME).stores.create(scene.call(), name="n", description="", metadata={}, durability="two_regions")


def test_where_the_second_region_is_not_deployed_any_more_writes_say_so(scene: Durable) -> None:
    memory = scene.create("/a", "first")
    site = scene.cloud.sites[HOME]
    site.region.regions = (HOME,)
    with pytest.raises(MemolithError, match="not deployed"):
        scene.update(memory, "second")
    with pytest.raises(OutcomeUnknown, match="not deployed"):  # the record stands at home
        scene.at(HOME).stores.update(scene.call(), scene.store, name="renamed", description=UNSET, metadata=UNSET)
    assert scene.at(HOME).stores.retrieve(scene.call(), scene.store).name == "renamed"
    scene.only_one_region()
    assert scene.update(memory, "second").version_id != memory.version_id


def test_what_the_second_region_wrote_itself_is_never_put_there_by_another(scene: Durable) -> None:
    """Its own prefix is replicated onward. It lacks such an object only if it lost its bucket; then writes wait."""

    def move(to: str) -> None:
        answer = scene.cloud.peers.call(to, "reconciler", {"call": "homes.move", "store_id": scene.store})
        assert answer["state"] == "moved", answer

    memory = scene.create("/a", "first")
    scene.deliver()
    move(AWAY)
    scene.deliver()
    scene.update(memory, "at the other home", at=AWAY)
    scene.deliver()
    move(HOME)
    scene.deliver()
    own = [key for key in scene.cloud.buckets.page(AWAY, f"{AWAY}/log/", None, 1000).keys if scene.store in key]
    assert own
    for key in own:
        scene.cloud.buckets.remove(AWAY, key)
    with pytest.raises(Unavailable, match=f"memolith regions fill {AWAY}"):
        scene.update(memory, "built on what is lost")
    assert not [key for key in scene.cloud.buckets.page(AWAY, f"{AWAY}/log/", None, 1000).keys if scene.store in key]
    assert scene.read(memory).content == "at the other home"
