"""The rows of the index: what each table holds, and under which key.

Rows are derived, so that the same objects give the same rows in every region and after every rebuild. A row carries no
counter of its own changes: a change is conditional on the whole row still being what was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

LATE_PREFIX = "late#"
"""What the sort keys of late versions begin with; no id does, and all ids come after it."""


class RowKey(NamedTuple):
    """Where a row stands: the table's short name (`cairn.core.tables`), partition key, sort key."""

    table: str
    pk: str
    sk: str


UNSEEN_ENTRY = "entry"
UNSEEN_DEPARTURE = "departure"
UNSEEN_ORDER = "order"
"""What `VersionRow.unseen` may hold: the version's own object, the end of its rename, the order to redact it."""


Attributes = Mapping[str, Any]
"""A row's attributes apart from its key: str, int, bool, lists and mappings of str; an absent one is None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Base of the rows below: to attributes and back, leaving out what is None."""

    def to_attributes(self) -> dict[str, Any]:
        pairs = ((name, getattr(self, name)) for name in _names(type(self)))
        return {name: value for name, value in pairs if value is not None}

    @classmethod
    def from_attributes(cls, attributes: Attributes) -> Self:
        names = _names(cls)
        return cls(**{name: value for name, value in attributes.items() if name in names})


_NAMES: dict[type, Mapping[str, None]] = {}


