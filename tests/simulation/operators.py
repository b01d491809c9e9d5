"""Operators who move the homes of stores, and take them over from a region that is cut off, while everybody works.

They see what operators see: what their calls answer, and, where a store has its home, the records in the buckets. A
call dies like any other, is repeated by somebody else, or is left where it stopped; at rest what was begun is finished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from memolith.core.log_position import Epoch, LogKey
from memolith.core.object_keys import StoreKey, parse_key
from memolith.core.objects.store_record import StoreRecord, StoreState
from memolith.core.sync_replica import second_of
from tests.simulation.history import Operation, Seen
from tests.simulation.ports import LIVES_S

if TYPE_CHECKING:
    from tests.simulation.world import World

TRIES = 6
TRIES_AT_REST = 40


class Operators:
    """Whoever moves homes in one world.

    Attributes:
        taken_over: the stores that some region was told to take over, and when the first was.
        takeovers: when each take-over of a store began.
        elsewhere: those of them that ask for a second region, and that another region was told to take over.
        struck: how often what happened.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.taken_over: dict[str, int] = {}
        self.takeovers: dict[str, list[int]] = {}
        self.elsewhere: set[str] = set()
        self.struck: Counter[str] = Counter()

    # ---- what everybody can look up ------------------------------------------------------------------------------

    def record(self, store_id: str) -> StoreRecord:
        """The record that stands: of all, in all buckets, the one of the highest rank."""
        return self._records(store_id)[-1]

    def _records(self, store_id: str) -> list[StoreRecord]:
        """Every record of a store in any bucket, by rank."""
        world = self._world
        found: dict[str, tuple[Any, str]] = {}
        for region in world.options.regions:
            for home in world.options.regions:
                for text in world.buckets.page(region, f"{home}/store/{store_id}/", None, 1000).keys:
                    key = parse_key(text)
                    if isinstance(key, StoreKey):
                        found.setdefault(text, (key.slot.rank, region))
        assert found, store_id
        ordered = sorted(found.items(), key=lambda item: item[1][0])
        return [
            StoreRecord.from_json(world.buckets.versions(region, text)[-1].object.body) for text, (_, region) in ordered
        ]

    def terms(self, store_id: str) -> frozenset[Epoch]:
        """The terms of every record of the store in any bucket, those of homes that lost their epoch too."""
        world = self._world
        regions = world.options.regions
        prefixes = [(region, f"{home}/store/{store_id}/") for region in regions for home in regions]
        keys = [parse_key(text) for at, prefix in prefixes for text in world.buckets.page(at, prefix, None, 1000).keys]
        return frozenset(key.slot.epoch for key in keys if isinstance(key, StoreKey))

    def second(self, store_id: str) -> str | None:
        """The region that holds a store's writes too, where it asks for one."""
        return self._second(self.record(store_id))

    def seconds(self, store_id: str) -> frozenset[str]:
        """Every region that any record of a store, of this home or an earlier one, has named as its second."""
        return frozenset(filter(None, map(self._second, self._records(store_id))))

    def _second(self, record: StoreRecord) -> str | None:
        return second_of(record.home, record.epochs, record.second_region, self._world.options.regions)

    def second_in(self, store_id: str, epoch: Epoch) -> str | None:
        """The region that holds what was written in an epoch too, whether or not that is the present one."""
        record = self.record(store_id)
        before = [text for text in record.epochs if Epoch.parse(text).number < epoch.number]
        return second_of(epoch.home, [*before, str(epoch)], record.second_region, self._world.options.regions)

    def held_there(self, operation: Operation) -> frozenset[str]:
        """Ids of all that stands in the store's logs in the bucket of the second region of whoever wrote the answer.

        That is the second region of the epoch in which the version was written first; of what is in no log, of the
        present one.
        """
        if not self._world.options.two_regions:
            return frozenset()
        second = self.second(operation.store_id)
        found = [self._logged(operation.store_id, region).items() for region in self._world.options.regions]
        epochs = [key.slot.epoch for logged in found for key, entry in logged if _is_written_by(operation, entry)]
        if epochs:
            second = self.second_in(operation.store_id, min(epochs))
        there = {} if second is None else self._logged(operation.store_id, second)
        return frozenset(entry["id"] for entry in there.values())

    def _logged(self, store_id: str, region: str) -> dict[LogKey, Mapping[str, str]]:
        """Everything that stands in the store's logs in one region's bucket: its metadata."""
        prefixes = [f"{home}/log/{store_id}/" for home in self._world.options.regions]
        names = [name for prefix in prefixes for name in self._world.buckets.page(region, prefix, None, 1000).keys]
        keys = [(name, parse_key(name)) for name in names]
        return {
            key: self._world.buckets.versions(region, name)[-1].object.metadata
            for name, key in keys
            if isinstance(key, LogKey)
        }

    # ---- trouble -------------------------------------------------------------------------------------------------

    def let_loose(self) -> None:
        """Moves and fail-overs, at times of chance's choosing."""
        world = self._world
        for _ in range(world.options.moves):
            world.scheduler.spawn("operator who moves", self._move_one, world.chance.uniform(0, world.options.moved_s))
        for _ in range(world.options.failovers):
            world.scheduler.spawn(
                "operator who fails over", self._lose_one, world.chance.uniform(0, world.options.moved_s)
            )

    def _move_one(self) -> None:
        """Some store, to some region; now and then to another one, before the first move is through."""
        world = self._world
        store_id, regions = world.chance.choice(world.movable), world.options.regions
        to = world.chance.choice(regions)
        for _ in range(world.chance.randint(1, TRIES)):
            answer = self._ask(to, {"call": "homes.move", "store_id": store_id})
            if answer is not None and answer.get("state") in ("moved", "at home"):
                return
            world.scheduler.sleep(world.chance.random() * 5.0)
            if world.chance.random() < 0.1:
                to = world.chance.choice(regions)

    def _lose_one(self) -> None:
        """A region is cut off; others take over the stores that have their homes there; it comes back."""
        world = self._world
        lost = self.record(world.chance.choice(world.movable)).home
        world.network.isolate(lost, world.chance.uniform(1.0, world.options.lost_s))
        if world.chance.random() < 0.5:
            world.network.darken(lost)
        world.scheduler.sleep(world.chance.random() * 3.0)
        for store_id in world.movable:
            if self.record(store_id).home == lost:
                for taker in self._takers(store_id, lost):
                    began = world.scheduler.tick()
                    self.taken_over.setdefault(store_id, began)
                    self.takeovers.setdefault(store_id, []).append(began)
                    world.scheduler.spawn("operator who takes over", partial(self._take_over, store_id, lost, taker))

    def _takers(self, store_id: str, lost: str) -> list[str]:
        """One region, or now and then two at once; a store that asks for a second region goes there, or should."""
        world = self._world
        second = self.second(store_id)
        if second is not None and not (world.options.elsewhere and world.chance.random() < world.options.elsewhere):
            return [second]
        others = [region for region in world.options.regions if region != lost]
        both = len(others) > 1 and world.chance.random() < (0.3 if second is None else 0.6)
        takers = world.chance.sample(others, 2 if both else 1)
        if second is not None and takers != [second]:
            self.elsewhere.add(store_id)
            self.struck["taken over by two, one of them the second region" if both else "taken over elsewhere"] += 1
        return takers

    def _take_over(self, store_id: str, lost: str, taker: str) -> None:
        world = self._world
        world.scheduler.sleep(world.chance.random())
        for _ in range(world.chance.randint(1, TRIES)):
            if world.options.two_regions and not self._is_held(taker, store_id):
                world.scheduler.sleep(world.chance.random() * 2.0)
                continue
            answer = self._ask(taker, {"call": "homes.fail_over", "store_id": store_id, "old": lost})
            if answer is not None and (answer.get("state") or answer["error"]["type"] == "InvalidRequest"):
                return
            world.scheduler.sleep(world.chance.random() * 2.0)

    def _is_held(self, region: str, store_id: str) -> bool:
        """Whether a region says of itself that it lacks nothing of a store that asks for two."""
        answer = self._ask(region, {"call": "homes.is_held", "store_id": store_id})
        return answer is not None and answer.get("held") is True

    def _ask(self, region: str, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """One invocation of a region's reconciler; None where it died."""
        world = self._world
        task = world.scheduler.spawn(
            f"{payload['call']} in {region}",
            lambda: world.sites[region].use(lambda sandbox: sandbox.direct("reconciler", payload)),
            life_s=LIVES_S["reconciler"],
        )
        world.scheduler.wait(task)
        if task.crashed:
            return None
        if task.error is not None:
            world.defects.append(f"{payload['call']} in {region}: {task.error!r}")
            return None
        answer: Mapping[str, Any] = task.result  # type: ignore[assignment]  # what an operator's call returns
        return answer

    # ---- rest ----------------------------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """Finishes what was begun: every store has one home that takes writes.

        Between two tries the reconcilers run, until when a home may refuse (`World.turn`).
        """
        world = self._world
        for store_id in world.movable:
            for attempt in range(TRIES_AT_REST):
                record = self.record(store_id)
                if record.state is StoreState.ACTIVE:
                    break
                if attempt:
                    world.turn()
                if record.state is StoreState.MOVING and record.moving_to is None:
                    lost = world.options.regions[attempt % len(world.options.regions)]
                    self._at_rest(record.home, {"call": "homes.fail_over", "store_id": store_id, "old": lost})
                else:
                    to = record.moving_to or record.home
                    self._at_rest(to, {"call": "homes.move", "store_id": store_id})
            else:
                world.defects.append(f"{store_id} is still {self.record(store_id).state}")

    def _at_rest(self, region: str, payload: Mapping[str, Any]) -> None:
        world = self._world
        task = world.scheduler.spawn("operator at rest", partial(self._ask, region, payload))
        world.scheduler.run(lambda: task.done)


def _is_written_by(operation: Operation, entry: Mapping[str, str]) -> bool:
    """Whether an entry is what the answer names: a version, or, of a deletion, that of its memory."""
    if isinstance(operation.answer, Seen):
        return entry["id"] == operation.answer.version_id
    return operation.kind == "delete" and (entry["op"], entry.get("mem")) == ("deleted", operation.asked["memory_id"])
