"""Rows of resolutions. They stand in the table of stores, in their store's partition, and hold no text and no path."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.log_position import Epoch
from memolith.core.objects.resolution_record import ResolutionRecord
from memolith.core.rows.base import Row, RowKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionRow(Row):
    """The decision about one conflict that holds, as its record has it."""

    store_id: str
    conflict_id: str
    epoch: str
    statement_ids: list[str]
    memory_ids: list[str]
    kept: str | None = None
    decided_at: int
    decided_by: str

    @staticmethod
    def key(store_id: str, conflict_id: str) -> RowKey:
        return RowKey("stores", store_id, f"resolution#{conflict_id}")

    @property
    def record(self) -> ResolutionRecord:
        """The record that the row was made of."""
        first, second = self.statement_ids
        one, other = self.memory_ids
        return ResolutionRecord(
            self.store_id,
            self.conflict_id,
            self.epoch,
            (first, second),
            (one, other),
            self.kept,
            self.decided_at,
            self.decided_by,
        )


def join(before: ResolutionRow | None, record: ResolutionRecord) -> ResolutionRow:
    """Join one record into the row. Commutative, associative and idempotent: the greater epoch's record holds."""
    if before is not None and Epoch.parse(before.epoch).rank >= Epoch.parse(record.epoch).rank:
        return before
    return ResolutionRow(
        store_id=record.store_id,
        conflict_id=record.conflict_id,
        epoch=record.epoch,
        statement_ids=list(record.statement_ids),
        memory_ids=list(record.memory_ids),
        kept=record.kept,
        decided_at=record.at,
        decided_by=record.by,
    )
