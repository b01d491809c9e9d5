"""What makes a stored object differ from what was acknowledged, decided from the object and the row alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memolith.core.log_position import LogKey
from memolith.core.objects.entry import Entry


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
