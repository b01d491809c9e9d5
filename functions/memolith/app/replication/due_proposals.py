"""Proposals of which something is due: to expire them, to carry them out to their end, to have their texts erased.

The rows of what is due stand in the order of the instants, in one partition, so that a tick reads no other. They decide
nothing: this region's writer goes by the proposal itself, and only at the store's home.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from memolith.app.kernel.listing import row_pages
from memolith.app.kernel.port_calls import commit_as_owner, repeatable
from memolith.app.kernel.region import Region
from memolith.core.errors import MemolithError
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.proposals import DUE_PARTITION, DueProposalRow
from memolith.ports.index import Change, Found, Query

ROWS_PER_PAGE = 100

_log = logging.getLogger(__name__)


class DueProposals:
    """Has the writer of this region do what is due of the proposals of stores whose home it is."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def run(self, deadline_us: int) -> int:
        """Do what is due, until `deadline_us` at most; return of how many proposals. Repeatable.

        One query; for a hundred that are due a read and another query, and for each of this home an invocation. One
        that fails does not stop the next.

        Raises:
            Unavailable: the index does not answer.
        """
        done = 0
        query = Query("stores", DUE_PARTITION, limit=ROWS_PER_PAGE)
        for page in row_pages(self._region.index, query):
            now_us = self._region.clock.now_us()
            due = [one for one in page if int(one.sort_key.partition("#")[0]) <= now_us]
            stores = self._stores(due)
            for one in due:
                if self._region.clock.now_us() > deadline_us:
                    return done
                row = DueProposalRow.from_attributes(one.attributes)
                done += self._look(one, row, stores.get(row.store_id))
            if len(due) < len(page):
                break
        return done

    def _stores(self, due: Sequence[Found]) -> dict[str, StoreRow]:
        keys = {StoreRow.key(DueProposalRow.from_attributes(one.attributes).store_id) for one in due}
        rows = self._region.read(self._region.index, sorted(keys)) if keys else {}
        return {key.pk: StoreRow.from_attributes(row) for key, row in rows.items()}

    def _look(self, found: Found, row: DueProposalRow, store: StoreRow | None) -> bool:
        if store is None or (store.state != StoreState.DELETED and (store.is_deleted or not self._is_home(store))):
            return False
        if store.state == StoreState.DELETED:  # the store's own erasure does the rest
            commit_as_owner(self._region.index, [Change(found.key, None, None, unconditional=True)])
            return False
        return self._ask(row)

    def _is_home(self, store: StoreRow) -> bool:
        return store.home == self._region.name and store.state == StoreState.ACTIVE

    def _ask(self, row: DueProposalRow) -> bool:
        payload = {"call": "proposal_due", "store_id": row.store_id, "proposal_id": row.proposal_id}
        try:
            with repeatable():
                answer = self._region.peers.call(self._region.name, "peerwriter", payload)
        except MemolithError as error:
            answer = {"error": {"message": error.message}}
        if "error" in answer:
            _log.warning("what is due of a proposal was not done", extra={"reason": answer["error"]["message"]})
            self._region.metrics.count("proposals_failed")
            return False
        return answer.get("done") is not None
