"""Rows of dreams: the newest record of each, a copy in the order of their birth, and two while it is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from memolith.core.object_keys import RunKey
from memolith.core.objects.run_record import RunRecord
from memolith.core.rows.base import Row, RowKey

EVERY_OPEN_DREAM = "#dreams#open"
"""The partition of all workspaces' dreams that are not over: no workspace's id is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamRow(Row):
    """The record of a dream that stands, as text, without what its caller wrote.

    Attributes:
        sequence, region: its number, and who put it.
        numbers: of each region the greatest number of its records that are joined here, as text.
    """

    sequence: int
    region: str
    store_id: str
    record: str
    numbers: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def key(run_id: str) -> RowKey:
        """Return where the dream itself stands."""
        return RowKey("keys", run_id, "dream")

    @staticmethod
    def open_everywhere(run_id: str) -> RowKey:
        """Return where the copy of a dream that is not over stands among those of all workspaces."""
        return RowKey("keys", EVERY_OPEN_DREAM, DreamRow.position(run_id))

    @staticmethod
    def partition(workspace_id: str, *, is_open: bool = False) -> str:
        """Return where copies of a workspace's dreams stand in their order, or of those that are not over."""
        return f"{workspace_id}#dreams{'#open' if is_open else ''}"

    @classmethod
    def listing_key(cls, workspace_id: str, run_id: str, *, is_open: bool = False) -> RowKey:
        return RowKey("keys", cls.partition(workspace_id, is_open=is_open), cls.position(run_id))

    @staticmethod
    def position(run_id: str) -> str:
        """Return where a dream stands among the others: by its birth, then by its id."""
        return f"{run_id.rpartition('_')[2]}#{run_id}"

    @classmethod
    def of(cls, record: RunRecord, region: str) -> DreamRow:
        """Return the row of a record that `region` put."""
        text = record.blanked().to_json().decode()
        numbers = {region: str(record.sequence)}
        return cls(sequence=record.sequence, region=region, store_id=record.store_id, record=text, numbers=numbers)

    @property
    def parsed(self) -> RunRecord:
        """The record; what its caller wrote is in the object alone."""
        return RunRecord.from_json(self.record.encode())

    def shows(self, key: RunKey) -> bool:
        """Tell whether the record of this key, or a later one of its region, is joined."""
        return int(self.numbers.get(key.home, "0")) >= key.sequence


def join_dream(before: DreamRow | None, after: DreamRow) -> DreamRow:
    """Join two states: the later record stands, and of two of one number that of the greater region.

    No record of an open dream takes the end's place, whatever its number: a home that has not heard of the next one
    goes on counting. Of two ends that of the greater epoch stands.
    """
    if before is None:
        return after
    numbers = dict(before.numbers)
    for region, number in after.numbers.items():
        numbers[region] = max(numbers.get(region, "0"), number, key=int)
    return replace(max(before, after, key=_rank), numbers=numbers)


def _rank(row: DreamRow) -> tuple[int, int, str, str]:
    record = row.parsed
    return (0 if record.status.is_open else 1 + record.epoch, row.sequence, row.region, row.record)
