"""Removing packs: those that a newer one has taken the place of, and all of a store that is deleted; steps of dreams.

A pack is derived and has no slot to keep, so that it is not blanked: every version of it goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from memolith.app.kernel.region import Region
from memolith.app.log.store_log import StoreLog
from memolith.core import ids
from memolith.core.errors import InvalidRequest
from memolith.core.objects.dream_step import steps_prefix
from memolith.core.objects.search_pack import PackKey
from memolith.ports.objects import ErasableObjects, ObjectVersion, VersionMark

VERSIONS_PER_PAGE = 200


class PackRemoval:
    """Removes packs in this region."""

    def __init__(self, region: Region, erasable: ErasableObjects, records: StoreLog) -> None:
        self._region = region
        self._erasable = erasable
        self._records = records

    def erase(self, store_id: str) -> int:
        """Remove every segment of a store but the newest; of a deleted store, that too. Return how many. Repeatable.

        A LIST, a look for the deletion, and for each that it removes what `ErasableObjects.remove` costs.

        Raises:
            InvalidRequest: not the id of a store. Unavailable: not finished; repeat it.
        """
        if ids.STORE.fullmatch(store_id) is None:
            raise InvalidRequest("store_id", "must be the id of a memory_store")
        keys = list(dict.fromkeys(one.key for one in self.versions(store_id)))
        deleted = self._records.deletion(store_id) is not None
        going = keys if deleted else keys[:-1]
        self._region.parallel.run([partial(self._remove, key) for key in going])
        return len(going) + (self.erase_steps(store_id) if deleted else 0)

    def erase_steps(self, store_id: str, run_id: str | None = None) -> int:
        """Remove what dreams of a store keep while they are under way, or one of them. Return how many. Repeatable.

        A LIST, and for each that it removes what `ErasableObjects.remove` costs; another LIST where there were any. It
        looks again until nothing is left: what a worker keeps before its mark is removed is found by the next look, and
        one that keeps anything after that does not find its mark.

        Raises:
            InvalidRequest: not such ids. Unavailable: not finished; repeat it.
        """
        if ids.STORE.fullmatch(store_id) is None or (run_id is not None and ids.DREAM.fullmatch(run_id) is None):
            raise InvalidRequest("store_id", "must be the id of a memory_store, and run_id that of a dream")
        removed = 0
        while keys := list(dict.fromkeys(one.key for one in self._versions(steps_prefix(store_id, run_id)))):
            self._region.parallel.run([partial(self._remove, key) for key in keys])
            removed += len(keys)
        return removed

    def versions(self, store_id: str) -> Iterator[ObjectVersion]:
        """Yield every S3 version of every segment of a store, the newest segment last. Raises Unavailable."""
        return self._versions(PackKey.prefix(store_id))

    def _versions(self, prefix: str) -> Iterator[ObjectVersion]:
        mark: VersionMark | None = None
        while True:
            page = self._erasable.versions(prefix, mark, VERSIONS_PER_PAGE)
            yield from page.versions
            if page.next_after is None:
                return
            mark = page.next_after

    def _remove(self, key: str) -> int:
        return self._erasable.remove(key)
