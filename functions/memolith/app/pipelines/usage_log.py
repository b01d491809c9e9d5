"""Counts of uses: one object after the other at the store's home, of which the newest has all counts.

They stand where the store's jobs do, so that they replicate, move and are erased with it. To count is one conditional
put: of two workers who counted the same, the second finds its place taken.
"""

from __future__ import annotations

from functools import partial

from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import Put, has_body, put_if_absent
from memolith.app.pipelines.job_log import epoch_number, last_keys, next_sequence
from memolith.core.errors import Unavailable
from memolith.core.objects.usage_record import JOB_KEY, KIND, UsageRecord
from memolith.core.pipelines.jobs import JobName
from memolith.core.rows.identity import StoreRow

KNOWN_FOR_US = 60_000_000
KNOWN_MAX = 32
"""For how long a process goes by what it read of a store's counts, and of how many stores."""


class UsageLog:
    """Reads and puts the counts of stores."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._known: dict[str, tuple[int, UsageRecord | None]] = {}

    def newest(self, store: StoreRow) -> UsageRecord | None:
        """Return the counts of a store that this bucket has. A LIST for a thousand records, and a GET, for each home.

        Raises:
            Unavailable: the bucket does not answer, or a record cannot be read.
        """
        return self.state(store)[0]

    def state(self, store: StoreRow) -> tuple[UsageRecord | None, int]:
        """Return the counts of a store that this bucket has, and the sequence of the next record here. As `newest`."""
        name = JobName(store.store_id, KIND, JOB_KEY)
        keys = last_keys(self._region, store, name)
        found = {home: one for home, key in keys if (one := self._read(key)) is not None}
        newest = max(found.values(), key=lambda one: one.rank, default=None)
        while len(self._known) >= KNOWN_MAX:
            self._known.pop(next(iter(self._known), ""), None)
        self._known[store.store_id] = (self._region.clock.now_us(), newest)
        return newest, next_sequence(found, self._region.name, epoch_number(store))

    def recent(self, store: StoreRow) -> UsageRecord | None:
        """Return the counts as of a minute ago at most; no call where this process has read them since. As `newest`."""
        read_at, known = self._known.get(store.store_id, (None, None))
        if read_at is not None and 0 <= self._region.clock.now_us() - read_at < KNOWN_FOR_US:
            return known
        return self.newest(store)

    def put(self, record: UsageRecord) -> bool:
        """Put counts after those that they go on from; False where another worker did. One PUT.

        Raises:
            Unavailable, Busy, OutcomeUnknown: unknown; the next look goes on from what stands there.
        """
        key, body = str(record.key(self._region.name)), record.to_json()
        is_mine = partial(has_body, self._region, key, body)
        return put_if_absent(self._region, key, body, {}, is_mine=is_mine) is Put.MINE

    def _read(self, key: str) -> UsageRecord | None:
        found = find(self._region.objects, key)
        if found is None:
            return None
        try:
            return UsageRecord.from_json(found.body)
        except ValueError as error:
            raise Unavailable("a record of uses cannot be read", object=key, cause=str(error)) from error
