"""Rows of the journal: what a home has acknowledged, by period and partition."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.rows.base import Row, RowKey


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow(Row):
    """One object that this home acknowledged in one period; the checkpoint of that period is made of these."""

    object_key: str
    expires_at: int
    version_id: str | None = None

    @staticmethod
    def partition(home: str, period: int, shard: int) -> str:
        """Return one of several partitions of a period, so that writers of one instant seldom contend."""
        return f"{home}#{period:012d}#{shard}"

    @staticmethod
    def key(home: str, period: int, shard: int, object_key: str) -> RowKey:
        """Return the row's key. It sorts by the object's own key, which makes a repetition harmless."""
        return RowKey("journal", JournalRow.partition(home, period, shard), object_key)

    @staticmethod
    def shard_of(object_key: str) -> int:
        return sum(object_key[-10:].encode()) % JOURNAL_SHARDS


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodRow(Row):
    """Whether one partition of one period is open: while it is, and only then, rows may be put beside it.

    Only the reconciler puts it; a partition without one is one whose journal has been lost.
    """

    open: bool
    expires_at: int | None = None

    @staticmethod
    def key(home: str, period: int, shard: int) -> RowKey:
        return RowKey("journal", JournalRow.partition(home, period, shard), "period")


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalStateRow(Row):
    """Which period of a home's journal is open, and how far the one before it is published.

    Attributes:
        run: this journal's own name; one that was lost and begun anew has another.
        open: the period that is open.
        opened_at: when it was opened.
        closing: the period before it, until its checkpoint stands.
        until: what that checkpoint is complete up to.
        listed: the closing period (while there is none, the open one, once it closes) is made from a listing.
        parts, cursor: how many parts of the checkpoint stand already, and where its names go on.
    """

    run: str
    open: int
    opened_at: int
    closing: int | None = None
    until: int | None = None
    listed: bool = False
    parts: int = 0
    cursor: str | None = None

    @staticmethod
    def key(home: str) -> RowKey:
        return RowKey("journal", home, "state")


JOURNAL_SHARDS = 8


JOURNAL_LIFETIME_US = 7 * 24 * 3600 * 1_000_000
