"""Whole objects that are exchanged, put back, taken away or forged in a home's bucket, and what an audit says of it.

Metadata is changed with the text, hashes are recomputed, and checkpoints are signed with the home's own key: reads and
tables cannot tell, so all of it is done to a copy of the world's buckets, when the world is at rest, and the world goes
on without it. Each copy is audited once as it is, and once for each thing that was done to it.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memolith.adapters.memory import MemoryBuckets, MemoryDatabase, MemoryIndex, MemoryObjects, MemorySealing
from memolith.app.epochs.parts import EpochParts
from memolith.app.homes.epoch_sweep import EpochSweep
from memolith.app.indexer.service import make_indexer
from memolith.app.operations.audit import make_audit
from memolith.app.replication import watermark
from memolith.app.replication.missing_objects import MissingObjects
from memolith.app.replication.witnesses import Witnesses
from memolith.core.audit import Flaw
from memolith.core.log_position import LogKey
from memolith.core.merkle import Frontier
from memolith.core.object_keys import CheckpointKey, parse_key
from memolith.core.objects.checkpoint import Checkpoint, grown, sha256_of
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.witness import witness_prefix
from memolith.core.rows.base import RowKey, mark_key
from memolith.core.rows.control import CompletenessRow
from memolith.core.tables import TABLES
from memolith.ports.objects import StoredObject
from tests.simulation.sites import BATCH_MAX_US

if TYPE_CHECKING:
    from tests.simulation.world import World

LISTED_MAX = 10_000
FOLLOWED_US = 60_000_000
"""After so long a region follows the others again."""
FOLLOWED_TIMES = 2
"""The first time only marks tables that were made anew."""
Named = frozenset[tuple[str, str]]
"""Flaws, each with the key that it is found at."""


@dataclass(frozen=True, slots=True)
class Audited:
    """One audit of one home.

    Attributes:
        done: what was done before it; empty for nothing.
        expected: what it has to name.
        alone: nothing else may be named: what was done leaves the rest of the history as it was.
        found: what it names.
    """

    home: str
    done: str
    expected: Named
    alone: bool
    found: Named


@dataclass(frozen=True, slots=True)
class Deceived:
    """A region that was shown a checkpoint which is not its home's own of that period; `folded`: and took it."""

    home: str
    region: str
    period: int
    folded: bool


