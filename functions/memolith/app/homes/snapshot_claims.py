"""Which snapshot an epoch begins with, where several callers fail a store over at once.

Each of them repairs rows by its snapshot before it puts the record that names one; whose record is first, nobody knows
yet. So the first who has put a snapshot claims the epoch for it in this region's tables, and the others go by that one.
"""

from __future__ import annotations

from dataclasses import dataclass

from memolith.app.index.ack_journal import commit_joined
from memolith.app.kernel.region import Region, View
from memolith.core.log_position import Epoch
from memolith.core.rows.base import Attributes, Row, RowKey
from memolith.ports.index import Change

CLAIMED_FOR_US = 1_200_000_000
"""For how long a claim holds: longer than any call lives, so that a claim that has ended has no caller any more. What
has arrived since it was made would be late by its snapshot, and is not by another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotClaimRow(Row):
    """Which snapshot an epoch is to begin with; made at `claimed_at`, in microseconds. In the control table, where a
    rebuild leaves it alone."""

    epoch: str
    run: str
    claimed_at: int

    @staticmethod
    def key(store_id: str) -> RowKey:
        return RowKey("control", f"snapshot#{store_id}", "claim")


class SnapshotClaims:
    """The claims of one region."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def find(self, view: View, store_id: str, epoch: Epoch) -> str | None:
        """Return the snapshot that the epoch is claimed for, by the name of its run; None while it is free. A read."""
        return self._run_of(self._read(view, store_id), epoch)

    def claim(self, view: View, store_id: str, epoch: Epoch, run: str) -> str:
        """Claim the epoch for the snapshot `run`, all of which is put; return the one that another call claimed first.

        Repeatable. A read and a transaction.

        Raises:
            Unavailable: the index does not answer. OutcomeUnknown: the row stayed contended; repeat it.
        """
        first, mine = run, SnapshotClaimRow(epoch=str(epoch), run=run, claimed_at=self._region.clock.now_us())

        def work_out() -> list[Change]:
            nonlocal first
            before = self._read(view, store_id)
            claimed = self._run_of(before, epoch)
            first = claimed or run
            return [] if claimed else [Change(SnapshotClaimRow.key(store_id), before, mine.to_attributes())]

        contended = "the snapshot was not claimed; try again"
        commit_joined(self._region, view.index, work_out, None, [], own=False, contended=contended)
        return first

    def _read(self, view: View, store_id: str) -> Attributes | None:
        key = SnapshotClaimRow.key(store_id)
        return self._region.read(view.index, [key]).get(key)

    def _run_of(self, attributes: Attributes | None, epoch: Epoch) -> str | None:
        claim = None if attributes is None else SnapshotClaimRow.from_attributes(attributes)
        if claim is None or claim.epoch != str(epoch):
            return None
        return None if claim.claimed_at + CLAIMED_FOR_US < self._region.clock.now_us() else claim.run
