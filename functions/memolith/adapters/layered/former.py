"""Buckets of regions that were removed from the deployment: what would be read there is read here."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from memolith.ports.errors import Unavailable
from memolith.ports.objects import KeyPage, Objects, Sink, StoredObject


class WithoutFormerRegions:
    """`ports.objects.Objects` for a deployment that regions were removed from.

    A region is removed once every other bucket has all that it wrote. So a read in its bucket is one in this region's.
    """

    def __init__(self, objects: Objects, former: Collection[str]) -> None:
        self._objects = objects
        self._former = former

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        """Put as the adapter behind this one; into the bucket of a former region nothing is put: Unavailable."""
        if region in self._former:
            raise Unavailable(f"{region} was removed from the deployment")
        return self._objects.put_if_absent(key, body, metadata, content_sha256, region)

    def head(self, key: str, region: str | None = None) -> StoredObject:
        return self._objects.head(key, self._where(region))

    def get(self, key: str, region: str | None = None, into: Sink | None = None) -> StoredObject:
        return self._objects.get(key, self._where(region), into)

    def list(self, prefix: str, after: str | None = None, limit: int = 1000, region: str | None = None) -> KeyPage:
        return self._objects.list(prefix, after, limit, self._where(region))

    def _where(self, region: str | None) -> str | None:
        return None if region in self._former else region
