"""Rows of memories, of the logs of their paths, of paths in use, and of versions."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.log_position import LogRef, Slot
from memolith.core.rows.base import Row, RowKey

LATE_PREFIX = "late#"
"""What the sort keys of late versions begin with; no id does, and all ids come after it."""


UNSEEN_ENTRY = "entry"


UNSEEN_DEPARTURE = "departure"


UNSEEN_ORDER = "order"
"""What `VersionRow.unseen` may hold: the version's own object, the end of its rename, the order to redact it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow(Row):
    """A memory's head: all that a read, an update or a delete by id needs. The highest generation wins.

    `gone` marks a deleted memory: its id, generation and position stay, so that nothing older comes back.
    """

    store_id: str
    memory_id: str
    generation: int
    version_id: str
    path_hash: str
    slot: str
    arrived: str
    updated_at: int
    created_at: int
    path: str | None = None
    content_sha256: str | None = None
    content_size_bytes: int | None = None
    flags: list[str] | None = None
    gone: bool = False
    trust: str | None = None

    @staticmethod
    def key(store_id: str, memory_id: str) -> RowKey:
        return RowKey("memories", store_id, memory_id)

    @property
    def ref(self) -> LogRef:
        """The position of the head's entry, which has the memory's text."""
        return LogRef(self.path_hash, Slot.parse(self.slot))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow(Row):
    """What is known of one path's log: the last that happened to its path, and what was void after that.

    Either `arrived`, the slot at which a memory (`occupant`) came to the path, or `vacated`, at which one left it; and
    `voided`, the highest void entry met. Updates are not among them: the occupant's own row has its slot.
    """

    store_id: str
    path_hash: str
    arrived: str | None = None
    occupant: str | None = None
    vacated: str | None = None
    voided: str | None = None

    @staticmethod
    def key(store_id: str, path_hash: str) -> RowKey:
        return RowKey("logs", store_id, path_hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRow(Row):
    """A live memory at a path, or a claim on it, or both for the moment in which the one becomes the other."""

    store_id: str
    path: str
    memory_id: str | None = None
    claim_id: str | None = None
    claim_position: str | None = None
    claim_expires_at: int | None = None

    @staticmethod
    def key(store_id: str, path: str) -> RowKey:
        return RowKey("paths", store_id, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow(Row):
    """One version of one memory. A redaction may be known before the version is: then only its two facts stand here.

    `unseen` names the objects behind this row that this region has not folded from its own bucket: the row was made
    from another region's answer, or from another region's bucket. Folding the object itself takes its name out, for
    good. Absent means that nothing is unseen, so that most rows, and all rows of the home, never have it.
    """

    store_id: str
    version_id: str
    memory_id: str | None = None
    generation: int | None = None
    operation: str | None = None
    position: str | None = None
    parent_version_id: str | None = None
    created_at: int | None = None
    created_by: str | None = None
    path: str | None = None
    content_sha256: str | None = None
    content_size_bytes: int | None = None
    flags: list[str] | None = None
    blank: bool = False
    imported: bool | None = None
    trust: str | None = None
    redacted_at: int | None = None
    redacted_by: str | None = None
    unseen: list[str] | None = None
    memory_key: str | None = None
    generation_key: str | None = None
    time_key: str | None = None

    @staticmethod
    def key(store_id: str, version_id: str) -> RowKey:
        return RowKey("versions", store_id, version_id)

    @property
    def ref(self) -> LogRef:
        """The position of the version's entry. Raises ValueError where it is not known."""
        return LogRef.parse(self.position or "")

    @staticmethod
    def late_key(store_id: str, version_id: str) -> RowKey:
        """Return where a straggler's version is that was not replayed: before all of the store's history."""
        return RowKey("versions", store_id, f"{LATE_PREFIX}{version_id}")