def _names(row: type[Row]) -> Mapping[str, None]:
    """The attributes of a kind of row, in their order; every call reads rows, so they are looked up once."""
    names = _NAMES.get(row)
    if names is None:
        names = _NAMES[row] = dict.fromkeys(f.name for f in fields(row))
    return names


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

    @staticmethod
    def key(store_id: str, memory_id: str) -> RowKey:
        return RowKey("memories", store_id, memory_id)


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
    redacted_at: int | None = None
    redacted_by: str | None = None
    unseen: list[str] | None = None
    memory_key: str | None = None
    generation_key: str | None = None
    time_key: str | None = None

    @staticmethod
    def key(store_id: str, version_id: str) -> RowKey:
        return RowKey("versions", store_id, version_id)

    @staticmethod
    def late_key(store_id: str, version_id: str) -> RowKey:
        """Where a version stands that came late, and was not adopted: before all of the store's history."""
        return RowKey("versions", store_id, f"{LATE_PREFIX}{version_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow(Row):
    """What the verdicts on one text say, under whatever version it stands. It holds neither the text nor its hash.

    `withheld` and `released` have, for each version judged, its highest verdict of that kind; `flags` every rule that
    any verdict flagged. What follows from them, `cairn.core.verdicts` says.
    """

    store_id: str
    content_hmac: str
    withheld: Mapping[str, str] | None = None
    released: Mapping[str, str] | None = None
    flags: list[str] | None = None

    @staticmethod
    def key(store_id: str, content_hmac: str) -> RowKey:
        return RowKey("verdicts", store_id, content_hmac)


@dataclass(frozen=True, slots=True, kw_only=True)
class SightingRow(Row):
    """A fingerprint (`core.fingerprints`) in one memory: which of its versions last had it, and in which text.

    It stands in the table of verdicts, out of which it is made, after all of its store's verdicts: no HMAC of a text,
    which is hex, comes after the letter that its sort key begins with.
    """

    store_id: str
    kind: str
    digest: str
    memory_id: str
    severity: str
    version_id: str
    content_hmac: str

    @staticmethod
    def key(store_id: str, kind: str, digest: str, memory_id: str) -> RowKey:
        return RowKey("verdicts", store_id, f"{SightingRow.prefix(kind, digest)}#{memory_id}")

    @staticmethod
    def prefix(kind: str, digest: str = "") -> str:
        """What the sort keys of all sightings of a kind, or of one fingerprint, begin with."""
        return f"seen#{kind}#{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRow(Row):
    """A store's record as the index knows it; stands twice, by id and in its workspace's order of creation.

    No `scan_policy` is the default one.
    """

    store_id: str
    workspace_id: str
    slot: str
    name: str
    description: str
    metadata: Mapping[str, str]
    salt: str
    home: str
    epochs: list[str]
    created_at: int
    updated_at: int
    version_id: str
    state: str
    archived_at: int | None = None
    scan_policy: str | None = None
    scan_allow: list[str] | None = None
    retention_days: int | None = None
    retention_versions: int | None = None
    second_region: str | None = None
    cuts: list[str] | None = None
    moving_to: str | None = None
    follows: str | None = None
    adopted: list[str] | None = None
    apart: list[str] | None = None

    @staticmethod
    def key(store_id: str) -> RowKey:
        return RowKey("stores", store_id, "record")

    @staticmethod
    def listing_key(workspace_id: str, created_at: int, store_id: str) -> RowKey:
        return RowKey("stores", workspace_id, f"{created_at:020d}#{store_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyRow(Row):
    """An API key's record. A revocation absorbs: it may be written in any region and is never undone."""

    workspace_id: str
    key_id: str
    name: str
    scope: str
    secret_sha256: str
    created_at: int
    revoked_at: int | None = None

    @staticmethod
    def key(workspace_id: str, key_id: str) -> RowKey:
        return RowKey("keys", workspace_id, key_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow(Row):
    """A session's record, as the JSON of its object, beside what is asked of it with every call.

    The end of a session absorbs, like the revocation of a key, whose table this is too. `context` is the rank of the
    newest object that has pins (`cairn.core.slots.SessionKey`); the pins themselves are not here, where every call
    would read them.
    """

    workspace_id: str
    session_id: str
    record: str
    archived_at: int | None = None
    context: str | None = None

    @staticmethod
    def key(workspace_id: str, session_id: str) -> RowKey:
        return RowKey("keys", workspace_id, session_id)


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
    """How far the rebuild of one generation is; whoever runs it next goes on from here, on whatever machine.

    Attributes:
        generation: the one that is being built.
        run: who drives it now (`ControlRow.run`); taken over, it has another name.
        mark: what stands in each of the generation's tables for as long as nobody has emptied it.
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
class CompletenessRow(Row):
    """Up to when one generation of tables is complete; written by the reconciler alone, read with every batch.

    Attributes:
        mark: what stands in each of the generation's tables for as long as nobody has emptied it.
        until: by home, the watermark: microseconds since 1970, as text.
        before: `until` as it was before the row was last written, which is what a batch may claim that read this row
            after the others.
        folded: by home, the last checkpoint that is folded here whole, as text; what is next, if it has begun, in part.
        written_at: when the row was last written.
        period: the period that was open when the row was written; a hint, which the journal confirms.
    """

    mark: str
    until: Mapping[str, str]
    before: Mapping[str, str]
    folded: Mapping[str, str]
    written_at: int = 0
    period: int | None = None

    @staticmethod
    def key(generation: int) -> RowKey:
        return RowKey("control", "control", f"completeness#{generation:06d}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileRow(Row):
    """One of the daily comparisons: when the last one began, and after what it goes on, if it does.

    That of listing and tables has `KEY`; the others have `key_of` theirs.
    """

    began_at: int | None = None
    after: str | None = None

    KEY: ClassVar[RowKey] = RowKey("control", "control", "reconcile")

    @staticmethod
    def key_of(comparison: str) -> RowKey:
        return RowKey("control", "control", f"reconcile#{comparison}")


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow(Row):
    """One object that this home acknowledged in one period; the checkpoint of that period is made of these."""

    object_key: str
    expires_at: int
    version_id: str | None = None

    @staticmethod
    def partition(home: str, period: int, shard: int) -> str:
        """One of several partitions a period, so that writers of one instant seldom meet."""
        return f"{home}#{period:012d}#{shard}"

    @staticmethod
    def key(home: str, period: int, shard: int, object_key: str) -> RowKey:
        """The object's own key sorts, and makes a repetition harmless."""
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


def mark_key(table: str) -> RowKey:
    """Where each table of a generation carries its mark (`CompletenessRow.mark`); who empties the table takes it."""
    return RowKey(table, "mark", "mark")
