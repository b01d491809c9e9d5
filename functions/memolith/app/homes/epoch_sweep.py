"""Repairing all of a store again, some time after its epoch began: by then no call uses an earlier record.

    a checkpoint names a record that begins an epoch -> noted -> a call's longest life later -> swept, page after page

The first sweep comes with the record's event (`Indexer.repair`). A call that read the store's row just before may still
fold a late entry as if nothing had happened, just after. Its life is bounded, and each region's reconciler meets the
record once more: in the checkpoint that it follows, or, at home, that it publishes. How far a sweep is stands in the
control table, so that the largest store is swept in pieces.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from memolith.app.indexer.indexer import Indexer
from memolith.app.kernel.listing import row_pages
from memolith.app.kernel.port_calls import commit_or_busy
from memolith.app.kernel.region import Region
from memolith.core.epochs import begins_an_epoch
from memolith.core.errors import MemolithError
from memolith.core.object_keys import StoreKey, parse_key
from memolith.core.objects.checkpoint import Named
from memolith.core.rows.control import SweepRow
from memolith.ports.index import Change, Query

LONGEST_LIFE_US = 60_000_000
"""How long a call may go on that read a store's row before the record of a new epoch was folded."""

STORES_AT_ONCE = 100

_log = logging.getLogger(__name__)


class EpochSweep:
    """The second sweeps of one region, which its reconciler makes."""

    def __init__(self, region: Region, indexer: Indexer) -> None:
        self._region = region
        self._indexer = indexer
        self._failed_at: dict[str, int] = {}

    def note(self, names: Iterable[Named]) -> None:
        """Note each store to sweep of which a record among these begins an epoch. A write for each. Repeatable.

        Raises:
            Unavailable, OutcomeUnknown: repeat it.
        """
        for store_id in dict.fromkeys(store_id for name in names if (store_id := _begun(name)) is not None):
            row = SweepRow(noted_at=self._region.clock.now_us())
            self._commit([Change(SweepRow.key(store_id), None, row.to_attributes(), unconditional=True)])

    def run(self, deadline_us: int) -> None:
        """Go on with the sweeps that are due, until `deadline_us` at most. One that fails does not stop the next.

        Those that failed before in this process come last, so that they do not take the time of every run. A query for
        a hundred stores; of a sweep what `Indexer.repair_rows` costs.

        Raises:
            MemolithError, ValueError: the first failure, once the others had their turn; the next run repeats it. Busy:
                another reconciler is at one of them.
        """
        failures: list[Exception] = []
        query = Query("control", SweepRow.PARTITION, limit=STORES_AT_ONCE)
        found = chain.from_iterable(row_pages(self._region.index, query))
        for one in sorted(found, key=lambda one: self._failed_at.get(one.key.sk, 0)):
            store_id = one.key.sk
            try:
                self._sweep(store_id, SweepRow.from_attributes(one.attributes), deadline_us)
                self._failed_at.pop(store_id, None)
            except (MemolithError, ValueError) as error:
                facts = {"store_id": store_id, "reason": str(error)}
                _log.warning("the second sweep of a store has failed, and is repeated", extra=facts)
                failures.append(error)
                self._failed_at[store_id] = self._region.clock.now_us()
            if self._region.clock.now_us() > deadline_us:
                break
        if failures:
            raise failures[0]

    def _sweep(self, store_id: str, row: SweepRow, deadline_us: int) -> None:
        key, before, now_us = SweepRow.key(store_id), row.to_attributes(), self._region.clock.now_us()
        if row.noted_at > now_us:  # by a clock that was ahead: a call of before may be under way still
            self._commit([Change(key, before, replace(row, noted_at=now_us).to_attributes())])
        elif now_us >= row.noted_at + LONGEST_LIFE_US:
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
