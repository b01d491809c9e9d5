"""Removing counts of uses that newer ones have taken the place of: each record has all counts of its store."""

from __future__ import annotations

from functools import partial

from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.region import Region
from memolith.core.object_keys import JobKey
from memolith.core.objects.store_record import parse_epoch
from memolith.core.objects.usage_record import JOB_KEY, KIND
from memolith.core.rows.identity import StoreRow
from memolith.ports.objects import ErasableObjects

KEPT = 8
"""How many records of each home stay: two days of them. The newest is the state, and says which number is next."""


class CountRemoval:
    """Removes old counts of stores in this region."""

    def __init__(self, region: Region, erasable: ErasableObjects) -> None:
        self._region = region
        self._erasable = erasable

    def run(self, store: StoreRow) -> int:
        """Remove every record of a store's counts but the newest of each home. Return how many. Repeatable.

        A LIST for each home of the store, and for each that it removes what `ErasableObjects.remove` costs.

        Raises:
            Unavailable: not finished; repeat it.
        """
        homes = dict.fromkeys([*(parse_epoch(epoch).home for epoch in store.epochs), store.home])
        going = []
        for home in homes:
            prefix = JobKey.prefix(home, store.store_id, KIND, JOB_KEY)
            going += list(keys_under(self._region.objects, prefix))[:-KEPT]
        self._region.parallel.run([partial(self._erasable.remove, key) for key in going])
        return len(going)
