"""Copies of what a region wrote itself, while S3 replicates it: what is put there goes over every other copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memolith.ports.errors import ObjectNotFound
from memolith.ports.objects import KeyPage, Objects, Sink, StoredObject


class AgreedCopies:
    """`ports.objects.Objects` of `region`, in which a copy of an object of its own counts only if no other one differs.

    One GET more for each such object and other region. `differing` has the keys of those that were not found for it.
    """

    def __init__(self, objects: Objects, region: str, others: Sequence[str]) -> None:
        self._objects = objects
        self._prefix = f"{region}/"
        self._others = others
        self.differing: set[str] = set()

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        return self._objects.put_if_absent(key, body, metadata, content_sha256, region)

    def head(self, key: str, region: str | None = None) -> StoredObject:
        return self._objects.head(key, region)

    def get(self, key: str, region: str | None = None, into: Sink | None = None) -> StoredObject:
        """Get as the adapter behind this one. Raises ObjectNotFound too where the other regions' copies differ."""
        found = self._objects.get(key, region, into)
        if region in self._others and key.startswith(self._prefix):
            for other in self._others:
                if other != region and self._differs(found, other):
                    self.differing.add(key)
                    raise ObjectNotFound(f"{key}: its copies in {region} and {other} differ")
        return found

    def list(self, prefix: str, after: str | None = None, limit: int = 1000, region: str | None = None) -> KeyPage:
        return self._objects.list(prefix, after, limit, region)

    def _differs(self, found: StoredObject, other: str) -> bool:
        try:
            return self._objects.get(found.key, other) != found
        except ObjectNotFound:
            return False
