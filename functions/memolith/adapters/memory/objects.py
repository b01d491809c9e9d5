"""Buckets in memory: what S3 does, as far as Memolith leans on it, and nothing that S3 does not.

One `MemoryBuckets` is a world of buckets, one a region; `MemoryObjects` is that world as seen from one of them. Every
version of a key is kept, as in a versioned bucket, so that a test can see what an erasure left. Replication is not
done here: the test that plays the network listens with `observers` and calls `replicate` when and as often as it likes.
Every step is atomic under one lock; observers are told after it is released.
"""

from __future__ import annotations

import hashlib
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from memolith.adapters.limits import check_listing, check_object
from memolith.ports.errors import ObjectExists, ObjectNotFound, Unavailable
from memolith.ports.objects import KeyPage, ObjectVersion, Sink, StoredObject, VersionMark, VersionPage


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """One version of one key in one bucket. Replicas keep the version id of their source, as S3 has it."""

    version_id: str
    object: StoredObject


@dataclass(frozen=True, slots=True)
class PutEvent:
    """A version has appeared in a bucket: what S3 would notify. `replica` tells a copy from an original."""

    region: str
    key: str
    version_id: str
    replica: bool


Observer = Callable[[PutEvent], None]


@dataclass(slots=True)
class _Bucket:
    """Versions by key, oldest first, and the keys in order. Python's order of text is UTF-8's byte order."""

    versions: dict[str, list[StoredVersion]] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)

    def add(self, version: StoredVersion) -> None:
        key = version.object.key
        if key not in self.versions:
            self.versions[key] = []
            insort(self.keys, key)
        self.versions[key].append(version)

    def remove(self, key: str) -> int:
        versions = self.versions.pop(key, [])
        if versions:
            self.keys.remove(key)
        return len(versions)


class MemoryBuckets:
    """The buckets of all regions. Safe for threads."""

    def __init__(self, regions: Iterable[str]) -> None:
        self._buckets = {region: _Bucket() for region in regions}
        self._lock = threading.RLock()
        self._count = 0
        self.observers: list[Observer] = []

    @property
    def regions(self) -> tuple[str, ...]:
        return tuple(self._buckets)

    def current(self, region: str, key: str) -> StoredObject | None:
        """Return the newest version of a key. Raises Unavailable for a region that has no bucket."""
        with self._lock:
            versions = self._bucket(region).versions.get(key)
            return versions[-1].object if versions else None

    def versions(self, region: str, key: str) -> tuple[StoredVersion, ...]:
        """List every version of a key, oldest first; none if it was never there."""
        with self._lock:
            return tuple(self._bucket(region).versions.get(key, ()))

    def page(self, region: str, prefix: str, after: str | None, limit: int) -> KeyPage:
        """List one page of keys in byte order."""
        with self._lock:
            keys = self._bucket(region).keys
            start = bisect_right(keys, after) if after is not None and after >= prefix else bisect_left(keys, prefix)
            found = []
            for key in keys[start : start + limit + 1]:
                if not key.startswith(prefix):
                    break
                found.append(key)
            versions = self._bucket(region).versions
            sizes = tuple(versions[key][-1].object.size_bytes for key in found[:limit])
        return KeyPage(tuple(found[:limit]), found[limit - 1] if len(found) > limit else None, sizes)

    def version_page(self, region: str, prefix: str, after: VersionMark | None, limit: int) -> VersionPage:
        """List one page of versions: keys in byte order, of each key the newest first."""
        found: list[ObjectVersion] = []
        with self._lock:
            bucket = self._bucket(region)
            start = bisect_left(bucket.keys, prefix if after is None else max(prefix, after[0]))
            for key in bucket.keys[start:]:
                if not key.startswith(prefix) or len(found) > limit:
                    break
                versions = bucket.versions[key][::-1]
                marks = [version.version_id for version in versions]
                skip = marks.index(after[1]) + 1 if after is not None and after[0] == key and after[1] in marks else 0
                found += [
                    ObjectVersion(key, version.version_id, place == 0, version.object.size_bytes)
                    for place, version in enumerate(versions)
                    if place >= skip
                ]
        page = tuple(found[:limit])
        return VersionPage(page, (page[-1].key, page[-1].version_id) if len(found) > limit else None)

    def put(self, region: str, new: StoredObject, *, only_if_absent: bool) -> str:
        """Add a version of a key, notify the observers, and return its id. Raises ObjectExists, Unavailable."""
        with self._lock:
            bucket = self._bucket(region)
            if only_if_absent and new.key in bucket.versions:
                raise ObjectExists(new.key)
            self._count += 1
            version = StoredVersion(f"v{self._count:08d}", new)
            bucket.add(version)
        self._tell(PutEvent(region, new.key, version.version_id, replica=False))
        return version.version_id

    def replicate(self, event: PutEvent, destination: str) -> bool:
        """Copy the version that `event` names into another bucket, as the newest there; False if it no longer exists.

        A version that is there already is not copied again. Which version is current when an older one arrives late is
        not documented for S3; here it is the one that arrived last, the worst case for an erasure.
        """
        with self._lock:
            source = self._bucket(event.region).versions.get(event.key, ())
            version = next((one for one in source if one.version_id == event.version_id), None)
        if version is None:
            return False
        self.arrive(version, destination)
        return True

    def arrive(self, version: StoredVersion, destination: str) -> None:
        """Put a copy that was under way into a bucket, even if its source is gone meanwhile."""
        key = version.object.key
        with self._lock:
            bucket = self._bucket(destination)
            if any(one.version_id == version.version_id for one in bucket.versions.get(key, ())):
                return
            bucket.add(version)
        self._tell(PutEvent(destination, key, version.version_id, replica=True))

    def erase(self, region: str, blank: StoredObject) -> int:
        """Put `blank` over its key and drop every older version, in one step. Raises ObjectNotFound."""
        with self._lock:
            versions = self._bucket(region).versions.get(blank.key)
            if not versions:
                raise ObjectNotFound(blank.key)
            self._count += 1
            older = len(versions)
            versions[:] = [StoredVersion(f"v{self._count:08d}", blank)]
            version_id = versions[0].version_id
        self._tell(PutEvent(region, blank.key, version_id, replica=False))
        return older

    def delete_older(self, region: str, key: str, version_id: str | None = None) -> int:
        """Drop every version of a key that is older than this one (default: the newest); return how many."""
        with self._lock:
            versions = self._bucket(region).versions.get(key, [])
            ids = [one.version_id for one in versions]
            older = len(ids) - 1 if version_id is None else ids.index(version_id) if version_id in ids else 0
            del versions[: max(0, older)]
            return max(0, older)

    def remove(self, region: str, key: str) -> int:
        """Drop a key with every version; return how many."""
        with self._lock:
            return self._bucket(region).remove(key)

    def damage(self, region: str, key: str, found: StoredObject | None) -> None:
        """Change a region's current version behind Memolith's back, or take the key away; no observer is notified."""
        with self._lock:
            bucket = self._bucket(region)
            if found is None:
                bucket.remove(key)
                return
            current = bucket.versions[key][-1]
            bucket.versions[key][-1] = replace(current, object=found)

    def _bucket(self, region: str) -> _Bucket:
        try:
            return self._buckets[region]
        except KeyError:
            raise Unavailable(f"no bucket in {region}") from None

    def _tell(self, event: PutEvent) -> None:
        for observer in tuple(self.observers):
            observer(event)


