"""Removing counts of uses that newer ones have taken the place of, and what pipelines took on days that are over."""

from __future__ import annotations

from functools import partial

from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.region import Region
from memolith.core.object_keys import JobKey
from memolith.core.objects.spending_record import KIND as SPENDING
from memolith.core.objects.store_record import parse_epoch
from memolith.core.objects.usage_record import JOB_KEY, KIND
from memolith.core.pipelines.policy import PipelinesPolicy
from memolith.core.retention import DAY_US
from memolith.core.rows.identity import StoreRow
from memolith.core.times import rfc3339
from memolith.ports.objects import ErasableObjects

KEPT = 8
"""How many records of each home stay: two days of them. The newest is the state, and says which number is next."""

SPENDING_KEPT_DAYS = 7
"""Of what pipelines took: that of earlier days binds nothing, and is for whoever wants to know."""


class CountRemoval:
    """Removes old counts of stores in this region."""

    def __init__(self, region: Region, erasable: ErasableObjects) -> None:
        self._region = region
        self._erasable = erasable

    def run(self, store: StoreRow) -> int:
        """Remove every record of a store's counts but the newest of each home, and what was taken on earlier days.

        Return how many. Repeatable. Where uses are counted, a LIST for each home of the store; where it has a budget of
        a day, one for each region; for each that it removes what `ErasableObjects.remove` costs.

        Raises:
            Unavailable: not finished; repeat it.
        """
        policy, going = PipelinesPolicy.of(store.pipelines), list[str]()
        if policy.counts_uses:
            for home in dict.fromkeys([*(parse_epoch(epoch).home for epoch in store.epochs), store.home]):
                going += self._keys(JobKey.prefix(home, store.store_id, KIND, JOB_KEY))[:-KEPT]
        if policy.max_tokens_per_day:
            oldest = rfc3339(self._region.clock.now_us() - SPENDING_KEPT_DAYS * DAY_US)[:10]
            for region in self._region.origins:
                prefix = f"{region}/job/{store.store_id}/{SPENDING}/"
                going += [key for key in self._keys(prefix) if key.removeprefix(prefix) < oldest]
        self._region.parallel.run([partial(self._erasable.remove, key) for key in going])
        return len(going)

    def _keys(self, prefix: str) -> list[str]:
        return list(keys_under(self._region.objects, prefix))
