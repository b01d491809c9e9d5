"""Rows of a region's own state: the serving generation, a rebuild, stores to sweep, completeness, the reconciler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from memolith.core.rows.base import Row, RowKey
from memolith.core.rows.journal import SHARDS_MIN, OpenPeriod


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRow(Row):
    """Which generation of tables serves, whether it is known to be complete, and which one is being built.

    `run` is the rebuild that builds it; `retired` served before, and is still to be dropped.
    """

    serving: int
    complete: bool
    building: int | None = None
    run: str | None = None
    retired: int | None = None

    KEY: ClassVar[RowKey] = RowKey("control", "control", "index")


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildRow(Row):
    """How far the rebuild of one generation is; the next run goes on from here, on any machine.

    Attributes:
        generation: the one that is being built.
        run: who drives it now (`ControlRow.run`); taken over, it has another name.
        mark: what is in each of the generation's tables until it is emptied.
        settled: every call that knew nothing of this generation has ended.
        after, folded: everything in the bucket's listing up to this key is folded, and how many objects those are.
        counted_after, found, counted: how far the objects have been counted, how many there are, whether all.
    """

    generation: int
    run: str
    mark: str
    settled: bool = False
    after: str | None = None
    folded: int = 0
    counted_after: str | None = None
    found: int = 0
    counted: bool = False

    KEY: ClassVar[RowKey] = RowKey("control", "control", "rebuild")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRow(Row):
    """A store that is to be judged again, since when, and after what its sweep goes on, once it has begun."""

    noted_at: int
    after: str | None = None

    PARTITION: ClassVar[str] = "sweep#pending"

    @staticmethod
    def key(store_id: str) -> RowKey:
        return RowKey("control", SweepRow.PARTITION, store_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletenessRow(Row):
    """Up to when one generation of tables is complete; written by the reconciler alone, read with every batch.

    Attributes:
        mark: what is in each of the generation's tables until it is emptied.
        until: by home, the watermark: microseconds since 1970, as text.
        before: `until` as it was before the row was last written, which is what a batch may claim that read this row
            after the others.
        folded: by home, the last checkpoint that is folded here whole, as text; what is next, if it has begun, in part.
        written_at: when the row was last written.
        period, shards: the period that was open when the row was written, and its partitions (None: as few as there
            may be); a hint, which the journal confirms.
        sealed: by home, the last checkpoint that is folded here whole, a colon, and the SHA-256 of its object.
    """

    mark: str
    until: Mapping[str, str]
    before: Mapping[str, str]
    folded: Mapping[str, str]
    written_at: int = 0
    period: int | None = None
    shards: int | None = None
    sealed: Mapping[str, str] | None = None

    @property
    def open_period(self) -> OpenPeriod | None:
        """The hint, if there is one."""
        return None if self.period is None else OpenPeriod(self.period, self.shards or SHARDS_MIN)

    @staticmethod
    def key(generation: int) -> RowKey:
        return RowKey("control", "control", f"completeness#{generation:06d}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileRow(Row):
    """One of the daily comparisons: when the last one began, and after what it goes on, if it does.

    That of listing and tables has `KEY`; the others, and the parts of that one, have `key_of` theirs. A part ends with
    the key `until`; a release that does not know the field goes on to the end of the listing.
    """

    began_at: int | None = None
    after: str | None = None
    until: str | None = None

    KEY: ClassVar[RowKey] = RowKey("control", "control", "reconcile")

    @staticmethod
    def key_of(comparison: str) -> RowKey:
        return RowKey("control", "control", f"reconcile#{comparison}")