class Tampering:
    """Tampers with copies of one world's buckets.

    Attributes:
        struck: how often what was done.
        audits: what the audits said.
        deceived: what regions made of a checkpoint that is not the chain's.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"tampering {world.seed}")
        self.struck: Counter[str] = Counter()
        self.audits: list[Audited] = []
        self.deceived: list[Deceived] = []

    def come_to_rest(self) -> None:
        """Audit every home as it is, and then after each thing that can be done to it."""
        if not self._world.options.tampered:
            return
        for home in self._world.options.regions:
            self._audit(home, self._copy(), "", frozenset())
            for act in (self._alter, self._remove, self._swap, self._put_back, self._roll_back, self._fork):
                act(home)
            for region in self._world.options.regions:
                if region != home:
                    self._deceive(home, region)
                    self._deceive_rebuilt(home, region, self._resigned)
                    self._deceive_rebuilt(home, region, self._emptied)

    # ---- objects ------------------------------------------------------------------------------------------------

    def _alter(self, home: str) -> None:
        if chosen := self._chosen(home):
            body = b"nobody wrote this, and its hash is right"
            metadata = {**chosen.metadata, "sha": hashlib.sha256(body).hexdigest(), "size": str(len(body))}
            forged = replace(chosen, body=body, metadata=metadata, size_bytes=len(body))
            self._audit(home, self._copy((home, chosen.key, forged)), "object altered", {(Flaw.ALTERED, chosen.key)})

    def _remove(self, home: str) -> None:
        if chosen := self._chosen(home):
            folder = chosen.key.rpartition("/")[0] + "/"
            goes_on = self._world.buckets.page(home, folder, chosen.key, 1).keys
            flaw = Flaw.MISSING if goes_on else Flaw.TRUNCATED
            self._audit(home, self._copy((home, chosen.key, None)), "object removed", {(flaw, chosen.key)})

    def _swap(self, home: str) -> None:
        one = self._chosen(home)
        if one is None or not (others := [other for other in self._sealed(home) if other.key != one.key]):
            return
        other = self._chance.choice(others)
        flaw = Flaw.REORDERED if store_of(one.key) == store_of(other.key) else Flaw.REPLAYED
        copy = self._copy((home, one.key, replace(other, key=one.key)), (home, other.key, replace(one, key=other.key)))
        self._audit(home, copy, "objects swapped", {(flaw, one.key), (flaw, other.key)})

    def _put_back(self, home: str) -> None:
        """Put the whole of an earlier version of a path in the place of a later one."""
        sealed = list(self._sealed(home))
        pairs = [
            (old, new) for old in sealed for new in sealed if folder_of(old) == folder_of(new) and old.key < new.key
        ]
        if pairs:
            old, new = self._chance.choice(pairs)
            copy = self._copy((home, new.key, replace(old, key=new.key)))
            self._audit(home, copy, "object rolled back", {(Flaw.ROLLED_BACK, new.key)})

    # ---- the history --------------------------------------------------------------------------------------------

    def _roll_back(self, home: str) -> None:
        """Take away the last checkpoint that another region saw, and all after it."""
        if (period := self._witnessed(home)) is not None:
            gone = [(home, key, None) for key in self._checkpoints(home, period)]
            key = str(CheckpointKey(home, period))
            self._audit(home, self._copy(*gone), "history rolled back", {(Flaw.ROLLED_BACK, key)}, alone=False)

    def _fork(self, home: str) -> None:
        """Sign another checkpoint in the place of the last one that another region saw, and take away all after it."""
        if (period := self._witnessed(home)) is not None:
            key, *later = self._checkpoints(home, period)
            forged = self._forged(home, key, self._resigned)
            copy = self._copy((home, key, forged), *((home, one, None) for one in later))
            self._audit(home, copy, "history forked", {(Flaw.FORKED, key)}, alone=False)

    def _resigned(self, true: Checkpoint) -> Checkpoint:
        """Return another checkpoint of the same names."""
        return replace(true, until=true.until + 1)

    def _emptied(self, true: Checkpoint) -> Checkpoint:
        """Return a checkpoint that names nothing, which a region keeps no witness of."""
        return replace(true, names=(), parts=0, count=0, root=grown(Frontier(), ()).root.hex())

    def _forged(self, home: str, key: str, other: Callable[[Checkpoint], Checkpoint]) -> StoredObject:
        """Return the object of another checkpoint in place of this one: signed, and naming the one before it."""
        stored = self._world.buckets.current(home, key)
        assert stored is not None
        forged = other(Checkpoint.from_json(stored.body))
        body = replace(forged, seal=self._sealing(home).sign(forged.statement)).to_json()
        return replace(stored, body=body, size_bytes=len(body))

    def _deceive(self, home: str, region: str) -> None:
        """Show a region a next checkpoint that its home's key signed, and that names another as the one before it.

        The region follows it with its own tables: a row is written only where there is something new.
        """
        database = self._world.sites[region].database
        if (before := self._followed(region, database)) is None or home not in (before.sealed or {}):
            return
        period = int((before.sealed or {})[home].partition(":")[0]) + 1
        run, root = "of another history", grown(Frontier(), ()).root.hex()
        false = Checkpoint(home, period, self._world.scheduler.now_us, run, previous="0" * 64, root=root)
        body = replace(false, seal=self._sealing(home).sign(false.statement)).to_json()
        buckets, key = self._copy(), str(CheckpointKey(home, period))
        for at in (home, region):
            buckets.damage(at, key, None)
            MemoryObjects(buckets, at).put_if_absent(key, body, {})
        self._show(home, region, period, body, buckets, database)
        self.struck["region deceived"] += 1

    def _deceive_rebuilt(self, home: str, region: str, other: Callable[[Checkpoint], Checkpoint]) -> None:
        """Show a region whose tables were made anew another history than it saw before, in order and signed.

        It begins with the first checkpoint again, and has nothing but its witnesses to tell the two apart.
        """
        periods = self._witnessed_by(region, home)
        if not periods:
            return
        key, *later = self._checkpoints(home, periods[-1])
        forged = self._forged(home, key, other)
        if forged == self._world.buckets.current(home, key):
            return  # the true one names nothing either
        changes = [(at, one, None) for at in (home, region) for one in later]
        buckets = self._copy((home, key, forged), (region, key, forged), *changes)
        self._show(home, region, periods[-1], forged.body, buckets, self._rebuilt(region))
        self.struck["rebuilt region deceived"] += 1

    def _show(
        self, home: str, region: str, period: int, body: bytes, buckets: MemoryBuckets, database: MemoryDatabase
    ) -> None:
        """Have a region follow the others, and record whether it takes this checkpoint of the home."""
        for _ in range(FOLLOWED_TIMES):
            self._world.scheduler.now_us += FOLLOWED_US
            opened = self._world.sites[region].open(database, buckets).region
            parts = EpochParts.of(opened)
            indexer = make_indexer(opened, parts)
            witnesses = Witnesses(opened, self._sealing(region))
            missing = MissingObjects(opened, indexer, parts.snapshots)
            follower = watermark.Watermark(opened, missing, EpochSweep(opened, indexer), witnesses, BATCH_MAX_US)
            follower.advance(None, opened.clock.now_us() + FOLLOWED_US)
        after = self._followed(region, database)
        told = (after.sealed or {}).get(home, "") if after is not None else ""
        self.deceived.append(Deceived(home, region, period, told.partition(":")[2] == sha256_of(body)))

    def _rebuilt(self, region: str) -> MemoryDatabase:
        """Return a copy of a region's tables, as a rebuild leaves them: nothing says how far it followed the others."""
        site = self._world.sites[region]
        made, generation = MemoryDatabase((site.serving,)), site.serving
        unmarked = {CompletenessRow.key(generation), *(mark_key(table.name) for table in TABLES)}
        with made.lock:
            for table in TABLES:
                rows = site.database.table(table.name, generation).order.rows
                for (pk, sk), (_, _, row) in rows.items():
                    if (key := RowKey(table.name, pk, sk)) not in unmarked:
                        made.put(made.table(table.name, generation), key, dict(row))
            made.settle()
        return made

    def _followed(self, region: str, database: MemoryDatabase) -> CompletenessRow | None:
        key = CompletenessRow.key(self._world.sites[region].serving)
        row = MemoryIndex(database).read([key]).get(key)
        return None if row is None else CompletenessRow.from_attributes(row)

    def _witnessed(self, home: str) -> int | None:
        """Return the period of the last checkpoint of a home that each other region saw, where they saw the same."""
        others = [region for region in self._world.options.regions if region != home]
        return min((seen[-1] for region in others if (seen := self._witnessed_by(region, home))), default=None)

    def _witnessed_by(self, region: str, home: str) -> list[int]:
        """Return the periods of a home that a region keeps what it saw of."""
        keys = self._world.buckets.page(region, witness_prefix(home), None, LISTED_MAX).keys
        return [int(key.rpartition("/")[2]) for key in keys]

    def _checkpoints(self, home: str, since: int) -> list[str]:
        after = str(CheckpointKey(home, since - 1)) + "/~"
        return list(self._world.buckets.page(home, f"{home}/checkpoint/", after, LISTED_MAX).keys)

    # ---- the audit ----------------------------------------------------------------------------------------------

    def _audit(
        self,
        home: str,
        buckets: MemoryBuckets,
        done: str,
        expected: set[tuple[str, str]] | Named,
        *,
        alone: bool = True,
    ) -> None:
        region = self._world.sites[home].open(buckets=buckets).region
        report = make_audit(region, self._sealing(home)).run(home)
        found = frozenset((str(one.flaw), one.key) for one in report.findings)
        self.audits.append(Audited(home, done, frozenset(expected), alone, found))
        self.struck[done or "audited"] += 1

    def _sealing(self, home: str) -> MemorySealing:
        return MemorySealing(MemorySealing.keys_of(self._world.options.regions), home)

    def _copy(self, *changes: tuple[str, str, StoredObject | None]) -> MemoryBuckets:
        """Return a copy of all buckets, in which some objects are others, or gone; and no older S3 version is left."""
        buckets, regions = MemoryBuckets(self._world.options.regions), self._world.options.regions
        for region in regions:
            for key in self._world.buckets.page(region, "", None, LISTED_MAX).keys:
                buckets.arrive(self._world.buckets.versions(region, key)[-1], region)
        for region, key, found in changes:
            buckets.damage(region, key, found)
        return buckets

    def _chosen(self, home: str) -> StoredObject | None:
        sealed = list(self._sealed(home))
        return self._chance.choice(sealed) if sealed else None

    def _sealed(self, home: str) -> Iterator[StoredObject]:
        """Yield the versions with a text of its own that a checkpoint of the home has a digest of, by their keys."""
        digests: dict[str, str] = {}
        for key in self._checkpoints(home, 1):
            if isinstance(parse_key(key), CheckpointKey) and (stored := self._world.buckets.current(home, key)):
                digests |= {name.key: name.digest for name in Checkpoint.from_json(stored.body).names if name.digest}
        for key in sorted(digests):
            parsed, found = parse_key(key), self._world.buckets.current(home, key)
            if isinstance(parsed, LogKey) and found is not None:
                entry = Entry.from_metadata(parsed, found.metadata)
                if entry.operation in (Operation.CREATED, Operation.MODIFIED) and not entry.blank and found.body:
                    yield found


def store_of(key: str) -> str:
    """Return the store that a version's key names."""
    return key.split("/")[2]


def folder_of(found: StoredObject) -> str:
    """Return the log that a version is in."""
    return found.key.rpartition("/")[0]
