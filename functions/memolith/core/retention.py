"""Retention: which versions of a memory may go, and from when on.

A version goes once it was superseded long enough ago, and is not among the last few of a live memory. The head of a
live memory never goes; a deleted memory's versions all do, and so does the path of its tombstone.

Each region judges by its own rows, however far behind they are, and never too early: that a version was superseded, by
which version and when, that there are n newer ones, and that a memory is deleted are facts that stay true. A region
that knows less keeps more.
"""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.limits import RETENTION_DAYS_DEFAULT, RETENTION_VERSIONS_DEFAULT, TRANSCRIPT_DAYS_DEFAULT
from memolith.core.objects.entry import Operation
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow

DAY_US = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Retention:
    """What one store keeps: a version for `days` after it was superseded, and the last `versions` of a live memory.

    `transcript_days` is for how long transcripts of its sessions are kept (`memolith.core.transcripts`).
    """

    days: int = RETENTION_DAYS_DEFAULT
    versions: int = RETENTION_VERSIONS_DEFAULT
    transcript_days: int = TRANSCRIPT_DAYS_DEFAULT

    @classmethod
    def of(cls, store: StoreRow) -> Retention:
        """Read the retention that the store's record sets, or the defaults."""
        return cls(
            RETENTION_DAYS_DEFAULT if store.retention_days is None else store.retention_days,
            RETENTION_VERSIONS_DEFAULT if store.retention_versions is None else store.retention_versions,
            TRANSCRIPT_DAYS_DEFAULT if store.transcript_days is None else store.transcript_days,
        )

    def outlived(self, version: VersionRow, head: MemoryRow) -> bool:
        """Tell whether the version may go as soon as it is old enough: enough newer ones exist, or nothing is to be
        kept.

        `head` is the head of the version's memory as the region knows it; the true one is never lower.
        """
        generation = version.generation or 0
        if head.gone:
            return generation <= head.generation
        return 0 < generation <= head.generation - self.versions


def retired_at(version: VersionRow, head: MemoryRow) -> int | None:
    """Return the latest time from which its days count, as far as the head alone tells; None where that is not enough.

    A tombstone's days count from the deletion itself. For other versions `head` gives the latest moment at which they
    were superseded: a moment long past decides that the version is retired, a recent one decides nothing.
    """
    if version.operation == Operation.DELETED.value:
        return version.created_at
    return None if (version.generation or 0) >= head.generation else head.updated_at
