"""What makes a stored object differ from what was acknowledged, decided from the object and the rows alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memolith.core.log_position import LogKey
from memolith.core.objects.entry import Entry
from memolith.core.paths import path_hash
from memolith.core.rows.content import UNSEEN_ENTRY, LogRow, MemoryRow, VersionRow


class Damage(StrEnum):
    """What is wrong with one copy of an object."""

    MISSING = "missing"
    """Its region's bucket does not have it, though the region that wrote it acknowledged it."""
    UNREADABLE = "unreadable"
    """Its metadata, or its frame on a disk, is not what any writer of Memolith puts."""
    ALTERED = "altered"
    """Its body is not the text whose hash its own metadata has."""
    REPLACED = "replaced"
    """Body and metadata fit each other, and are of another version or text than the one that was acknowledged."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What the index has of a version. Where both are empty, the object's own metadata alone counts."""

    content_sha256: str = ""
    version_id: str = ""


def damage_of(key: LogKey, metadata: Mapping[str, str], body: bytes, acknowledged: Acknowledged) -> Damage | None:
    """Tell what is wrong with the object of a version; None if it is what was acknowledged, or was erased."""
    try:
        entry = Entry.from_metadata(key, metadata)
    except ValueError:
        return Damage.UNREADABLE
    if entry.blank:
        return None
    if entry.content_sha256 is not None and hashlib.sha256(body).hexdigest() != entry.content_sha256:
        return Damage.ALTERED
    same_text = acknowledged.content_sha256 in ("", entry.content_sha256)
    same_version = acknowledged.version_id in ("", entry.version_id)
    return None if same_text and same_version else Damage.REPLACED


_FACTS = ("memory_id", "generation", "operation", "parent_version_id", "created_at", "created_by", "imported", "trust")
_TEXT = ("path", "content_sha256", "content_size_bytes", "flags")


def is_misplaced(entry: Entry, salt: str) -> bool:
    """Tell whether an entry stands in a log that is not its path's: it was put into another one, or store, before."""
    if entry.path is None or not salt:
        return False
    return path_hash(bytes.fromhex(salt), entry.path) != entry.key.path_hash


def contradicts(version: VersionRow | None, head: MemoryRow | None, joined: VersionRow) -> bool:
    """Tell whether an entry cannot be what its slot was taken with, or its version, by rows that were there before it.

    A slot is taken once, and an epoch's log is in one order: so a version has one slot in an epoch, a slot has one
    version, which is what it was, and what came later has the higher generation. What another region told of a version
    proves nothing against its object. `version` and `head` are the rows of the entry's version and memory as they were,
    `joined` is the row that the entry makes of nothing.
    """
    position = joined.position or ""
    if version is not None and version.position is not None:
        if version.position == position:
            return UNSEEN_ENTRY not in (version.unseen or ()) and not _is_same(version, joined)
        if _epoch_of(version.position) == _epoch_of(position):
            return True
    if head is None or _log_of(str(head.ref)) != _log_of(position):
        return False
    if str(head.ref) == position:
        return head.version_id != joined.version_id
    return (position > str(head.ref)) != ((joined.generation or 0) > head.generation)


def is_made_of(head: MemoryRow, joined: MemoryRow) -> bool:
    """Tell whether an entry is the one that a memory's row was made of. `joined` is the row that it makes of nothing.

    What was erased, by its order or with its store, has nothing left to compare.
    """
    if any(getattr(head, name) != getattr(joined, name) for name in ("memory_id", "version_id", "gone", "trust")):
        return False
    erased = head.path is None or joined.path is None
    return erased or all(getattr(head, name) == getattr(joined, name) for name in _TEXT)


def is_overtaken(head: MemoryRow | None, joined: VersionRow) -> bool:
    """Tell whether its memory has a later version in the same log and epoch: then its generation is taken, too."""
    if head is None or joined.position is None or _log_of(str(head.ref)) != _log_of(joined.position):
        return False
    return joined.position < str(head.ref)


def is_in_place_of(known: VersionRow, joined: VersionRow) -> bool:
    """Tell whether a version that is known has the slot of another one, or its generation in the same log and epoch."""
    if known.position is None or known.version_id == joined.version_id:
        return False
    same_log = _log_of(known.position) == _log_of(joined.position or "")
    return known.position == joined.position or (same_log and known.generation == joined.generation)


def is_of_another(log: LogRow | None, occupant: MemoryRow | None, joined: VersionRow) -> bool:
    """Tell whether the slot is known to be another memory's: it came to the path there, or before and wrote on."""
    if log is None or log.arrived is None or log.occupant in (None, joined.memory_id):
        return False
    position = joined.position or ""
    arrived = f"{log.path_hash}/{log.arrived}"
    if arrived == position:
        return True
    if occupant is None or not _log_of(arrived) == _log_of(position) == _log_of(str(occupant.ref)):
        return False
    return arrived < position <= str(occupant.ref)


def _is_same(row: VersionRow, other: VersionRow) -> bool:
    facts = _FACTS if row.blank or other.blank else _FACTS + _TEXT
    return all(getattr(row, name) == getattr(other, name) for name in facts)


def _epoch_of(position: str) -> str:
    return _log_of(position).partition("/")[2]


def _log_of(position: str) -> str:
    """Return the log and the epoch of a position, the text of a `LogRef`."""
    return position.rpartition(".")[0]
