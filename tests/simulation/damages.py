"""Texts that change behind the product's back: in one region's bucket, while another region has a whole copy.

Whoever can write to a bucket changes a body, and the metadata stays; or puts a whole object of another text over one
that the region's tables know, and its event comes. Reads have to answer the text that was acknowledged, and at rest an
operator's repair has to restore it. What is changed whole without an event, an audit has to see: `tampering`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from memolith.core.errors import MemolithError
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from memolith.core.objects.entry import Entry, Operation
from memolith.core.rows.content import VersionRow
from memolith.ports.objects import StoredObject
from tests.simulation.gathering import rows_of

if TYPE_CHECKING:
    from tests.simulation.sites import Sandbox
    from tests.simulation.world import World

TRIES = 20
LISTED_MAX = 10_000
REPAIRED_WITHIN = 10
"""How many repairs may be refused at rest, where nothing fails any more."""


class Damages:
    """Damages bodies in one world, each object's in one region alone.

    Attributes:
        struck: how often what happened.
        put_behind: what was put, by region and key.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._damaged: dict[str, str] = {}
        self._overwritten: set[str] = set()
        self.put_behind: dict[tuple[str, str], list[StoredObject]] = {}
        self.struck: Counter[str] = Counter()

    def strike(self) -> None:
        """Damage a body that every region has; wait for one, and give up where there is none for long."""
        world = self._world
        for _ in range(TRIES):
            region = world.chance.choice(world.options.regions)
            whole = list(self._whole(region))
            if whole:
                self._damage(region, whole, world.chance.choice(whole))
                return
            world.scheduler.sleep(world.chance.uniform(0.1, 2.0))

    def _whole(self, region: str) -> Iterator[StoredObject]:
        """Yield the objects with text that all buckets have alike and that nobody has damaged yet."""
        world = self._world
        for key in world.buckets.page(region, "", None, LISTED_MAX).keys:
            name, found = parse_key(key) if "/log/" in key else None, world.buckets.current(region, key)
            if not isinstance(name, LogKey) or found is None or key in self._damaged:
                continue
            alike = all(world.buckets.current(other, key) == found for other in world.options.regions)
            operation = Entry.from_metadata(name, found.metadata).operation
            if found.body and alike and operation in (Operation.CREATED, Operation.MODIFIED):
                yield found

    def _damage(self, region: str, whole: list[StoredObject], chosen: StoredObject) -> None:
        others = [one for one in whole if one.body != chosen.body]
        earlier = [one for one in others if one.key < chosen.key and one.key[:-10] == chosen.key[:-10]]
        hows = ["altered", "truncated", *(["swapped"] if others else []), *(["rolled back"] * 3 if earlier else [])]
        is_known = all(self._is_known(at, chosen) for at in self._world.options.regions)
        hows += ["overwritten"] * 3 if is_known else []  # or another region could read it as the home's own
        how = self._world.chance.choice(hows)
        if how == "altered":
            self._put(region, chosen, b"nobody wrote this")
        elif how == "overwritten":
            self._overwrite(region, chosen, b"nobody wrote this, and its hash is right")
        elif how == "truncated":
            self._put(region, chosen, chosen.body[: len(chosen.body) // 2])
        elif how == "rolled back":
            self._put(region, chosen, earlier[-1].body)
        else:
            other = self._world.chance.choice(others)
            self._put(region, chosen, other.body)
            self._put(region, other, chosen.body)
        self.struck[f"text {how}"] += 1

    def _put(self, region: str, found: StoredObject, body: bytes) -> None:
        self._damaged[found.key] = region
        damaged = replace(found, body=body, size_bytes=len(body))
        self.put_behind.setdefault((region, found.key), []).append(damaged)
        self._world.buckets.damage(region, found.key, damaged)

    def _is_known(self, region: str, chosen: StoredObject) -> bool:
        """Tell whether the region's tables have the version as the object has it, and no others are made from it."""
        name = parse_key(chosen.key)
        assert isinstance(name, LogKey)
        entry = Entry.from_metadata(name, chosen.metadata)
        site = self._world.sites[region]
        row = rows_of(site.database, "versions", site.serving).get((name.store_id, entry.version_id))
        known = None if row is None else VersionRow.from_attributes(row)
        seen = known is not None and known.position == str(entry.ref) and not known.unseen
        return seen and not self._world.options.rebuilds

    def _overwrite(self, region: str, found: StoredObject, body: bytes) -> None:
        """Put another text over the object, with the hash that it has, as any client can: the bucket tells of it."""
        fitting = {**found.metadata, "sha": hashlib.sha256(body).hexdigest(), "size": str(len(body))}
        self._put(region, replace(found, metadata=fitting), body)
        self._overwritten.add(found.key)
        self._world.network.index_queue(region).send([found.key])

    def unexpected(self, malformed: Iterable[str]) -> list[str]:
        """Return what was called malformed without having been overwritten."""
        return [one for one in malformed if one.partition(": ")[0] not in self._overwritten]

    # ---- at rest ------------------------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """An operator repairs every region; then what was damaged is whole, or erased."""
        world = self._world
        if not self._damaged:
            return
        told = {one.partition(": ")[0] for one in world.network.malformed}
        self.struck["overwriting reported"] += len(self._overwritten & told)
        for region in world.options.regions:
            world.scheduler.spawn(f"repair of {region}", partial(self._repair, region))
            world.scheduler.run()
        for key, region in sorted(self._damaged.items()):
            bodies = {at: found.body for at in world.options.regions if (found := world.buckets.current(at, key))}
            if bodies[region] and bodies[region] not in [body for at, body in bodies.items() if at != region]:
                world.defects.append(f"{key} is still damaged in {region}")

    def _repair(self, region: str) -> None:
        """Every page, each again where it is refused."""
        at: Any = None
        for _ in range(REPAIRED_WITHIN):
            try:
                while True:
                    page = self._world.sites[region].use(partial(self._page, at))
                    self.struck["repaired"] += sum(one["outcome"] == "repaired" for one in page["damaged"])
                    at = page["next"]
                    if at is None:
                        return
            except MemolithError:
                self._world.scheduler.sleep(1.0)
        self._world.defects.append(f"{region} is never repaired")

    def _page(self, at: Any, sandbox: Sandbox) -> Any:
        return sandbox.erasures.repair({"store_id": None, "at": at})
