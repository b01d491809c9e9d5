"""Rows of the journal: what a home has acknowledged, by period and partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from memolith.core.merkle import Frontier
from memolith.core.rows.base import Row, RowKey


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow(Row):
    """One object that this home acknowledged in one period; the checkpoint of that period is made of these.

    `digest` is what the checkpoint says of the object, so that nobody reads it again for that. `object_version` is the
    id of the version that the writer has put, if it has a text: the event of that version says nothing new.
    """

    object_key: str
    expires_at: int
    version_id: str | None = None
    digest: str | None = None
    object_version: str | None = None

    @property
    def logged_at(self) -> int:
        """When it was logged, to the second (microseconds since 1970)."""
        return self.expires_at * 1_000_000 - JOURNAL_LIFETIME_US

    @staticmethod
    def partition(home: str, period: int, shard: int) -> str:
        """Return one of several partitions of a period, so that writers of one instant seldom contend."""
        return f"{home}#{period:012d}#{shard}"

    @staticmethod
    def key(home: str, period: int, shard: int, object_key: str) -> RowKey:
        """Return the row's key. It sorts by the object's own key, which makes a repetition harmless."""
        return RowKey("journal", JournalRow.partition(home, period, shard), object_key)

    @staticmethod
    def shard_of(object_key: str, shards: int) -> int:
        """Return where an object is logged first: of the whole key, as the slots of two paths may be equal."""
        return crc32(object_key.encode()) % shards


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
        shards, closing_shards: into how many partitions the open and the closing period are split; None: `SHARDS_MIN`.
        next_shards: how many the next period is to have, by what the last published one named.
        previous: the period of the last checkpoint that was published, a colon, and the SHA-256 of its object; None
            where the next one has to read that one, because it `needs_cover`.
        tree: of the names in the parts that stand: how many parts, how many names, and the hashes of the Merkle tree
            as it grows, in hex. What another release left behind says another number of parts, and does not count.
    """

    run: str
    open: int
    opened_at: int
    closing: int | None = None
    until: int | None = None
    listed: bool = False
    parts: int = 0
    cursor: str | None = None
    shards: int | None = None
    closing_shards: int | None = None
    next_shards: int | None = None
    previous: str | None = None
    tree: list[str] | None = None

    @staticmethod
    def key(home: str) -> RowKey:
        return RowKey("journal", home, "state")

    @property
    def open_period(self) -> OpenPeriod:
        """The period in which writers log."""
        return OpenPeriod(self.open, self.shards or SHARDS_MIN)

    @property
    def frontier(self) -> Frontier | None:
        """The Merkle tree of the parts that stand; None where that is not known."""
        if self.parts == 0:
            return Frontier()
        if self.tree is None or self.tree[0] != str(self.parts):
            return None
        return Frontier(int(self.tree[1]), tuple(bytes.fromhex(node) for node in self.tree[2:]))

    def previous_of(self, period: int) -> str | None:
        """Return the hash of the checkpoint before `period`, if it is known."""
        last, _, sha256 = (self.previous or "").partition(":")
        return sha256 if last == str(period - 1) else None


def tree_of(parts: int, frontier: Frontier | None) -> list[str] | None:
    """Write `JournalStateRow.tree`."""
    if frontier is None:
        return None
    return [str(parts), str(frontier.size), *(node.hex() for node in frontier.roots)]


class OpenPeriod(NamedTuple):
    """A period that was open when somebody looked, and into how many partitions it was split then; a hint."""

    number: int
    shards: int


SHARDS_MIN = 8


SHARDS_MAX = 64
"""As many as one transaction opens with room to spare; 500 writes a second leave each of them idle most of the time."""


WRITES_PER_SHARD = 300
"""In one period, a minute: a shard is held for a tenth of the time, at 20 ms a transaction."""


def shards_for(writes: int) -> int | None:
    """Return into how many partitions a period of so many writes is split; None stands for the fewest."""
    shards = min(SHARDS_MAX, -(-writes // WRITES_PER_SHARD))
    return shards if shards > SHARDS_MIN else None


def next_shards(state: JournalStateRow) -> int | None:
    """Return into how many partitions the next period is split: as the last published one asks, halved at most.

    What the open period named is not known yet: its writers may have split it because they are more than there were.
    """
    shards = max(state.next_shards or 0, (state.shards or 0) // 2)
    return shards if shards > SHARDS_MIN else None


def split_further(shards: int) -> int:
    """Return into how many partitions a period is split whose writers meet each other."""
    return min(SHARDS_MAX, shards * 4)


JOURNAL_LIFETIME_US = 7 * 24 * 3600 * 1_000_000
