"""The buckets, as seen from one region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol


class Sink(Protocol):
    """What takes an object as it arrives."""

    def begin(self, metadata: Mapping[str, str]) -> object:
        """Take what the object says of itself, before any of its body."""

    def write(self, piece: bytes) -> object:
        """Take the next piece of its body."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object: its body (empty where only the head was asked for, or where a sink took it), user metadata, and size
    in bytes.
    """

    key: str
    body: bytes
    metadata: Mapping[str, str]
    size_bytes: int

    def drained(self, into: Sink | None) -> StoredObject:
        """Return it, without its body where there is a sink, which takes that in one piece."""
        if into is None:
            return self
        into.begin(self.metadata)
        into.write(self.body)
        return replace(self, body=b"")


@dataclass(frozen=True, slots=True)
class KeyPage:
    """Keys in ascending byte order; `next_after` continues the listing, None at its end.

    `sizes` has the bytes of each object's body in the same order; None from a store whose listings do not tell.
    """

    keys: tuple[str, ...]
    next_after: str | None
    sizes: tuple[int, ...] | None = None


VersionMark = tuple[str, str]
"""A place in a listing of versions: a key, and the S3 version of it that was listed last."""


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One S3 version of one key; `current` is the one that a plain read finds."""

    key: str
    version_id: str
    current: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class VersionPage:
    """Versions by key in ascending byte order, of one key the newest first; `next_after` continues, None at the end."""

    versions: tuple[ObjectVersion, ...]
    next_after: VersionMark | None


class Objects(Protocol):
    """Reads and conditional puts; what is put elsewhere goes no further. Reads are strongly consistent in a region."""

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        """Put a new object into `region`'s bucket (default: this one), or change nothing. One PUT.

        Return the id of the object's version, by which its event is recognized; None where the store has none.

        Args:
            key: at most 1,024 bytes.
            body: the content.
            metadata: US-ASCII, 2,048 bytes in all.
            content_sha256: lower-case hex of the body, checked by the store; computed when absent.

        Raises:
            ObjectExists: the key is taken, possibly by an earlier try of this very call.
            Contended: undecided; put again.
            OutcomeUnknown: read the key.
            Unavailable: refused before anything was done.
        """

    def head(self, key: str, region: str | None = None) -> StoredObject:
        """Return metadata and size, without the body, from `region`'s bucket (default: this one). One HEAD.

        Raises:
            ObjectNotFound: no such key. Unavailable: no answer. Damaged: the adapter sees that it is not what was put.
        """

    def get(self, key: str, region: str | None = None, into: Sink | None = None) -> StoredObject:
        """Return the whole object. One GET. Raises as `head`.

        With `into`, a body that need not be in memory goes there as it arrives, and the result has none. The adapter
        compares such a body with nothing: the caller has to. What the sink raises is raised.
        """

    def list(self, prefix: str, after: str | None = None, limit: int = 1000, region: str | None = None) -> KeyPage:
        """List keys that begin with `prefix`, those after `after`. One LIST a page. Raises Unavailable."""


class ErasableObjects(Protocol):
    """What only the eraser may do, and only in its own region."""

    def erase(self, key: str, body: bytes, metadata: Mapping[str, str]) -> int:
        """Put a blank, or a whole copy, over `key`, then delete every older version of it. Repeatable.

        What is put comes first, so that the slot is never free. Returns how many older versions it deleted.

        Raises:
            ObjectNotFound: the key was never here. Unavailable: not finished; repeat it.
        """

    def delete_older(self, key: str) -> int:
        """Delete every version of `key` but the current one, which stays. Repeatable. Returns how many it deleted.

        Raises:
            Unavailable: not finished; repeat it.
        """

    def remove(self, key: str) -> int:
        """Delete every version of `key`; for derived objects, and never for a slot, which stays taken. Repeatable.

        Returns how many versions it deleted; none where the key does not exist. One LIST of versions, and one DELETE
        each.

        Raises:
            Unavailable: not finished; repeat it.
        """

    def versions(self, prefix: str, after: VersionMark | None = None, limit: int = 1000) -> VersionPage:
        """List the S3 versions of the keys that begin with `prefix`, those after `after`. One LIST a page.

        Raises:
            Unavailable: no answer, or a delete marker hides versions of a key, which nothing of Memolith's puts.
        """

    def read_version(self, key: str, version_id: str) -> StoredObject:
        """Return one S3 version of an object, whole. One GET.

        Raises:
            ObjectNotFound: it is gone. Unavailable: no answer. Damaged: it is not what was put.
        """
