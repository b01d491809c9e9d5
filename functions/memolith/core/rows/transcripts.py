"""Rows of transcripts: one for each part, without any of its text."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.objects.transcript import ID_END, TranscriptPart
from memolith.core.rows.base import Row, RowKey


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptRow(Row):
    """What is asked of one part without reading it. An erasure absorbs: it is never undone.

    `first_at` and `last_at` are the times of its events; `id_ends` has the last characters of their ids, one after the
    other. The row of the order to erase a transcript has neither, and `erased_at`.
    """

    workspace_id: str
    session_id: str
    region: str
    sequence: int
    recorded_at: int
    events: int = 0
    size_bytes: int = 0
    first_at: int | None = None
    last_at: int | None = None
    id_ends: str | None = None
    erased_at: int | None = None

    @staticmethod
    def partition(workspace_id: str, session_id: str) -> str:
        """Return the partition of a session's parts; a workspace's own partition holds its keys and sessions."""
        return f"{workspace_id}#{session_id}"

    @classmethod
    def key(cls, workspace_id: str, session_id: str, region: str, sequence: int) -> RowKey:
        return RowKey("keys", cls.partition(workspace_id, session_id), f"{region}#{sequence:010d}")

    @classmethod
    def of(cls, part: TranscriptPart, region: str, sequence: int, size_bytes: int) -> TranscriptRow:
        """Return the row of a part."""
        times = [event.at for event in part.events]
        return cls(
            workspace_id=part.workspace_id,
            session_id=part.session_id,
            region=region,
            sequence=sequence,
            recorded_at=part.recorded_at,
            events=len(part.events),
            size_bytes=size_bytes,
            first_at=min(times, default=None),
            last_at=max(times, default=None),
            id_ends="".join(part.id_ends) or None,
            erased_at=part.erased_at,
        )

    @property
    def ids(self) -> list[str]:
        """The ends of its events' ids."""
        ends = self.id_ends or ""
        return [ends[start : start + ID_END] for start in range(0, len(ends), ID_END)]


def join_transcript(before: TranscriptRow | None, after: TranscriptRow) -> TranscriptRow:
    """Join two states of one part's row: of one that is erased nothing comes back."""
    if before is None or before.erased_at is None:
        return after
    if after.erased_at is None:
        return before
    return min(before, after, key=lambda row: (row.id_ends is not None, row.erased_at or 0, row.id_ends or ""))
