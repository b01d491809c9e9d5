"""Removing the steps of dreams that nobody needs any more, and those that have the words of an erased session.

A worker has the steps of its dream removed when the dream is over. Where it died before that, or keeps a step after
somebody else ended the dream, the sweep finds them by their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import groupby

from memolith.app.erasure.pack_removal import PackRemoval
from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.region import Region
from memolith.core import ids
from memolith.core.objects.dream_step import PREFIX, named_dream
from memolith.core.objects.run_record import RunRecord
from memolith.core.rows.dreams import DreamRow
from memolith.core.rows.identity import StoreRow


class DreamStepRemoval:
    """Removes, in this region, the steps of dreams that are over or are not done here, and those of erased sessions."""

    def __init__(self, region: Region, packs: PackRemoval) -> None:
        self._region = region
        self._packs = packs

    def sweep(self, is_time_up: Callable[[], bool]) -> int:
        """Remove the steps of each dream that is over, or whose store is not at home here; return how many.

        Repeatable. A LIST; for each dream that has steps an index read, and for what it removes what
        `PackRemoval.erase_steps` costs. Raises Unavailable: the next sweep goes on.
        """
        return self._remove(self._is_needless, is_time_up)

    def erase_of_sessions(self, session_ids: Collection[str]) -> int:
        """Remove the steps of dreams that read a session of which words are erased; return how many. Repeatable.

        Costs and raises as `sweep`. Such a dream asks again if it is taken up, about what is left of the session.
        """

        def reads_one(_: StoreRow | None, record: RunRecord | None) -> bool:
            return record is None or any(one in session_ids for one in record.session_ids)

        return self._remove(reads_one, lambda: False)

    def erase_of_output(self, store_id: str) -> int:
        """Remove the steps of other stores' dreams that write into a store of which a text is erased; return how many.

        Such a dream may have read the text, and stands under its input. Repeatable. Costs and raises as `sweep`.
        """

        def writes_it(_: StoreRow | None, record: RunRecord | None) -> bool:
            return record is None or (record.output_store_id == store_id != record.store_id)

        return self._remove(writes_it, lambda: False)

    def _remove(
        self, is_due: Callable[[StoreRow | None, RunRecord | None], bool], is_time_up: Callable[[], bool]
    ) -> int:
        removed = 0
        for store_id, run_id in self._dreams():
            if is_time_up():
                break
            store_key, run_key = StoreRow.key(store_id), DreamRow.key(run_id)
            rows = self._region.view([store_key, run_key]).rows
            store = StoreRow.from_attributes(rows[store_key]) if store_key in rows else None
            record = DreamRow.from_attributes(rows[run_key]).parsed if run_key in rows else None
            if is_due(store, record):
                removed += self._packs.erase_steps(store_id, run_id)
        return removed

    def _dreams(self) -> Iterator[tuple[str, str]]:
        """Yield the store and the id of each dream that has steps."""
        for (store_id, run_id), _ in groupby(keys_under(self._region.objects, PREFIX), named_dream):
            if ids.STORE.fullmatch(store_id) and ids.DREAM.fullmatch(run_id):
                yield store_id, run_id

    def _is_needless(self, store: StoreRow | None, record: RunRecord | None) -> bool:
        """Tell whether nobody needs the steps. A dream whose steps are removed too early asks again, and no more."""
        if store is None or record is None or store.home != self._region.name:
            return True
        return not record.status.is_open
