"""Repairing all of a store again, some time after its epoch began: by then no call uses an earlier record.

    a checkpoint names a record that begins an epoch -> noted -> a call's longest life later -> swept, page after page

The first sweep comes with the record's event (`Indexer.repair`). A call that read the store's row just before may still
fold a late entry as if nothing had happened, just after. Its life is bounded, and each region's reconciler meets the
record once more: in the checkpoint that it follows, or, at home, that it publishes. How far a sweep is stands in the
control table, so that the largest store is swept in pieces.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from memolith.app.indexer.indexer import Indexer
from memolith.app.kernel.port_calls import commit_or_busy
from memolith.app.kernel.region import Region
from memolith.core.epochs import begins_an_epoch
from memolith.core.object_keys import StoreKey, parse_key
from memolith.core.objects.checkpoint import Named
from memolith.core.rows.base import Row, RowKey
from memolith.ports.index import Change, Query

LONGEST_LIFE_US = 60_000_000
"""How long a call may go on that read a store's row before the record of a new epoch was folded."""

PENDING = "sweep#pending"
STORES_AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRow(Row):
    """A store that is to be judged again, since when, and after what its sweep goes on, once it has begun."""

    noted_at: int
    after: str | None = None

    @staticmethod
    def key(store_id: str) -> RowKey:
        return RowKey("control", PENDING, store_id)


class EpochSweep:
    """The second sweeps of one region, which its reconciler makes."""

    def __init__(self, region: Region, indexer: Indexer) -> None:
        self._region = region
        self._indexer = indexer

    def note(self, names: Iterable[Named]) -> None:
        """Note each store to sweep of which a record among these begins an epoch. A write for each. Repeatable.

        Raises:
            Unavailable, OutcomeUnknown: repeat it.
        """
        for store_id in dict.fromkeys(store_id for name in names if (store_id := _begun(name)) is not None):
            row = SweepRow(noted_at=self._region.clock.now_us())
            self._commit([Change(SweepRow.key(store_id), None, row.to_attributes(), unconditional=True)])

    def run(self, deadline_us: int) -> None:
        """Go on with the sweeps that are due, until `deadline_us` at most. A query; of a sweep what `judge` costs.

        Raises:
            Busy: another reconciler is at one of them. Unavailable, OutcomeUnknown: to be repeated.
        """
        found = self._region.index.query(Query("control", PENDING, limit=STORES_AT_ONCE))
        for one in found:
            row = SweepRow.from_attributes(one.attributes)
            now_us = self._region.clock.now_us()
            if row.noted_at > now_us:  # by a clock that was ahead: a call of before may be under way still
                noted = replace(row, noted_at=now_us)
                self._commit([Change(one.key, row.to_attributes(), noted.to_attributes())])
            elif now_us >= row.noted_at + LONGEST_LIFE_US:
                self._sweep(one.key.sk, row, deadline_us)
            if self._region.clock.now_us() > deadline_us:
                return

    def _sweep(self, store_id: str, row: SweepRow, deadline_us: int) -> None:
        key, before = SweepRow.key(store_id), row.to_attributes()
        after = self._indexer.repair_rows(store_id, row.after, deadline_us)
        further = None if after is None else replace(row, after=after).to_attributes()
        self._commit([Change(key, before, further)])

    def _commit(self, changes: list[Change]) -> None:
        commit_or_busy(self._region.index, changes, "another reconciler is at this sweep, or it was asked for again")


def _begun(name: Named) -> str | None:
    """Return the store whose epoch begins with the object of this name."""
    try:
        key = parse_key(name.key)
    except ValueError:
        return None
    return key.store_id if isinstance(key, StoreKey) and begins_an_epoch(key.slot) else None
