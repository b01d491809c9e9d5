"""What an audit finds wrong with one acknowledged object, decided from what was sealed and what stands there now."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memolith.core.log_position import LogKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Entry
from memolith.core.sealing import SEALED_METADATA, is_known_form, opening_of, record_digest


class Flaw(StrEnum):
    """The class of a finding: what was done to the objects."""

    ALTERED = "altered"
    """Its text is not the acknowledged one, and is that of no other version."""
    METADATA_CHANGED = "metadata_changed"
    """Its text is the acknowledged one, and what stands about it (who, when, its path, its trust class) is not."""
    MISSING = "missing"
    """It is gone, and later versions of the same path are there."""
    TRUNCATED = "truncated"
    """It is gone, and so is everything that came after it at its path."""
    REORDERED = "reordered"
    """It and a version beside it were exchanged."""
    ROLLED_BACK = "rolled_back"
    """An older version of the same store stands in its place; or the checkpoints themselves are an older copy."""
    REPLAYED = "replayed"
    """A version of another store stands in its place."""
    UNACKNOWLEDGED = "unacknowledged"
    """It was never acknowledged: no checkpoint names it but one that was made from a listing."""
    ERASED_WITHOUT_ORDER = "erased_without_order"
    """It is the newest version of a memory that is not deleted, its text is gone, and no order says so."""
    UNREADABLE = "unreadable"
    """It is not what any writer of Memolith puts."""
    CHECKPOINT_MISSING = "checkpoint_missing"
    """A checkpoint, or a part of one, is gone, and later ones are there."""
    CHECKPOINT_ALTERED = "checkpoint_altered"
    """A checkpoint is not the one that the next one names, or its root or signature is not that of its names."""
    CHECKPOINT_UNSIGNED = "checkpoint_unsigned"
    """No signature covers it, nor the others of an hour after it: they prove nothing."""
    FORKED = "forked"
    """Another region saw another checkpoint of this period: the home told two histories."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One flaw: of which object, and the period whose checkpoint shows it."""

    flaw: Flaw
    key: str
    period: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as it stands; None for its body where the bucket refuses to give it."""

    metadata: Mapping[str, str]
    body: bytes | None


class State(StrEnum):
    """What one named object is, if nothing is wrong with it, or what is known of the wrong."""

    INTACT = "intact"
    UNSEALED = "unsealed"
    """It is there, and what it was is not known: its name has no digest, or its store's salt is erased."""
    BLANK = "blank"
    GONE = "gone"
    TEXT = "text"
    METADATA = "metadata"
    BROKEN = "broken"


def state_of(name: Named, key: LogKey | None, stored: Stored | None, salt: str) -> State:
    """Compare an object with its name in a checkpoint. `key` is None for a record."""
    if stored is None:
        return State.GONE
    if key is None:
        return _state_of_record(name, stored)
    try:
        entry = Entry.from_metadata(key, stored.metadata)
    except ValueError:
        return State.BROKEN
    whole = stored.body is not None and (
        not entry.has_content or hashlib.sha256(stored.body).hexdigest() == entry.content_sha256
    )
    if name.digest is None or not salt or not is_known_form(name.digest):
        if entry.blank:
            return State.BLANK
        return State.UNSEALED if whole else State.TEXT
    opening = opening_of(name.key, stored.metadata, salt)
    if opening.digest == name.digest:
        if not whole:
            return State.TEXT
        return State.INTACT if set(stored.metadata) <= SEALED_METADATA else State.METADATA
    if entry.blank:
        return State.BLANK
    return State.METADATA if whole and opening.is_text_of(name.digest) else State.TEXT


def _state_of_record(name: Named, stored: Stored) -> State:
    if stored.body is None:
        return State.BROKEN
    if name.digest is None or not is_known_form(name.digest):
        return State.UNSEALED
    return State.INTACT if record_digest(name.key, stored.body) == name.digest else State.TEXT


def fits(name: Named, sha256: str | None, salt: str) -> bool:
    """Tell whether a name in a checkpoint was made for a text with this hash."""
    if name.digest is None or sha256 is None or not salt or not is_known_form(name.digest):
        return False
    return opening_of(name.key, {}, salt).is_text_of(name.digest, sha256)