class MemoryObjects:
    """`ports.objects.Objects` on `MemoryBuckets`, as seen from `region`."""

    def __init__(self, buckets: MemoryBuckets, region: str) -> None:
        self._buckets = buckets
        self._region = region

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        """Put atomically. Refuses a checksum that is not the body's, as S3 does: Unavailable, nothing done."""
        check_object(key, metadata, content_sha256)
        if content_sha256 is not None and hashlib.sha256(body).hexdigest() != content_sha256:
            raise Unavailable(f"{key}: the body is not what content_sha256 says")
        return self._buckets.put(region or self._region, _object(key, body, metadata), only_if_absent=True)

    def head(self, key: str, region: str | None = None) -> StoredObject:
        """Return what `get` returns, without the body."""
        return replace(self.get(key, region), body=b"")

    def get(self, key: str, region: str | None = None, into: Sink | None = None) -> StoredObject:
        """Return the newest version. Raises ObjectNotFound; Unavailable for a region that has no bucket."""
        found = self._buckets.current(region or self._region, key)
        if found is None:
            raise ObjectNotFound(key)
        return replace(found, metadata=dict(found.metadata)).drained(into)

    def list(self, prefix: str, after: str | None = None, limit: int = 1000, region: str | None = None) -> KeyPage:
        """List at most 1,000 keys a page, as S3 does."""
        return self._buckets.page(region or self._region, prefix, after, check_listing(limit))


class MemoryErasableObjects:
    """`ports.objects.ErasableObjects` on `MemoryBuckets`; blank and deletions are one step here."""

    def __init__(self, buckets: MemoryBuckets, region: str) -> None:
        self._buckets = buckets
        self._region = region

    def erase(self, key: str, body: bytes, metadata: Mapping[str, str]) -> int:
        """Erase, and return how many older versions were dropped. Raises ObjectNotFound."""
        check_object(key, metadata)
        return self._buckets.erase(self._region, _object(key, body, metadata))

    def delete_older(self, key: str) -> int:
        """Drop the older versions; return how many. Notifies no observer: nothing new is there."""
        return self._buckets.delete_older(self._region, key)

    def remove(self, key: str) -> int:
        """Drop every version; return how many. Notifies no observer."""
        return self._buckets.remove(self._region, key)

    def versions(self, prefix: str, after: VersionMark | None = None, limit: int = 1000) -> VersionPage:
        """List at most 1,000 versions a page, as S3 does."""
        return self._buckets.version_page(self._region, prefix, after, check_listing(limit))

    def read_version(self, key: str, version_id: str) -> StoredObject:
        """Return a copy. Raises ObjectNotFound."""
        for version in self._buckets.versions(self._region, key):
            if version.version_id == version_id:
                return replace(version.object, metadata=dict(version.object.metadata))
        raise ObjectNotFound(key)


def _object(key: str, body: bytes, metadata: Mapping[str, str]) -> StoredObject:
    return StoredObject(key, bytes(body), dict(metadata), len(body))
